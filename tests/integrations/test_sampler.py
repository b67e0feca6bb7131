"""GoatSampler: uniqueness, history, maximising, other parameters, exhaustion."""

import math
import threading
from pathlib import Path

import optuna
import pytest

from nasgoat import GoatSampler, LabeledGraph, suggest_graph
from nasgoat.integrations import GraphParameters
from nasgoat.spaces import NodeLabeledSpace, SearchSpace, nasbench101, nasbench201

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


def test_it_minimises_and_maximises() -> None:
    found = {}
    for direction in ("minimize", "maximize"):
        study = optuna.create_study(sampler=GoatSampler(SPACE, initial=5), direction=direction)
        study.optimize(edges, n_trials=20)
        found[direction] = study.best_value
    assert found == {"minimize": 1.0, "maximize": 6.0}


def test_other_parameters_go_to_the_inner_sampler() -> None:
    study = optuna.create_study(sampler=GoatSampler(SPACE, initial=3))
    study.optimize(lambda t: edges(t) + t.suggest_float("rate", 0.0, 1.0), n_trials=8)
    assert all(0 <= trial.params["rate"] <= 1 for trial in study.trials)


def test_an_exhausted_space_ends_optimize() -> None:
    space = NodeLabeledSpace((2, 3), ["a", "b"])
    study = optuna.create_study(sampler=GoatSampler(space, initial=2))
    study.optimize(lambda t: len(suggest_graph(t, space).edges), n_trials=50)
    assert space.count() <= len(study.trials) <= space.count() + 1


def test_a_graph_outside_the_space_is_pruned() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(edges, n_trials=5)
    assert {trial.state.name for trial in study.trials} <= {"PRUNED", "COMPLETE"}


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
