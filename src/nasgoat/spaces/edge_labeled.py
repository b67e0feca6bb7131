"""Cells with operations on their edges, as in NAS-Bench-201.

A cell is an acyclic graph on n indexed nodes, each edge from a smaller to a larger index and with
one operation: the paper's edge-labelled domain, Eqs. (201_index) to (201_label). "No operation" is
the absence of the edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.spaces.search_space import SearchSpace, checked_ops, checked_sizes

_BLOCK = 2**17  # cells enumerated at a time
_SMALLEST_ATTEMPT = 8  # mutations tried at a time
_ATTEMPTS = 100  # of them before the neighbours are listed


@dataclass(frozen=True)
class EdgeLabeledSpace(SearchSpace):
    """All cells on indexed nodes with operations on edges.

    Args:
        nodes: Number of nodes.
        ops: Names of the operations, without one for "no edge".
        connected: Whether every node must be on a path from the first node to the last, as
            Eq. (201_source) of the paper demands.

    Example:
        >>> EdgeLabeledSpace(nodes=3, ops=["conv", "skip"]).count()
        12
        >>> EdgeLabeledSpace(nodes=3, ops=["conv", "skip"], connected=False).count()
        27
    """

    nodes: int
    ops: Sequence[str]
    connected: bool = True
    indexed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = checked_sizes(self.nodes)
        if low != high:
            raise SpaceError(f"nodes must be one number where nodes are indexed, got {self.nodes}")
        object.__setattr__(self, "nodes", low)
        object.__setattr__(self, "ops", checked_ops(self.ops))
        if not self.ops:
            raise SpaceError("ops must name at least one operation, got none")

    @property
    def sizes(self) -> range:
        return range(self.nodes, self.nodes + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        return ()

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        return tuple(self.ops)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The pairs u < v that may carry an edge, by head: 0→1, 0→2, 1→2, 0→3, ..."""
        return tuple((u, v) for v in range(1, self.nodes) for u in range(v))

    def path_types(self) -> list[tuple[int, int, int]]:
        # Indexed nodes are told apart, so a node's code is its index; an edge climbs at least 1.
        nodes = range(self.nodes)
        climbs = [(s, u, v) for u in nodes for v in nodes[u + 1 :] for s in range(1, v - u + 1)]
        return [(0, v, v) for v in nodes] + climbs

    def check(self, graph: LabeledGraph) -> None:
        if graph.n != self.nodes:
            raise GraphError(f"the graph must have {self.nodes} nodes, got {graph.n}")
        if graph.node_labels is not None:
            raise GraphError("the graph must have labels on its edges and none on its nodes")
        if not graph.directed or np.tril(graph.adjacency).any():
            raise GraphError("edges must go from smaller to larger nodes, so without a cycle")
        if graph.edge_labels is None and graph.edges:
            raise GraphError("every edge must have a label, got none")
        for (u, v), label in (graph.edge_labels or {}).items():
            if label not in self.ops:
                known = ", ".join(self.ops)
                raise GraphError(f"edge labels must be among {known}, got {label!r} on {u} -> {v}")
        if self.connected and not self._every_node_on_path(graph.adjacency[None])[0]:
            raise GraphError("every node must be on a path from the first node to the last")

    def key(self, graph: LabeledGraph) -> bytes:
        return bytes(self.digits(graph).tolist())

    def digits(self, graph: LabeledGraph) -> NDArray[np.uint8]:
        """One digit per place: 0 for no edge, else 1 + the place of its operation.

        Example:
            >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
            >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["skip", "conv"])
            >>> space.digits(cell).tolist(), space.from_digits([2, 0, 1]) == cell
            ([2, 0, 1], True)
        """
        labels = graph.edge_labels or {}
        codes = [1 + self.ops.index(labels[p]) if p in labels else 0 for p in self.places]
        return np.array(codes, dtype=np.uint8)

    def from_digits(self, digits: Sequence[int] | NDArray[np.integer]) -> LabeledGraph:
        """The cell with these digits; see :meth:`digits`."""
        labels = {
            place: self.ops[int(digit) - 1]
            for place, digit in zip(self.places, digits, strict=True)
            if digit
        }
        return LabeledGraph.from_edges(self.nodes, list(labels), edge_labels=labels)

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        while True:
            graph = self.from_digits(rng.integers(0, len(self.ops) + 1, size=len(self.places)))
            if graph in self:
                return graph

    def mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return self.variants(graph, 1, rng)[0]

    def variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int = 1
    ) -> list[LabeledGraph]:
        self.check(graph)
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
            for row in mutated[fits][: count - len(found)]:
                cell = self.from_digits(row)
                if cell in self:
                    found.append(cell)
            if len(found) == count:
                return found
        others = self.neighbours(graph) or [graph]
        return found + [others[i] for i in rng.integers(len(others), size=count - len(found))]

    def neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        self.check(graph)
        digits = self.digits(graph)
        found = []
        for place, digit in enumerate(digits):
            for other in range(len(self.ops) + 1):
                if other != digit:
                    changed = digits.copy()
                    changed[place] = other
                    found.append(self.from_digits(changed))
        return [neighbour for neighbour in found if neighbour in self]

    def count(self) -> int:
        if not self.connected:
            return self.size_bound()
        edges = self._connected_structures.sum(axis=(1, 2))
        return sum(len(self.ops) ** int(e) for e in edges)

    def size_bound(self) -> int:
        return int((len(self.ops) + 1) ** len(self.places))

    def enumerate(self) -> Iterator[GraphBatch]:
        base, width = len(self.ops) + 1, len(self.places)
        weights = base ** np.arange(width)[::-1]
        for start in range(0, base**width, _BLOCK):
            numbers = np.arange(start, min(start + _BLOCK, base**width))
            batch = self.batch_from_digits((numbers[:, None] // weights) % base)
            if self.connected:
                batch = batch.take(self._every_node_on_path(batch.adjacency))
            yield batch

    def batch_from_digits(self, digits: NDArray[np.integer]) -> GraphBatch:
        """Cells from rows of digits, whether or not they are connected."""
        n = self.nodes
        codes = np.full((len(digits), n, n), -1, dtype=np.int8)
        for place, (u, v) in enumerate(self.places):
            codes[:, u, v] = digits[:, place] - 1
        sizes = np.full(len(digits), n, dtype=np.int8)
        return GraphBatch(codes >= 0, sizes, None, codes, (), self.edge_vocabulary)

    def with_nodes(self, n: int) -> EdgeLabeledSpace:
        if n != self.nodes:
            raise SpaceError(f"nodes must be {self.nodes} in this space, got {n}")
        return self

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "edge-labelled",
            "nodes": self.nodes,
            "ops": list(self.ops),
            "connected": self.connected,
        }

    def describe(self) -> str:
        path = ", every node on a path from first to last" if self.connected else ""
        return (
            f"acyclic cells on {self.nodes} indexed nodes{path}, "
            f"an operation on every edge: {', '.join(self.ops)}"
        )

    @cached_property
    def _connected_structures(self) -> NDArray[np.bool_]:
        structures = EdgeLabeledSpace(self.nodes, ["edge"], connected=True)
        return np.concatenate([batch.adjacency for batch in structures.enumerate()])

    @staticmethod
    def _every_node_on_path(adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
        d = shortest_distances(adjacency)
        n = adjacency.shape[-1]
        reached: NDArray[np.bool_] = ((d[:, 0, :] < n) & (d[:, :, -1] < n)).all(axis=1)
        return reached
