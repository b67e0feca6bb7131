"""What families of cells on indexed nodes with operations on edges share.

A cell has one digit per place u → v: 0 for no edge, else 1 + the place of its operation. "No
operation" is the absence of the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import Slots
from nasgoat.spaces.cell_space import CellSpace
from nasgoat.spaces.declared_values import MOST_NAMES, check_ops, read_range
from nasgoat.spaces.limits import Pair
from nasgoat.spaces.moves import LISTABLE

_LISTABLE_PLACES = 20  # for edges: a million structures


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
