"""What spaces of cells on indexed nodes with operations on edges have in common.

A cell has one digit per place u → v: 0 for no edge, else 1 + the place of its operation. "No
operation" is the absence of the edge.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.free_labels import FreeLabelSpace
from nasgoat.spaces.label_counts import Profile
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.search_space import SearchSpace, checked_ops, checked_sizes

_LISTABLE_PLACES = 20  # for edges: a million structures


class IndexedSpace(FreeLabelSpace):
    """Acyclic cells on n indexed nodes, each edge from a smaller to a larger index, with a label.

    A subclass is a frozen dataclass with the fields ``nodes``, ``ops`` and ``limits``; it says
    which structures it allows.
    """

    indexed: ClassVar[bool] = True
    nodes: int
    ops: Sequence[str]

    def __post_init__(self) -> None:
        low, high = checked_sizes(self.nodes)
        if low != high:
            raise SpaceError(f"nodes must be one number where nodes are indexed, got {self.nodes}")
        object.__setattr__(self, "nodes", low)
        object.__setattr__(self, "ops", checked_ops(self.ops))
        if not self.ops:
            raise SpaceError("ops must name at least one operation, got none")

    @abstractmethod
    def structures(self) -> NDArray[np.bool_]:
        """Adjacency matrices (S, n, n) of all cells, labels left out."""

    @property
    def sizes(self) -> range:
        """The one number of nodes."""
        return range(self.nodes, self.nodes + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        """Empty: nodes have no labels."""
        return ()

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        """The operations."""
        return tuple(self.ops)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The pairs u < v that may carry an edge, by head: 0→1, 0→2, 1→2, 0→3, ..."""
        return tuple((u, v) for v in range(1, self.nodes) for u in range(v))

    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, u, v) that can occur."""
        # Indexed nodes are told apart, so a node's code is its index; an edge climbs at least 1.
        nodes = range(self.nodes)
        climbs = [(s, u, v) for u in nodes for v in nodes[u + 1 :] for s in range(1, v - u + 1)]
        return [(0, v, v) for v in nodes] + climbs

    def _check_labels(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError` unless nodes, directions and labels are right."""
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

    def key(self, graph: LabeledGraph) -> bytes:
        """The digits."""
        return bytes(self.digits(graph).tolist())

    def digits(self, graph: LabeledGraph) -> NDArray[np.uint8]:
        """One digit per place: 0 for no edge, else 1 + the place of its operation.

        Example:
            >>> from nasgoat import EdgeLabeledSpace
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

    def batch_from_digits(self, digits: NDArray[np.integer]) -> GraphBatch:
        """Cells from rows of digits, whether or not the space allows their structures."""
        n = self.nodes
        codes = np.full((len(digits), n, n), -1, dtype=np.int8)
        for place, (u, v) in enumerate(self.places):
            codes[:, u, v] = digits[:, place] - 1
        sizes = np.full(len(digits), n, dtype=np.int8)
        return GraphBatch(codes >= 0, sizes, None, codes, (), self.edge_vocabulary)

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The first node is the source, the last the sink."""
        nodes = np.arange(batch.n)
        shape = (len(batch), batch.n)
        return np.broadcast_to(nodes == 0, shape), np.broadcast_to(nodes == batch.n - 1, shape)

    def _count_within(self) -> int:
        if len(self.places) > _LISTABLE_PLACES:
            return super()._count_within()
        known: dict[Profile, int] = {}
        total = 0
        for batch in self._blank_structures():
            for profile in self._profiles(batch):
                if profile not in known:
                    known[profile] = self._labellings_within(profile)
                total += known[profile]
        return total

    def _quickly_counted(self) -> bool:
        return len(self.places) <= _LISTABLE_PLACES

    def _label_coefficients(self, limit: Limit) -> NDArray[np.float64]:
        return limit.edge_coefficients(self.ops)

    def _places(self, profile: Profile) -> int:
        return profile.edges

    def _with_labels(self, graph: LabeledGraph, codes: NDArray[np.intp]) -> LabeledGraph:
        names = [self.ops[code] for code in codes.tolist()]
        return LabeledGraph.from_edges(graph.n, graph.edges, edge_labels=names)

    def _blank_structures(self) -> Iterator[GraphBatch]:
        if len(self.places) > _LISTABLE_PLACES:
            return
        adjacency = self.structures()
        sizes = np.full(len(adjacency), self.nodes, dtype=np.int8)
        codes = np.where(adjacency, np.int8(0), np.int8(-1))
        yield GraphBatch(adjacency, sizes, None, codes, (), self.edge_vocabulary)

    def with_nodes(self, n: int) -> SearchSpace:
        """The space itself: it has one number of nodes."""
        if n != self.nodes:
            raise SpaceError(f"nodes must be {self.nodes} in this space, got {n}")
        return self
