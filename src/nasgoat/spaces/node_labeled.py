"""Cells with operations on their nodes, as in NAS-Bench-101.

A cell is an acyclic graph with one source, labelled ``input``, one sink, labelled ``output``, an
operation on every other node, every node on a path from source to sink, and a bounded number of
edges: the paper's node-labelled domain, Eqs. (101_index) to (101_edge).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import nodes_on_paths
from nasgoat.spaces import node_moves
from nasgoat.spaces.cell_space import INPUT, OUTPUT, CellSpace, EdgeRow, Structures, check_ends
from nasgoat.spaces.limits import Limit, Pair
from nasgoat.spaces.search_space import check_ops, check_sizes
from nasgoat.spaces.structure_counts import count_matrices

_COUNTED_NODES = 20  # more have more matrices than can be listed, whatever the edges
LISTABLE = 200_000  # matrices whose structures are listed to draw under limits
_COUNTABLE = 100_000  # matrices whose structures are listed just to say how many graphs there are


@dataclass(frozen=True)
class NodeLabeledSpace(CellSpace):
    """All cells with operations on nodes, up to isomorphism.

    Args:
        nodes: Number of nodes, source and sink included, or a (smallest, largest) pair.
        ops: Names of the operations.
        max_edges: Largest number of edges; None for no limit.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`.

    Raises:
        SpaceError: If no graph can satisfy the declaration.

    Example:
        >>> space = NodeLabeledSpace(nodes=(2, 4), ops=["conv", "pool"], max_edges=5)
        >>> space.count()
        39
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> cell in space
        True
    """

    nodes: int | tuple[int, int]
    ops: Sequence[str]
    max_edges: int | None = None
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "node-labelled"
    labels_on = "nodes"
    grows = True
    stores_forward_edges = True

    def __post_init__(self) -> None:
        low, high = check_sizes(self.nodes)
        object.__setattr__(self, "nodes", (low, high))
        object.__setattr__(self, "ops", check_ops(self.ops, reserved=(INPUT, OUTPUT)))
        if not self.ops and low > 2:
            raise SpaceError(f"ops must name at least one operation for {low} nodes, got none")
        if self.max_edges is not None and self.max_edges < low - 1:
            raise SpaceError(
                f"max_edges must be at least {low - 1} to connect {low} nodes, "
                f"got {self.max_edges}; raise it or allow fewer nodes"
            )

    @property
    def sizes(self) -> range:
        low, high = self._declared_sizes
        if not self.ops:
            high = 2
        # A cell with n nodes has at least n - 1 edges: larger sizes are empty.
        return range(low, min(high, self.edge_limit + 1) + 1)

    @property
    def edge_limit(self) -> int:
        high = self._declared_sizes[1]
        complete = high * (high - 1) // 2
        return complete if self.max_edges is None else min(self.max_edges, complete)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        from nasgoat.spaces.structures import list_rows, matrices_of  # loads compiled code

        for rows in list_rows(n, self.edge_limit, whole=True):
            yield matrices_of(rows)

    def structure_bound(self, n: int) -> int:
        return count_matrices(n, self.edge_limit)

    def structure_rows(self, n: int) -> list[EdgeRow]:
        """(101_edge): at most E edges."""
        every = dict.fromkeys(self.edge_places(n), 1.0)
        return [EdgeRow("101_edge", "limit", (), every, "<=", self.edge_limit)]

    def edge_places(self, n: int) -> list[Pair]:
        return [(u, v) for u in range(n) for v in range(u + 1, n)]

    def _check(self, graph: LabeledGraph) -> None:
        labels = check_ends(graph)
        if graph.n not in self.sizes:
            low, high = self.sizes[0], self.sizes[-1]
            raise GraphError(f"the graph must have {low} to {high} nodes, got {graph.n}")
        if not graph.is_acyclic():
            raise GraphError("the graph must be directed and acyclic, got a cycle")
        ends = [np.array([[label == end for label in labels]]) for end in (INPUT, OUTPUT)]
        on_path = nodes_on_paths(graph.adjacency[None], *ends)[0]
        if not on_path.all():
            v = int(np.argmin(on_path))
            raise GraphError(f"every node must be on a path from input to output, node {v} is not")
        for label in labels:
            if label not in self.node_vocabulary:
                known = ", ".join(self.ops)
                raise GraphError(f"node labels must be among {known}, got {label!r}")
        if len(graph.edges) > self.edge_limit:
            limit = self.edge_limit
            raise GraphError(f"the graph must have at most {limit} edges, got {len(graph.edges)}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.draw(self, rng)

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.variants(self, graph, 1, rng)[0]

    def _variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        return node_moves.variants(self, graph, count, rng, edits)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return node_moves.neighbours(self, graph)

    def _is_quickly_counted(self) -> bool:
        return self._has_at_most(_COUNTABLE)

    def _has_at_most(self, matrices: int) -> bool:
        if self.sizes[-1] > _COUNTED_NODES:
            return False
        return sum(count_matrices(n, self.edge_limit) for n in self.sizes) <= matrices

    def structures_listable(self) -> bool:
        return self._has_at_most(LISTABLE)

    def _count_within(self) -> int:
        return self._label_limits.count()

    def size_bound(self) -> int:
        low, high = self.sizes[0], self.sizes[-1]
        return sum(
            _subsets_at_most(n * (n - 1) // 2, self.edge_limit) * len(self.ops) ** (n - 2)
            for n in range(low, high + 1)
        )

    def with_nodes(self, n: int) -> NodeLabeledSpace:
        if n not in self.sizes:
            low, high = self.sizes[0], self.sizes[-1]
            raise SpaceError(f"nodes must be from {low} to {high} in this space, got {n}")
        return replace(self, nodes=(n, n))

    def _describe(self) -> str:
        low, high = self.sizes[0], self.sizes[-1]
        nodes = f"{low}" if low == high else f"{low} to {high}"
        return (
            f"acyclic cells of {nodes} nodes, at most {self.edge_limit} edges, "
            f"an operation on every inner node: {', '.join(self.ops)}"
        )

    @property
    def _declared_sizes(self) -> tuple[int, int]:
        return check_sizes(self.nodes)

    def _list_structures(self, n: int) -> Structures:
        from nasgoat.spaces.structures import acyclic_structures

        return acyclic_structures(n, self.edge_limit)


def _subsets_at_most(items: int, most: int) -> int:
    return sum(comb(items, k) for k in range(min(items, most) + 1))
