"""Cells with operations on their edges, as in NAS-Bench-201, and what families of such cells share.

A cell is an acyclic graph on n indexed nodes, each edge from a smaller to a larger index and with
one operation: the paper's edge-labelled domain, Eqs. (201_index) to (201_label). It has one digit
per place u → v: 0 for no edge, else 1 + the place of its operation. "No operation" is the absence
of the edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import Slots
from nasgoat.graphs.shortest_paths import find_nodes_on_paths
from nasgoat.spaces.cell_space import CellSpace
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import MOST_NAMES, NAMES, RANGE, check_ops, read_range
from nasgoat.spaces.limits import EdgeRow, Limit, Pair
from nasgoat.spaces.moves import LISTABLE, fill_up
from nasgoat.toml_reader import FLAG, Value

_LISTABLE_PLACES = 20  # for edges: a million structures
_BLOCK = 2**17  # cells enumerated at a time
_SMALLEST_ATTEMPT = 8  # mutations tried at a time
_ATTEMPTS = 100  # of them before the neighbours are listed


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
        return bytes(self._slots.encode_edges(graph))

    def digits(self, graph: LabeledGraph) -> NDArray[np.uint8]:
        """One digit per pair: 0 for no edge, else 1 + the place of its operation.

        Example:
            >>> from nasgoat import EdgeLabeledSpace
            >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
            >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["skip", "conv"])
            >>> space.digits(cell).tolist(), space.from_digits([2, 0, 1]) == cell
            ([2, 0, 1], True)
        """
        return np.array(self._slots.encode_edges(graph), dtype=np.uint8)

    def from_digits(self, digits: Sequence[int] | NDArray[np.integer]) -> LabeledGraph:
        """The cell with these digits; see :meth:`digits`."""
        return self._slots.decode(self.nodes, [int(digit) for digit in digits])

    def batch_from_digits(self, digits: NDArray[np.integer]) -> GraphBatch:
        """Cells from rows of digits, whether or not the space allows their structures."""
        n = self.nodes
        codes = np.full((len(digits), n, n), -1, dtype=np.int8)
        for place, (u, v) in enumerate(self.places):
            codes[:, u, v] = digits[:, place] - 1
        sizes = np.full(len(digits), n, dtype=np.int8)
        return GraphBatch(
            adjacency=codes >= 0,
            sizes=sizes,
            node_codes=None,
            edge_codes=codes,
            node_vocabulary=(),
            edge_vocabulary=self.edge_vocabulary,
        )

    def can_list_structures(self) -> bool:
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
        return self.size_bound() <= LISTABLE if by_place else self.can_list_structures()


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
    file_keys: ClassVar[Mapping[str, Value]] = {"nodes": RANGE, "ops": NAMES, "connected": FLAG}
    stores_forward_edges = True

    @property
    def on_paths(self) -> bool:
        return self.connected

    @property
    def edge_limit(self) -> int:
        return len(self.places)

    def _check(self, graph: LabeledGraph) -> None:
        self._check_labels(graph)
        if self.connected and not self._find_cells_on_paths(graph.adjacency[None])[0]:
            raise GraphError("every node must be on a path from the first node to the last")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        while True:
            graph = self.from_digits(rng.integers(0, len(self.ops) + 1, size=len(self.places)))
            if not self.connected or self._find_cells_on_paths(graph.adjacency[None])[0]:
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
                fits &= self._find_cells_on_paths(self.batch_from_digits(mutated).adjacency)
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
            fits &= self._find_cells_on_paths(self.batch_from_digits(found).adjacency)
        return [self.from_digits(row) for row in found[fits]]

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        # In portions: whoever lists them may run out of time, and there may be 2^28.
        total, places = 2 ** len(self.places), np.arange(len(self.places))
        bits = places[::-1] if self.connected else places
        for start in range(0, total, _BLOCK):
            numbers = np.arange(start, min(start + _BLOCK, total))
            found = self.batch_from_digits((numbers[:, None] >> bits) & 1).adjacency
            yield found[self._find_cells_on_paths(found)] if self.connected else found

    def structure_bound(self, n: int) -> int:
        return super().structure_bound(n) if self.can_list_structures() else 2 ** len(self.places)

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
                batch = batch.take(self._find_cells_on_paths(batch.adjacency))
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
    def _find_cells_on_paths(adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(find_nodes_on_paths(adjacency).all(axis=1))
