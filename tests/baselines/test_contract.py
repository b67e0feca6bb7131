"""What every method promises, whichever it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, LabeledGraph, NodeLabeledSpace, make_method, nasbench201, run
from nasgoat.acquisition import initial_design
from nasgoat.bayesopt import SearchResult
from nasgoat.errors import GraphError, ObservationError, SettingError, UnknownNameError
from nasgoat.search_methods import available, methods, own_batch
from nasgoat.spaces import SearchSpace

#: Options that make a method quick enough for a test of its interface.
QUICK: dict[str, dict[str, Any]] = {
    "bananas": {"epochs": 10},
    "bonas": {"epochs": 4},
    "gcn": {"epochs": 4, "width": 8},
    "dngo": {"epochs": 20},
    "bohamiann": {"steps": 200, "burn_in": 100},
}
_CELLS = NodeLabeledSpace(nodes=(2, 5), ops=["a", "b"], max_edges=7)
SPACES: dict[str, SearchSpace] = {
    "edges": nasbench201(),
    "nodes": _CELLS,
    "edges with limits": nasbench201().constrain(
        "nor_conv_3x3 + nor_conv_1x1 <= 3", "sum(cost) <= 9", costs={"cost": {"nor_conv_3x3": 4.0}}
    ),
    "nodes with limits": _CELLS.constrain("a <= 2", "edges <= 6", "depth <= 3"),
}


#: Other packages' optimisers take seconds for a proposal.
SLOW = ("smac", "optuna-gp")
PARAMETERS = [pytest.param(m, marks=pytest.mark.slow if m in SLOW else ()) for m in methods()]


@pytest.fixture(params=PARAMETERS)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    if not available(chosen):
        pytest.skip(f"the package that {chosen} needs is not installed")
    return chosen


def toy_error(graph: LabeledGraph) -> float:
    labels = graph.node_labels or tuple((graph.edge_labels or {}).values())
    return 5.0 + len(graph.edges) + sum(len(label) % 3 for label in labels)


def searched(name: str, space: SearchSpace, evaluations: int, seed: int = 0) -> SearchResult:
    method = make_method(
        name, space, initial=5, seed=seed, evaluations=evaluations, **QUICK.get(name, {})
    )
    return run(method, toy_error, evaluations, own_batch(name))


@pytest.mark.parametrize("kind", SPACES)
def test_never_evaluates_twice_and_stays_in_the_space(name: str, kind: str) -> None:
    space = SPACES[kind]
    result = searched(name, space, 20)
    keys = {space.key(evaluation.graph) for evaluation in result.evaluations}
    assert len(keys) == len(result.evaluations) == 20
    assert all(evaluation.graph in space for evaluation in result.evaluations)


def test_same_seed_gives_the_same_search(name: str) -> None:
    first, second = (searched(name, SPACES["edges"], 15) for _ in range(2))
    assert [e.graph for e in first.evaluations] == [e.graph for e in second.evaluations]


def test_other_seeds_give_other_searches(name: str) -> None:
    first, second = (searched(name, SPACES["edges"], 10, seed) for seed in (0, 1))
    assert [e.graph for e in first.evaluations] != [e.graph for e in second.evaluations]


def test_starts_with_the_common_initial_design(name: str) -> None:
    space = SPACES["edges"]
    asked = make_method(name, space, initial=6, seed=3).ask(6)
    assert [proposal.graph for proposal in asked] == initial_design(space, 6, seed=3)


def test_what_was_told_decides_what_is_asked(name: str) -> None:
    space = SPACES["edges"]
    result = searched(name, space, 15)
    replayed = make_method(name, space, initial=5, evaluations=15, **QUICK.get(name, {}))
    for evaluation in result.evaluations[: -own_batch(name)]:
        replayed.tell(evaluation.graph, evaluation.error)
    asked = [proposal.graph for proposal in replayed.ask(own_batch(name))]
    assert asked == [e.graph for e in result.evaluations[-own_batch(name) :]]


def test_ends_when_the_space_is_used_up(name: str) -> None:
    space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
    result = searched(name, space, 50)
    assert len(result.evaluations) == space.count() == 12


def test_constant_errors_are_survived(name: str) -> None:
    space = SPACES["edges"]
    method = make_method(name, space, initial=5, **QUICK.get(name, {}))
    assert len(run(method, lambda graph: 1.0, 12, own_batch(name)).evaluations) == 12


def test_asking_twice_before_telling_gives_other_graphs(name: str) -> None:
    space = SPACES["edges"]
    method = make_method(name, space, initial=5, **QUICK.get(name, {}))
    for proposal in method.ask(5):
        method.tell(proposal.graph, toy_error(proposal.graph))
    asked = [*method.ask(2), *method.ask(2)]
    assert len({space.key(proposal.graph) for proposal in asked}) == 4


def test_bad_observations_are_refused(name: str) -> None:
    method = make_method(name, SPACES["edges"])
    cell = SPACES["edges"].sample(1, np.random.default_rng(0))[0]
    with pytest.raises(ObservationError, match="finite"):
        method.tell(cell, float("nan"))
    with pytest.raises(GraphError):
        method.tell(LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"]), 1.0)


def test_unknown_method_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean bananas"):
        make_method("banana", SPACES["edges"])


def test_initial_must_be_positive() -> None:
    with pytest.raises(SettingError, match="initial must be at least 1"):
        make_method("random", SPACES["edges"], initial=0)
