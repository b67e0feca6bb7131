"""What families of cells on indexed nodes with operations on edges share, and the simplest of them.

A cell has one digit per place u → v: 0 for no edge, else 1 + the place of its operation. "No
operation" is the absence of the edge.

A chain of m layers is a path on m + 1 nodes; layer i is the edge from node i to node i + 1.
NAS-Bench-Macro's 3^8 networks are one such space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import Slots
from nasgoat.spaces.cell_space import CellSpace
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.limits import Limit, Pair
from nasgoat.spaces.moves import LISTABLE
from nasgoat.spaces.search_space import MOST_NAMES, check_ops, read_range, say_range

_LISTABLE_PLACES = 20  # for edges: a million structures
_MOST_LAYERS = 100


class IndexedSpace(CellSpace):
    """Acyclic cells on indexed nodes, each edge from a smaller to a larger index, with a label.

    A subclass is a frozen dataclass with the fields ``nodes`` (or its own :attr:`sizes`), ``ops``
    and ``limits``; it says which structures it allows.
    """

    labels_on: ClassVar[Literal["nodes", "edges"]] = "edges"
    nodes: int
    ops: Sequence[str]

    def __post_init__(self) -> None:
        low, high = read_range(self.nodes, "nodes", 2, MOST_NAMES)
        if low != high:
            raise SpaceError(f"nodes must be one number where nodes are indexed, got {self.nodes}")
        object.__setattr__(self, "nodes", low)
        self._check_ops()

    def _check_ops(self) -> None:
        object.__setattr__(self, "ops", check_ops(self.ops))
        if not self.ops:
            raise SpaceError("ops must name at least one operation, got none")

    @property
    def sizes(self) -> range:
        """The one number of nodes."""
        return range(self.nodes, self.nodes + 1)

    @property
    def places(self) -> tuple[Pair, ...]:
        """The pairs u < v that have a digit, by head: 0→1, 0→2, 1→2, 0→3, ..."""
        return tuple((u, v) for v in range(1, self.sizes[-1]) for u in range(v))

    @cached_property
    def _slots(self) -> Slots:
        return self.slots(self.places)

    def edge_places(self, n: int) -> list[Pair]:
        """The pairs u < v."""
        return [(u, v) for u in range(n) for v in range(u + 1, n)]

    def key(self, graph: LabeledGraph) -> bytes:
        """The digits."""
        return bytes(self._slots.edge_digits(graph))

    def digits(self, graph: LabeledGraph) -> NDArray[np.uint8]:
        """One digit per pair: 0 for no edge, else 1 + the place of its operation.

        Example:
            >>> from nasgoat import EdgeLabeledSpace
            >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
            >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["skip", "conv"])
            >>> space.digits(cell).tolist(), space.from_digits([2, 0, 1]) == cell
            ([2, 0, 1], True)
        """
        return np.array(self._slots.edge_digits(graph), dtype=np.uint8)

    def from_digits(self, digits: Sequence[int] | NDArray[np.integer]) -> LabeledGraph:
        """The cell with these digits; see :meth:`digits`."""
        return self._slots.graph(self.nodes, [int(digit) for digit in digits])

    def batch_from_digits(self, digits: NDArray[np.integer]) -> GraphBatch:
        """Cells from rows of digits, whether or not the space allows their structures."""
        n = self.nodes
        codes = np.full((len(digits), n, n), -1, dtype=np.int8)
        for place, (u, v) in enumerate(self.places):
            codes[:, u, v] = digits[:, place] - 1
        sizes = np.full(len(digits), n, dtype=np.int8)
        return GraphBatch(codes >= 0, sizes, None, codes, (), self.edge_vocabulary)

    def structures_listable(self) -> bool:
        """Whether there are a million structures at most."""
        return len(self.places) <= _LISTABLE_PLACES

    def _vary_within(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        if not self._label_limits.by_place:
            return super()._vary_within(graph, count, rng, edits)
        labels, several = len(graph.edges), sum(map(self.structure_bound, self.sizes)) > 1
        wanted = int(rng.binomial(count, labels / (labels + several)))
        found = self._label_limits.vary(graph, wanted, rng, edits)
        missing = count - len(found)
        return found + (super()._vary_within(graph, missing, rng, edits) if missing else [])

    def _is_quickly_counted(self) -> bool:
        by_place = bool(self.all_limits) and self._label_limits.by_place
        return self.size_bound() <= LISTABLE if by_place else self.structures_listable()


@dataclass(frozen=True, repr=False)
class ChainSpace(IndexedSpace):
    """All chains with one operation in each layer.

    Args:
        layers: Number of layers, or a (smallest, largest) pair.
        ops: Names of the operations.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`. Costs may differ by
            layer: ``costs={"latency": {"conv": [1.0, 2.0, 4.0], "skip": 0.1}}``, or a table for
            one layer, ``{"latency": {"0": {"conv": 1.0}}}``; layers are counted from 0.

    Example:
        >>> space = ChainSpace(layers=8, ops=["identity", "mb3", "mb6"])
        >>> space.count()
        6561
        >>> space.operations(space.from_digits([1, 2, 3, 1, 1, 1, 1, 1]))[:3]
        ('identity', 'mb3', 'mb6')
        >>> costs = {"latency": {"mb3": [1, 1, 1, 1, 2, 2, 2, 2], "mb6": 3}}
        >>> space.constrain("sum(latency) <= 2", costs=costs).count()
        15
    """

    layers: int | tuple[int, int]
    ops: Sequence[str]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind = "chain"
    stores_forward_edges = True

    def __post_init__(self) -> None:
        layers = read_range(self.layers, "layers", 1, _MOST_LAYERS)
        object.__setattr__(self, "layers", layers)
        self._check_ops()

    @property
    def lengths(self) -> range:
        """The numbers of layers."""
        low, high = self.layers if isinstance(self.layers, tuple) else (self.layers, self.layers)
        return range(low, high + 1)

    @property
    def sizes(self) -> range:
        """The numbers of nodes: one more than layers."""
        return range(self.lengths[0] + 1, self.lengths[-1] + 2)

    @property
    def places(self) -> tuple[Pair, ...]:
        """The layers as edges."""
        return tuple((i, i + 1) for i in range(self.lengths[-1]))

    @property
    def limit_layers(self) -> int:
        """The largest number of layers."""
        return self.lengths[-1]

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        """The one path of n nodes."""
        yield np.eye(n, k=1, dtype=bool)[None]

    def edge_places(self, n: int) -> list[Pair]:
        """The layers as edges."""
        return [(i, i + 1) for i in range(n - 1)]

    @property
    def edge_limit(self) -> int:
        """The largest number of layers."""
        return self.lengths[-1]

    def path_types(self) -> list[tuple[int, int, int]]:
        """Each pair of nodes has one distance."""
        n = self.sizes[-1]
        return [(v - u, u, v) for u in range(n) for v in range(u, n)]

    def operations(self, graph: LabeledGraph) -> tuple[str, ...]:
        """The operations of a chain, layer by layer."""
        labels = graph.edge_labels or {}
        return tuple(labels[edge] for edge in sorted(labels))

    def from_operations(self, operations: Sequence[str]) -> LabeledGraph:
        """The chain with these operations, layer by layer."""
        edges = [(i, i + 1) for i in range(len(operations))]
        return LabeledGraph.from_edges(len(edges) + 1, edges, edge_labels=list(operations))

    def from_digits(self, digits: Sequence[int] | NDArray[np.integer]) -> LabeledGraph:
        """The chain with these digits: 1 + the place of each operation, 0 behind the last layer."""
        return self.from_operations([self.ops[int(digit) - 1] for digit in digits if digit])

    def with_nodes(self, n: int) -> ChainSpace:
        """The chains with n - 1 layers."""
        if n not in self.sizes:
            raise SpaceError(
                f"nodes must be from {self.sizes[0]} to {self.sizes[-1]} in this space, got {n}"
            )
        return replace(self, layers=n - 1)

    def _describe(self) -> str:
        layers = say_range(self.lengths)
        return f"chains of {layers} layers, an operation in each: {', '.join(self.ops)}"

    def structures_listable(self) -> bool:
        """Always: there is one structure of each length."""
        return True
