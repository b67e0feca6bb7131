"""Translation between graphs and the variables of a mathematical program, by name.

Notation (the paper's)
    A(u,v)     1 if there is an edge from u to v
    F(v,l)     1 if node v has the label of code l;  F(u,v,l) likewise for edge u → v of a cell
    Fe(u,v,l)  the same for an edge of a declared graph, whose nodes may have labels as well
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nasgoat.errors import GraphError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import find_topological_order
from nasgoat.spaces.limits import Pair

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace
    from nasgoat.spaces.description import SpaceDescription
    from nasgoat.spaces.graph_space import GraphSpace

_PERMUTATIONS = 50_000  # looked at for other orders of one graph


@dataclass(frozen=True)
class Names(ABC):
    """How the graphs of n nodes of a space are written as the variables of a program."""

    space: SpaceDescription
    n: int
    edge_label: ClassVar[str] = "F"

    @property
    @abstractmethod
    def pairs(self) -> Sequence[Pair]:
        """The pairs that may carry an edge, in row order."""

    @property
    @abstractmethod
    def labelled_nodes(self) -> range:
        """The nodes whose label is not constant."""

    @property
    @abstractmethod
    def node_codes(self) -> range:
        """The label codes that these may have."""

    @abstractmethod
    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in an order that the program allows."""

    @abstractmethod
    def list_orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """The graph in the orders of its nodes that the program allows, the given one first."""

    @abstractmethod
    def _choose(self, values: Mapping[str, float], prefix: str, codes: range) -> int:
        """The label code that a point chooses."""

    def encode(self, graph: LabeledGraph) -> tuple[list[str], list[str]]:
        """Names of the binary variables that are 1 for a graph, and of the edges it lacks."""
        slots = self.space.slots(self.pairs)
        digits = dict(zip(self.pairs, slots.encode_edges(graph), strict=True))
        codes = slots.encode_nodes(graph) or [0] * self.n
        labels = [f"F({v},{codes[v]})" for v in self.labelled_nodes]
        missing = [f"A({u},{v})" for (u, v), digit in digits.items() if not digit]
        edges = [(pair, digit - 1) for pair, digit in digits.items() if digit]
        if self.space.edge_vocabulary:
            return labels + [f"{self.edge_label}({u},{v},{a})" for (u, v), a in edges], missing
        return [f"A({u},{v})" for (u, v), _ in edges] + labels, missing

    def list_decisions(self, labels: Sequence[int] | None = None) -> list[str]:
        """Names of the variables that determine a graph; with these label codes alone, if given."""
        codes, ops = self.node_codes if labels is None else labels, self.space.edge_vocabulary
        name = self.edge_label
        return [
            *(f"A({u},{v})" for u, v in self.pairs),
            *(f"F({v},{a})" for v in self.labelled_nodes for a in codes),
            *(f"{name}({u},{v},{a})" for u, v in self.pairs for a in range(len(ops))),
        ]

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding.

        Raises:
            GraphError: If the values are no graph.
        """
        edges = [(u, v) for u, v in self.pairs if values[f"A({u},{v})"] > 0.5]
        nodes = [0] * self.n
        if words := self.space.node_vocabulary:
            nodes[-1] = len(words) - 1  # where the ends have constant labels
            for v in self.labelled_nodes:
                nodes[v] = self._choose(values, f"F({v},", self.node_codes)
        digits = [1] * len(edges)
        if ops := self.space.edge_vocabulary:
            prefixes = [f"{self.edge_label}({u},{v}," for u, v in edges]
            digits = [1 + self._choose(values, prefix, range(len(ops))) for prefix in prefixes]
        return self.space.slots(edges).decode(self.n, digits, nodes)


class CellNames(Names):
    """Names for cells, whose edges ascend; the labels of source and sink are constant."""

    space: CellSpace

    @property
    def pairs(self) -> list[Pair]:
        return [(u, v) for u in range(self.n) for v in range(u + 1, self.n)]

    @property
    def labelled_nodes(self) -> range:
        return range(1, self.n - 1) if self.space.node_vocabulary else range(0)

    @property
    def node_codes(self) -> range:
        return range(1, len(self.space.ops) + 1)

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """Sorted topologically unless its edges ascend already."""
        return graph.sorted_topologically() if np.tril(graph.adjacency).any() else graph

    def list_orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """The graph itself if its nodes are indexed, else its topological orders."""
        if self.space.indexed:
            return [graph]
        return list(dict.fromkeys([graph, *list_topological_orders(graph, most)]))

    def _choose(self, values: Mapping[str, float], prefix: str, codes: range) -> int:
        """The label with the largest value; one that the program does not have counts as 0."""
        return max(codes, key=lambda a: values.get(f"{prefix}{a})", 0.0))


class GraphNames(Names):
    """Names for the graphs of a declared space."""

    space: GraphSpace
    edge_label = "Fe"

    @property
    def pairs(self) -> list[Pair]:
        return self.space.pairs(self.n)

    @property
    def labelled_nodes(self) -> range:
        return range(self.n)

    @property
    def node_codes(self) -> range:
        return range(max(len(self.space.node_vocabulary), 1))

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """Edges ascend where the space is ordered, else labels do."""
        codes = self.space.slots(()).encode_nodes(graph)
        if not self.space.ordered:
            first = self.space.rules.fixed.pinned
            rest = sorted(range(first, graph.n), key=lambda v: codes[v] if codes else 0)
            return graph.relabeled([*range(first), *rest])
        last = len(self.space.node_vocabulary) - 1
        rank = [0] * graph.n  # sources first, sinks last
        for v, code in enumerate(codes):
            rank[v] = -int(code == 0) if self.space.sources else 0
            rank[v] += int(code == last) if self.space.sinks else 0
        return graph.relabeled(find_topological_order(graph.adjacency, rank))

    def list_orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """Orders in which edges ascend, or that keep every label in its place."""
        if self.space.ordered:
            found = [g for g in list_topological_orders(graph, most) if self._has_ends_in_place(g)]
            return list(dict.fromkeys([graph, *found]))
        first, n = self.space.rules.fixed.pinned, graph.n
        labels = graph.node_labels or [""] * n
        kept = {graph: None}
        for rest in islice(permutations(range(first, n)), _PERMUTATIONS):
            order = [*range(first), *rest]
            if all(labels[v] == labels[w] for v, w in enumerate(order)):
                kept[graph.relabeled(order)] = None
            if len(kept) >= most:
                break
        return list(kept)

    def _has_ends_in_place(self, graph: LabeledGraph) -> bool:
        labels, space = graph.node_labels, self.space
        if labels is None:
            return True
        vocabulary = space.node_vocabulary
        first = all(label == vocabulary[0] for label in labels[: space.sources])
        return first and all(x == vocabulary[-1] for x in labels[graph.n - space.sinks :])

    def _choose(self, values: Mapping[str, float], prefix: str, codes: range) -> int:
        """The one label that is chosen."""
        chosen = [a for a in codes if values[f"{prefix}{a})"] > 0.5]
        if len(chosen) != 1:
            said = f"got {len(chosen)} at {prefix}...)"
            raise GraphError(f"a node or edge must have one label, {said}")
        return chosen[0]


def list_topological_orders(graph: LabeledGraph, most: int) -> list[LabeledGraph]:
    """Re-indexings of an acyclic graph in which every edge ascends, at most this many.

    Example:
        >>> diamond = LabeledGraph.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)], list("iabo"))
        >>> [g.node_labels for g in list_topological_orders(diamond, 10)]
        [('i', 'a', 'b', 'o'), ('i', 'b', 'a', 'o')]
    """
    found: dict[LabeledGraph, None] = {}
    for order in _list_orders(graph, [], most):
        found[graph.relabeled(order)] = None
        if len(found) >= most:
            break
    return list(found)


def _list_orders(graph: LabeledGraph, prefix: list[int], most: int) -> list[list[int]]:
    """Topological orders that start with the prefix."""
    if len(prefix) == graph.n:
        return [prefix]
    done = set(prefix)
    found: list[list[int]] = []
    for v in range(graph.n):
        before = np.flatnonzero(graph.adjacency[:, v]).tolist()
        if v not in done and done.issuperset(before):
            found += _list_orders(graph, [*prefix, v], most)
            if len(found) > 4 * most:
                break
    return found
