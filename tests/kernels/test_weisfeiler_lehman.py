from __future__ import annotations

import numpy as np
import pytest

from nasgoat import LabeledGraph, nasbench101, nasbench201
from nasgoat.errors import GraphError, UnknownNameError
from nasgoat.graphs.edges_as_nodes import edges_as_nodes
from nasgoat.kernels.weisfeiler_lehman import wl_gram, wl_histograms


def cells() -> list[LabeledGraph]:
    rng = np.random.default_rng(0)
    nodes = nasbench101().sample(15, rng)
    edges = [edges_as_nodes(cell, "skip_connect") for cell in nasbench201().sample(15, rng)]
    return [*nodes, *edges]


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_dot_product_is_that_of_grakel(depth: int) -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs = cells()
    networks = [graph.to_networkx() for graph in graphs]
    parsed = list(grakel.graph_from_networkx(networks, node_labels_tag="label"))
    kernel = grakel.VertexHistogram(normalize=False)
    if depth:
        kernel = grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=grakel.VertexHistogram)
    expected = kernel.fit_transform(parsed)
    np.testing.assert_allclose(wl_gram(wl_histograms(graphs, depth), normalize=False), expected)


def test_intersection_is_that_of_a_plain_loop() -> None:
    levels = wl_histograms(cells(), 2)
    gram = wl_gram(levels, "intersection", normalize=False)
    for i, j in [(0, 0), (0, 5), (3, 20), (29, 28)]:
        assert gram[i, j] == sum(np.minimum(level[i], level[j]).sum() for level in levels)


def test_normalised_matrix_has_a_unit_diagonal() -> None:
    gram = wl_gram(wl_histograms(cells(), 2), "intersection")
    np.testing.assert_allclose(gram.diagonal(), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-9  # positive semidefinite up to rounding


def test_graphs_without_node_labels_are_refused() -> None:
    with pytest.raises(GraphError, match="labels on its nodes"):
        wl_histograms([nasbench201().sample(1, np.random.default_rng(0))[0]], 1)
    with pytest.raises(UnknownNameError, match="assignment"):
        wl_gram([], "cosine")
