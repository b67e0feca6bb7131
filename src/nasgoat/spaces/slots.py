"""Graphs as digits: the one codec between labelled graphs and fixed slots.

Notation
    node digits   the place of each node's label in the node vocabulary
    edge digits   for each pair that may carry an edge: 0 for no edge, else 1 + the place of its
                  label in the edge vocabulary (1 where edges have no labels)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.limits import Pair


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
        >>> slots.edge_digits(cell)
        [2, 0, 1]
        >>> slots.graph(3, [2, 0, 1]) == cell
        True
    """

    pairs: Sequence[Pair]
    node_vocabulary: Sequence[str] = ()
    edge_vocabulary: Sequence[str] = ()
    directed: bool = True

    def node_digits(self, graph: LabeledGraph) -> list[int]:
        """A digit for each node of the graph; none where nodes have no labels."""
        place = {label: code for code, label in enumerate(self.node_vocabulary)}
        return [place[label] for label in graph.node_labels or ()]

    def edge_digits(self, graph: LabeledGraph) -> list[int]:
        """A digit for each pair."""
        if graph.edge_labels is None:
            edges = set(graph.edges)
            return [int(pair in edges) for pair in self.pairs]
        place = {label: 1 + code for code, label in enumerate(self.edge_vocabulary)}
        labels = graph.edge_labels
        return [place[labels[pair]] if pair in labels else 0 for pair in self.pairs]

    def graph(
        self, n: int, edge_digits: Sequence[int], node_digits: Sequence[int] = ()
    ) -> LabeledGraph:
        """The graph of n nodes with these digits, whether or not a space holds it."""
        edges = {p: d for p, d in zip(self.pairs, edge_digits, strict=True) if d}
        nodes = [self.node_vocabulary[d] for d in node_digits] if self.node_vocabulary else None
        labels = None
        if self.edge_vocabulary:
            labels = {pair: self.edge_vocabulary[digit - 1] for pair, digit in edges.items()}
        return LabeledGraph.from_edges(n, list(edges), nodes, labels, self.directed)
