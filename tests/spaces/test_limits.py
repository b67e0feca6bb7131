"""Limits hold in check, draws, mutations, neighbours, enumeration and counts of every space."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from nasgoat import DartsSpace, EdgeLabeledSpace, LabeledGraph, NodeLabeledSpace, darts
from nasgoat.benchmarks.nasbench_graph import ListedTreeSpace
from nasgoat.errors import EmptySpaceError, GraphError
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from tests.strategies import generators, limited_spaces

TREES = ListedTreeSpace(
    ["a", "b"], [((0, 1), (i, j)) for i in (0, 1) for j in (0, 1)] + [((0, 0), (0, 1))]
)
SPACES = [
    NodeLabeledSpace((2, 5), ["a", "b"], max_edges=7).constrain("a <= 1", "depth >= 2"),
    NodeLabeledSpace((2, 5), ["a", "b"]).constrain("a == b", "edges >= 5"),
    EdgeLabeledSpace(4, ["a", "b"]).constrain("2*a + b <= 7", "edges == 5"),
    EdgeLabeledSpace(3, ["a", "b"], connected=False).constrain("depth <= 1", "a >= 1"),
    DartsSpace(5, ["a", "b"]).constrain("depth == 2", "a - b >= 0"),
    TREES.constrain("a >= 1", "edges <= 3"),
]


def by_definition(limit: Limit, graph: LabeledGraph, ends: list[tuple[int, int]]) -> float:
    """The total of a limit, added up node by node and edge by edge."""
    d = graph.distances()
    total = limit.nodes * graph.n + limit.edges * len(graph.edges)
    total += sum(limit.node_ops.get(label, 0.0) for label in graph.node_labels or ())
    total += sum(limit.edge_ops.get(x, 0.0) for x in (graph.edge_labels or {}).values())
    reached = [int(d[u, v]) for u, v in ends if d[u, v] < graph.n]
    return float(total + limit.depth * max(reached, default=0))


def ends_of(space: SearchSpace, graph: LabeledGraph) -> list[tuple[int, int]]:
    if isinstance(space, DartsSpace):
        inner = range(space.inputs, graph.n)
        return [(u, v) for u in range(space.inputs) for v in inner]
    if graph.node_labels is None:
        return [(0, graph.n - 1)]
    return [(graph.node_labels.index("input"), graph.node_labels.index("output"))]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.describe())
def test_a_limited_space_is_the_filtered_one(space: SearchSpace) -> None:
    everything = [graph for batch in space.with_limits(()).enumerate() for graph in batch]
    wanted = set()
    for graph in everything:
        sums = [by_definition(limit, graph, ends_of(space, graph)) for limit in space.limits]
        holds = all(limit.holds(total) for limit, total in zip(space.limits, sums, strict=True))
        assert (graph in space) == holds
        if holds:
            wanted.add(space.key(graph))
    listed = [space.key(graph) for batch in space.enumerate() for graph in batch]
    assert len(listed) == space.count()
    assert set(listed) == wanted
    assert 0 < len(wanted) < len(everything)


@given(limited_spaces(), generators)
@settings(max_examples=40)
def test_no_draw_mutation_or_neighbour_breaks_a_limit(
    space: SearchSpace, rng: np.random.Generator
) -> None:
    total = sum(len(batch) for batch in space.enumerate())
    assert space.count() == total
    if total == 0:
        with pytest.raises(EmptySpaceError, match="at least one graph"):
            space.sample(1, rng)
        return
    graphs = space.sample(4, rng)
    assert len(graphs) == min(4, total)
    assert len({space.key(graph) for graph in graphs}) == len(graphs)
    graph = graphs[0]
    moved = [space.mutate(graph, rng), *space.variants(graph, 3, rng, 2), *space.neighbours(graph)]
    assert all(g in space for g in [*graphs, *moved])
    if total > 1:
        assert space.key(moved[0]) != space.key(graph)


def test_tight_limits_on_a_billion_cells_are_drawn_and_counted() -> None:
    ops = "skip_connect == 7"
    space = darts().constrain(ops, "depth == 4")
    cells = space.sample(20, np.random.default_rng(0))
    assert len(cells) == 20
    assert all(cell in space for cell in cells)
    everything = darts().constrain(ops)
    assert everything.count() == 180 * 8 * 6  # one of eight edges has one of six operations


def test_the_message_names_the_limit_and_the_total() -> None:
    space = NodeLabeledSpace(3, ["conv"]).constrain({"no room": "conv <= 0"})
    cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
    with pytest.raises(GraphError, match=r"must satisfy no room: conv <= 0, got 1"):
        space.check(cell)


def test_limits_change_the_fingerprint_and_survive_pickling() -> None:
    plain = NodeLabeledSpace((2, 4), ["a", "b"])
    space = plain.constrain("a <= 1")
    assert space.fingerprint() != plain.fingerprint()
    assert space.with_limits(()).fingerprint() == plain.fingerprint()
    assert pickle.loads(pickle.dumps(space)) == space  # noqa: S301
    assert space.with_nodes(3).limits == space.limits
    assert hash(space) != hash(plain)


def test_sums_of_costs_are_compared_with_room_for_rounding() -> None:
    costs = {"ms": {"a": 0.1, "b": 0.2}}
    space = NodeLabeledSpace(4, ["a", "b"]).constrain("sum(ms) <= 0.3", costs=costs)
    labels = {graph.node_labels for batch in space.enumerate() for graph in batch}
    assert ("input", "a", "b", "output") in labels
    assert ("input", "b", "b", "output") not in labels


@pytest.mark.parametrize("asked", [30, 6_000])
def test_a_space_used_up_is_given_whole_however_rare_its_graphs_are(asked: int) -> None:
    space = NodeLabeledSpace((2, 6), ["a", "b", "c"], max_edges=8).constrain("a == 2", "b == 2")
    everything = {space.key(graph) for batch in space.enumerate() for graph in batch}
    drawn = [space.key(graph) for graph in space.sample(asked, np.random.default_rng(0))]
    assert len(drawn) == len(set(drawn)) == min(asked, len(everything))
    assert set(drawn) <= everything
    rest = space.sample(asked, np.random.default_rng(1), set(drawn[:5]))
    assert everything - {space.key(graph) for graph in rest} >= set(drawn[:5])


def test_costs_by_place_do_not_let_a_large_space_be_counted() -> None:
    space = EdgeLabeledSpace(6, ["a", "b", "c"])
    limited = space.constrain("sum(time) <= 3", costs={"time": {"0>1": {"a": 1.0}, "b": 1.0}})
    assert limited.size() == (space.size_bound(), False)
