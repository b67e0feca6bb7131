"""NAS-Bench-201 and its kind."""

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, LabeledGraph, nasbench201
from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.spaces import preset


def test_nasbench201_has_its_published_numbers_of_cells() -> None:
    for connected, count in ((True, 9280), (False, 15625)):
        space = nasbench201(connected)
        assert space.count() == count
        assert sum(len(batch) for batch in space.enumerate()) == count


def test_digits_there_and_back() -> None:
    space = nasbench201(connected=False)
    rng = np.random.default_rng(0)
    for digits in rng.integers(0, 5, size=(50, 6)):
        assert space.digits(space.from_digits(digits)).tolist() == digits.tolist()


def test_a_cell_has_24_neighbours_without_the_restriction() -> None:
    space = nasbench201(connected=False)
    assert len(space.neighbours(space.from_digits([1, 2, 3, 4, 0, 1]))) == 24


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (LabeledGraph.from_edges(3, [(0, 1)], edge_labels=["skip_connect"]), "4 nodes, got 3"),
        (LabeledGraph.from_edges(4, [(1, 0)], edge_labels=["skip_connect"]), "without a cycle"),
        (LabeledGraph.from_edges(4, [(0, 3)], edge_labels=["none"]), "got 'none' on 0 -> 3"),
        (LabeledGraph.from_edges(4, [(0, 3)]), "every edge must have a label"),
        (LabeledGraph.from_edges(4, [(0, 3)], edge_labels=["skip_connect"]), "on a path"),
        (LabeledGraph.from_edges(4, [], node_labels=["a"] * 4), "labels on its edges"),
    ],
)
def test_what_is_outside_is_refused_with_the_reason(graph: LabeledGraph, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        nasbench201().check(graph)


def test_an_unsatisfiable_declaration_is_refused() -> None:
    with pytest.raises(SpaceError, match="at least one operation"):
        EdgeLabeledSpace(4, [])
    with pytest.raises(SpaceError, match="one number where nodes are indexed"):
        EdgeLabeledSpace((3, 4), ["a"])  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match="nodes must be 4 in this space, got 5"):
        nasbench201().with_nodes(5)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean nb201"):
        preset("nb2001")
