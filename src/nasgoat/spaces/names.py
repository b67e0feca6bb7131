"""Between graphs and the variables of a mathematical program, by name.

Notation (the paper's)
    A(u,v)     1 if there is an edge from u to v
    F(v,l)     1 if node v has the label of code l;  F(u,v,l) likewise for edge u → v of a cell
    Fe(u,v,l)  the same for an edge of a declared graph, whose nodes may have labels as well
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import TYPE_CHECKING, Protocol

import numpy as np

from nasgoat.errors import GraphError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.limits import Pair

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace
    from nasgoat.spaces.graph_space import GraphSpace

_PERMUTATIONS = 50_000  # looked at for other orders of one graph


class Names(Protocol):
    """How the graphs of one size are written as the variables of a program."""

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in an order that the program holds."""
        ...

    def orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """The graph under orders of its nodes that the program holds, the given one first."""
        ...

    def point(self, graph: LabeledGraph) -> tuple[list[str], list[str]]:
        """Names of the decisions that are 1, and of the edges that are not there."""
        ...

    def decisions(self, labels: Sequence[int] | None = None) -> list[str]:
        """Names of the variables that determine a graph; with these label codes alone, if given."""
        ...

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding.

        Raises:
            GraphError: If the values are no graph.
        """
        ...


@dataclass(frozen=True)
class CellNames:
    """Names for cells of n nodes, whose edges ascend."""

    space: CellSpace
    n: int

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """Sorted topologically unless its edges ascend already."""
        return graph.sorted_topologically() if np.tril(graph.adjacency).any() else graph

    def orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """The graph itself if its nodes are indexed, else its topological orders."""
        if self.space.indexed:
            return [graph]
        return list(dict.fromkeys([graph, *topological_orders(graph, most)]))

    def point(self, graph: LabeledGraph) -> tuple[list[str], list[str]]:
        """See :class:`Names`."""
        missing = [f"A({u},{v})" for u, v in self._pairs() if not graph.adjacency[u, v]]
        if self.space.labels_on == "edges":
            place = self.space.edge_vocabulary.index
            labels = graph.edge_labels or {}
            return [f"F({u},{v},{place(label)})" for (u, v), label in labels.items()], missing
        place = self.space.node_vocabulary.index
        codes = [place(label) for label in graph.node_labels or ()]
        ones = [f"A({u},{v})" for u, v in graph.edges]
        return ones + [f"F({v},{codes[v]})" for v in range(1, graph.n - 1)], missing

    def decisions(self, labels: Sequence[int] | None = None) -> list[str]:
        """See :class:`Names`: A and F that are not constant."""
        edges = [f"A({u},{v})" for u, v in self._pairs()]
        if self.space.labels_on == "edges":
            codes = range(len(self.space.edge_vocabulary))
            return edges + [f"F({u},{v},{a})" for u, v in self._pairs() for a in codes]
        inner = labels if labels is not None else range(1, len(self.space.ops) + 1)
        return edges + [f"F({v},{a})" for v in range(1, self.n - 1) for a in inner]

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """See :class:`Names`."""
        edges = [(u, v) for u, v in self._pairs() if values[f"A({u},{v})"] > 0.5]
        if self.space.labels_on == "edges":
            ops = self.space.edge_vocabulary
            chosen = [_most_likely(values, f"F({u},{v},", range(len(ops))) for u, v in edges]
            return LabeledGraph.from_edges(self.n, edges, edge_labels=[ops[a] for a in chosen])
        first, *ops_, last = self.space.node_vocabulary
        codes = range(1, len(ops_) + 1)
        inner = [_most_likely(values, f"F({v},", codes) for v in range(1, self.n - 1)]
        names = [first, *(ops_[a - 1] for a in inner), last]
        return LabeledGraph.from_edges(self.n, edges, names)

    def _pairs(self) -> list[Pair]:
        return [(u, v) for u in range(self.n) for v in range(u + 1, self.n)]


@dataclass(frozen=True)
class GraphNames:
    """Names for the graphs of a declared space with n nodes."""

    space: GraphSpace
    n: int

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """Edges ascend where the space is ordered, else labels do."""
        place = self.space.node_vocabulary.index
        codes = [place(label) for label in graph.node_labels or ()]
        if not self.space.ordered:
            first = self.space.rules.fixed.pinned
            rest = sorted(range(first, graph.n), key=lambda v: codes[v] if codes else 0)
            return graph.relabeled([*range(first), *rest])
        first_codes = {0} if self.space.sources else set()
        last_codes = {len(self.space.node_vocabulary) - 1} if self.space.sinks else set()
        return graph.relabeled(_topological(graph, codes, first_codes, last_codes))

    def orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """See :class:`Names`."""
        if self.space.ordered:
            found = [g for g in topological_orders(graph, most) if self._ends_in_place(g)]
            return list(dict.fromkeys([graph, *found]))
        first, n = self.space.rules.fixed.pinned, graph.n
        labels = graph.node_labels or [""] * n
        found = [graph]
        seen = {graph}
        for rest in islice(permutations(range(first, n)), _PERMUTATIONS):
            order = [*range(first), *rest]
            if all(labels[v] == labels[w] for v, w in enumerate(order)):
                other = graph.relabeled(order)
                if other not in seen:
                    seen.add(other)
                    found.append(other)
            if len(found) >= most:
                break
        return found

    def point(self, graph: LabeledGraph) -> tuple[list[str], list[str]]:
        """See :class:`Names`."""
        codes = [0] * self.n
        if graph.node_labels is not None:
            codes = [self.space.node_vocabulary.index(label) for label in graph.node_labels]
        ones = [f"F({v},{code})" for v, code in enumerate(codes)]
        if graph.edge_labels is not None:
            place = self.space.edge_vocabulary.index
            ones += [f"Fe({u},{v},{place(x)})" for (u, v), x in graph.edge_labels.items()]
        else:
            ones += [f"A({u},{v})" for u, v in graph.edges]
        missing = set(self._pairs()) - set(graph.edges)
        return ones, [f"A({u},{v})" for u, v in sorted(missing)]

    def decisions(self, labels: Sequence[int] | None = None) -> list[str]:
        """See :class:`Names`."""
        codes = range(max(len(self.space.node_vocabulary), 1)) if labels is None else labels
        ops = range(len(self.space.edge_ops))
        return [
            *(f"A({u},{v})" for u, v in self._pairs()),
            *(f"F({v},{a})" for v in range(self.n) for a in codes),
            *(f"Fe({u},{v},{a})" for u, v in self._pairs() for a in ops),
        ]

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """See :class:`Names`."""
        space, n = self.space, self.n
        edges = [(u, v) for u, v in self._pairs() if values[f"A({u},{v})"] > 0.5]
        nodes = names = None
        if vocabulary := space.node_vocabulary:
            nodes = [vocabulary[_only(values, f"F({v},", len(vocabulary))] for v in range(n)]
        if space.edge_ops:
            ops = space.edge_vocabulary
            names = [ops[_only(values, f"Fe({u},{v},", len(ops))] for u, v in edges]
        return LabeledGraph.from_edges(n, edges, nodes, names, space.directed)

    def _pairs(self) -> Iterator[Pair]:
        return iter(self.space.pairs(self.n))

    def _ends_in_place(self, graph: LabeledGraph) -> bool:
        labels, space = graph.node_labels, self.space
        if labels is None:
            return True
        vocabulary = space.node_vocabulary
        first = all(label == vocabulary[0] for label in labels[: space.sources])
        return first and all(x == vocabulary[-1] for x in labels[graph.n - space.sinks :])


def topological_orders(graph: LabeledGraph, most: int) -> list[LabeledGraph]:
    """Re-indexings of an acyclic graph in which every edge ascends, at most so many.

    Example:
        >>> diamond = LabeledGraph.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)], list("iabo"))
        >>> [g.node_labels for g in topological_orders(diamond, 10)]
        [('i', 'a', 'b', 'o'), ('i', 'b', 'a', 'o')]
    """
    found: dict[LabeledGraph, None] = {}
    for order in _orders(graph, [], most):
        found[graph.relabeled(order)] = None
        if len(found) >= most:
            break
    return list(found)


def _orders(graph: LabeledGraph, prefix: list[int], most: int) -> list[list[int]]:
    """Topological orders that start with the prefix."""
    if len(prefix) == graph.n:
        return [prefix]
    done = set(prefix)
    found: list[list[int]] = []
    for v in range(graph.n):
        before = np.flatnonzero(graph.adjacency[:, v]).tolist()
        if v not in done and done.issuperset(before):
            found += _orders(graph, [*prefix, v], most)
            if len(found) > 4 * most:
                break
    return found


def _most_likely(values: Mapping[str, float], prefix: str, codes: range) -> int:
    """The label with the largest value; one that the program does not have counts as 0."""
    return max(codes, key=lambda a: values.get(f"{prefix}{a})", 0.0))


def _only(values: Mapping[str, float], prefix: str, count: int) -> int:
    """The one label that is chosen."""
    chosen = [a for a in range(count) if values[f"{prefix}{a})"] > 0.5]
    if len(chosen) != 1:
        raise GraphError(f"a node or edge must have one label, got {len(chosen)} at {prefix}...)")
    return chosen[0]


def _topological(
    graph: LabeledGraph, codes: list[int], first: set[int], last: set[int]
) -> list[int]:
    """An order in which edges ascend, nodes with these labels first and last."""
    rank = [
        0 if codes and codes[v] in first else 2 if codes and codes[v] in last else 1
        for v in range(graph.n)
    ]
    order: list[int] = []
    left = set(range(graph.n))
    while left:
        free = [v for v in left if not (set(np.flatnonzero(graph.adjacency[:, v]).tolist()) & left)]
        v = min(free, key=lambda v: (rank[v], v))
        left.remove(v)
        order.append(v)
    return order
