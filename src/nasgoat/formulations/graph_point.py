"""The values that the paper's variables take for one graph: one direction of Theorem 1.

Notation (Table 1 of the paper; n nodes, of which the first n_1 exist)
    A[v, v]        1 if node v exists;      A[u, v]  1 if edge u → v exists
    r[u, v]        1 if u reaches v;        d[u, v]  shortest distance, n if u does not reach v
    δ[u, v, w]     1 if w is on a shortest path from u to v
    l_v            code of the label of node v; of unlabelled nodes the index v where they are
                   indexed, and 0 where they are all alike
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import find_distances
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.graph_counts import list_operations

IntArray = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class GraphPoint:
    """Var(G) of the paper for one graph G, padded with missing nodes up to n.

    Args:
        graph: The graph; its node v is node v of the encoding.
        n: Number of nodes of the encoding.
        features: Kernel features of the space, for what depends on labels.

    Example:
        >>> point = GraphPoint(LabeledGraph.from_edges(2, [(0, 1)]), 3)
        >>> point.d.tolist()
        [[0, 1, 3], [3, 0, 3], [3, 3, 0]]
        >>> point.A.diagonal().tolist()
        [1, 1, 0]
    """

    graph: LabeledGraph
    n: int
    features: FeatureMap | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.graph.n > self.n:
            raise GraphError(f"the graph must have at most {self.n} nodes, got {self.graph.n}")

    @cached_property
    def A(self) -> IntArray:  # noqa: N802  (the paper's symbol)
        """Adjacency, with the existence of nodes on the diagonal."""
        a = np.zeros((self.n, self.n), dtype=int)
        size = self.graph.n
        a[:size, :size] = self.graph.adjacency
        a[np.arange(size), np.arange(size)] = 1
        return a

    @cached_property
    def d(self) -> IntArray:
        """Shortest distances; n means infinity, and a node is at distance 0 from itself."""
        return self._measure_distances(np.eye(self.n) < self.A)

    @cached_property
    def joined(self) -> IntArray:
        """Shortest distances where edges are walked in either direction."""
        return self._measure_distances(np.maximum(self.A, self.A.T) > np.eye(self.n))

    def _measure_distances(self, edges: NDArray[np.bool_]) -> IntArray:
        return np.asarray(np.minimum(find_distances(edges[None])[0].astype(int), self.n))

    @cached_property
    def r(self) -> IntArray:
        """Reachability; a node reaches itself."""
        return (self.d < self.n).astype(int)

    @cached_property
    def delta(self) -> IntArray:
        """Which nodes are on a shortest path; the two ends always are, by (C7)."""
        d, n = self.d, self.n
        finite = (d[:, None, :] < n) & (d.T[None, :, :] < n)
        tight = d[:, None, :] + d.T[None, :, :] == d[:, :, None]
        on_path = np.asarray(finite & tight, dtype=int)
        u, v = np.indices((n, n))
        on_path[u, v, u] = on_path[u, v, v] = 1
        nodes = np.arange(n)
        on_path[nodes, nodes] = np.eye(n, dtype=int)
        return on_path

    @cached_property
    def codes(self) -> list[int]:
        """Code of the label of each node: -1 for a missing node."""
        if self.graph.node_labels is None or self.features is None:
            alike = self.features is not None and not self.features.space.indexed
            return [(0 if alike else v) if v < self.graph.n else -1 for v in range(self.n)]
        place = self.features.space.node_vocabulary.index
        found = [place(label) for label in self.graph.node_labels]
        return found + [-1] * (self.n - len(found))

    @cached_property
    def edge_codes(self) -> dict[tuple[int, int], int]:
        """Code of the label of each edge."""
        if self.graph.edge_labels is None or self.features is None:
            return {}
        place = self.features.space.edge_vocabulary.index
        codes = {edge: place(label) for edge, label in self.graph.edge_labels.items()}
        return codes if self.graph.directed else codes | {(v, u): c for (u, v), c in codes.items()}

    def has_operation(self, o: int, u: int, v: int) -> bool:
        """Whether edge u → v or its head v has the o-th operation, those on nodes first."""
        nodes, edges = list_operations(self._features.space)
        if o < len(nodes):
            return self.codes[v] == nodes[o]
        return self.edge_codes.get((u, v)) == edges[o - len(nodes)]

    @cached_property
    def richest(self) -> IntArray:
        """For every operation and node the most of it on a path that ends there; acyclic graphs."""
        nodes, edges = list_operations(self._features.space)
        found = np.zeros((len(nodes) + len(edges), self.n), dtype=int)
        found[: len(nodes)] = np.array(self.codes) == np.array(nodes, dtype=int)[:, None]
        arcs = np.argwhere(np.eye(self.n) < self.A).tolist()
        for _ in range(self.n):
            for o in range(len(found)):
                for u, v in arcs:
                    found[o, v] = max(found[o, v], found[o, u] + self.has_operation(o, u, v))
        return found

    @cached_property
    def row(self) -> NDArray[np.float64]:
        """The kernel feature row of the graph."""
        return np.asarray(self._features.rows([self.graph])[0])

    @cached_property
    def counts(self) -> IntArray:
        """The integer kernel counts of the graph."""
        batch = self._features.space.batch([self.graph])
        return np.asarray(self._features.counts(batch)[0], dtype=int)

    @property
    def _features(self) -> FeatureMap:
        if self.features is None:
            raise GraphError("kernel features must be given for a point with labels, got none")
        return self.features
