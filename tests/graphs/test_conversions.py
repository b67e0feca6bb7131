from __future__ import annotations

import pytest

from nasgoat import LabeledGraph
from nasgoat.errors import GraphError
from nasgoat.graphs.conversions import turn_edges_into_nodes


def test_edges_meet_where_they_share_a_node() -> None:
    cell = LabeledGraph.from_edges(3, [(0, 1), (0, 2), (1, 2)], edge_labels=["a", "b", "c"])
    graph = turn_edges_into_nodes(cell)
    assert graph.node_labels == ("input", "a", "b", "c", "output")
    assert graph.edges == ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4))


def test_bridged_edges_leave_their_ways_open() -> None:
    labels = ["skip", "a", "b", "skip"]
    cell = LabeledGraph.from_edges(4, [(0, 1), (1, 2), (1, 3), (2, 3)], edge_labels=labels)
    graph = turn_edges_into_nodes(cell, bridge="skip")
    assert graph.node_labels == ("input", "a", "b", "output")
    assert graph.edges == ((0, 1), (0, 2), (1, 3), (2, 3))


def test_a_cell_of_bridges_joins_input_and_output() -> None:
    cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["skip", "skip"])
    assert turn_edges_into_nodes(cell, bridge="skip").edges == ((0, 1),)


def test_edges_off_every_path_are_dropped() -> None:
    cell = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], edge_labels=["a", "b"])
    assert turn_edges_into_nodes(cell, bridge="skip").node_labels == ("input", "b", "output")


def test_unlabelled_edges_are_refused() -> None:
    with pytest.raises(GraphError, match="label on every edge"):
        turn_edges_into_nodes(LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"]))
