"""Cells with operations on their edges, as in NAS-Bench-201.

A cell is an acyclic graph on n indexed nodes, each edge from a smaller to a larger index and with
one operation: the paper's edge-labelled domain, Eqs. (201_index) to (201_label). "No operation" is
the absence of the edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import nodes_on_paths
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.indexed import IndexedSpace
from nasgoat.spaces.limits import EdgeRow, Limit
from nasgoat.spaces.moves import fill_up

_BLOCK = 2**17  # cells enumerated at a time
_SMALLEST_ATTEMPT = 8  # mutations tried at a time
_ATTEMPTS = 100  # of them before the neighbours are listed


@dataclass(frozen=True, repr=False)
class EdgeLabeledSpace(IndexedSpace):
    """All cells on indexed nodes with operations on edges.

    Args:
        nodes: Number of nodes.
        ops: Names of the operations, without one for "no edge".
        connected: Whether every node must be on a path from the first node to the last, as
            Eq. (201_source) of the paper demands.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`.

    Example:
        >>> EdgeLabeledSpace(nodes=3, ops=["conv", "skip"]).count()
        12
        >>> EdgeLabeledSpace(nodes=3, ops=["conv", "skip"], connected=False).count()
        27
    """

    nodes: int
    ops: Sequence[str]
    connected: bool = True
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind = "edge-labelled"
    stores_forward_edges = True

    @property
    def on_paths(self) -> bool:
        return self.connected

    @property
    def edge_limit(self) -> int:
        return len(self.places)

    def _check(self, graph: LabeledGraph) -> None:
        self._check_labels(graph)
        if self.connected and not self._every_node_on_path(graph.adjacency[None])[0]:
            raise GraphError("every node must be on a path from the first node to the last")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        while True:
            graph = self.from_digits(rng.integers(0, len(self.ops) + 1, size=len(self.places)))
            if not self.connected or self._every_node_on_path(graph.adjacency[None])[0]:
                return graph

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return self._variants(graph, 1, rng, 1)[0]

    def _variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        digits = self.digits(graph)
        base, shape = len(self.ops) + 1, (max(_SMALLEST_ATTEMPT, 2 * count), len(digits))
        found: list[LabeledGraph] = []
        for _ in range(_ATTEMPTS):
            # No place changes more often than a random digit would.
            change = rng.random(shape) < min(edits / len(digits), 1 - 1 / base)
            other = (digits + rng.integers(1, base, size=shape)) % base
            mutated = np.where(change, other, digits)
            fits = change.any(axis=1)
            if self.connected:
                fits &= self._every_node_on_path(self.batch_from_digits(mutated).adjacency)
            found += [self.from_digits(row) for row in mutated[fits][: count - len(found)]]
            if len(found) == count:
                return found
        return fill_up(found, count, self._neighbours(graph) or [graph], rng)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        digits, base = self.digits(graph), len(self.ops) + 1
        places = [(i, other) for i in range(len(digits)) for other in range(base)]
        found = np.array([np.r_[digits[:i], x, digits[i + 1 :]] for i, x in places])
        fits = (found != digits).any(axis=1)
        if self.connected:
            fits &= self._every_node_on_path(self.batch_from_digits(found).adjacency)
        return [self.from_digits(row) for row in found[fits]]

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        # In portions: whoever lists them may run out of time, and there may be 2^28.
        total, places = 2 ** len(self.places), np.arange(len(self.places))
        bits = places[::-1] if self.connected else places
        for start in range(0, total, _BLOCK):
            numbers = np.arange(start, min(start + _BLOCK, total))
            found = self.batch_from_digits((numbers[:, None] >> bits) & 1).adjacency
            yield found[self._every_node_on_path(found)] if self.connected else found

    def structure_bound(self, n: int) -> int:
        return super().structure_bound(n) if self.structures_listable() else 2 ** len(self.places)

    def structure_rows(self, n: int) -> list[EdgeRow]:
        return []

    def _count(self) -> int:
        if not self.connected:
            return self.size_bound()
        edges = self._connected_structures.sum(axis=(1, 2))
        return sum(len(self.ops) ** int(e) for e in edges)

    def size_bound(self) -> int:
        return int((len(self.ops) + 1) ** len(self.places))

    def _enumerate(self) -> Iterator[GraphBatch]:
        base, width = len(self.ops) + 1, len(self.places)
        weights = base ** np.arange(width)[::-1]
        for start in range(0, base**width, _BLOCK):
            numbers = np.arange(start, min(start + _BLOCK, base**width))
            batch = self.batch_from_digits((numbers[:, None] // weights) % base)
            if self.connected:
                batch = batch.take(self._every_node_on_path(batch.adjacency))
            yield batch

    def _describe(self) -> str:
        path = ", every node on a path from first to last" if self.connected else ""
        return (
            f"acyclic cells on {self.nodes} indexed nodes{path}, "
            f"an operation on every edge: {', '.join(self.ops)}"
        )

    @cached_property
    def _connected_structures(self) -> NDArray[np.bool_]:
        return np.concatenate(list(self.structures(self.nodes)))

    @staticmethod
    def _every_node_on_path(adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(nodes_on_paths(adjacency).all(axis=1))
