"""The comparison: its runs, their summaries and what the tables say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nasgoat.errors import SettingError
from nasgoat.experiments import build_tables, make_figures
from nasgoat.experiments.compare_charts import collect_curves
from nasgoat.experiments.compare_study import CompareStudy
from nasgoat.experiments.compare_tables import count_evaluations_to_optimum, list_contests
from nasgoat.experiments.methods import MethodSpec
from nasgoat.experiments.records import ExperimentRecords

GOAT = MethodSpec("goat-l", "goat", options={"kernel": "linear"})
STUDY = CompareStudy(
    ("nb201/cifar10",),
    (MethodSpec("random", "random"), GOAT),
    settings=("deterministic", "noisy"),
    seeds=2,
    evaluations=20,
)


@pytest.fixture(scope="module")
def records() -> ExperimentRecords:
    runs = [{"run": run.id, **CompareStudy.execute(run.settings)[0]} for run in STUDY.runs()]
    return ExperimentRecords(
        Path("nowhere"), "compare", "small", "Small", "", STUDY.declaration(), "", {}, tuple(runs)
    )


def test_a_run_is_deterministic_and_keeps_every_evaluation() -> None:
    run = STUDY.runs()[1]
    first, second = CompareStudy.execute(run.settings), CompareStudy.execute(run.settings)
    timed = ("seconds", "cpu_seconds", "seconds_per_iteration")
    assert {k: v for k, v in first[0].items() if k not in timed} == {
        k: v for k, v in second[0].items() if k not in timed
    }
    lines = first[1:]
    assert [line["number"] for line in lines] == list(range(20))
    assert [line["iteration"] for line in lines] == [0] * 10 + [1] * 5 + [2] * 5
    assert {line["status"] for line in lines} == {"initial", "optimal"}
    assert first[0]["certified"] == 1.0
    assert first[0]["seconds_per_iteration"] > 0


def test_the_summary_is_that_of_the_evaluations() -> None:
    summary, *lines = CompareStudy.execute(STUDY.runs()[0].settings)
    best = min(lines, key=lambda line: line["error"])
    assert summary["steps"][-1][:2] == [best["number"] + 1, pytest.approx(best["error"], abs=1e-6)]
    assert summary["regret"] == pytest.approx(best["mean_error"] - summary["optimum"], abs=1e-5)
    assert "graph" not in str(summary)
    assert summary["certified"] is None


def test_methods_share_the_initial_design() -> None:
    random, goat = (CompareStudy.execute(run.settings)[1:] for run in STUDY.runs()[:2])
    assert [line["graph"] for line in random[:10]] == [line["graph"] for line in goat[:10]]


def test_runs_go_seed_by_seed() -> None:
    seeds = [run.settings["seed"] for run in STUDY.runs() if not run.settings["noisy"]]
    assert seeds == [0, 0, 1, 1]


def test_what_can_not_be_measured_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasgoat.experiments.methods.is_available", lambda name: False)
    study = replace(STUDY, methods=(MethodSpec("bonas", "bonas"),))
    assert study.runs() == []
    assert study.list_left_out() == ["bonas: not installed; pip install 'nasgoat[neural]'"]


def test_noise_is_refused_where_a_table_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, noisy: bool) -> Any:
        if noisy:
            raise SettingError("noisy must be off")
        return object()

    monkeypatch.setattr("nasgoat.experiments.compare_study._load_table", refuse)
    assert {run.settings["noisy"] for run in STUDY.runs()} == {False}
    assert STUDY.list_left_out() == ["nb201/cifar10, noisy: noisy must be off"]


def test_tables_and_figures_come_from_the_records(records: ExperimentRecords) -> None:
    overview, noisy_overview, table, noisy = build_tables(records)
    assert overview.columns == ("method", "nb201/cifar10")
    assert noisy_overview.title.endswith(", noisy")
    assert [row[0] for row in table.rows] == ["random", "goat-l"]
    assert table.rows[1][-1] == "100 %"
    assert table.rows[0][-1] == "–"
    assert "Lowest median regret: " in table.notes[0]
    assert noisy.title.startswith("nb201/cifar10, noisy")
    assert all(len(row) == len(table.columns) for row in table.rows)
    drawn = make_figures(records)
    settings = ["small-deterministic", "small-noisy"]
    assert [name for name in drawn if name in settings] == settings
    labels = {text.get_text() for text in drawn["small-noisy"].axes[0].texts}
    assert labels == {"goat-l", "random"}


def test_the_overview_says_which_methods_were_sequential(records: ExperimentRecords) -> None:
    assert build_tables(records)[0].notes == ("One cell at a time: random; the others in batches.",)
    batched = tuple(run for run in records.runs if run["method"] != "random")
    assert build_tables(replace(records, runs=batched))[0].notes == ()


def test_records_without_curves_still_count(records: ExperimentRecords) -> None:
    old = tuple({**run, "steps": None, "test_error": None} for run in records.runs)
    without = replace(records, runs=old)
    assert build_tables(without)[2].rows == build_tables(records)[2].rows
    assert collect_curves(list_contests(without)[0].runs["random"]) is None
    assert list(make_figures(without)) == []


def test_the_first_at_the_optimum_need_not_have_the_lowest_regret(
    records: ExperimentRecords,
) -> None:
    """With noise a run may have been at the optimum and end elsewhere."""
    noisy = [run for run in records.runs if run["noisy"]]
    soon = {**noisy[0], "method": "random", "reached": 12, "regret": 0.5}
    late = {**noisy[0], "method": "goat-l", "reached": 15, "regret": 0.0}
    notes = build_tables(replace(records, runs=(soon, late)))[1].notes
    leaders = "Lowest median regret: goat-l (0.000)."
    assert f"{leaders} First at the optimum in the median: random, after 12." in notes


def test_a_run_that_never_arrives_is_later_than_any_that_does() -> None:
    assert count_evaluations_to_optimum([{"reached": None}, {"reached": 20}]) == float("inf")
