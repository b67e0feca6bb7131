"""Structures and prefixes are listed, each once."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest

from nasgoat import NodeLabeledSpace
from nasgoat.acquisition.branch.cells.structures import Listing
from nasgoat.graphs import canonical
from nasgoat.spaces.node_labeled import count_matrices, count_prefixes
from nasgoat.spaces.structures import list_acyclic_structures, list_rows, unpack_matrices


def listed(n: int, edges: int, whole: bool) -> int:
    return sum(len(rows) for rows in list_rows(n, edges, whole))


@pytest.mark.parametrize(("n", "edges"), [(2, 1), (3, 3), (4, 6), (5, 7), (6, 9), (6, 15), (7, 9)])
def test_every_structure_is_listed_once(n: int, edges: int) -> None:
    expected = len(list_acyclic_structures(n, edges).adjacency)
    assert listed(n, edges, whole=True) == expected <= count_matrices(n, edges)


def test_prefixes_are_the_acyclic_graphs_with_one_source() -> None:
    for n in range(2, 6):
        keys = set()
        for bits in product([False, True], repeat=n * (n - 1) // 2):
            matrix = np.zeros((n, n), dtype=bool)
            matrix[np.triu_indices(n, 1)] = bits
            if matrix[:, 1:].any(axis=0).all():
                arcs = {u: np.flatnonzero(row).tolist() for u, row in enumerate(matrix)}
                keys.add(
                    canonical.make_key_of_colored(n, arcs, {"any": set(range(n))}, directed=True)
                )
        assert listed(n, 40, whole=False) == len(keys) <= count_prefixes(n, 40)


def test_every_node_of_a_prefix_is_reached() -> None:
    matrices = np.concatenate([unpack_matrices(rows) for rows in list_rows(5, 9, whole=False)])
    assert len(matrices) > 100
    assert matrices[:, :, 1:].any(axis=1).all()
    assert (matrices.sum(axis=(1, 2)) <= 7).all()


def test_a_block_of_prefixes_has_every_label_of_the_last_inner_node() -> None:
    (block,) = Listing(NodeLabeledSpace(5, ["a", "b"]), prefixes=True).list_blocks()
    assert len(block.shapes.home) == 2 * 3
    assert block.prefix_states is not None


@pytest.mark.parametrize("edges", [9, 28])  # structures are listed; all prefixes grow
def test_it_is_said_once_that_structures_are_listed(edges: int) -> None:
    said: list[str] = []
    space = NodeLabeledSpace(8, ["a", "b", "c"], max_edges=edges)
    listing = Listing(space, progress=said.append)
    assert listing.list_blocks(time.perf_counter()) == []  # the time is up after the first chunk
    listing.limit(space).list_blocks()
    listing.list_blocks()
    assert said == ["listing the structures of the space"]
