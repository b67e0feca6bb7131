"""Cells with several inputs and a fixed number of predecessors per node, as in DARTS.

The first nodes are inputs without incoming edges; every later node takes exactly this many of the
smaller nodes as predecessors, and every edge has an operation. The output, which concatenates the
inner nodes, is the same in every cell and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, product
from math import comb, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import NAMES, RANGE
from nasgoat.spaces.edge_labeled import IndexedSpace
from nasgoat.spaces.limits import EdgeRow, Limit, Pair
from nasgoat.toml_reader import WHOLE, Value

_PORTION = 20_000  # structures listed at a time


@dataclass(frozen=True, repr=False)
class DartsSpace(IndexedSpace):
    """All cells on indexed nodes where each inner node has a fixed number of predecessors.

    Args:
        nodes: Number of nodes, the inputs included.
        ops: Names of the operations on edges.
        inputs: Number of input nodes.
        predecessors: Number of incoming edges of every other node.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`.

    Example:
        >>> space = DartsSpace(nodes=4, ops=["conv", "skip"])
        >>> space.count()  # 1 x 3 structures, four edges
        48
    """

    nodes: int
    ops: Sequence[str]
    inputs: int = 2
    predecessors: int = 2
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind = "darts-like"
    file_keys: ClassVar[Mapping[str, Value]] = {
        "nodes": RANGE,
        "ops": NAMES,
        "inputs": WHOLE,
        "predecessors": WHOLE,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.predecessors <= self.inputs < self.nodes:
            raise SpaceError(
                f"predecessors must be from 1 to the number of inputs, and inputs fewer than nodes,"
                f" got {self.predecessors} predecessors, {self.inputs} inputs, {self.nodes} nodes"
            )

    def path_types(self) -> list[tuple[int, int, int]]:
        # A path to v runs through inner nodes only, so it has at most v - inputs + 1 edges.
        first = self.inputs
        return [
            (s, u, v)
            for s, u, v in super().path_types()
            if s == 0 or (v >= first and s <= v - max(u, first - 1))
        ]

    def _check(self, graph: LabeledGraph) -> None:
        self._check_labels(graph)
        for v, degree in enumerate(graph.adjacency.sum(axis=0).tolist()):
            expected = self.predecessors if v >= self.inputs else 0
            if degree != expected:
                raise GraphError(f"node {v} must have {expected} incoming edges, got {degree}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        digits = dict.fromkeys(self.places, 0)
        for v in range(self.inputs, self.nodes):
            for u in rng.choice(v, size=self.predecessors, replace=False).tolist():
                digits[u, v] = int(rng.integers(1, len(self.ops) + 1))
        return self.from_digits(list(digits.values()))

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        near = self._list_near_digits(graph)
        if not near:
            return graph  # the only one
        return self.from_digits(near[int(rng.integers(len(near)))])

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return [self.from_digits(digits) for digits in self._list_near_digits(graph)]

    def _list_near_digits(self, graph: LabeledGraph) -> list[list[int]]:
        codes = dict(zip(self.places, self.digits(graph).tolist(), strict=True))
        found = []
        for (u, v), digit in codes.items():
            if digit == 0:
                continue
            others = [label for label in range(1, len(self.ops) + 1) if label != digit]
            changes = [{(u, v): other} for other in others]
            free = [w for w in range(v) if codes[w, v] == 0]
            changes += [{(u, v): 0, (w, v): digit} for w in free]
            found += [list((codes | change).values()) for change in changes]
        return found

    def _count(self) -> int:
        return int(self.structure_bound(self.nodes) * len(self.ops) ** self.edge_limit)

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        # The output joins all inner nodes, so each of them is a sink.
        inputs = np.arange(batch.n) < self.inputs
        shape = (len(batch), batch.n)
        return np.broadcast_to(inputs, shape), np.broadcast_to(~inputs, shape)

    def _is_quickly_counted(self) -> bool:
        return not self.limits or super()._is_quickly_counted()

    def size_bound(self) -> int:
        return self._count()

    @property
    def on_paths(self) -> bool:
        return False

    @property
    def edge_limit(self) -> int:
        return (self.nodes - self.inputs) * self.predecessors

    def edge_places(self, n: int) -> list[Pair]:
        return [(u, v) for u, v in super().edge_places(n) if v >= self.inputs]

    def end_pairs(self, n: int) -> list[Pair]:
        # The output joins all inner nodes, so each of them is a sink.
        return [(u, v) for u in range(self.inputs) for v in range(self.inputs, n)]

    def structure_rows(self, n: int) -> list[EdgeRow]:
        """(darts): inputs have no incoming edges, every other node a fixed number of them."""
        return [
            EdgeRow(
                tag="darts",
                name="predecessors",
                key=(v,),
                terms={(u, v): 1.0 for u in range(v)},
                sense="==",
                bound=self.predecessors if v >= self.inputs else 0,
            )
            for v in range(1, n)
        ]

    def structure_bound(self, n: int) -> int:
        return prod(comb(v, self.predecessors) for v in range(self.inputs, self.nodes))

    def _describe(self) -> str:
        return (
            f"acyclic cells on {self.nodes} indexed nodes, {self.inputs} of them inputs, "
            f"{self.predecessors} incoming edges for each other node, "
            f"an operation on every edge: {', '.join(self.ops)}"
        )

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        inner = range(self.inputs, self.nodes)
        choices = product(*(combinations(range(v), self.predecessors) for v in inner))
        while portion := list(islice(choices, _PORTION)):
            adjacency = np.zeros((len(portion), self.nodes, self.nodes), dtype=bool)
            for i, choice in enumerate(portion):
                for v, predecessors in zip(inner, choice, strict=True):
                    adjacency[i, list(predecessors), v] = True
            yield adjacency
