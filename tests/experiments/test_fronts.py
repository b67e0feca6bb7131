"""The comparison of fronts: problems against brute force, records, tables, aims and bad files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import Optimizer, Settings, nasbench201
from nasgoat.bayesopt import Objectives
from nasgoat.cli import run
from nasgoat.errors import ExperimentFileError, SettingError
from nasgoat.experiments import build_tables, make_captions, make_figures, read_experiment
from nasgoat.experiments.fronts_problem import KERNEL_ENDINGS, Arena, FrontProblem
from nasgoat.experiments.fronts_results import expand, make_charts
from nasgoat.experiments.fronts_study import FrontsStudy, _load_arena, _summarise
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import parse_experiment
from nasgoat.figures.charts import Line

FRONT = "nb201/cifar10: error, latency"
LIMIT = "nb201/cifar10: error; params <= 20 %"
DECLARED = f"""
kind = "fronts"
problems = ["{FRONT}", "{LIMIT}"]
methods = ["random", "chebyshev", "goat"]
seeds = 1
evaluations = 15
initial = 10
"""


@pytest.fixture(scope="module")
def arena() -> Arena:
    return _load_arena(FRONT)  # which the command's runs share


def test_the_true_front_is_that_of_brute_force(arena: Arena) -> None:
    points = np.column_stack([np.log(arena.metrics["error"]), arena.metrics["latency"]])
    assert len(points) == 9280
    assert np.array_equal(points, arena.points)
    below = np.all(points[:, None, :] <= arena.front[None], axis=2)
    strictly = np.any(points[:, None, :] < arena.front[None], axis=2)
    assert not np.any(below & strictly)  # nothing dominates a point of the front
    covers = np.all(arena.front[None] <= points[:, None, :], axis=2)
    assert np.all(np.any(covers, axis=1))  # and it covers everything
    assert arena.reference == np.quantile(points, 0.8, axis=0).tolist()
    corners = np.random.default_rng(0).uniform(points.min(axis=0), arena.reference, (20_000, 2))
    inside = np.all(arena.front[None] <= corners[:, None, :], axis=2)
    covered = np.any(inside, axis=1).mean()
    box = np.prod(np.array(arena.reference) - points.min(axis=0))
    assert arena.volume / box == pytest.approx(covered, abs=0.015)  # four standard errors


def test_a_limit_is_the_quantile_over_the_space() -> None:
    arena = _load_arena(LIMIT)
    kept = arena.metrics["params"] <= np.quantile(arena.metrics["params"], 0.2)
    assert arena.feasible_share == kept.mean()
    assert arena.optimum == arena.metrics["error"][kept].min()
    assert arena.list_limits() == [f"params <= {arena.bounds['params']!r}"]


def test_a_run_that_evaluates_the_whole_front_has_all_of_it(arena: Arena) -> None:
    order = np.argsort(arena.metrics["error"])[::-1]
    rows = [{k: float(v[i]) for k, v in arena.metrics.items()} for i in order]
    found = _summarise(arena, rows, 10)
    assert found["steps"][-1][1:] == [1.0, 1.0]
    assert found["front"] == len(arena.front)
    volumes = [step[1] for step in found["steps"]]
    assert volumes == sorted(volumes)


@pytest.mark.parametrize("text", ["nb201/cifar10", "nb201/cifar10:", "x: error; latency < 3"])
def test_a_text_that_is_no_problem_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="a problem must be like"):
        FrontProblem.parse(text)


def test_a_wrong_method_names_the_nearest() -> None:
    with pytest.raises(ExperimentFileError, match="did you mean hypervolume"):
        parse_experiment(DECLARED.replace('"chebyshev"', '"hypervolum"'))


def test_methods_run_where_they_apply() -> None:
    study = parse_experiment(DECLARED).study
    assert [item.id for item in study.runs()] == [
        "nb201-cifar10.error-latency.random.seed0",
        "nb201-cifar10.error-latency.chebyshev.seed0",
        "nb201-cifar10.error-params20.random.seed0",
        "nb201-cifar10.error-params20.goat.seed0",
    ]


def test_our_default_leaves_its_kernels_to_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []

    class Recording(Optimizer):
        def __init__(self, space: Any, settings: Settings, *given: Any, **more: Any) -> None:
            asked.append(settings)
            super().__init__(space, settings, *given, **more)

    monkeypatch.setattr("nasgoat.experiments.fronts_study.Optimizer", Recording)
    for method in ("hypervolume", "hypervolume-e", "hypervolume-t"):
        settings = {"problem": FRONT, "method": method, "seed": 0}
        FrontsStudy.execute({**settings, "evaluations": 12, "initial": 10})
    assert [(s.acquisition, s.kernel) for s in asked] == [
        ("hypervolume", "exponential"),
        ("hypervolume", "evidence"),
        ("hypervolume", "together"),
    ]
    default = Optimizer("nb201", minimise=["error", "latency"]).settings
    assert asked[1].adapt_to(Objectives.of(["error", "latency"]), nasbench201()) == default


def test_a_method_without_its_package_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nasgoat.baselines.qnehvi", None)  # cannot be imported
    study = parse_experiment(DECLARED.replace('"chebyshev"', '"qnehvi"')).study
    assert [item.settings["method"] for item in study.runs()] == ["random", "random", "goat"]
    (said,) = study.list_left_out()
    assert said.startswith("qnehvi: BoTorch must be installed")


def test_the_command_records_runs_and_shows_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(DECLARED)
    assert run(["fronts", str(file), "--out", str(folder), "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["done"], document["left"]) == (4, 0)
    records = {(r["problem"], r["method"]): r for r in document["records"]}
    assert 0 < records[FRONT, "chebyshev"]["steps"][-1][1] <= 1
    assert records[LIMIT, "goat"]["broken_known"] == 0
    assert 0 <= records[LIMIT, "goat"]["wasted"] <= 5
    # The same initial cells, so the same hypervolume after them.
    first = [expand(records[FRONT, m], 1)[9] for m in ("random", "chebyshev")]
    assert first[0] == first[1] > 0
    assert (folder / "small-hypervolume.png").exists()
    assert run(["fronts", str(file), "--out", str(folder), "--plot-only", "--quiet"]) == 0
    assert "Mean relative hypervolume after 15 evaluations" in capsys.readouterr().out


def record(method: str, problem: str, **more: Any) -> dict[str, Any]:
    common = {"run": f"{method}.{problem}", "problem": problem, "method": method, "seed": 0}
    return {**common, "evaluations": 160, "cpu_seconds": 1.0, **more}


def test_tables_say_whether_aims_are_met(tmp_path: Path) -> None:
    limited = {"feasible": 0.2, "optimum": 9.0, "reached": 3, "broken_known": 0, "wasted": 7}
    runs = (
        record("random", FRONT, front=14, steps=[[1, 0.5, 0.0], [90, 0.98, 0.25]]),
        record("hypervolume", FRONT, front=14, steps=[[1, 0.6, 0.0], [60, 0.975, 0.5]]),
        {**record("goat", LIMIT, steps=[[3, 9.0]]), **limited},
    )
    methods = ["random", "hypervolume", "goat"]
    declared = {"problems": [FRONT, LIMIT], "methods": methods, "initial": 10}
    records = ExperimentRecords(tmp_path, "fronts", "f", "F", "", declared, "", {}, runs)
    overview, aims, front, limits = build_tables(records)
    assert overview.rows[0][1:] == (
        "14",
        "0.500 / **0.980** / **0.980**",
        "**0.600** / 0.975 / 0.975",
    )
    assert aims.rows[0][2:] == (
        "yes: hypervolume 0.600, random 0.500",
        "no: hypervolume 0.975, random 0.980; 0.97 met",
        "no: hypervolume 0.975, random 0.980; 0.99 not met",
    )
    assert front.rows[0][2:8] == (
        "0.500 ± 0.000",
        "0.980 ± 0.000",
        "0.980 ± 0.000",
        *front.rows[0][5:8],
    )
    assert limits.rows == (("goat", "1", "1/1", "3", "7.0", "0.0"),)
    assert list(make_figures(records)) == ["f-hypervolume"]


def test_charts_name_the_default_in_bold_beside_the_methods_of_others(tmp_path: Path) -> None:
    macro = "macro/cifar10: error, flops"
    others = ["random", "local-search", "nsga2", "tpe"]
    methods = [*others, "hypervolume", "hypervolume-e", "hypervolume-t", "chebyshev", "epsilon"]
    steps = [[1, 0.5, 0.0], [90, 0.98, 0.25]]
    runs = tuple(record(m, p, front=14, steps=steps) for p in (FRONT, macro) for m in methods)
    declared = {"problems": [FRONT, macro], "methods": methods, "initial": 10}
    records = ExperimentRecords(tmp_path, "fronts", "f", "F", "", declared, "", {}, runs)
    against, among = make_charts(records).values()
    for chart, default in zip(against, ("hypervolume-e", "hypervolume-t"), strict=True):
        lines = [mark for mark in chart.marks if isinstance(mark, Line)]
        assert [line.name for line in lines] == [*others, default]  # the last lies over all others
        assert [line.name for line in lines if line.bold] == [default]
        assert len({line.series for line in lines}) == len(lines)
        assert chart.direct
    for chart in among:
        lines = [mark for mark in chart.marks if isinstance(mark, Line)]
        assert {line.name for line in lines} == {*methods} - {*others}
        assert len({line.series for line in lines}) == len(lines)
    (caption,) = make_captions(records).values()
    assert caption.endswith("the runs of hypervolume-e or hypervolume-t.")


@pytest.mark.parametrize("family", ["nb201", "macro"])
def test_the_default_of_a_problem_is_that_of_the_search(family: str) -> None:
    problem = FrontProblem.parse(f"{family}/cifar10: error, flops")
    settings = Optimizer(family, minimise=problem.names).settings
    name, ending = problem.default[:-2], problem.default[-2:]
    assert (name, KERNEL_ENDINGS[ending]) == (settings.acquisition, settings.kernel)


def test_our_file_is_an_experiment() -> None:
    path = Path(__file__).resolve().parents[2] / "experiments" / "fronts.toml"
    study = parse_experiment(path.read_text(), "fronts.toml").study
    assert isinstance(study, FrontsStudy)
    assert len(study.problems) == 12
    assert study.first_seed == 1000
    records = path.with_suffix("")
    if records.exists():
        assert {r["problem"] for r in read_experiment(records).runs} <= set(study.problems)
