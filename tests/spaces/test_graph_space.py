"""Declared graph spaces: enumeration, draws and moves against an independent definition."""

from math import factorial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from nasgoat import GraphSpace, LabeledGraph, molecules, nasbench_graph
from nasgoat.errors import EmptySpaceError, GraphError, NasgoatError
from nasgoat.graphs import canonical
from tests.graph_spaces import DECLARED, belongs, graph_spaces, labelled_graphs
from tests.strategies import generators


def accepted(space: GraphSpace) -> list[LabeledGraph]:
    graphs = [g for n in space.sizes for g in labelled_graphs(space, n)]
    inside = [graph for graph in graphs if belongs(space, graph)]
    rng = np.random.default_rng(0)
    for graph in [graphs[i] for i in rng.integers(len(graphs), size=40)] + inside[:60]:
        assert (graph in space) == belongs(space, graph), graph
    return inside


@pytest.mark.parametrize("space", DECLARED, ids=lambda space: space.describe())
def test_enumeration_is_what_the_declaration_accepts(space: GraphSpace) -> None:
    listed = [space.key(graph) for batch in space.enumerate() for graph in batch]
    wanted = {space.key(graph) for graph in accepted(space)}
    assert len(listed) == len(set(listed)) == space.count()
    assert set(listed) == wanted
    assert len(wanted) <= space.size_bound()
    assert wanted


@given(graph_spaces(largest=2) | graph_spaces(largest=3), generators)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_draws_and_moves_stay_inside(space: GraphSpace, rng: np.random.Generator) -> None:
    total = space.count()
    if total == 0:
        with pytest.raises(EmptySpaceError):
            space.sample(1, rng)
        return
    graphs = space.sample(3, rng)
    assert len({space.key(graph) for graph in graphs}) == len(graphs) == min(3, total)
    mutant = space.mutate(graphs[0], rng)
    near = space.neighbours(graphs[0])
    assert all(belongs(space, graph) for graph in [*graphs, mutant, *near])
    assert (space.key(mutant) == space.key(graphs[0])) == (total == 1)
    assert len({space.key(graph) for graph in [graphs[0], *near]}) == len(near) + 1


def labelled_count(space: GraphSpace) -> int:
    """Labelled graphs: n! over the number of automorphisms for each graph of the enumeration."""
    total = 0
    for batch in space.enumerate():
        for matrix in batch.adjacency:
            group = canonical.list_automorphisms(matrix, [set(range(len(matrix)))], space.directed)
            total += factorial(len(matrix)) // len(group)
    return total


@pytest.mark.parametrize(
    ("direction", "connectivity", "known"),
    [
        ("undirected", "connected", [1, 1, 4, 38, 728]),
        ("acyclic", "none", [1, 3, 25, 543, 29281]),
        ("directed", "strong", [1, 1, 18, 1606]),
    ],
)
def test_known_numbers_of_labelled_graphs(
    direction: str, connectivity: str, known: list[int]
) -> None:
    for n, number in enumerate(known, start=1):
        space = GraphSpace(n, direction=direction, connectivity=connectivity)
        assert labelled_count(space) == number


@pytest.mark.slow
def test_565080_strongly_connected_digraphs_on_five_nodes() -> None:
    assert labelled_count(GraphSpace(5, connectivity="strong")) == 565080


def test_presets_have_their_sizes() -> None:
    assert nasbench_graph().count() == 35919  # nine trees of four operations, nine choices each
    space = molecules()
    assert [space.with_nodes(n).count() for n in range(1, 6)] == [4, 19, 94, 621, 4715]


def test_a_molecule_keeps_to_valences() -> None:
    edges = [(0, 1), (0, 2)]
    labels = ["C", "O", "O"]
    dioxide = LabeledGraph.from_edges(3, edges, labels, ["double", "double"], directed=False)
    assert dioxide in molecules()
    wrong = LabeledGraph.from_edges(3, edges, labels, ["triple", "single"], directed=False)
    with pytest.raises(GraphError, match="as many edges at every node as its label allows"):
        molecules().check(wrong)


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ({"nodes": 0}, "nodes must be from 1"),
        ({"nodes": (4, 3)}, "smallest first"),
        ({"nodes": 3, "direction": "sideways"}, "direction must be one of"),
        ({"nodes": 3, "connectivity": "strongly"}, "did you mean strong"),
        ({"nodes": 3, "connectivity": "paths"}, "must come with sources or sinks"),
        ({"nodes": 3, "min_edges": 7, "direction": "undirected"}, "min_edges must be at most 3"),
        ({"nodes": 3, "max_edges": -1}, "max_edges must be"),
        ({"nodes": 2, "sources": 2, "sinks": 1}, "at most the 2 nodes"),
        ({"nodes": 3, "direction": "undirected", "sources": 1}, "no direction"),
        ({"nodes": 3, "degree": {"*": 1}}, "degree must not be given"),
        ({"nodes": 3, "in_degree": {"C": 1}}, "a label of in_degree"),
        ({"nodes": 3, "in_degree": {"*": (3, 1)}}, "smallest first"),
        ({"nodes": 3, "edge_ops": ["a"], "edge_weights": {"b": 1}}, "edge_weights"),
        ({"nodes": 3, "edge_ops": ["a"], "edge_weights": {"a": 0}}, "positive"),
        ({"nodes": 3, "fixed": {"edge": []}}, "did you mean edges"),
        ({"nodes": 3, "fixed": {"edges": [[0, 5]]}}, "nodes that always exist"),
        ({"nodes": 3, "fixed": {"edges": [[0]]}}, "must be [u, v]"),
        ({"nodes": 3, "fixed": {"edges": [[0, 1]], "not_edges": [[0, 1]]}}, "demand and forbid"),
        (
            {"nodes": 3, "node_ops": ["a"], "fixed": {"not_labels": {0: "a"}}},
            "leave node 0",
        ),
    ],
)
def test_contradictory_declarations_are_refused(declaration: dict[str, object], said: str) -> None:
    with pytest.raises(NasgoatError) as caught:
        GraphSpace(**declaration)  # type: ignore[arg-type]
    assert said in str(caught.value)
