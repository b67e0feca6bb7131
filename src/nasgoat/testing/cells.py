"""What every family of cells promises beyond what a space does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import CellSpace, EdgeRow
from nasgoat.testing.contract import label_graphs, list_graphs
from nasgoat.testing.spaces import SpaceContract

_MOST_MATRICES = 2**12  # adjacency matrices that are tried one by one


class CellContract(SpaceContract):
    """What a family of cells must keep, so that every optimiser can work on its description.

    Catalogue, branch and bound and the mixed-integer program must find the same best graphs.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> class TestTriangles(CellContract):
        ...     space = EdgeLabeledSpace(3, ["conv", "skip"])
        ...     exact_optimizers = ("catalogue", "branch")
        >>> "test_structures_and_labels_make_up_the_list" in TestTriangles.verify()
        True
    """

    exact_optimizers: ClassVar[Sequence[str]] = ("catalogue", "branch", "scip")

    def test_structures_ascend_and_are_distinct(self, space: CellSpace) -> None:
        for n in space.sizes:
            matrices = list_structures(space, n)
            assert len(matrices) <= space.structure_bound(n)
            keys = {structure_key(space, matrix) for matrix in matrices}
            assert len(keys) == len(matrices)
            places = set(space.edge_places(n))
            for matrix in matrices:
                assert not np.tril(matrix).any()
                assert set(list_edges(matrix)) <= places
                assert matrix.sum() <= space.edge_limit
                assert not space.on_paths or every_node_is_on_a_path(matrix)

    def test_structures_and_labels_make_up_the_list(self, space: CellSpace) -> None:
        for n in space.sizes:
            made = {
                space.key(graph)
                for matrix in list_structures(space, n)
                for graph in label_graphs(
                    space, n, list_edges(matrix), space.edge_vocabulary or ("",)
                )
                if space.within_limits([graph])[0]
            }
            assert made == {space.key(graph) for graph in list_graphs(space) if graph.n == n}

    def test_rows_hold_for_structures_and_for_nothing_else(self, space: CellSpace) -> None:
        tried = {
            n: rows
            for n in space.sizes
            if (rows := space.structure_rows(n)) is not None
            and 2 ** len(space.edge_places(n)) <= _MOST_MATRICES
        }
        if not tried:
            pytest.skip("the family has no rows, or too many matrices to try them one by one")
        for n, rows in tried.items():
            held = {
                structure_key(space, matrix)
                for matrix in list_matrices(n, space.edge_places(n))
                if all(holds(row, matrix) for row in rows)
                and (not space.on_paths or every_node_is_on_a_path(matrix))
            }
            assert held == {structure_key(space, matrix) for matrix in list_structures(space, n)}


def list_structures(space: CellSpace, n: int) -> list[NDArray[np.bool_]]:
    """Every structure of n nodes."""
    return [matrix for chunk in space.structures(n) for matrix in chunk]


def list_edges(matrix: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The pairs of nodes with an edge."""
    return [(int(u), int(v)) for u, v in np.argwhere(matrix)]


def structure_key(space: CellSpace, matrix: NDArray[np.bool_]) -> bytes:
    """What two structures share exactly if the space holds them for the same."""
    if space.indexed:
        return np.packbits(matrix).tobytes()
    inner = ["inner"] * (len(matrix) - 2)
    return LabeledGraph(matrix, ("first", *inner, "last")).canonical_key()


def list_matrices(n: int, places: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.bool_]]:
    """Every adjacency matrix with edges at these places only."""
    for bits in product((False, True), repeat=len(places)):
        matrix = np.zeros((n, n), dtype=bool)
        matrix[tuple(np.transpose(places))] = bits
        yield matrix


def every_node_is_on_a_path(matrix: NDArray[np.bool_]) -> bool:
    """Whether every node is on a path from the first node to the last; edges ascend."""
    return bool(matrix[:, 1:].any(axis=0).all() and matrix[:-1].any(axis=1).all())


def holds(row: EdgeRow, matrix: NDArray[np.bool_]) -> bool:
    """Whether the matrix satisfies a row."""
    total = sum(c * matrix[u, v] for (u, v), c in row.terms.items())
    return bool(
        {"<=": total <= row.bound, ">=": total >= row.bound, "==": total == row.bound}[row.sense]
    )
