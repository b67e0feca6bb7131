from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nasgoat import LabeledGraph, nasbench101, nasbench201
from nasgoat.errors import GraphError, SettingError, UnknownNameError
from nasgoat.graphs.conversions import turn_edges_into_nodes
from nasgoat.kernels.histogram_kernels import (
    compute_wl_gram,
    compute_wl_histograms,
    walk_gram,
    walk_histograms,
)


def cells(count: int) -> list[LabeledGraph]:
    rng = np.random.default_rng(0)
    nodes = nasbench101().sample(count, rng)
    return [
        *nodes,
        *(turn_edges_into_nodes(c, "skip_connect") for c in nasbench201().sample(count, rng)),
    ]


def by_grakel(kernel: Any, graphs: list[LabeledGraph]) -> np.ndarray:
    """The kernel matrix that GraKeL computes."""
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    networks = [graph.to_networkx() for graph in graphs]
    parsed = list(grakel.graph_from_networkx(networks, node_labels_tag="label"))
    return np.asarray(kernel.fit_transform(parsed))


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_dot_product_is_that_of_grakel(depth: int) -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs = cells(15)
    kernel = grakel.VertexHistogram(normalize=False)
    if depth:
        kernel = grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=grakel.VertexHistogram)
    found = compute_wl_gram(compute_wl_histograms(graphs, depth), normalize=False)
    np.testing.assert_allclose(found, by_grakel(kernel, graphs))


def test_intersection_is_that_of_a_plain_loop() -> None:
    levels = compute_wl_histograms(cells(15), 2)
    gram = compute_wl_gram(levels, "intersection", normalize=False)
    for i, j in [(0, 0), (0, 5), (3, 20), (29, 28)]:
        assert gram[i, j] == sum(np.minimum(level[i], level[j]).sum() for level in levels)


@pytest.mark.parametrize(
    "gram",
    [
        compute_wl_gram(compute_wl_histograms(cells(15), 2), "intersection"),
        walk_gram(walk_histograms(cells(8))),
    ],
    ids=["subtrees", "walks"],
)
def test_normalised_matrix_has_a_unit_diagonal(gram: np.ndarray) -> None:
    np.testing.assert_allclose(gram.diagonal(), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-9  # positive semidefinite up to rounding


def test_graphs_without_node_labels_are_refused() -> None:
    with pytest.raises(GraphError, match="labels on its nodes"):
        compute_wl_histograms([nasbench201().sample(1, np.random.default_rng(0))[0]], 1)
    with pytest.raises(UnknownNameError, match="assignment"):
        compute_wl_gram([], "cosine")


def test_walks_of_the_product_graph_are_counted() -> None:
    graphs = cells(8)[:6]
    found = walk_gram(walk_histograms(graphs), 0.3, normalize=False)
    for i, one in enumerate(graphs):
        for j, two in enumerate(graphs):
            same = np.equal.outer(np.array(one.node_labels), np.array(two.node_labels)).ravel()
            product = np.kron(one.adjacency, two.adjacency)[np.ix_(same, same)]
            walks = np.linalg.inv(np.eye(same.sum()) - 0.3 * product).sum()
            assert found[i, j] == pytest.approx(walks)


def test_it_can_be_the_labelled_random_walk_kernel_of_grakel() -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs = cells(8)
    kernel = grakel.RandomWalkLabeled(lamda=0.1, method_type="baseline", kernel_type="geometric")
    found = walk_gram(walk_histograms(graphs), 0.1, normalize=False, as_grakel=True)
    np.testing.assert_allclose(found, by_grakel(kernel, graphs), rtol=1e-9)


def test_graphs_that_random_walks_can_not_take_are_refused() -> None:
    with pytest.raises(GraphError, match="labels on its nodes"):
        walk_histograms(nasbench201().sample(1, np.random.default_rng(0)))
    cycle = LabeledGraph.from_edges(2, [(0, 1), (1, 0)], ["a", "b"])
    with pytest.raises(GraphError, match="must have no cycle"):
        walk_histograms([cycle])
    with pytest.raises(SettingError, match="decay"):
        walk_gram([], 0.0)
