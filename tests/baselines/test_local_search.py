from __future__ import annotations

from nasgoat import LabeledGraph, nasbench201
from nasgoat.baselines.local_search import LocalSearch
from nasgoat.baselines.method import Setup

SPACE = nasbench201()


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
