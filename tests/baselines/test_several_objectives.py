"""Baselines for several objectives: distinct graphs of the space, by seed, and what each does."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import pytest

from nasgoat import ChainSpace, LabeledGraph, nasbench201
from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.baselines.several_objectives import (
    SEVERAL_METHODS,
    LocalSeveral,
    Nsga2,
    SeveralMethod,
    find_several_method,
)
from nasgoat.errors import MissingPackageError
from nasgoat.spaces import SearchSpace
from nasgoat.testing.contract import list_graphs

CHAINS = ChainSpace(5, ["a", "b", "c"])
NAMES = ("cost", "loss")


def measure(graph: LabeledGraph) -> dict[str, float]:
    """Two values in conflict: "c" costs much and loses little."""
    labels = list((graph.edge_labels or {}).values())
    cost = sum(ord(label[0]) % 97 + 0.1 * i for i, label in enumerate(labels))  # a costs nothing
    return {"cost": cost, "loss": 10.0 - cost**0.5 - 0.05 * labels.count("b")}


def drive(method: SeveralMethod, evaluations: int) -> list[LabeledGraph]:
    found = []
    for _ in range(evaluations):
        graph = method.ask()
        if graph is None:
            break
        method.tell(graph, measure(graph))
        found.append(graph)
    return found


@pytest.mark.parametrize("name", SEVERAL_METHODS)
@pytest.mark.parametrize("space", [CHAINS, nasbench201()], ids=["chains", "nb201"])
def test_graphs_are_distinct_in_the_space_and_follow_the_seed(
    name: str, space: SearchSpace
) -> None:
    make = SEVERAL_METHODS[name]
    first, again, other = (drive(make(space, NAMES, (), 6, seed), 40) for seed in (1, 1, 2))
    assert first == again != other
    assert len({space.key(graph) for graph in first}) == len(first) == 40
    assert all(graph in space for graph in first)
    assert first[:6] == drive(SEVERAL_METHODS["random"](space, NAMES, (), 6, 1), 6)


@pytest.mark.parametrize("name", SEVERAL_METHODS)
def test_graphs_that_failed_are_not_asked_for_again(name: str) -> None:
    method, asked = SEVERAL_METHODS[name](CHAINS, NAMES, (), 6, 1), list[bytes]()
    while (graph := method.ask()) is not None and len(asked) < 60:
        asked.append(CHAINS.key(graph))
        if "a" in (graph.edge_labels or {}).values():
            method.tell_failed(graph)
        else:
            method.tell(graph, measure(graph))
    assert len({*asked}) == len(asked) == 60
    assert 0 < len(method.graphs) < 60
    broken = SEVERAL_METHODS[name](CHAINS, NAMES, (), 3)
    for _ in range(6):  # not even the initial design could be measured
        graph = broken.ask()
        assert graph is not None
        broken.tell_failed(graph)
    assert len(broken.known) == 6


@pytest.mark.parametrize("name", SEVERAL_METHODS)
def test_a_used_up_space_ends_the_search(name: str) -> None:
    small = ChainSpace(2, ["a", "b"])
    assert len(drive(SEVERAL_METHODS[name](small, NAMES, (), 2), 10)) == small.count() == 4


@pytest.mark.parametrize(
    "name",
    ["local-search", "nsga2", pytest.param("tpe", marks=pytest.mark.slow)],  # 4 s
)
def test_methods_that_learn_find_more_of_the_front_than_chance(name: str) -> None:
    rows = [list(measure(graph).values()) for graph in list_graphs(CHAINS)]
    front = {tuple(rows[i]) for i in find_nondominated(rows)}

    def share(method: str, seed: int) -> float:
        found = drive(SEVERAL_METHODS[method](CHAINS, NAMES, (), 10, seed), 80)
        return len({tuple(measure(graph).values()) for graph in found} & front) / len(front)

    mean = {m: np.mean([share(m, seed) for seed in range(4)]) for m in (name, "random")}
    assert mean[name] > mean["random"]


def test_botorch_asks_for_new_graphs_by_the_seed_until_none_is_left() -> None:
    pytest.importorskip(
        "botorch", reason='BoTorch is not installed: pip install "nasgoat[botorch]"'
    )
    make = find_several_method("qnehvi")
    first, again = (drive(make(CHAINS, NAMES, (), 6, seed), 12) for seed in (1, 1))
    assert first == again
    assert len({CHAINS.key(graph) for graph in first}) == 12
    assert first[:6] == drive(SEVERAL_METHODS["random"](CHAINS, NAMES, (), 6, 1), 6)
    small = ChainSpace(2, ["a", "b"])
    assert len(drive(make(small, NAMES, (), 2), 10)) == small.count()
    broken = make(CHAINS, NAMES, (), 3)
    for _ in range(6):
        graph = broken.ask()
        assert graph is not None
        broken.tell_failed(graph)
    assert len(broken.known) == 6


def test_a_missing_botorch_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nasgoat.baselines.qnehvi", None)  # cannot be imported
    with pytest.raises(MissingPackageError, match=r"BoTorch must be installed.*nasgoat\[botorch\]"):
        find_several_method("qnehvi")


@pytest.mark.parametrize("name", ["local-search", "nsga2", "tpe"])
def test_limits_steer_a_search_of_one_value(name: str) -> None:
    def excess(metrics: Mapping[str, float]) -> float:
        return metrics["cost"] - 2.0

    def broken(method: str, seed: int) -> int:
        found = drive(SEVERAL_METHODS[method](CHAINS, ["loss"], [excess], 10, seed), 60)
        return sum(excess(measure(graph)) > 0 for graph in found)

    assert sum(broken(name, s) for s in range(3)) < sum(broken("random", s) for s in range(3))


def test_a_local_search_tries_neighbours_of_the_best_first() -> None:
    method = LocalSeveral(CHAINS, NAMES, (), 5, seed=3)
    drive(method, 5)
    near = {CHAINS.key(g) for graph in method.graphs for g in CHAINS.neighbours(graph)}
    asked = method.ask()
    assert asked is not None
    assert CHAINS.key(asked) in near


def test_optuna_is_told_everything_with_its_limits() -> None:
    method = Nsga2(CHAINS, NAMES, [lambda metrics: metrics["cost"] - 3.0], 5)
    graphs = drive(method, 25)
    told = [t for t in method.study.trials if t.state.name == "COMPLETE"]
    assert len({tuple(t.params.values()) for t in told}) == len(graphs) == 25
    assert all(len(t.values) == 2 for t in told)
    assert any(t.user_attrs["nasgoat:excess"][0] > 0 for t in told)
