"""Cells with operations on their nodes, as in NAS-Bench-101.

A cell is an acyclic graph with one source, labelled ``input``, one sink, labelled ``output``, an
operation on every other node, every node on a path from source to sink, and a bounded number of
edges: the paper's node-labelled domain, Eqs. (101_index) to (101_edge).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.spaces import node_moves
from nasgoat.spaces.free_labels import FreeLabelSpace
from nasgoat.spaces.label_counts import Profile
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.ordered_matrices import ordered_matrices
from nasgoat.spaces.search_space import checked_ops, checked_sizes
from nasgoat.spaces.structures import Structures, acyclic_structures

INPUT = "input"
OUTPUT = "output"
_COUNTED_NODES = 20  # more have more matrices than can be listed, whatever the edges
LISTABLE = 200_000  # matrices whose structures are listed to draw under limits
_COUNTABLE = 100_000  # matrices whose structures are listed just to say how many graphs there are


@dataclass(frozen=True)
class NodeLabeledSpace(FreeLabelSpace):
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
    indexed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = checked_sizes(self.nodes)
        object.__setattr__(self, "nodes", (low, high))
        object.__setattr__(self, "ops", checked_ops(self.ops, reserved=(INPUT, OUTPUT)))
        if not self.ops and low > 2:
            raise SpaceError(f"ops must name at least one operation for {low} nodes, got none")
        if self.max_edges is not None and self.max_edges < low - 1:
            raise SpaceError(
                f"max_edges must be at least {low - 1} to connect {low} nodes, "
                f"got {self.max_edges}; raise it or allow fewer nodes"
            )

    @property
    def edge_limit(self) -> int:
        """Largest number of edges that a graph can have."""
        high = self._declared_sizes[1]
        complete = high * (high - 1) // 2
        return complete if self.max_edges is None else min(self.max_edges, complete)

    @property
    def sizes(self) -> range:
        low, high = self._declared_sizes
        if not self.ops:
            high = 2
        # A cell with n nodes has at least n - 1 edges: larger sizes are empty.
        return range(low, min(high, self.edge_limit + 1) + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        return (INPUT, *self.ops, OUTPUT)  # the paper: first label the source, last the sink

    @property
    def node_ops(self) -> tuple[str, ...]:
        return tuple(self.ops)

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        return ()

    def path_types(self) -> list[tuple[int, int, int]]:
        inner = range(1, len(self.ops) + 1)
        first, last = 0, len(self.ops) + 1
        longest = self.sizes[-1] - 1
        types = [(0, label, label) for label in (first, *inner, last)]
        for s in range(1, longest + 1):
            types.append((s, first, last))
            if s <= longest - 1:
                types += [(s, first, label) for label in inner]
                types += [(s, label, last) for label in inner]
            if s <= longest - 2:
                types += [(s, a, b) for a, b in product(inner, inner)]
        return types

    def _check(self, graph: LabeledGraph) -> None:
        labels = _checked_cell_labels(graph)
        if graph.n not in self.sizes:
            low, high = self.sizes[0], self.sizes[-1]
            raise GraphError(f"the graph must have {low} to {high} nodes, got {graph.n}")
        if not graph.is_acyclic():
            raise GraphError("the graph must be directed and acyclic, got a cycle")
        source, sink = labels.index(INPUT), labels.index(OUTPUT)
        d = shortest_distances(graph.adjacency[None])[0]
        on_path = (d[source] < graph.n) & (d[:, sink] < graph.n)
        if not on_path.all():
            v = int(np.argmin(on_path))
            raise GraphError(f"every node must be on a path from input to output, node {v} is not")
        for label in labels:
            if label not in self.node_vocabulary:
                known = ", ".join(self.ops)
                raise GraphError(f"node labels must be among {known}, got {label!r}")
        if len(graph.edges) > self.edge_limit:
            limit = self.edge_limit
            raise GraphError(f"the graph must have at most {limit} edges, got {len(graph.edges)}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.draw(self, rng)

    def _mutated(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return node_moves.variants(self, graph, 1, rng)[0]

    def _variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        return node_moves.variants(self, graph, count, rng, edits)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return node_moves.neighbours(self, graph)

    def _count(self) -> int:
        # Burnside: the orbits of labellings under a group are the mean number of fixed ones.
        k = len(self.ops)
        total = 0
        for structures in self._structures.values():
            for group in structures.automorphisms:
                total += sum(k ** len(_inner_cycles(g)) for g in group.tolist()) // len(group)
        return total

    def _count_within(self) -> int:
        fixed: dict[tuple[Profile, tuple[int, ...]], int] = {}
        total = 0
        for n, structures in self._structures.items():
            batch, groups = self._blank(n, structures), structures.automorphisms
            for profile, group in zip(self._profiles(batch), groups, strict=True):
                orbits = 0
                for g in group.tolist():
                    kind = (profile, _inner_cycles(g))
                    if kind not in fixed:
                        fixed[kind] = self._labellings_within(*kind)
                    orbits += fixed[kind]
                total += orbits // len(group)
        return total

    def _label_coefficients(self, limit: Limit) -> NDArray[np.float64]:
        return limit.node_coefficients(self.ops)

    def _places(self, profile: Profile) -> int:
        return profile.nodes - 2

    def _with_labels(self, graph: LabeledGraph, codes: NDArray[np.intp]) -> LabeledGraph:
        ordered = graph.sorted_topologically()
        inner = (self.ops[code] for code in codes.tolist())
        return LabeledGraph(ordered.adjacency, (INPUT, *inner, OUTPUT))

    def _quickly_counted(self) -> bool:
        return self._has_at_most(_COUNTABLE)

    def _has_at_most(self, matrices: int) -> bool:
        if self.sizes[-1] > _COUNTED_NODES:
            return False
        return sum(ordered_matrices(n, self.edge_limit) for n in self.sizes) <= matrices

    def _blank_structures(self) -> Iterator[GraphBatch]:
        if not self._has_at_most(LISTABLE):
            return
        for n, structures in self._structures.items():
            yield self._blank(n, structures)

    def _blank(self, n: int, structures: Structures) -> GraphBatch:
        blank = np.ones((1, n - 2), dtype=int)
        return self._pack(n, [(a, blank) for a in structures.adjacency])

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return ends_by_label(batch)

    def size_bound(self) -> int:
        low, high = self.sizes[0], self.sizes[-1]
        return sum(
            _subsets_at_most(n * (n - 1) // 2, self.edge_limit) * len(self.ops) ** (n - 2)
            for n in range(low, high + 1)
        )

    def _enumerate(self) -> Iterator[GraphBatch]:
        for n, structures in self._structures.items():
            labellings = np.array(list(product(range(1, len(self.ops) + 1), repeat=n - 2)))
            pairs = zip(structures.adjacency, structures.automorphisms, strict=True)
            blocks = [(a, _smallest_in_orbit(labellings, group)) for a, group in pairs]
            yield self._pack(n, blocks)

    def _pack(self, n: int, blocks: list[tuple[NDArray[np.bool_], NDArray[np.int_]]]) -> GraphBatch:
        """Graphs of n nodes from structures and their inner labellings, padded to the space."""
        counts = [len(inner) for _, inner in blocks]
        total, high = sum(counts), self.sizes[-1]
        adjacency = np.zeros((total, high, high), dtype=bool)
        adjacency[:, :n, :n] = np.repeat([a for a, _ in blocks], counts, axis=0)
        codes = np.full((total, high), -1, dtype=np.int8)
        codes[:, 0], codes[:, n - 1] = 0, len(self.ops) + 1
        if n > 2:
            codes[:, 1 : n - 1] = np.concatenate([inner for _, inner in blocks])
        sizes = np.full(total, n, dtype=np.int8)
        return GraphBatch(adjacency, sizes, codes, None, self.node_vocabulary)

    def with_nodes(self, n: int) -> NodeLabeledSpace:
        if n not in self.sizes:
            low, high = self.sizes[0], self.sizes[-1]
            raise SpaceError(f"nodes must be from {low} to {high} in this space, got {n}")
        return replace(self, nodes=(n, n))

    def _declaration(self) -> dict[str, Any]:
        return {
            "kind": "node-labelled",
            "nodes": list(self._declared_sizes),
            "ops": list(self.ops),
            "max_edges": self.max_edges,
        }

    def _described(self) -> str:
        low, high = self.sizes[0], self.sizes[-1]
        nodes = f"{low}" if low == high else f"{low} to {high}"
        return (
            f"acyclic cells of {nodes} nodes, at most {self.edge_limit} edges, "
            f"an operation on every inner node: {', '.join(self.ops)}"
        )

    @property
    def _declared_sizes(self) -> tuple[int, int]:
        return checked_sizes(self.nodes)

    @cached_property
    def _structures(self) -> dict[int, Structures]:
        return {n: acyclic_structures(n, self.edge_limit) for n in self.sizes}


def _checked_cell_labels(graph: LabeledGraph) -> tuple[str, ...]:
    if graph.node_labels is None or graph.edge_labels is not None:
        raise GraphError("the graph must have labels on its nodes and none on its edges")
    for label in (INPUT, OUTPUT):
        if (times := graph.node_labels.count(label)) != 1:
            raise GraphError(f"exactly one node must be labelled {label!r}, got {times}")
    return graph.node_labels


def ends_by_label(batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Sources have the first label of the vocabulary, sinks the last."""
    codes = batch.node_codes
    if codes is None:
        raise GraphError("the graphs must have labels on their nodes, got none")
    return codes == 0, codes == len(batch.node_vocabulary) - 1


def _inner_cycles(permutation: list[int]) -> tuple[int, ...]:
    """Sizes of the cycles of inner nodes in a permutation that fixes source and sink."""
    seen: set[int] = set()
    cycles = []
    for start in range(1, len(permutation) - 1):
        before = len(seen)
        while start not in seen:
            seen.add(start)
            start = permutation[start]
        if len(seen) > before:
            cycles.append(len(seen) - before)
    return tuple(sorted(cycles))


def _smallest_in_orbit(labellings: NDArray[np.int_], group: NDArray[np.intp]) -> NDArray[np.int_]:
    """The labellings (rows of inner codes) that no automorphism turns into a smaller one."""
    if len(group) == 1:
        return labellings
    radix = int(labellings.max()) + 1
    powers = radix ** np.arange(labellings.shape[1])[::-1]
    inner = group[:, 1:-1] - 1
    own = labellings @ powers
    smallest = own.copy()
    for permutation in inner:
        np.minimum(smallest, labellings[:, permutation] @ powers, out=smallest)
    kept: NDArray[np.int_] = labellings[own == smallest]
    return kept


def _subsets_at_most(items: int, most: int) -> int:
    return sum(comb(items, k) for k in range(min(items, most) + 1))
