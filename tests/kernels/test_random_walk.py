from __future__ import annotations

import numpy as np
import pytest

from nasgoat import LabeledGraph, nasbench101, nasbench201
from nasgoat.errors import GraphError, SettingError
from nasgoat.graphs.edges_as_nodes import edges_as_nodes
from nasgoat.kernels.random_walk import walk_gram, walk_histograms


def cells() -> list[LabeledGraph]:
    rng = np.random.default_rng(0)
    nodes = nasbench101().sample(8, rng)
    return [*nodes, *(edges_as_nodes(c, "skip_connect") for c in nasbench201().sample(8, rng))]


def test_walks_of_the_product_graph_are_counted() -> None:
    graphs = cells()[:6]
    found = walk_gram(walk_histograms(graphs), 0.3, normalize=False)
    for i, one in enumerate(graphs):
        for j, two in enumerate(graphs):
            same = np.equal.outer(np.array(one.node_labels), np.array(two.node_labels)).ravel()
            product = np.kron(one.adjacency, two.adjacency)[np.ix_(same, same)]
            walks = np.linalg.inv(np.eye(same.sum()) - 0.3 * product).sum()
            assert found[i, j] == pytest.approx(walks)


def test_it_can_be_the_labelled_random_walk_kernel_of_grakel() -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs = cells()
    networks = [graph.to_networkx() for graph in graphs]
    parsed = list(grakel.graph_from_networkx(networks, node_labels_tag="label"))
    kernel = grakel.RandomWalkLabeled(lamda=0.1, method_type="baseline", kernel_type="geometric")
    expected = kernel.fit_transform(parsed)
    found = walk_gram(walk_histograms(graphs), 0.1, normalize=False, as_grakel=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_normalised_matrix_has_a_unit_diagonal() -> None:
    gram = walk_gram(walk_histograms(cells()))
    np.testing.assert_allclose(gram.diagonal(), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-9  # positive semidefinite up to rounding


def test_graphs_that_it_can_not_take_are_refused() -> None:
    with pytest.raises(GraphError, match="labels on its nodes"):
        walk_histograms(nasbench201().sample(1, np.random.default_rng(0)))
    cycle = LabeledGraph.from_edges(2, [(0, 1), (1, 0)], ["a", "b"])
    with pytest.raises(GraphError, match="must have no cycle"):
        walk_histograms([cycle])
    with pytest.raises(SettingError, match="decay"):
        walk_gram([], 0.0)
