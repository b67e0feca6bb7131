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
from nasgoat.testing.spaces import SpaceContract, list_graphs

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
                assert {(int(u), int(v)) for u, v in np.argwhere(matrix)} <= places
                assert matrix.sum() <= space.edge_limit
                assert not space.on_paths or every_node_is_on_a_path(matrix)

    def test_structures_and_labels_make_up_the_list(self, space: CellSpace) -> None:
        for n in space.sizes:
            made = {
                space.key(graph)
                for matrix in list_structures(space, n)
                for graph in label_structure(space, matrix)
                if space.within_limits([graph])[0]
            }
            assert made == {space.key(graph) for graph in list_graphs(space) if graph.n == n}

    def test_rows_hold_for_structures_and_for_nothing_else(self, space: CellSpace) -> None:
        rows = {n: space.structure_rows(n) for n in space.sizes}
        tried = False
        for n, found in rows.items():
            places = space.edge_places(n)
            if found is None or 2 ** len(places) > _MOST_MATRICES:
                continue
            tried = True
            wanted = {structure_key(space, matrix) for matrix in list_structures(space, n)}
            held = set()
            for matrix in list_matrices(n, places):
                fits = all(holds(row, matrix) for row in found)
                if fits and (not space.on_paths or every_node_is_on_a_path(matrix)):
                    held.add(structure_key(space, matrix))
            assert held == wanted
        if not tried:
            pytest.skip("the family has no rows, or too many matrices to try them one by one")


def list_structures(space: CellSpace, n: int) -> list[NDArray[np.bool_]]:
    """Every structure of n nodes."""
    return [matrix for chunk in space.structures(n) for matrix in chunk]


def structure_key(space: CellSpace, matrix: NDArray[np.bool_]) -> bytes:
    """What two structures share exactly if the space holds them for the same."""
    if space.indexed:
        return np.packbits(matrix).tobytes()
    inner = ["inner"] * (len(matrix) - 2)
    return LabeledGraph(matrix, ("first", *inner, "last")).canonical_key()


def label_structure(space: CellSpace, matrix: NDArray[np.bool_]) -> Iterator[LabeledGraph]:
    """A structure with every choice of labels."""
    n = len(matrix)
    edges = [(int(u), int(v)) for u, v in np.argwhere(matrix)]
    if space.labels_on == "nodes":
        first, *_, last = space.node_vocabulary
        for ops in product(space.ops, repeat=n - 2):
            yield LabeledGraph.from_edges(n, edges, [first, *ops, last])
        return
    for ops in product(space.ops, repeat=len(edges)):
        yield LabeledGraph.from_edges(n, edges, edge_labels=list(ops))


def list_matrices(n: int, places: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.bool_]]:
    """Every adjacency matrix with edges at these places only."""
    for bits in product((False, True), repeat=len(places)):
        matrix = np.zeros((n, n), dtype=bool)
        for (u, v), bit in zip(places, bits, strict=True):
            matrix[u, v] = bit
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
