from __future__ import annotations

import pytest

from nasgoat import NodeLabeledSpace
from nasgoat.acquisition.branch.ordered import ordered_structures
from nasgoat.acquisition.branch.shapes import Skeletons, node_structures
from nasgoat.errors import TooLargeError
from nasgoat.spaces.ordered_matrices import ordered_matrices
from nasgoat.spaces.structures import acyclic_structures


@pytest.mark.parametrize(("n", "edges"), [(2, 1), (3, 3), (4, 6), (5, 7), (6, 9), (6, 15), (7, 9)])
def test_every_structure_is_listed_once(n: int, edges: int) -> None:
    expected = len(acyclic_structures(n, edges).adjacency)
    assert len(node_structures(n, edges)) == expected
    assert expected <= len(ordered_structures(n, edges)) <= ordered_matrices(n, edges)


def test_a_dense_space_of_nine_nodes_is_refused() -> None:
    with pytest.raises(TooLargeError, match="5,939,193,962 with 9 nodes; use scip"):
        Skeletons.of(NodeLabeledSpace(9, ["a", "b"]))
