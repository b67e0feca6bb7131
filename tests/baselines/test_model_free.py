from __future__ import annotations

import pytest

from nasgoat import LabeledGraph, nasbench201
from nasgoat.baselines import Setup
from nasgoat.baselines.model_free import Evolution, LocalSearch
from nasgoat.errors import UnknownNameError

SPACE = nasbench201()


def told(method: Evolution, errors: list[float]) -> None:
    for error in errors:
        method.tell(method.ask(1)[0].graph, error)


def near(method: Evolution, parent: int, child: int) -> bool:
    """Whether two observations differ in few places: a mutation changes one on average."""
    digits = [SPACE.digits(graph) for graph, _ in method.observations]
    return int((digits[parent] != digits[child]).sum()) <= 3


def test_a_whole_tournament_mutates_the_best() -> None:
    method = Evolution(Setup(SPACE, initial=5), tournament=200)
    told(method, [5.0, 4.0, 1.0, 3.0, 2.0, 9.0])
    assert near(method, 2, 5)


def test_the_oldest_leaves_if_asked_to() -> None:
    method = Evolution(Setup(SPACE, initial=4), population=2, tournament=50, remove="oldest")
    told(method, [1.0, 2.0, 9.0, 8.0, 7.0])
    # the population is the last two, of which observation 3 is the better
    assert near(method, 3, 4)


def test_removal_must_be_known() -> None:
    with pytest.raises(UnknownNameError, match="remove must be one of oldest, worst"):
        Evolution(Setup(SPACE), remove="youngest")


def digit_sum(graph: LabeledGraph) -> float:
    return float(SPACE.digits(graph).sum())


def neighbour_keys(graph: LabeledGraph) -> set[bytes]:
    return {SPACE.key(neighbour) for neighbour in SPACE.neighbours(graph)}


def test_moves_at_the_first_improvement() -> None:
    method = LocalSearch(Setup(SPACE, initial=3))
    for _ in range(12):
        graph = method.ask(1)[0].graph
        before = min((error for _, error in method.observations), default=1e9)
        method.tell(graph, digit_sum(graph))
        if digit_sum(graph) < before and len(method.observations) > 3:
            assert SPACE.key(method.ask(1)[0].graph) in neighbour_keys(graph)
            return
    raise AssertionError("twelve steps must improve once on so smooth an objective")


def test_restarts_at_a_local_minimum() -> None:
    method = LocalSearch(Setup(SPACE, initial=2))
    design = [proposal.graph for proposal in method.ask(2)]
    method.tell(design[0], 1.0)
    method.tell(design[1], 2.0)
    around = neighbour_keys(design[0])
    expected = len(around - {SPACE.key(design[1])})
    for _ in range(expected):
        graph = method.ask(1)[0].graph
        assert SPACE.key(graph) in around
        method.tell(graph, 5.0)
    restart = method.ask(2)
    assert not {SPACE.key(proposal.graph) for proposal in restart} & around
