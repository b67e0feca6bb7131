"""Table 1 of the paper against networkx and against its definition written out."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from nasgoat import GraphBatch, LabeledGraph
from nasgoat.errors import GraphError
from nasgoat.graphs.shortest_paths import find_distances, find_topological_order
from tests.strategies import labeled_graphs


@given(labeled_graphs())
def test_distances_equal_those_of_networkx(graph: LabeledGraph) -> None:
    lengths = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    expected = [[lengths[u].get(v, graph.n) for v in range(graph.n)] for u in range(graph.n)]
    assert graph.distances().tolist() == expected


def test_missing_node_is_infinitely_far() -> None:
    small = LabeledGraph.from_edges(2, [(0, 1)])
    large = LabeledGraph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    batch = GraphBatch.from_graphs([small, large])
    assert batch.distances[0].tolist() == [[0, 1, 4, 4], [4, 0, 4, 4], [4, 4, 0, 4], [4, 4, 4, 0]]
    assert batch.exists.tolist() == [[True, True, False, False], [True] * 4]


def test_topological_order_refuses_a_cycle() -> None:
    with pytest.raises(GraphError, match="acyclic, got a cycle among nodes"):
        find_topological_order(LabeledGraph.from_edges(3, [(0, 1), (1, 2), (2, 1)]).adjacency)


def test_more_nodes_than_a_byte_holds_are_refused() -> None:
    with pytest.raises(GraphError, match="at most 127 nodes"):
        find_distances(np.zeros((1, 128, 128), dtype=bool))
