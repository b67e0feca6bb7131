"""Turning an edge-labelled cell into a node-labelled one.

Every labelled edge becomes a node, and two of them are joined if one ends where the other begins.
An input and an output node stand for the first and the last node of the cell. Operations that do
nothing can be bridged: their node goes, and every way through it stays.
"""

from __future__ import annotations

import numpy as np

from nasgoat.errors import GraphError
from nasgoat.graphs.labeled_graph import LabeledGraph
from nasgoat.graphs.shortest_paths import nodes_on_paths

SOURCE, SINK = "input", "output"


def edges_as_nodes(cell: LabeledGraph, bridge: str | None = None) -> LabeledGraph:
    """The node-labelled form of an edge-labelled cell from its first node to its last.

    Args:
        cell: A directed cell with a label on every edge.
        bridge: The label of edges that do nothing; they are bridged, and nodes that are then on no
            path from input to output are dropped.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["conv", "skip"])
        >>> edges_as_nodes(cell)
        LabeledGraph.from_edges(4, [(0, 1), (1, 2), (2, 3)],
            node_labels=['input', 'conv', 'skip', 'output'])
        >>> edges_as_nodes(cell, bridge="skip")
        LabeledGraph.from_edges(3, [(0, 1), (1, 2)], node_labels=['input', 'conv', 'output'])
    """
    if not cell.directed or (cell.edge_labels is None and cell.edges):
        raise GraphError("the cell must be directed with a label on every edge")
    edges = cell.edges
    labels = [SOURCE, *((cell.edge_labels or {})[edge] for edge in edges), SINK]
    tails = [-1, *(u for u, _ in edges), cell.n - 1]
    heads = [0, *(v for _, v in edges), -2]
    adjacency = np.array(heads)[:, None] == np.array(tails)[None, :]
    if bridge is None:
        return LabeledGraph(adjacency, tuple(labels))
    return _bridge(adjacency, labels, bridge)


def _bridge(adjacency: np.ndarray, labels: list[str], bridge: str) -> LabeledGraph:
    for v, label in enumerate(labels):
        if label == bridge and 0 < v < len(labels) - 1:
            adjacency |= np.outer(adjacency[:, v], adjacency[v])
            adjacency[v] = adjacency[:, v] = False
    on_path = nodes_on_paths(adjacency[None])[0]
    on_path[[0, -1]] = True
    kept = np.flatnonzero(on_path)
    return LabeledGraph(adjacency[np.ix_(kept, kept)], tuple(labels[v] for v in kept))
