"""Cells: acyclic graphs whose structure and labels are chosen apart.

A cell has n nodes in an order in which every edge ascends. Its *structure* is its adjacency matrix;
its *variables* carry one label each, any of the space's operations:

    labels on nodes   node 0 is the source, node n - 1 the sink, every node is on a path between
                      them, and the inner nodes carry the labels; isomorphic cells are the same
    labels on edges   nodes are told apart by their index, and every edge carries a label

:class:`CellSpace` is the description that every optimiser works on. A family says which structures
it has, and follows in the catalogue, in branch and bound and in the mixed-integer program.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError, TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph, canonical
from nasgoat.spaces.cell_moves import change_one_part, list_neighbours
from nasgoat.spaces.label_limits import LabelLimits
from nasgoat.spaces.limits import Pair
from nasgoat.spaces.names import CellNames, Names
from nasgoat.spaces.orbits import inner_cycles, keep_smallest_in_orbit
from nasgoat.spaces.search_space import SearchSpace

INPUT = "input"
OUTPUT = "output"
Matrices = NDArray[np.bool_]
_LARGEST = 10**7  # cells that can be listed in reasonable time and memory
_BLOCK = 2**15  # cells enumerated at a time


class EdgeRow(NamedTuple):
    """A linear row over edges: Σ terms[u, v] A[u, v] (<=, >= or ==) bound.

    ``tag``, ``name`` and ``key`` are what the row is called in an exported program.
    """

    tag: str
    name: str
    key: tuple[int, ...]
    terms: Mapping[Pair, float]
    sense: str
    bound: float


@dataclass(frozen=True, eq=False)
class Structures:
    """Structures of one size: adjacency (S, n, n), and the automorphisms of each."""

    adjacency: Matrices
    automorphisms: Sequence[NDArray[np.intp]]


class CellSpace(SearchSpace):
    """A family of cells with free labels: what optimisers know of it.

    A subclass is a frozen dataclass with a field ``ops`` and, the last of them, ``limits``. It sets
    ``labels_on`` and ``kind`` and provides :attr:`sizes` and :meth:`structures`; everything else
    has a default, which it may replace by something quicker.
    """

    layout: ClassVar[Literal["cell", "graph", "list"]] = "cell"
    #: Where the labels are.
    labels_on: ClassVar[Literal["nodes", "edges"]]
    #: Whether the structures of n nodes are *all* with every node on a path from first to last and
    #: at most ``edge_limit`` edges, so that a search may grow them node by node.
    grows: ClassVar[bool] = False
    ops: Sequence[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "labels_on"):
            cls.indexed = cls.labels_on == "edges"

    # Structures

    @abstractmethod
    def structures(self, n: int) -> Iterator[Matrices]:
        """Adjacency matrices (S, n, n) of the cells with n nodes, in chunks, edges ascending.

        Each comes once: up to isomorphism where labels are on nodes, as a matrix where they are on
        edges.
        """

    def structure_bound(self, n: int) -> int:
        """A cheap upper bound on the number of structures with n nodes."""
        return len(self._listed[n].adjacency)

    def structure_rows(self, n: int) -> list[EdgeRow] | None:
        """Linear rows over edges that tell which matrices are structures.

        They hold beside ascending edges and, if :attr:`on_paths`, a path from the first to the last
        node through every node. None where no rows are known: a mathematical program then holds a
        binary choice of one of the listed structures.
        """
        return None

    @property
    def on_paths(self) -> bool:
        """Whether every node is on a path from the first node to the last."""
        return True

    @property
    def edge_limit(self) -> int:
        """Largest number of edges that a cell can have."""
        return max(int(s.adjacency.sum(axis=(1, 2)).max(initial=0)) for s in self._listed.values())

    def edge_places(self, n: int) -> list[Pair]:
        """The pairs (u, v) that carry an edge in some structure of n nodes."""
        found = self._listed[n].adjacency.any(axis=0)
        return [(int(u), int(v)) for u, v in np.argwhere(found)]

    def end_pairs(self, n: int) -> list[Pair]:
        """The pairs (source, sink) between which the depth of a cell is measured."""
        return [(0, n - 1)]

    def names(self, n: int) -> Names:
        """Between cells of n nodes and the names of a program's variables."""
        return CellNames(self, n)

    # Vocabulary and features

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        """Source, operations, sink; empty where labels are on edges."""
        return (INPUT, *self.ops, OUTPUT) if self.labels_on == "nodes" else ()

    @property
    def node_ops(self) -> tuple[str, ...]:
        """The operations, where they are on nodes."""
        return tuple(self.ops) if self.labels_on == "nodes" else ()

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        """The operations, where they are on edges."""
        return tuple(self.ops) if self.labels_on == "edges" else ()

    @property
    def limit_places(self) -> list[Pair]:
        """The edges that a limit may name one by one."""
        return self.edge_places(self.sizes[-1]) if self.labels_on == "edges" else []

    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, l1, l2) that can occur; the code of an indexed node is its index."""
        if self.labels_on == "edges":
            nodes = range(self.sizes[-1])
            climbs = [(s, u, v) for u in nodes for v in nodes[u + 1 :] for s in range(1, v - u + 1)]
            return [(0, v, v) for v in nodes] + climbs
        inner, first, last = range(1, len(self.ops) + 1), 0, len(self.ops) + 1
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

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Source and sink: by label, or the first and the last node."""
        if self.labels_on == "nodes":
            return ends_by_label(batch)
        nodes, last = np.arange(batch.n), batch.sizes[:, None] - 1
        return np.broadcast_to(nodes == 0, (len(batch), batch.n)), nodes == last

    def with_nodes(self, n: int) -> SearchSpace:
        """The space itself if it has one number of nodes; families with several replace this."""
        if list(self.sizes) != [n]:
            raise SpaceError(f"nodes must be {_say(self.sizes)} in this space, got {n}")
        return self

    # Membership and moves

    def _check(self, graph: LabeledGraph) -> None:
        check_labels(self, graph)
        if self._structure_key(graph) not in self._structure_keys:
            raise GraphError(f"the graph must have a structure of the space, got {graph}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        counts = [len(found.adjacency) for found in self._listed.values()]
        i = int(rng.integers(sum(counts)))
        for found, count in zip(self._listed.values(), counts, strict=True):
            if i < count:
                matrix = found.adjacency[i]
                return self.assemble(
                    matrix, rng.integers(len(self.ops), size=self.count_variables(matrix))
                )
            i -= count
        raise SpaceError(f"the space must have a structure, got none: {self._describe()}")

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return change_one_part(self, graph, rng)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return list_neighbours(self, graph)

    def count_variables(self, matrix: Matrices) -> int:
        """How many labels a structure has."""
        return len(matrix) - 2 if self.labels_on == "nodes" else int(matrix.sum())

    def assemble(
        self, matrix: Matrices, codes: Sequence[int] | NDArray[np.integer]
    ) -> LabeledGraph:
        """A structure with operations on its variables: inner nodes, or edges in row order."""
        names = [self.ops[int(code)] for code in codes]
        if self.labels_on == "nodes":
            return LabeledGraph(matrix, (INPUT, *names, OUTPUT))
        edges = [(int(u), int(v)) for u, v in np.argwhere(matrix)]
        return LabeledGraph.from_edges(len(matrix), edges, edge_labels=names)

    def take_apart(self, graph: LabeledGraph) -> tuple[Matrices, list[int]]:
        """The structure of a cell and the codes of its operations: see :meth:`labelled`."""
        if self.labels_on == "nodes":
            cell = graph.sorted_topologically()
            return cell.adjacency, [list(self.ops).index(x) for x in (cell.node_labels or ())[1:-1]]
        labels = graph.edge_labels or {}
        return graph.adjacency, [list(self.ops).index(labels[edge]) for edge in sorted(labels)]

    # All cells

    def size_bound(self) -> int:
        """Structures times labellings."""
        return self._count()

    def _count(self) -> int:
        k = len(self.ops)
        if self.labels_on == "edges":
            edges = [e for found in self._listed.values() for e in found.adjacency.sum(axis=(1, 2))]
            return sum(k ** int(e) for e in edges)
        # Burnside: the orbits of labellings under a group are the mean number of fixed ones.
        groups = (group for found in self._listed.values() for group in found.automorphisms)
        return sum(sum(k ** len(inner_cycles(g)) for g in group) // len(group) for group in groups)

    def _enumerate(self) -> Iterator[GraphBatch]:
        if self.labels_on == "edges":
            yield from self._enumerate_edge_labels()
            return
        for n, found in self._listed.items():
            labellings = np.array(list(product(range(1, len(self.ops) + 1), repeat=n - 2)))
            pairs = zip(found.adjacency, found.automorphisms, strict=True)
            kept = [
                (a, keep_smallest_in_orbit(labellings, group[:, 1:-1] - 1)) for a, group in pairs
            ]
            yield self._pack(n, kept)

    def _enumerate_edge_labels(self) -> Iterator[GraphBatch]:
        if (total := self._count()) > _LARGEST:
            raise TooLargeError(
                f"a space must have at most {_LARGEST:,} graphs to be listed, this one has "
                f"{total:,}; use an optimiser that does not list it"
            )
        high, base = self.sizes[-1], len(self.ops)
        structures = [(n, a) for n, found in self._listed.items() for a in found.adjacency]
        for n, structure in structures:
            heads, tails = np.nonzero(structure.T)  # by head, as digits are
            weights = base ** np.arange(len(tails))[::-1]
            for start in range(0, base ** len(tails), _BLOCK):
                numbers = np.arange(start, min(start + _BLOCK, base ** len(tails)))
                codes = np.full((len(numbers), high, high), -1, dtype=np.int8)
                codes[:, tails, heads] = (numbers[:, None] // weights) % base
                sizes = np.full(len(numbers), n, dtype=np.int8)
                yield GraphBatch(codes >= 0, sizes, None, codes, (), self.edge_vocabulary)

    def _pack(self, n: int, blocks: Sequence[tuple[Matrices, NDArray[np.int_]]]) -> GraphBatch:
        """Cells of n nodes from structures and the codes of inner nodes, padded to the space."""
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

    def _describe(self) -> str:
        site = "inner node" if self.labels_on == "nodes" else "edge"
        return (
            f"acyclic cells of {_say(self.sizes)} nodes, an operation on every {site}: "
            f"{', '.join(self.ops)}"
        )

    # Limits

    def _count_within(self) -> int:
        if self._label_limits.by_place or not self.structures_listable():
            return super()._count_within()
        return self._label_limits.count()

    def _draw_within(self, rng: np.random.Generator) -> LabeledGraph:
        return self._label_limits.draw(rng)

    @cached_property
    def _label_limits(self) -> LabelLimits:
        return LabelLimits(self)

    def blank_structures(self) -> Iterator[tuple[GraphBatch, Structures]]:
        """All structures, size by size, with the first label everywhere, and their symmetries."""
        for n, found in self._listed.items():
            if self.labels_on == "nodes":
                blank = np.ones((1, n - 2), dtype=int)
                yield self._pack(n, [(a, blank) for a in found.adjacency]), found
                continue
            high, total = self.sizes[-1], len(found.adjacency)
            codes = np.full((total, high, high), -1, dtype=np.int8)
            codes[:, :n, :n][found.adjacency] = 0
            sizes = np.full(total, n, dtype=np.int8)
            yield GraphBatch(codes >= 0, sizes, None, codes, (), self.edge_vocabulary), found

    def structures_listable(self) -> bool:
        """Whether listing all structures takes seconds at most."""
        return True

    # Listed structures

    def list_structures(self, n: int) -> Matrices:
        """All structures of n nodes as one array, (S, n, n)."""
        return self._listed[n].adjacency

    @cached_property
    def _listed(self) -> dict[int, Structures]:
        """The structures of each size, with their automorphisms."""
        return {n: self._list_structures(n) for n in self.sizes}

    def _list_structures(self, n: int) -> Structures:
        none = np.zeros((0, n, n), dtype=bool)
        adjacency = np.concatenate([none, *self.structures(n)])
        identity = np.arange(n)[None]
        if self.labels_on == "edges":
            return Structures(adjacency, [identity] * len(adjacency))
        colours = [{0}, set(range(1, n - 1)), {n - 1}]
        return Structures(adjacency, [canonical.automorphisms(a, colours) for a in adjacency])

    def _structure_key(self, graph: LabeledGraph) -> bytes:
        if self.labels_on == "edges":
            return bytes([graph.n]) + graph.adjacency.tobytes()
        ends = [label if label in (INPUT, OUTPUT) else "" for label in graph.node_labels or ()]
        return canonical.key(graph.adjacency, ends)

    @cached_property
    def _structure_keys(self) -> frozenset[bytes]:
        listed = [a for found in self._listed.values() for a in found.adjacency]
        blank = [self.assemble(a, [0] * self.count_variables(a)) for a in listed]
        return frozenset(self._structure_key(graph) for graph in blank)


def check_labels(space: CellSpace, graph: LabeledGraph) -> None:
    """Raise :class:`GraphError` unless size, direction and labels of a cell are right."""
    if graph.n not in space.sizes:
        raise GraphError(f"the graph must have {_say(space.sizes)} nodes, got {graph.n}")
    if space.labels_on == "nodes":
        _check_node_labels(space, graph)
        return
    if graph.node_labels is not None:
        raise GraphError("the graph must have labels on its edges and none on its nodes")
    if not graph.directed or np.tril(graph.adjacency).any():
        raise GraphError("edges must go from smaller to larger nodes, so without a cycle")
    if graph.edge_labels is None and graph.edges:
        raise GraphError("every edge must have a label, got none")
    for (u, v), label in (graph.edge_labels or {}).items():
        if label not in space.ops:
            known = ", ".join(space.ops)
            raise GraphError(f"edge labels must be among {known}, got {label!r} on {u} -> {v}")


def _check_node_labels(space: CellSpace, graph: LabeledGraph) -> None:
    check_ends(graph)
    if not graph.is_acyclic():
        raise GraphError("the graph must be directed and acyclic, got a cycle")
    for label in graph.node_labels or ():
        if label not in space.node_vocabulary:
            raise GraphError(f"node labels must be among {', '.join(space.ops)}, got {label!r}")


def check_ends(graph: LabeledGraph) -> tuple[str, ...]:
    """The labels of nodes, if exactly one is the input and one the output."""
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


def _say(sizes: range) -> str:
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
