"""Kernels on general graphs against their definitions, GraKeL, and relabelling."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

from nasgoat import FeatureMap, GraphSpace, LabeledGraph, ShortestPathKernel, molecules
from nasgoat.errors import EmptySpaceError
from tests.graph_spaces import DECLARED, graph_spaces
from tests.strategies import generators


def paths(graph: LabeledGraph) -> list[tuple[int, str, str]]:
    """Distance and end labels of every ordered pair that is joined, by networkx."""
    labels = graph.node_labels or ("",) * graph.n
    found = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    return [(d, labels[u], labels[v]) for u in found for v, d in found[u].items()]


def edge_kinds(graph: LabeledGraph) -> list[tuple[str, ...]]:
    labels = graph.node_labels or ("",) * graph.n
    kinds: list[tuple[str, ...]] = [
        (x, labels[u], labels[v]) for (u, v), x in (graph.edge_labels or {}).items()
    ]
    return kinds if graph.directed else [(x, *sorted(ends)) for x, *ends in kinds]


def matches(first: list[object], second: list[object]) -> int:
    return sum(a == b for a, b in product(first, second))


def by_definition(space: GraphSpace, g: LabeledGraph, h: LabeledGraph) -> list[float]:
    k_g = matches([*paths(g)], [*paths(h)]) / (g.n**2 * h.n**2)
    labels = len(space.node_vocabulary)
    k_n = matches([*(g.node_labels or ())], [*(h.node_labels or ())])
    most = [max(space.most_edges(x.n), 1) for x in (g, h)]
    k_e = matches([*edge_kinds(g)], [*edge_kinds(h)]) / (most[0] * most[1])
    return [k_g, k_n / (g.n * h.n * labels) if labels else 0.0, k_e]


@given(graph_spaces() | graph_spaces(2), generators)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_kernels_are_their_definitions(space: GraphSpace, rng: np.random.Generator) -> None:
    try:
        graphs = space.sample(3, rng)
    except EmptySpaceError:
        reject()
    features = FeatureMap(space)
    for g, h in product(graphs, graphs):
        rows = features.rows([g, h])
        blocks = ShortestPathKernel(widths=features.widths).blocks(rows)
        found = [float(block[0] @ block[1]) for block in blocks]
        assert found == pytest.approx(by_definition(space, g, h), abs=1e-12)


@pytest.mark.parametrize("space", DECLARED[:17], ids=lambda space: space.describe())
def test_rows_do_not_depend_on_the_order_of_nodes(space: GraphSpace) -> None:
    rng = np.random.default_rng(0)
    features = FeatureMap(space)
    for graph in space.sample(5, rng):
        other = graph.relabeled(rng.permutation(graph.n).tolist())
        assert np.array_equal(features.rows([graph]), features.rows([other]))


def test_paths_of_molecules_are_those_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    space = molecules()
    graphs = [g for g in space.sample(12, np.random.default_rng(1)) if g.n > 1]
    given = [
        grakel.Graph(
            dict.fromkeys(zip(*np.nonzero(g.adjacency), strict=True), 1),
            node_labels=dict(enumerate(g.node_labels or ())),
        )
        for g in graphs
    ]
    theirs = grakel.ShortestPath(with_labels=True).fit_transform(given)
    theirs = theirs + grakel.VertexHistogram().fit_transform(given)
    features = FeatureMap(space)
    block = ShortestPathKernel(widths=features.widths).blocks(features.rows(graphs))[0]
    scale = np.array([g.n**2 for g in graphs])
    assert block @ block.T * np.outer(scale, scale) == pytest.approx(theirs)
