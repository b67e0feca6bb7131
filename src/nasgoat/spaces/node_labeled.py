"""Cells with operations on their nodes, as in NAS-Bench-101.

A cell is an acyclic graph with one source, labelled ``input``, one sink, labelled ``output``, an
operation on every other node, every node on a path from source to sink, and a bounded number of
edges: the paper's node-labelled domain, Eqs. (101_index) to (101_edge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import comb
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import find_nodes_on_paths
from nasgoat.spaces import node_moves
from nasgoat.spaces.cell_space import CellSpace, Structures
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import (
    MOST_NAMES,
    NAMES,
    RANGE,
    check_ops,
    count_subsets,
    read_range,
    say_range,
)
from nasgoat.spaces.label_sites import INPUT, OUTPUT
from nasgoat.spaces.limits import EdgeRow, Limit, Pair
from nasgoat.toml_reader import WHOLE, Value

_FEW_NODES = 12  # whose matrices are counted exactly
_FEW_EDGES = 40  # with which more nodes are counted exactly
_COUNTED_NODES = 20  # more have more matrices than can be listed, whatever the edges
LISTABLE = 200_000  # matrices whose structures are listed to draw under limits
_COUNTABLE = 100_000  # matrices whose structures are listed just to say how many graphs there are


@dataclass(frozen=True, repr=False)
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
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind = "node-labelled"
    file_keys: ClassVar[Mapping[str, Value]] = {"nodes": RANGE, "ops": NAMES, "max_edges": WHOLE}
    labels_on = "nodes"
    grows = True
    stores_forward_edges = True

    def __post_init__(self) -> None:
        low, high = read_range(self.nodes, "nodes", 2, MOST_NAMES)
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
        from nasgoat.spaces.structures import list_rows, unpack_matrices  # loads compiled code

        for rows in list_rows(n, self.edge_limit, whole=True):
            yield unpack_matrices(rows)

    def structure_bound(self, n: int) -> int:
        return count_matrices(n, self.edge_limit)

    def structure_rows(self, n: int) -> list[EdgeRow]:
        """(101_edge): at most E edges."""
        every = dict.fromkeys(self.edge_places(n), 1.0)
        return [
            EdgeRow(
                tag="101_edge", name="limit", key=(), terms=every, sense="<=", bound=self.edge_limit
            )
        ]

    def edge_places(self, n: int) -> list[Pair]:
        return [(u, v) for u in range(n) for v in range(u + 1, n)]

    def _check(self, graph: LabeledGraph) -> None:
        self._check_labels(graph)
        labels = np.array([graph.node_labels])
        on_path = find_nodes_on_paths(graph.adjacency[None], labels == INPUT, labels == OUTPUT)[0]
        if not on_path.all():
            v = int(np.argmin(on_path))
            raise GraphError(f"every node must be on a path from input to output, node {v} is not")
        if len(graph.edges) > self.edge_limit:
            limit = self.edge_limit
            raise GraphError(f"the graph must have at most {limit} edges, got {len(graph.edges)}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.draw(self, rng)

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.vary(self, graph, 1, rng, 1)[0]

    def _variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        return node_moves.vary(self, graph, count, rng, edits)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return node_moves.list_neighbours(self, graph)

    def _is_quickly_counted(self) -> bool:
        return self._has_at_most(_COUNTABLE)

    def _has_at_most(self, matrices: int) -> bool:
        if self.sizes[-1] > _COUNTED_NODES:
            return False
        return sum(count_matrices(n, self.edge_limit) for n in self.sizes) <= matrices

    def can_list_structures(self) -> bool:
        return self._has_at_most(LISTABLE)

    def _count_within(self) -> int:
        return self._label_limits.count()

    def size_bound(self) -> int:
        subsets = [count_subsets(n * (n - 1) // 2, 0, self.edge_limit) for n in self.sizes]
        choices = zip(self.sizes, subsets, strict=True)
        return sum(count * len(self.ops) ** (n - 2) for n, count in choices)

    def with_nodes(self, n: int) -> NodeLabeledSpace:
        if n not in self.sizes:
            low, high = self.sizes[0], self.sizes[-1]
            raise SpaceError(f"nodes must be from {low} to {high} in this space, got {n}")
        return replace(self, nodes=(n, n))

    def _describe(self) -> str:
        return (
            f"acyclic cells of {say_range(self.sizes)} nodes, at most {self.edge_limit} edges, "
            f"an operation on every inner node: {', '.join(self.ops)}"
        )

    @property
    def _declared_sizes(self) -> tuple[int, int]:
        return cast(tuple[int, int], self.nodes)  # __post_init__ made it a pair

    def _list_structures(self, n: int) -> Structures:
        from nasgoat.spaces.structures import list_acyclic_structures

        return list_acyclic_structures(n, self.edge_limit)


@lru_cache(maxsize=256)
def count_matrices(n: int, max_edges: int) -> int:
    """Number of matrices with edges u < v and at most this many edges, every node on a path.

    An upper bound on the number of structures that costs next to nothing: inclusion and exclusion
    over the set of nodes without successor, as polynomials in the number of edges.

    Example:
        >>> [count_matrices(n, n + 2) for n in (7, 8, 10)]
        [4793, 28334, 753515]
    """
    if n > _FEW_NODES and (n > _COUNTED_NODES or max_edges > _FEW_EDGES):
        # Far too many in any case: a coarser bound is enough.
        return count_subsets(n * (n - 1) // 2, n - 1, max_edges)
    signed = {0: [1] + [0] * max_edges}  # by number of smaller nodes taken to have no successor
    for v in range(n):
        if v > 0:
            signed = {a: _multiply_by_nonempty(p, v - a) for a, p in signed.items()}
        if v < n - 1:
            without = {a + 1: [-c for c in p] for a, p in signed.items()}
            for a, p in signed.items():
                without[a] = [x + y for x, y in zip(p, without.get(a, [0] * len(p)), strict=True)]
            signed = without
    return sum(sum(p) for p in signed.values())


def _multiply_by_nonempty(polynomial: list[int], items: int) -> list[int]:
    """Times (1 + x)^items - 1, cut at the same degree."""
    product = [0] * len(polynomial)
    for i, c in enumerate(polynomial):
        for j in range(1, min(items, len(polynomial) - 1 - i) + 1):
            product[i + j] += c * comb(items, j)
    return product


@lru_cache(maxsize=256)
def count_prefixes(n: int, max_edges: int) -> int:
    """Number of matrices with edges u < v and at most this many, every node reached from the first.

    Example:
        >>> [count_prefixes(n, 28) for n in (1, 2, 3, 4)]
        [1, 1, 3, 21]
    """
    if n > _FEW_NODES and max_edges > _FEW_EDGES:  # a coarser bound is enough
        return count_subsets(n * (n - 1) // 2, n - 1, max_edges)
    polynomial = [1] + [0] * max(max_edges, 0)
    for v in range(1, n):
        polynomial = _multiply_by_nonempty(polynomial, v)
    return sum(polynomial)
