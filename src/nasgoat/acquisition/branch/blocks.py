"""From a space to blocks of shapes: its structures, or prefixes of structures, as arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import ChangeClasses, Integers, Shapes
from nasgoat.acquisition.branch.shape_classes import (
    Group,
    Matrices,
    PrefixStates,
    classify_nodes,
    find_twins,
    group_structures,
    list_prefix_states,
    measure_distances,
    number_classes,
)
from nasgoat.acquisition.costs import GROWING, LARGEST_BRANCH, ShapeCost, shape_cost
from nasgoat.errors import SettingError, TooLargeError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import CellSpace, SearchSpace
from nasgoat.spaces.structures import list_rows, matrices_of


class OutOfTimeError(Exception):
    """The time limit was reached before all shapes were listed."""


@dataclass(frozen=True, eq=False)
class Block:
    """Structures or prefixes that are searched together, and how to turn them back into graphs.

    Args:
        space: The space that they belong to.
        shapes: Structures, or prefixes of structures with one number of nodes.
        adjacency: Their matrices, padded.
        classes: Which of their variables change a graph alike.
        prefix_states: What the states of a prefix stand for; None for structures, whose states are
            labels.
    """

    space: CellSpace
    shapes: Shapes
    adjacency: Matrices
    classes: ChangeClasses
    prefix_states: PrefixStates | None = None

    @cached_property
    def labels(self) -> int:
        """How many labels a variable can take."""
        return len(self.space.ops)

    @cached_property
    def groups(self) -> list[Group]:
        """Structures of one size and number of variables, to be bounded together."""
        return group_structures(self.shapes, self.labels)

    def graph(self, s: int, states: Integers) -> LabeledGraph:
        """Shape s with these states of its variables."""
        p = int(self.shapes.home[s])
        n = int(self.shapes.nodes[p])
        matrix = self.adjacency[p, :n, :n]
        if self.prefix_states is None:
            return self.space.assemble(matrix, states[: self.shapes.variables[p]].tolist())
        found, states = self.prefix_states, states[:n]
        whole = np.zeros((n + 2, n + 2), dtype=bool)
        whole[:n, :n] = matrix
        whole[:n, n] = found.last[states] == 1
        whole[:n, n + 1] = found.sink[states] == 1
        whole[n, n + 1] = True
        return self.space.assemble(
            whole, [*found.label[states[1:]].tolist(), int(self.shapes.last_label[s])]
        )


@dataclass
class Listing:
    """The blocks of a space, listed when they are first asked for.

    Args:
        space: Cells with labels on nodes, or on the edges of indexed nodes.
        prefixes: Whether to search by prefixes where that is possible; by the cost model if None.
        progress: Called with a line of text when something takes long.
        most: Prefixes of one size that are listed; more grow node by node.
        growing: The sizes whose prefixes grow; known once the blocks are.
    """

    space: CellSpace
    prefixes: bool | None = None
    progress: Callable[[str], None] | None = None
    most: int = GROWING
    growing: list[int] = field(default_factory=list)
    _blocks: list[Block] = field(default_factory=list)

    @cached_property
    def by_prefixes(self) -> set[bool]:
        """Whether sizes are searched by prefixes, listed or growing: there may be both kinds."""
        return {bool(cost.prefixes) for cost in self._costs.values()}

    @cached_property
    def _costs(self) -> dict[int, ShapeCost]:
        return {n: shape_cost(self.space, n, self.prefixes, self.most) for n in self.space.sizes}

    def blocks(self, deadline: float | None = None) -> list[Block]:
        """All blocks; :class:`OutOfTimeError` if listing them takes longer than allowed."""
        if not self._blocks and not self.growing:
            if self.progress:
                self.progress("listing the structures of the space")
            self._blocks = self._list_blocks(deadline)
        return self._blocks

    def _list_blocks(self, deadline: float | None) -> list[Block]:
        space = self.space
        whole, prefixes, growing = [], [], []
        for n in space.sizes:
            if self._costs[n].growing:
                growing.append(n)
            elif self._costs[n].prefixes:
                chunks = map(matrices_of, list_rows(n - 2, space.edge_limit, whole=False))
                prefixes.append((n, _collect(chunks, n, deadline)))
            else:
                whole.append((n, _collect(space.structures(n), n, deadline)))
        self.growing = growing
        small = [structure_block(space, whole)] if whole else []
        return small + [_list_prefix_block(space, n, found) for n, found in prefixes if len(found)]


def require_described(space: SearchSpace) -> SearchSpace:
    """The space, if it says what its structures are: all do but lists of graphs."""
    if space.layout == "list":
        raise SettingError(
            "branch and bound must have a space that describes its structures, got "
            f"{space.describe()}; use another optimiser"
        )
    return space


def _collect(chunks: Iterable[Matrices], n: int, deadline: float | None) -> Matrices:
    """All matrices of a listing, unless they are too many or take too long."""
    found, total = [], 0
    for chunk in chunks:
        found.append(chunk)
        total += len(chunk)
        if deadline is not None and time.perf_counter() > deadline:
            raise OutOfTimeError
        if total > LARGEST_BRANCH and deadline is not None:
            raise OutOfTimeError  # they can't be searched in it
        if total > LARGEST_BRANCH:
            raise TooLargeError(
                f"branch and bound must have at most {LARGEST_BRANCH:,} structures to start from, "
                f"this space has more with {n} nodes; use scip, or allow fewer edges"
            )
    return np.concatenate(found)


def structure_block(space: CellSpace, listed: Sequence[tuple[int, Matrices]]) -> Block:
    """Structures whose inner nodes, or edges, wait for labels: matrices by numbers of nodes."""
    total, n = sum(len(matrices) for _, matrices in listed), max(m for m, _ in listed)
    nodes = np.concatenate([np.full(len(block), m, dtype=np.int64) for m, block in listed])
    adjacency = np.zeros((total, n, n), dtype=bool)
    twin = np.zeros((total, n), dtype=np.int8)
    start = 0
    for m, block in listed:
        rows = slice(start, start + len(block))
        adjacency[rows, :m, :m] = block
        twin[rows, :m] = find_twins(block)
        start += len(block)
    distance, size = measure_distances(adjacency), nodes - space.sizes[0]
    edges = adjacency.sum(axis=(1, 2)).astype(np.int64)
    if space.labels_on == "edges":
        ends, variables = _list_ends(adjacency, edges), edges
        twin = np.tile(np.arange(ends.shape[1], dtype=np.int8), (total, 1))
        change_class = (size[:, None] * n + ends[:, :, 0]) * n + ends[:, :, 1]
    else:
        ends, variables = np.zeros((total, 0, 2), dtype=np.int8), nodes - 2
        twin = np.ascontiguousarray(twin[:, 1 : max(n - 1, 2)])
        change_class = classify_nodes(distance, nodes, whole=True)
    class_pair, classes = number_classes(change_class, variables)
    shapes = Shapes(
        home=np.arange(total),
        last_label=np.full(total, -1, dtype=np.int64),
        size=size,
        nodes=nodes,
        variables=variables,
        distance=distance,
        ends=ends,
        twin=twin,
        change_class=change_class,
        class_pair=class_pair,
    )
    return Block(space, shapes, adjacency, classes)


def _list_ends(adjacency: Matrices, edges: Integers) -> NDArray[np.int8]:
    """The edges of every structure in the order of its matrix, padded."""
    ends = np.zeros((len(adjacency), max(int(edges.max(initial=0)), 1), 2), dtype=np.int8)
    for s, matrix in enumerate(adjacency):
        ends[s, : edges[s]] = np.argwhere(matrix)
    return ends


def _list_prefix_block(space: CellSpace, n: int, matrices: Matrices) -> Block:
    """Prefixes of structures of n nodes, once for each label of the last inner node."""
    total, labels = len(matrices), len(space.ops)
    distance = measure_distances(matrices)
    last_label, reach = np.tile(np.arange(labels), total), distance.max(axis=2).astype(np.int64)
    home, twin = np.repeat(np.arange(total), labels), find_twins(matrices)
    size = n - space.sizes[0]
    return prefix_block(space, n, size, matrices, home, last_label, distance, twin, reach)


def prefix_block(
    space: CellSpace,
    n: int,
    size: int,
    adjacency: Matrices,
    home: Integers,
    last_label: Integers,
    distance: NDArray[np.int8],
    twin: NDArray[np.int8],
    reach: Integers,
) -> Block:
    """Prefixes of graphs with n nodes, all of whose nodes are variables (see ``Shapes``)."""
    total, known, _ = distance.shape
    nodes = np.full(total, known, dtype=np.int64)
    change_class = classify_nodes(distance, nodes, whole=False)
    class_pair, classes = number_classes(change_class, nodes)
    shapes = Shapes(
        home=home,
        last_label=last_label,
        size=np.full(total, size, dtype=np.int64),
        nodes=nodes,
        variables=nodes,
        distance=distance,
        ends=np.zeros((total, 0, 2), dtype=np.int8),
        twin=twin,
        change_class=change_class,
        class_pair=class_pair,
    )
    states = list_prefix_states(len(space.ops), n, reach)
    return Block(space, shapes, adjacency, classes, states)
