"""Proof by counting: SCIP counts the feasible points of each encoding exactly."""

from collections.abc import Callable

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, NodeLabeledSpace, nasbench201
from nasgoat.formulations import TaggedModel, graph_encoding
from nasgoat.formulations.cell_domains import build_compact_domain, restrict_to_paper_domain
from nasgoat.formulations.graph_encoding import (
    restrict_acyclic,
    restrict_strongly_connected,
    restrict_undirected,
)
from nasgoat.kernels import FeatureMap
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.spaces import CellSpace, DartsSpace

Restriction = Callable[[TaggedModel], None]
OPS = ["conv3x3", "conv1x1", "maxpool3x3"]


def count(n: int, *restrictions: Restriction, smallest: int | None = None) -> int:
    rows = graph_encoding(n, smallest)
    for restrict in restrictions:
        restrict(rows)
    return ScipModel(rows).count()


def paper_count(space: CellSpace, n: int) -> int:
    rows = graph_encoding(n)
    restrict_to_paper_domain(rows, space)
    return ScipModel(rows).count()


def compact_count(space: CellSpace, n: int) -> int:
    rows = TaggedModel(n)
    build_compact_domain(rows, space, FeatureMap(space))
    return ScipModel(rows).count()


@pytest.mark.parametrize(("n", "graphs"), [(2, 4), (3, 64)])
def test_the_encoding_holds_every_digraph_once(n: int, graphs: int) -> None:
    assert count(n) == graphs


@pytest.mark.parametrize(("n", "graphs"), [(2, 5), (3, 69)])
def test_the_encoding_holds_every_digraph_of_every_size_once(n: int, graphs: int) -> None:
    assert count(n, smallest=1) == graphs


@pytest.mark.parametrize(("n", "graphs"), [(2, 2), (3, 8), (4, 64)])
def test_undirected_graphs(n: int, graphs: int) -> None:
    assert count(n, restrict_undirected) == graphs


@pytest.mark.parametrize(("n", "graphs"), [(2, 1), (3, 4), (4, 38)])
def test_undirected_connected_graphs(n: int, graphs: int) -> None:
    assert count(n, restrict_undirected, restrict_strongly_connected) == graphs


@pytest.mark.parametrize(("n", "graphs"), [(2, 1), (3, 18)])
def test_strongly_connected_digraphs(n: int, graphs: int) -> None:
    assert count(n, restrict_strongly_connected) == graphs


@pytest.mark.parametrize(("n", "graphs"), [(2, 3), (3, 25), (4, 543)])
def test_acyclic_digraphs(n: int, graphs: int) -> None:
    assert count(n, restrict_acyclic) == graphs


@pytest.mark.slow
def test_all_digraphs_on_four_nodes() -> None:
    assert count(4) == 4096
    assert count(4, smallest=1) == 4165
    assert count(4, restrict_strongly_connected) == 1606


@pytest.mark.slow
def test_undirected_and_acyclic_graphs_on_five_nodes() -> None:
    assert count(5, restrict_undirected) == 1024
    assert count(5, restrict_undirected, restrict_strongly_connected) == 728
    assert count(5, restrict_acyclic) == 29281


@pytest.mark.parametrize(("n", "cells"), [(3, 6), (4, 90)])
def test_nasbench101_cells_by_size(n: int, cells: int) -> None:
    space = NodeLabeledSpace(nodes=(n, n), ops=OPS, max_edges=9)
    assert paper_count(space, n) == cells
    assert compact_count(space, n) == cells


@pytest.mark.slow
def test_nasbench101_cells_of_five_nodes() -> None:
    space = NodeLabeledSpace(nodes=(5, 5), ops=OPS, max_edges=9)
    assert paper_count(space, 5) == 3267
    assert compact_count(space, 5) == 3267


def test_edge_labelled_cells() -> None:
    space = EdgeLabeledSpace(nodes=4, ops=["conv"])
    assert paper_count(space, 4) == compact_count(space, 4) == space.count()
    everything = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"], connected=False)
    assert paper_count(everything, 3) == compact_count(everything, 3) == 27


def test_darts_cells() -> None:
    space = DartsSpace(nodes=4, ops=["conv", "skip"])
    assert paper_count(space, 4) == compact_count(space, 4) == space.count() == 48


@pytest.mark.slow
def test_nasbench201_has_9280_cells() -> None:
    assert paper_count(nasbench201(), 4) == 9280
    assert compact_count(nasbench201(), 4) == 9280


def forward_structures(n: int, edges: int) -> int:
    """Upper-triangular adjacency matrices with every node on a path from first to last, by bits."""
    pairs = [(u, v) for v in range(n) for u in range(v)]
    codes = np.arange(2 ** len(pairs), dtype=np.int64)
    codes = codes[np.bitwise_count(codes) <= edges]
    edge = {pair: (codes >> i & 1).astype(bool) for i, pair in enumerate(pairs)}
    reached = [np.ones(len(codes), dtype=bool)]
    for v in range(1, n):
        reached.append(np.logical_or.reduce([reached[u] & edge[u, v] for u in range(v)]))
    reaches = {n - 1: np.ones(len(codes), dtype=bool)}
    for u in reversed(range(n - 1)):
        later = range(u + 1, n)
        reaches[u] = np.logical_or.reduce([edge[u, v] & reaches[v] for v in later])
    return int(np.logical_and.reduce([reached[v] & reaches[v] for v in range(n)]).sum())


@pytest.mark.parametrize(("n", "cells"), [(3, 6), (4, 90), (5, 3267), (6, 125_145), (7, 1_164_699)])
def test_nasbench101_cells_by_size_without_a_solver(n: int, cells: int) -> None:
    assert forward_structures(n, 9) * 3 ** (n - 2) == cells


@pytest.mark.slow
def test_scip_counts_the_structures_of_six_nodes() -> None:
    space = NodeLabeledSpace(nodes=(6, 6), ops=["conv"], max_edges=9)
    assert compact_count(space, 6) == forward_structures(6, 9) == 1545
