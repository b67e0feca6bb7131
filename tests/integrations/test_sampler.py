"""GoatSampler: uniqueness, history, maximising, other parameters, exhaustion."""

import math
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Literal

import optuna
import pytest
from optuna.terminator import StaticErrorEvaluator, Terminator
from optuna.trial import TrialState

from nasgoat import GoatSampler, LabeledGraph, Settings, suggest_graph
from nasgoat.acquisition import make_optimizer
from nasgoat.bayesopt import CurveOptimizer, measure_gain
from nasgoat.errors import SettingError
from nasgoat.integrations import ExactGainEvaluator, GraphParameters
from nasgoat.spaces import (
    EdgeLabeledSpace,
    GraphSpace,
    NodeLabeledSpace,
    SearchSpace,
    darts,
    molecules,
    nasbench101,
    nasbench201,
)

SPACE = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)


def edges(trial: optuna.Trial) -> float:
    return float(len(suggest_graph(trial, SPACE).edges))


def distinct(study: optuna.Study) -> int:
    return len({trial.params["graph"] for trial in study.trials})


@pytest.fixture(params=[0.0, math.inf], ids=["others go on", "others wait"])
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a proposal may take that other threads and processes wait for."""
    monkeypatch.setattr("nasgoat.integrations.sampler._QUICK", request.param)


@pytest.mark.usefixtures("quick")
def test_threads_never_get_the_same_graph() -> None:
    study = optuna.create_study(sampler=GoatSampler(SPACE, initial=5))
    study.optimize(edges, n_trials=24, n_jobs=4)
    assert distinct(study) == len(study.trials) == 24


def test_running_trials_are_excluded_in_ask_and_tell() -> None:
    study = optuna.create_study(sampler=GoatSampler(SPACE, initial=3, batch=4))
    asked = [study.ask() for _ in range(10)]
    graphs = [suggest_graph(trial, SPACE) for trial in reversed(asked)]
    assert len({SPACE.key(graph) for graph in graphs}) == 10
    for trial, graph in zip(reversed(asked), graphs, strict=True):
        study.tell(trial, len(graph.edges))
    assert study.trials[0].user_attrs["proposal"]["certificate"]["status"]


@pytest.mark.usefixtures("quick")
def test_storages_on_one_database_never_hand_out_the_same_graph(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    optuna.create_study(study_name="s", storage=url)

    def work() -> None:
        sampler = GoatSampler(SPACE, initial=4)
        optuna.load_study(study_name="s", storage=url, sampler=sampler).optimize(edges, n_trials=6)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    study = optuna.load_study(study_name="s", storage=url)
    assert distinct(study) == len(study.trials) == 18


def test_waiting_for_others_changes_no_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seconds in (0.0, math.inf):
        monkeypatch.setattr("nasgoat.integrations.sampler._QUICK", seconds)
        study = optuna.create_study(sampler=GoatSampler(SPACE, initial=4, batch=2))
        study.optimize(edges, n_trials=12)
        found.append([trial.params["graph"] for trial in study.trials])
    assert found[0] == found[1]


def test_optuna_tells_of_trials_and_not_of_searches(tmp_path: Path) -> None:
    script = """
import optuna, nasgoat
space = nasgoat.NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)
measure = lambda graph: float(len(graph.edges))
nasgoat.search(measure, space, 3, storage="sqlite:///study.db", study="ours", progress=None)
study = optuna.create_study(sampler=nasgoat.GoatSampler(space), study_name="theirs")
study.optimize(lambda trial: measure(nasgoat.suggest_graph(trial, space)), n_trials=1)
"""
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    assert "Trial 0 finished" in told
    assert "theirs" in told
    assert "ours" not in told


def test_it_minimises_and_maximises() -> None:
    found = {}
    for direction in ("minimize", "maximize"):
        study = optuna.create_study(sampler=GoatSampler(SPACE, initial=5), direction=direction)
        study.optimize(edges, n_trials=20)
        found[direction] = study.best_value
    assert found == {"minimize": 1.0, "maximize": 6.0}


@pytest.mark.parametrize("name", ["ei", "thompson"])
def test_it_takes_any_acquisition_function(name: str) -> None:
    sampler = GoatSampler(SPACE, Settings(acquisition=name), initial=5, batch=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(edges, n_trials=16)
    assert study.best_value == 1.0
    assert len({trial.params["graph"] for trial in study.trials}) == 16


def test_other_parameters_go_to_the_inner_sampler() -> None:
    def rate(trial: optuna.Trial) -> float:
        return trial.suggest_float("rate", 0.0, 1.0)

    inner, alone = (optuna.samplers.RandomSampler(seed=1) for _ in range(2))
    study = optuna.create_study(sampler=GoatSampler(SPACE, initial=3, inner=inner))
    study.optimize(lambda t: edges(t) + rate(t), n_trials=8)
    expected = optuna.create_study(sampler=alone)
    expected.optimize(rate, n_trials=8)
    assert len(study.trials) == 8
    rates = [trial.params["rate"] for trial in study.trials]
    assert rates == [trial.params["rate"] for trial in expected.trials]


def test_an_exhausted_space_ends_optimize() -> None:
    space = NodeLabeledSpace((2, 3), ["a", "b"])
    study = optuna.create_study(sampler=GoatSampler(space, initial=2))
    study.optimize(lambda t: len(suggest_graph(t, space).edges), n_trials=50)
    assert space.count() <= len(study.trials) <= space.count() + 1


def test_a_graph_outside_the_space_is_pruned() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(edges, n_trials=5)
    assert {trial.state.name for trial in study.trials} == {"PRUNED"}


@pytest.mark.parametrize(
    "space", [SPACE, nasbench101(), nasbench201(), NodeLabeledSpace((2, 14), ["a", "b", "c"])]
)
def test_parameters_are_one_to_one_with_graphs(space: SearchSpace) -> None:
    import numpy as np

    parameters = GraphParameters(space)
    graphs: list[LabeledGraph] = space.sample(30, np.random.default_rng(0))
    for graph in graphs:
        values = parameters.encode(graph)
        assert all(value < 2**53 for value in values.values())
        assert space.key(parameters.decode(values)) == space.key(graph)


@pytest.mark.parametrize(
    ("space", "graph", "stored"),
    [
        (
            nasbench101(),
            '{"nodes": 5, "edges": [[0, 1], [0, 3], [1, 2], [1, 3], [1, 4], [2, 4], [3, 4]], '
            '"node_labels": ["input", "conv3x3", "maxpool3x3", "conv1x1", "output"]}',
            {"graph": 502741284864},
        ),
        (
            nasbench201(),
            '{"nodes": 4, "edges": [[0, 1], [0, 2], [1, 3], [2, 3]], "edge_labels": '
            '["avg_pool_3x3", "nor_conv_1x1", "skip_connect", "nor_conv_1x1"]}',
            {"graph": 13757},
        ),
        (
            darts(),
            '{"nodes": 6, "edges": [[0, 2], [0, 3], [0, 4], [0, 5], [1, 2], [1, 4], [1, 5], '
            '[2, 3]], "edge_labels": ["sep_conv_5x5", "max_pool_3x3", "dil_conv_5x5", '
            '"sep_conv_3x3", "sep_conv_5x5", "max_pool_3x3", "avg_pool_3x3", "sep_conv_3x3"]}',
            {"graph_0": 589864, "graph_1": 69340240896},
        ),
        (
            molecules(),
            '{"nodes": 3, "edges": [[0, 2], [1, 2]], "node_labels": ["O", "F", "O"], '
            '"edge_labels": ["single", "single"], "directed": false}',
            {"graph": 11957272838144},
        ),
        (
            GraphSpace((2, 4), node_ops=["C", "O"]),
            '{"nodes": 3, "edges": [[0, 1], [0, 2], [1, 0], [1, 2]], "node_labels": '
            '["C", "O", "O"]}',
            {"graph": 92464},
        ),
    ],
    ids=["nodes", "edges", "darts", "undirected", "directed"],
)
def test_graphs_are_stored_as_in_the_studies_of_version_0_1(
    space: SearchSpace, graph: str, stored: dict[str, int]
) -> None:
    parameters = GraphParameters(space)
    cell = LabeledGraph.from_json(graph)
    assert parameters.encode(cell) == stored
    assert space.key(parameters.decode(stored)) == space.key(cell)


def test_an_enqueued_graph_is_evaluated_with_what_else_was_given() -> None:
    space = nasbench201()
    cell = space.from_digits([1, 0, 2, 3, 0, 4])
    study = optuna.create_study(sampler=GoatSampler(space, initial=3))
    study.enqueue_trial({**GraphParameters(space).encode(cell), "graph_dropout": 0.25})
    seen = []

    def objective(trial: optuna.Trial) -> float:
        seen.append((suggest_graph(trial, space), trial.suggest_float("graph_dropout", 0, 1)))
        return 1.0

    study.optimize(objective, n_trials=1)
    assert seen == [(cell, 0.25)]


@pytest.mark.parametrize(
    ("space", "enqueued"),
    [
        (nasbench201(), {"grahp": 3454}),
        (nasbench201(), {"graph_0": 3454}),
        (nasbench201(), {"graph": -3}),
        (nasbench201(), {"graph": nasbench201().from_digits([1, 0, 2, 3, 0, 4])}),
        (nasbench201(), {"cell": nasbench201().from_digits([1, 0, 2, 3, 0, 4])}),
        (darts(), {"graph": 3454}),
        (darts(), {"graph_0": 3454}),
    ],
)
def test_an_enqueued_graph_under_a_wrong_name_is_refused(
    space: SearchSpace, enqueued: dict[str, object]
) -> None:
    study = optuna.create_study(sampler=GoatSampler(space, optimizer="sampling", initial=3))
    study.enqueue_trial(enqueued)
    with pytest.raises(SettingError, match="an enqueued graph must be given by the number"):
        study.optimize(lambda trial: len(suggest_graph(trial, space).edges), n_trials=1)


def test_enqueued_values_that_no_trial_asks_for_are_named(caplog: pytest.LogCaptureFixture) -> None:
    space = nasbench201()
    study = optuna.create_study(sampler=GoatSampler(space, initial=3))
    study.enqueue_trial({"cell": 3454})  # may be the name of any other parameter
    study.enqueue_trial({**GraphParameters(space).encode(space.from_digits([3] * 6))})
    study.optimize(lambda trial: len(suggest_graph(trial, space).edges), n_trials=3)
    warned = [line for line in caplog.messages if "asks for" in line]
    assert warned == [
        "enqueued values must be of parameters that the trial asks for, got cell in trial 0"
    ]


def test_optunas_terminator_hears_what_is_left_to_gain() -> None:
    space = EdgeLabeledSpace(nodes=4, ops=["a", "b"])
    study = optuna.create_study(direction="maximize", sampler=GoatSampler(space, initial=12))
    evaluator = ExactGainEvaluator(space)

    def objective(trial: optuna.Trial) -> float:
        return -5.0 - len(suggest_graph(trial, space).edges)

    study.optimize(objective, n_trials=5)
    assert evaluator.evaluate(study.trials, study.direction) == math.inf  # too few to say
    study.optimize(objective, n_trials=20)
    told = [(GraphParameters(space).decode(t.params), -(t.value or 0.0)) for t in study.trials]
    expected = measure_gain(
        space, make_optimizer("catalogue", space), told, {space.key(graph) for graph, _ in told}
    )
    assert expected is not None
    assert evaluator.evaluate(study.trials, study.direction) == pytest.approx(expected.bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's terminator is experimental
        terminator = Terminator(evaluator, StaticErrorEvaluator(1000.0))
    assert terminator.should_terminate(study)


def test_the_terminator_learns_nothing_from_infinite_values() -> None:
    space = EdgeLabeledSpace(nodes=4, ops=["a", "b"])
    study = optuna.create_study(sampler=GoatSampler(space, initial=12))
    study.optimize(lambda trial: 5.0 + len(suggest_graph(trial, space).edges), n_trials=20)
    before = ExactGainEvaluator(space).evaluate(study.trials, study.direction)
    study.optimize(lambda trial: math.inf * len(suggest_graph(trial, space).edges), n_trials=1)
    after = ExactGainEvaluator(space).evaluate(study.trials, study.direction)
    assert math.isfinite(before)
    assert 0.0 <= after <= before  # one graph fewer is left


def test_a_study_of_too_many_directions_is_one_clear_error() -> None:
    study = optuna.create_study(directions=["minimize"] * 4, sampler=GoatSampler(SPACE))
    with pytest.raises(SettingError, match="must have one to 3 directions, got 4"):
        study.optimize(lambda trial: (1.0, 2.0, 3.0, 4.0), n_trials=3)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL]


def test_a_study_of_two_directions_covers_its_front() -> None:
    space = nasbench201()

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        cell = suggest_graph(trial, space)
        return 10.0 - len(cell.edges), float(len(cell.edges))

    def run(*directions: Literal["minimize", "maximize"]) -> list[tuple[float, ...]]:
        sampler = GoatSampler(space, initial=5, batch=5)
        study = optuna.create_study(directions=directions, sampler=sampler)
        study.optimize(objective, n_trials=20)
        kinds = {t.user_attrs["proposal"]["certificate"]["status"] for t in study.trials[5:]}
        assert kinds == {"optimal"}
        return sorted({tuple(t.values) for t in study.best_trials})

    both = run("minimize", "minimize")
    assert both == [(4.0, 6.0), (5.0, 5.0), (6.0, 4.0), (7.0, 3.0)]
    assert run("minimize", "maximize") == [(4.0, 6.0)]


def _train(trial: optuna.Trial, sign: float = 1.0) -> float:
    """A training of six steps that a pruner may stop."""
    error = 10.0 + len(suggest_graph(trial, SPACE).edges)
    for step in range(1, 6):
        trial.report(sign * (error + 12 / step), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return sign * error


def _prune(seed: int, maximize: bool = False, trials: int = 30) -> optuna.Study:
    study = optuna.create_study(
        direction="maximize" if maximize else "minimize",
        sampler=GoatSampler(SPACE, initial=6, seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
    )
    sign = -1.0 if maximize else 1.0
    study.optimize(lambda trial: _train(trial, sign), n_trials=trials)
    return study


def test_pruned_trials_teach() -> None:
    study = _prune(0)
    states = [trial.state.name for trial in study.trials]
    assert states.count("PRUNED") > 3
    assert isinstance(study.sampler, GoatSampler)
    optimizer = study.sampler._make_asker(study, study.trials[-1])
    assert isinstance(optimizer, CurveOptimizer)
    assert [source.name for source in optimizer.sources][1:]
    assert len(optimizer.sources[-1].graphs) == len(study.trials) - 1
    assert distinct(study) == len(study.trials)


def test_a_study_with_a_pruner_follows_from_its_seed_in_both_directions() -> None:
    runs = [_prune(1, maximize, 16).trials for maximize in (False, False, True)]
    graphs = [[trial.params["graph"] for trial in trials] for trials in runs]
    assert graphs[0] == graphs[1] == graphs[2]


def test_a_pruned_study_is_continued_by_another_process(tmp_path: Path) -> None:
    def go_on(trials: int) -> optuna.Study:
        study = optuna.create_study(
            storage=f"sqlite:///{tmp_path / 'pruned.db'}",
            study_name="pruned",
            load_if_exists=True,
            sampler=GoatSampler(SPACE, initial=6, seed=1),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
        )
        study.optimize(_train, n_trials=trials)
        return study

    go_on(9)
    assert [t.params for t in go_on(7).trials] == [t.params for t in _prune(1, trials=16).trials]


def test_reports_alone_change_no_proposal() -> None:
    def run(report: bool) -> list[int]:
        study = optuna.create_study(sampler=GoatSampler(SPACE, initial=4, seed=2))

        def train(trial: optuna.Trial) -> float:
            error = edges(trial)
            if report:
                trial.report(2 * error, 1)
            return error

        study.optimize(train, n_trials=10)
        return [trial.params["graph"] for trial in study.trials]

    assert run(report=True) == run(report=False)
