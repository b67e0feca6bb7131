"""The paper's kernels written out, and GraKeL's, against ours."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from nasgoat import FeatureMap, LabeledGraph, nasbench101, nasbench201
from nasgoat.spaces import SearchSpace
from tests.strategies import generators, spaces


def k_g_written_out(a: LabeledGraph, b: LabeledGraph) -> float:
    """The quadruple sum of (k_g), over reachable pairs, nodes without labels told by index."""
    la, lb = (g.node_labels or tuple(map(str, range(g.n))) for g in (a, b))
    da, db = a.distances(), b.distances()
    total = 0
    for u1, v1, u2, v2 in product(range(a.n), range(a.n), range(b.n), range(b.n)):
        if da[u1, v1] < a.n and db[u2, v2] < b.n:
            total += la[u1] == lb[u2] and da[u1, v1] == db[u2, v2] and la[v1] == lb[v2]
    return total / (a.n**2 * b.n**2)


def k_n_written_out(a: LabeledGraph, b: LabeledGraph, labels: int) -> float:
    same = sum(x == y for x in a.node_labels or () for y in b.node_labels or ())
    return same / (a.n * b.n * labels)


def k_e_written_out(a: LabeledGraph, b: LabeledGraph) -> float:
    ea, eb = a.edge_labels or {}, b.edge_labels or {}
    return 2 * sum(eb.get(edge) == label for edge, label in ea.items()) / (a.n * (a.n - 1))


def blocks(space: SearchSpace, graphs: list[LabeledGraph]) -> list[NDArray[np.float64]]:
    features = FeatureMap(space)
    split = np.cumsum(features.widths)[:2]
    return [block @ block.T for block in np.hsplit(features.rows(graphs), split)]


@given(spaces, generators)
@settings(max_examples=30)
def test_dot_products_are_the_kernels_written_out(
    space: SearchSpace, rng: np.random.Generator
) -> None:
    graphs = space.sample(3, rng)
    g, n, e = blocks(space, graphs)
    for (i, a), (j, b) in product(enumerate(graphs), enumerate(graphs)):
        assert g[i, j] == pytest.approx(k_g_written_out(a, b))
        assert n[i, j] == pytest.approx(k_n_written_out(a, b, len(space.node_vocabulary) or 1))
        assert e[i, j] == pytest.approx(k_e_written_out(a, b))


def test_path_kernel_is_shortest_path_plus_vertex_histogram_of_grakel() -> None:
    grakel = pytest.importorskip("grakel", reason="needs the extra [compare]")
    graphs = nasbench101().sample(12, np.random.default_rng(0))
    wrapped = [
        grakel.Graph(
            g.adjacency.astype(int),
            node_labels=dict(enumerate(g.node_labels or ())),
        )
        for g in graphs
    ]
    paths = grakel.ShortestPath(normalize=False, with_labels=True).fit_transform(wrapped)
    histogram = grakel.VertexHistogram(normalize=False).fit_transform(wrapped)
    sizes = np.array([g.n for g in graphs])
    ours = blocks(nasbench101(), graphs)[0] * np.outer(sizes**2, sizes**2)
    assert ours == pytest.approx(paths + np.asarray(histogram))


def test_isomorphic_graphs_have_equal_rows() -> None:
    rng = np.random.default_rng(1)
    features = FeatureMap(nasbench101())
    for graph in nasbench101().sample(20, rng):
        other = graph.relabeled(rng.permutation(graph.n).tolist())
        assert np.array_equal(features.rows([graph]), features.rows([other]))


def test_features_have_the_documented_number_of_columns() -> None:
    assert FeatureMap(nasbench101()).widths == (77, 5, 0)
    assert FeatureMap(nasbench201()).widths == (14, 0, 24)
