"""Chains of layers: one operation in each, and layers are told apart by their number.

A chain of m layers is a path on m + 1 nodes; layer i is the edge from node i to node i + 1.
NAS-Bench-Macro's 3^8 networks are one such space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import NAMES, RANGE, read_range, say_range
from nasgoat.spaces.edge_labeled import IndexedSpace
from nasgoat.spaces.limits import Limit, Pair
from nasgoat.toml_reader import TABLE, Value

_MOST_LAYERS = 100
LayerOps = tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, repr=False)
class ChainSpace(IndexedSpace):
    """All chains with one operation in each layer.

    Args:
        layers: Number of layers, or a (smallest, largest) pair.
        ops: Names of the operations.
        layer_ops: The operations of layers that may not have all of ``ops``, by the number of the
            layer: ``{0: ["conv"], 5: ["conv", "pool"]}``; kept as pairs.
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
        >>> space = ChainSpace(2, ["conv", "pool"], layer_ops={0: ["conv"]})
        >>> space.describe()
        'chains of 2 layers, an operation in each: conv, pool; layer 0: conv'
        >>> space.count()
        2
    """

    layers: int | tuple[int, int]
    ops: Sequence[str]
    layer_ops: LayerOps | Mapping[int, Sequence[str]] = field(default=(), kw_only=True)
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind = "chain"
    file_keys: ClassVar[Mapping[str, Value]] = {"layers": RANGE, "ops": NAMES, "layer_ops": TABLE}
    stores_forward_edges = True

    def __post_init__(self) -> None:
        layers = read_range(self.layers, "layers", 1, _MOST_LAYERS)
        object.__setattr__(self, "layers", layers)
        self._check_ops()
        own = _check_layer_ops(self.layer_ops, self.ops, layers[1])
        object.__setattr__(self, "layer_ops", own)

    def ops_of(self, layer: int) -> tuple[str, ...]:
        """The operations that a layer may have.

        Example:
            >>> ChainSpace(2, ["conv", "pool"], layer_ops={1: ["pool"]}).ops_of(1)
            ('pool',)
        """
        return dict(self._own_ops).get(layer, tuple(self.ops))

    def choices(self, matrix: NDArray[np.bool_]) -> list[list[int]]:
        """The codes of the operations of each layer."""
        code = {op: i for i, op in enumerate(self.ops)}
        return [[code[op] for op in self.ops_of(i)] for i in range(len(matrix) - 1)]

    @property
    def _own_ops(self) -> LayerOps:
        return cast(LayerOps, self.layer_ops)  # __post_init__ made it pairs

    @property
    def family_limits(self) -> tuple[Limit, ...]:
        """No layer has an operation that is not its own, as a linear row for every optimiser."""
        others = {
            (i, i + 1): dict.fromkeys([op for op in self.ops if op not in own], 1.0)
            for i, own in self._own_ops
        }
        return (Limit("operations of layers", "<=", 0, edge_places=others),) if others else ()

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
        kept = tuple((layer, own) for layer, own in self._own_ops if layer < n - 1)
        return replace(self, layers=n - 1, layer_ops=kept)

    def _check(self, graph: LabeledGraph) -> None:
        super()._check(graph)
        for layer, op in enumerate(self.operations(graph)):
            if op not in self.ops_of(layer):
                known = " or ".join(self.ops_of(layer))
                raise GraphError(f"layer {layer} must be {known}, got {op!r}")

    def _count(self) -> int:
        return sum(prod(len(self.ops_of(i)) for i in range(m)) for m in self.lengths)

    def _count_within(self) -> int:
        return super()._count_within() if self.limits else self._count()

    def _draw_within(self, rng: np.random.Generator) -> LabeledGraph:
        return super()._draw_within(rng) if self.limits else self._draw(rng)

    def _is_quickly_counted(self) -> bool:
        return not self.limits or super()._is_quickly_counted()

    def _declaration(self) -> dict[str, Any]:
        found = super()._declaration()
        del found["layer_ops"]  # no part of it where all layers have all operations
        if self.layer_ops:
            found["layer_ops"] = {str(layer): list(own) for layer, own in self._own_ops}
        return found

    def _describe(self) -> str:
        layers = say_range(self.lengths)
        own = [f"; layer {layer}: {', '.join(ops)}" for layer, ops in self._own_ops]
        return (
            f"chains of {layers} layers, an operation in each: {', '.join(self.ops)}{''.join(own)}"
        )

    def can_list_structures(self) -> bool:
        """Always: there is one structure of each length."""
        return True


def _check_layer_ops(given: Any, ops: Sequence[str], layers: int) -> LayerOps:
    """The operations of the layers that do not have all, in the order of layers and of ``ops``."""
    if not isinstance(given, Mapping | tuple | list):
        raise SpaceError(f"layer_ops must be a table by layer, got {given!r}")
    found: dict[int, tuple[str, ...]] = {}
    for layer, own in given.items() if isinstance(given, Mapping) else given:
        number = int(layer) if str(layer).isdecimal() else -1
        if not 0 <= number < layers:
            raise SpaceError(f"layer_ops must name layers from 0 to {layers - 1}, got {layer!r}")
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise SpaceError(f"layer_ops must be a list of names for layer {layer}, got {own!r}")
        for op in own:
            if op not in ops:
                raise UnknownNameError(f"layer_ops of layer {layer}", op, ops)
        found[number] = tuple(op for op in ops if op in own)
    return tuple((i, found[i]) for i in sorted(found) if len(found[i]) < len(ops))
