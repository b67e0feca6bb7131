from __future__ import annotations

import math

import numpy as np
import pytest

from nasgoat import (
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    LabeledGraph,
    LowerConfidenceBound,
    NodeLabeledSpace,
)
from nasgoat.acquisition import Certificate, Status
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.k_best import KBest, Scored
from nasgoat.acquisition.local_search import descend
from nasgoat.errors import SettingError, SurrogateError

SPACE = NodeLabeledSpace((2, 4), ["conv", "pool"])
CELLS = [graph for batch in SPACE.enumerate() for graph in batch]


@pytest.fixture(scope="module")
def lcb() -> LowerConfidenceBound:
    rng = np.random.default_rng(1)
    seen = SPACE.sample(6, rng)
    return LowerConfidenceBound(3.0, GraphGP(SPACE).fit(seen, rng.standard_normal(6).tolist()))


def _keys(best: KBest) -> set[bytes]:
    return {SPACE.key(scored.graph) for scored in best.found}


def test_the_lowest_values_are_kept_without_excluded_graphs(lcb: LowerConfidenceBound) -> None:
    seen = {SPACE.key(graph) for graph in CELLS[:6]}
    best = KBest(SPACE, lcb, 2, seen, gap=0.1)
    assert best.cutoff == math.inf
    values = best.add(CELLS)
    kept = sorted(v for g, v in zip(CELLS, values, strict=True) if SPACE.key(g) not in seen)[:2]
    assert [scored.value for scored in best.found] == pytest.approx(kept)
    assert best.cutoff == pytest.approx(kept[1] - 0.1 * abs(kept[1]))
    assert not _keys(best) & seen


def test_a_graph_enters_once_whatever_the_order_of_its_nodes(lcb: LowerConfidenceBound) -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    adjacency = np.zeros((4, 4), dtype=bool)
    adjacency[tuple(zip(*edges, strict=True))] = True
    labels = [("input", "conv", "pool", "output"), ("input", "pool", "conv", "output")]
    twins = [LabeledGraph(adjacency, names) for names in labels]
    assert SPACE.key(twins[0]) == SPACE.key(twins[1])
    best = KBest(SPACE, lcb, 5)
    best.add(twins)
    best.offer(twins[1], -100.0)
    assert len(best.found) == 1


def test_of_equal_values_the_first_comes_first_and_stays(lcb: LowerConfidenceBound) -> None:
    best = KBest(SPACE, lcb, 2)
    for graph, value in zip(CELLS[:4], [1.0, 1.0, 1.0, 0.5], strict=True):
        best.offer(graph, value)
    assert [scored.graph for scored in best.found] == [CELLS[3], CELLS[0]]


def test_graphs_outside_the_limits_are_not_kept(lcb: LowerConfidenceBound) -> None:
    limited = SPACE.constrain("conv <= 0")
    best = KBest(limited, lcb, len(CELLS))
    for graph in CELLS:
        best.offer(graph, 0.0)
    assert {limited.key(scored.graph) for scored in best.found} == {
        limited.key(graph) for batch in limited.enumerate() for graph in batch
    }


def test_every_graph_that_enters_is_told(lcb: LowerConfidenceBound) -> None:
    told: list[float] = []
    best = KBest(SPACE, lcb, 1, on_better=lambda graph, value: told.append(value))
    for graph, value in zip(CELLS[:4], [2.0, 3.0, 1.0, 2.0], strict=True):
        best.offer(graph, value)
    assert told == [2.0, 1.0]


def test_the_first_of_an_ascending_list_are_taken(lcb: LowerConfidenceBound) -> None:
    best = KBest(SPACE, lcb, 2, {SPACE.key(CELLS[0])})
    best.take_first(Scored(graph, float(i)) for i, graph in enumerate(CELLS))
    assert [scored.value for scored in best.found] == [1.0, 2.0]


def test_a_value_that_the_surrogate_does_not_confirm_is_an_error(
    lcb: LowerConfidenceBound,
) -> None:
    true = lcb.score(CELLS[:2]).tolist()
    best = KBest(SPACE, lcb, 2)
    best.offer(CELLS[0], true[0] + 1e-10)  # rounding
    best.rescore()
    assert best.found[0].value == true[0]
    best.offer(CELLS[1], true[1] + 1e-3)
    with pytest.raises(SurrogateError, match="must agree on a graph's value"):
        best.rescore()


def test_branch_and_bound_does_not_hide_a_wrong_value(
    lcb: LowerConfidenceBound, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = KBest.offer
    monkeypatch.setattr(KBest, "offer", lambda self, graph, value: offer(self, graph, value + 1e-3))
    with pytest.raises(SurrogateError, match="must agree on a graph's value"):
        BranchAndBound(SPACE).optimize(lcb, k=2)


def test_a_pool_without_graphs_has_the_certificate_it_is_given(lcb: LowerConfidenceBound) -> None:
    none = Certificate(Status.EXHAUSTED, seconds=1.0)
    pool = KBest(SPACE, lcb, 2).pool(lambda value: Certificate(Status.OPTIMAL, value), none)
    assert (len(pool), pool.certificate) == (0, none)


def test_at_least_one_graph_must_be_asked_for(lcb: LowerConfidenceBound) -> None:
    with pytest.raises(SettingError, match="at least 1, got 0"):
        KBest(EdgeLabeledSpace(3, ["a"]), lcb, 0)


def test_local_search_ends_with_the_only_graph_of_a_space() -> None:
    space = DartsSpace(nodes=3, ops=["a"])
    (cell,) = space.sample(1, np.random.default_rng(0))
    best = KBest(space, LowerConfidenceBound(3.0, GraphGP(space).fit([cell], [1.0])), 2)
    descend(best, np.random.default_rng(0))
    assert [scored.graph for scored in best.found] == [cell]
