from __future__ import annotations

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace, nasbench101, nasbench201
from nasgoat.baselines.encodings import encode_adjacency, encode_paths

CONV3, CONV1, POOL = "conv3x3", "conv1x1", "maxpool3x3"


def cell(edges: list[tuple[int, int]], *inner: str) -> LabeledGraph:
    return LabeledGraph.from_edges(len(inner) + 2, edges, ["input", *inner, "output"])


def test_paths_of_a_node_labelled_cell_by_hand() -> None:
    # input > conv3 > conv1 > output, input > conv3 > output, input > output
    graph = cell([(0, 1), (1, 2), (2, 3), (1, 3), (0, 3)], CONV3, CONV1)
    row = encode_paths(nasbench101(), [graph])[0]
    nothing, conv3, conv3_conv1 = 0, 1 + 0, 4 + 0 * 3 + 1
    assert np.flatnonzero(row).tolist() == [nothing, conv3, conv3_conv1]


def test_truncation_drops_long_paths_only() -> None:
    chain = cell([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)], CONV3, POOL, POOL, CONV1)
    assert np.flatnonzero(encode_paths(nasbench101(), [chain])[0]).tolist() == [0]
    whole = encode_paths(nasbench101(), [chain], at_most=364)[0]
    assert len(whole) == 364
    # four operations (0, 2, 2, 1) behind 1 + 3 + 9 + 27 shorter sequences
    assert np.flatnonzero(whole).tolist() == [0, 40 + 0 * 27 + 2 * 9 + 2 * 3 + 1]


def test_paths_of_an_edge_labelled_cell_by_hand() -> None:
    # digits of 0>1, 0>2, 1>2, 0>3, 1>3, 2>3
    graph = nasbench201().from_digits([2, 3, 0, 1, 4, 1])
    row = encode_paths(nasbench201(), [graph])[0]
    direct, by_1, by_2 = 1, 5 + 2 * 5 + 4, 5 + 3 * 5 + 1
    assert len(row) == 30
    assert np.flatnonzero(row).tolist() == [direct, by_1, by_2]
    assert encode_paths(nasbench201(), [graph], at_most=155).shape == (1, 155)


def test_isomorphic_cells_have_the_same_paths() -> None:
    space = nasbench101()
    rng = np.random.default_rng(0)
    for graph in space.sample(20, rng):
        order = [0, *(1 + rng.permutation(graph.n - 2)), graph.n - 1]
        other = graph.relabeled(order)
        same = encode_paths(space, [graph, other], at_most=364)
        assert (same[0] == same[1]).all()


def test_adjacency_of_a_small_cell_keeps_the_output_last() -> None:
    row = encode_adjacency(nasbench101(), [cell([(0, 1), (1, 2)], POOL)])[0]
    assert len(row) == 21 + 5
    places = [(u, v) for u in range(7) for v in range(u + 1, 7)]
    present = [place for place, bit in zip(places, row[:21], strict=True) if bit]
    assert present == [(0, 1), (1, 6)]
    assert row[21:].tolist() == [1.0, -0.5, -0.5, -0.5, -0.5]


def test_adjacency_of_edge_labels_is_the_digits() -> None:
    space = nasbench201()
    digits = [2, 3, 0, 1, 4, 1]
    # rows go by tail: 0>1, 0>2, 0>3, 1>2, 1>3, 2>3
    assert encode_adjacency(space, [space.from_digits(digits)]).tolist() == [[2, 3, 1, 0, 4, 1]]


@pytest.mark.parametrize("nodes", [2, (2, 3)])
def test_the_smallest_spaces_can_be_encoded(nodes: int | tuple[int, int]) -> None:
    space = NodeLabeledSpace(nodes=nodes, ops=["a"])
    graph = cell([(0, 1)])
    assert encode_adjacency(space, [graph]).shape[0] == 1
    assert encode_paths(space, [graph])[0, 0] == 1
