"""Graphs in other forms: as digits in fixed slots, and edges turned into nodes.

Digits (the one codec between labelled graphs and fixed slots)
    node digits   the place of each node's label in the node vocabulary
    edge digits   for each pair that may carry an edge: 0 for no edge, else 1 + the place of its
                  label in the edge vocabulary (1 where edges have no labels)

Edges as nodes: every labelled edge becomes a node, and two of them are joined if one ends where the
other begins. An input and an output node stand for the first and the last node of the cell.
Operations that do nothing can be bridged: their node goes, and every way through it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nasgoat.errors import GraphError
from nasgoat.graphs.labeled_graph import LabeledGraph
from nasgoat.graphs.shortest_paths import find_nodes_on_paths

SOURCE, SINK = "input", "output"


@dataclass(frozen=True)
class Slots:
    """Turns graphs into digits and digits into graphs.

    Args:
        pairs: The pairs that may carry an edge, in the order of their digits.
        node_vocabulary: Labels of nodes; empty if they have none.
        edge_vocabulary: Labels of edges; empty if they have none.
        directed: Whether edges have a direction.

    Example:
        >>> slots = Slots(((0, 1), (0, 2), (1, 2)), edge_vocabulary=("conv", "skip"))
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["skip", "conv"])
        >>> slots.encode_edges(cell)
        [2, 0, 1]
        >>> slots.decode(3, [2, 0, 1]) == cell
        True
    """

    pairs: Sequence[tuple[int, int]]
    node_vocabulary: Sequence[str] = ()
    edge_vocabulary: Sequence[str] = ()
    directed: bool = True

    def encode_nodes(self, graph: LabeledGraph) -> list[int]:
        """A digit for each node of the graph; none where nodes have no labels."""
        place = {label: code for code, label in enumerate(self.node_vocabulary)}
        return [place[label] for label in graph.node_labels or ()]

    def encode_edges(self, graph: LabeledGraph) -> list[int]:
        """A digit for each pair."""
        if graph.edge_labels is None:
            edges = set(graph.edges)
            return [int(pair in edges) for pair in self.pairs]
        place, labels = self._edge_digit, graph.edge_labels
        return [place[labels[pair]] if pair in labels else 0 for pair in self.pairs]

    @cached_property
    def _edge_digit(self) -> dict[str, int]:
        return {label: 1 + code for code, label in enumerate(self.edge_vocabulary)}

    def decode(
        self, n: int, edge_digits: Sequence[int], node_digits: Sequence[int] = ()
    ) -> LabeledGraph:
        """The graph of n nodes with these digits, whether or not a space holds it."""
        edges = {p: d for p, d in zip(self.pairs, edge_digits, strict=True) if d}
        nodes = [self.node_vocabulary[d] for d in node_digits] if self.node_vocabulary else None
        labels = None
        if self.edge_vocabulary:
            labels = {pair: self.edge_vocabulary[digit - 1] for pair, digit in edges.items()}
        return LabeledGraph.from_edges(n, list(edges), nodes, labels, self.directed)


def turn_edges_into_nodes(cell: LabeledGraph, bridge: str | None = None) -> LabeledGraph:
    """The node-labelled form of an edge-labelled cell from its first node to its last.

    Args:
        cell: A directed cell with a label on every edge.
        bridge: The label of edges that do nothing; they are bridged, and nodes that are then on no
            path from input to output are dropped.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["conv", "skip"])
        >>> turn_edges_into_nodes(cell)
        LabeledGraph.from_edges(4, [(0, 1), (1, 2), (2, 3)],
            node_labels=['input', 'conv', 'skip', 'output'])
        >>> turn_edges_into_nodes(cell, bridge="skip")
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
    return drop_idle_nodes(LabeledGraph(adjacency, tuple(labels)))


def drop_idle_nodes(graph: LabeledGraph) -> LabeledGraph:
    """A graph with labels on its nodes, without those on no path from its first node to its last.

    The first and the last node stay in any case.

    Example:
        >>> graph = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["input", "conv", "output"])
        >>> drop_idle_nodes(graph)
        LabeledGraph.from_edges(2, [(0, 1)], node_labels=['input', 'output'])
    """
    on_path = find_nodes_on_paths(graph.adjacency[None])[0]
    on_path[[0, -1]] = True
    kept = np.flatnonzero(on_path).tolist()
    labels = graph.node_labels or ()
    return LabeledGraph(graph.adjacency[np.ix_(kept, kept)], tuple(labels[v] for v in kept))
