"""Chains of layers: one operation in each layer, layers told apart by their index.

A chain of m layers is a path on m + 1 indexed nodes; layer i is the edge from node i to node i + 1.
NAS-Bench-Macro's 3^8 networks are one such space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.indexed import IndexedSpace
from nasgoat.spaces.limits import Limit, Pair
from nasgoat.spaces.search_space import read_range, say_range

_MOST_LAYERS = 100


@dataclass(frozen=True)
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
