"""From a space of cells to blocks of *shapes*: structures or prefixes of structures, as arrays.

A block holds shapes that are searched together, and can turn labels back into graphs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import (
    Group,
    Matrices,
    classify_nodes,
    find_twins,
    group_structures,
    measure_distances,
    number_classes,
)
from nasgoat.acquisition.branch.cells.records import ChangeClasses, Shapes
from nasgoat.acquisition.branch.records import Integers
from nasgoat.acquisition.costs import GROWING, LARGEST_BRANCH, ShapeCost, forecast_shapes
from nasgoat.errors import SettingError, TooLargeError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import CellSpace, SearchSpace
from nasgoat.spaces.structures import list_rows, unpack_matrices

_TABLE_SHARE = 0.3  # of the time of a question, for the tables of one size
_WRITTEN, _SMALL = 2e8, 5e7  # bytes of tables that are computed in a second, or in no time


@dataclass(frozen=True, eq=False)
class CellBlock:
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
    def largest(self) -> int:
        """Nodes of its largest graphs."""
        return int(self.shapes.nodes.max(initial=0)) + (0 if self.prefix_states is None else 2)

    @cached_property
    def groups(self) -> list[Group]:
        """Structures of one size and number of variables, to be bounded together."""
        return group_structures(self.shapes, self.labels)

    def make_graph(self, s: int, states: Integers) -> LabeledGraph:
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
        seconds: Time for one question; a size whose tables take a third of it is left out.
        memory: Bytes for the tables of one size; a size whose tables take more is left out.
        growing: The sizes whose prefixes grow; known once the blocks are.
        left_out: The sizes that are not searched; known once the blocks are.
    """

    space: CellSpace
    prefixes: bool | None = None
    progress: Callable[[str], None] | None = None
    most: int = GROWING
    seconds: float | None = None
    memory: float | None = None
    growing: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    _blocks: list[CellBlock] = field(default_factory=list)
    _listed: dict[int, Matrices] = field(default_factory=dict)
    _begun: dict[int, tuple[Iterator[Matrices], list[Matrices]]] = field(default_factory=dict)
    _refused: set[int] = field(default_factory=set)  # sizes with too many
    _made_of: int = 0  # sizes that the blocks hold
    _said: bool = False  # that listing has begun

    @cached_property
    def by_prefixes(self) -> set[bool]:
        """Whether sizes are searched by prefixes, listed or growing: there may be both kinds."""
        return {bool(cost.prefixes) for cost in self._costs.values()}

    @cached_property
    def _costs(self) -> dict[int, ShapeCost]:
        return {
            n: forecast_shapes(self.space, n, self.prefixes, self.most) for n in self.space.sizes
        }

    def list_blocks(self, deadline: float | None = None) -> list[CellBlock]:
        """All blocks that can be listed until the deadline; :attr:`left_out` has the other sizes.

        Listing goes on where it stopped when it is asked for again.
        """
        if self.progress and not self._said:
            self.progress("listing the structures of the space")
            self._said = True
        self.left_out = []
        self.growing = [n for n in self.space.sizes if self._costs[n].growing and self._has_room(n)]
        for n in self.space.sizes:
            if self._costs[n].growing and n in self.growing:
                continue
            if self.left_out or not self._has_room(n) or not self._list(n, deadline):
                self.left_out.append(n)
        if len(self._listed) > self._made_of:
            self._blocks, self._made_of = self._make_blocks(), len(self._listed)
        return self._blocks

    def limit(self, space: CellSpace) -> Listing:
        """The same blocks in a space with other limits."""
        blocks = [replace(block, space=space) for block in self._blocks]
        return replace(self, space=space, _blocks=blocks, growing=list(self.growing))

    def _has_room(self, n: int) -> bool:
        """Whether the structures of a size, or their prefixes, can be listed, and their tables."""
        cost = self._costs[n]
        if not cost.listable and self.seconds is None:  # whoever has all the time wants a proof
            raise _refuse_structures(n)
        quick = cost.memory <= max(_WRITTEN * _TABLE_SHARE * (self.seconds or np.inf), _SMALL)
        if n in self._refused:
            return False
        return cost.listable and cost.memory <= (self.memory or np.inf) and quick

    def _list(self, n: int, deadline: float | None) -> bool:
        """List the structures or prefixes of a size; False if the time is up before all are."""
        if n in self._listed:
            return True
        if n not in self._begun:
            space = self.space
            chunks: Iterator[Matrices] = space.structures(n)
            if self._costs[n].prefixes:
                chunks = map(unpack_matrices, list_rows(n - 2, space.edge_limit, whole=False))
            self._begun[n] = chunks, []
        chunks, found = self._begun[n]
        total = sum(map(len, found))
        for chunk in chunks:
            found.append(chunk)
            total += len(chunk)
            if total > LARGEST_BRANCH or (deadline and time.perf_counter() > deadline):
                break
        else:
            m = n - 2 if self._costs[n].prefixes else n
            self._listed[n] = np.concatenate([np.zeros((0, m, m), dtype=bool), *found])
            del self._begun[n]
            return True
        if total > LARGEST_BRANCH:
            self._refused.add(n)
            del self._begun[n]
            if deadline is None:
                raise _refuse_structures(n)
        return False

    def _make_blocks(self) -> list[CellBlock]:
        prefixes = {n for n in self._listed if self._costs[n].prefixes}
        whole = [(n, found) for n, found in self._listed.items() if n not in prefixes]
        small = [make_structure_block(self.space, whole)] if whole else []
        return small + [
            _list_prefix_block(self.space, n, found)
            for n, found in self._listed.items()
            if n in prefixes and len(found)
        ]


def _refuse_structures(n: int) -> TooLargeError:
    return TooLargeError(
        f"branch and bound must have at most {LARGEST_BRANCH:,} structures to start from, "
        f"this space has more with {n} nodes; use scip, or allow fewer edges"
    )


def require_described(space: SearchSpace) -> SearchSpace:
    """The space, if it says what its structures are: all do but lists of graphs."""
    if space.layout == "list":
        raise SettingError(
            "branch and bound must have a space that describes its structures, got "
            f"{space.describe()}; use another optimiser"
        )
    return space


def make_structure_block(space: CellSpace, listed: Sequence[tuple[int, Matrices]]) -> CellBlock:
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
    return CellBlock(space, shapes, adjacency, classes)


def _list_ends(adjacency: Matrices, edges: Integers) -> NDArray[np.int8]:
    """The edges of every structure in the order of its matrix, padded."""
    ends = np.zeros((len(adjacency), max(int(edges.max(initial=0)), 1), 2), dtype=np.int8)
    for s, matrix in enumerate(adjacency):
        ends[s, : edges[s]] = np.argwhere(matrix)
    return ends


def _list_prefix_block(space: CellSpace, n: int, matrices: Matrices) -> CellBlock:
    """Prefixes of structures of n nodes, once for each label of the last inner node."""
    total, labels = len(matrices), len(space.ops)
    distance = measure_distances(matrices)
    last_label, reach = np.tile(np.arange(labels), total), distance.max(axis=2).astype(np.int64)
    home, twin = np.repeat(np.arange(total), labels), find_twins(matrices)
    size = n - space.sizes[0]
    return make_prefix_block(space, n, size, matrices, home, last_label, distance, twin, reach)


def make_prefix_block(
    space: CellSpace,
    n: int,
    size: int,
    adjacency: Matrices,
    home: Integers,
    last_label: Integers,
    distance: NDArray[np.int8],
    twin: NDArray[np.int8],
    reach: Integers,
) -> CellBlock:
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
    return CellBlock(space, shapes, adjacency, classes=classes, prefix_states=states)


class PrefixStates(NamedTuple):
    """What the states of the nodes of prefixes stand for."""

    label: Integers  # (X,) the label after the last one stands for the source
    last: Integers  # (X,) distance to the last inner node, 0 for no path
    sink: Integers  # (X,) distance to the sink
    reach: Integers  # (P, V) longest distance from a node to another one of its prefix


def list_prefix_states(labels: int, n: int, reach: Integers) -> PrefixStates:
    """All states of a node in a prefix of graphs with n nodes.

    Every node is reached from the source, so the source has a path to the last inner node.

    Example:
        >>> states = list_prefix_states(1, 4, reach=np.zeros((0, 2), dtype=np.int64))
        >>> list(zip(states.label.tolist(), states.last.tolist(), states.sink.tolist()))[:5]
        [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 0, 2), (1, 1, 1)]
    """
    states = []
    for label in range(labels + 1):
        source = label == labels
        longest = n - 2 if source else n - 3
        found = []
        for last in range(1 if source else 0, longest + 1):
            # Through the last inner node the sink is one step further.
            furthest = last + 1 if last else longest + 1
            found += [(last, sink) for sink in range(1, furthest + 1)]
        # By the path that a state needs within the prefix: what a node can be in comes first.
        found.sort(key=lambda state: state[0] or state[1])
        states += [(label, *state) for state in found]
    columns = np.ascontiguousarray(np.array(states, dtype=np.int64).T)
    return PrefixStates(label=columns[0], last=columns[1], sink=columns[2], reach=reach)
