"""Cells: acyclic graphs whose labels can be chosen independently of their structure.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.declared_values import say_range
from nasgoat.spaces.label_limits import LabelLimits, count_labellings
from nasgoat.spaces.label_sites import INPUT, OUTPUT, SITES, LabelSites
from nasgoat.spaces.limits import EdgeRow, Pair
from nasgoat.spaces.moves import change_one_part, draw_cell, list_changes, list_others
from nasgoat.spaces.names import CellNames, Names
from nasgoat.spaces.search_space import SearchSpace

Matrices = NDArray[np.bool_]
Codes = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Structures:
    """Structures of one size: adjacency (S, n, n), and the automorphisms of each."""

    adjacency: Matrices
    automorphisms: Sequence[NDArray[np.intp]]


class CellSpace(SearchSpace):
    """A family of cells whose labels are free: base class of all spaces of cells.

    A subclass is a frozen dataclass with a field ``ops`` and, the last of them, ``limits``. It sets
    ``labels_on`` and ``kind`` and provides :attr:`sizes` and :meth:`structures`; everything else
    has a default, which it may replace by something quicker. To the description of every space
    (:class:`~nasgoat.SearchSpace`) it adds:

    - structures: :meth:`structures`, their number (:meth:`structure_bound`), and whether they may
      be grown node by node (:attr:`grows`);
    - the same as linear rows of a program: :meth:`structure_rows`, :attr:`on_paths`,
      :meth:`edge_places`, :attr:`edge_limit`; without rows a program chooses among a list;
    - variables, each of them with any of ``ops``, or with some: :attr:`labels_on`, :attr:`sites`
      and :meth:`choices`;
    - the depth that limits refer to: :meth:`end_pairs`.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> space: CellSpace = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> structures = np.concatenate(list(space.structures(3)))
        >>> space.labels_on, structures.sum(axis=(1, 2)).tolist()  # edges of each structure
        ('edges', [2, 3])
    """

    layout: ClassVar[Literal["cell", "graph", "cells", "list"]] = "cell"
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
        return len(self.listed[n].adjacency)

    def structure_rows(self, n: int) -> list[EdgeRow] | None:
        """Linear rows over edges that only the structures of the family satisfy.

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
        return max(int(s.adjacency.sum(axis=(1, 2)).max(initial=0)) for s in self.listed.values())

    def edge_places(self, n: int) -> list[Pair]:
        """The pairs (u, v) that carry an edge in some structure of n nodes."""
        found = self.listed[n].adjacency.any(axis=0)
        return [(int(u), int(v)) for u, v in np.argwhere(found)]

    def end_pairs(self, n: int) -> list[Pair]:
        """The pairs (source, sink) between which the depth of a cell is measured."""
        return [(0, n - 1)]

    def names(self, n: int) -> Names:
        """Translates between cells of n nodes and the variables of a mathematical program."""
        return CellNames(self, n)

    # Vocabulary and features

    @property
    def sites(self) -> LabelSites:
        """What depends on where cells carry their labels: on nodes or on edges."""
        return SITES[self.labels_on](self)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        """Source, operations, sink; empty where labels are on edges."""
        return (INPUT, *self.ops, OUTPUT) if self.labels_on == "nodes" else ()

    @property
    def node_ops(self) -> tuple[str, ...]:
        """The operations, where they are on nodes."""
        return self.node_vocabulary[1:-1]

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        """The operations, where they are on edges."""
        return tuple(self.ops) if self.labels_on == "edges" else ()

    @property
    def limit_places(self) -> list[Pair]:
        """The edges that a limit may name one by one."""
        return self.edge_places(self.sizes[-1]) if self.indexed else []

    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, l1, l2) that can occur; the code of an indexed node is its index."""
        return self.sites.path_types()

    def ends(self, batch: GraphBatch) -> tuple[Matrices, Matrices]:
        """Source and sink: by label, or the first and the last node."""
        return self.sites.ends(batch)

    def with_nodes(self, n: int) -> SearchSpace:
        """The space itself if it has one number of nodes; families with several replace this."""
        if list(self.sizes) != [n]:
            raise SpaceError(f"nodes must be {say_range(self.sizes)} in this space, got {n}")
        return self

    # Membership and moves

    def _check(self, graph: LabeledGraph) -> None:
        self._check_labels(graph)
        if self.sites.make_structure_key(graph) not in self._structure_keys:
            raise GraphError(f"the graph must have a structure of the space, got {graph}")

    def _check_labels(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError` unless size, direction and labels of a cell are right."""
        if graph.n not in self.sizes:
            raise GraphError(f"the graph must have {say_range(self.sizes)} nodes, got {graph.n}")
        self.sites.check(graph)

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return draw_cell(self, rng)

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return change_one_part(self, graph, rng)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return list_others(self, graph, list_changes(self, graph))

    def count_variables(self, matrix: Matrices) -> int:
        """How many labels a structure has."""
        return self.sites.count_variables(len(matrix), int(matrix.sum()))

    def choices(self, matrix: Matrices) -> Sequence[Sequence[int]]:
        """The codes that each variable of a structure may have, ascending; any by default.

        A family that allows fewer says so in :attr:`family_limits` too, for programs and bounds.
        """
        return [range(len(self.ops))] * self.count_variables(matrix)

    def assemble(self, matrix: Matrices, codes: Codes) -> LabeledGraph:
        """A structure with operations on its variables: inner nodes, or edges in row order."""
        return self.sites.assemble(matrix, [self.ops[int(code)] for code in codes])

    # All cells

    def size_bound(self) -> int:
        """An upper bound on the number of cells: structures times labellings."""
        return self._count()

    def _count(self) -> int:
        return count_labellings(self)

    def _enumerate(self) -> Iterator[GraphBatch]:
        return self.sites.enumerate()

    def _describe(self) -> str:
        return (
            f"acyclic cells of {say_range(self.sizes)} nodes, an operation on every "
            f"{self.sites.said}: {', '.join(self.ops)}"
        )

    # Limits

    def _count_within(self) -> int:
        if self._label_limits.by_place or not self.can_list_structures():
            return super()._count_within()
        return self._label_limits.count()

    def _draw_within(self, rng: np.random.Generator) -> LabeledGraph:
        return self._label_limits.draw(rng)

    @cached_property
    def _label_limits(self) -> LabelLimits:
        return LabelLimits(self)

    def can_list_structures(self) -> bool:
        """Whether listing all structures takes seconds at most."""
        return True

    # Listed structures

    @cached_property
    def listed(self) -> dict[int, Structures]:
        """The structures of each size, with their automorphisms."""
        return {n: self._list_structures(n) for n in self.sizes}

    def _list_structures(self, n: int) -> Structures:
        adjacency = np.concatenate([np.zeros((0, n, n), dtype=bool), *self.structures(n)])
        return Structures(adjacency, [self.sites.find_automorphisms(a) for a in adjacency])

    @cached_property
    def _structure_keys(self) -> frozenset[bytes]:
        listed = [a for found in self.listed.values() for a in found.adjacency]
        blank = [self.assemble(a, [0] * self.count_variables(a)) for a in listed]
        return frozenset(self.sites.make_structure_key(graph) for graph in blank)
