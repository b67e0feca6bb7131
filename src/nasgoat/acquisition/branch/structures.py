"""From a space of cells to blocks of *shapes*: structures or prefixes of structures, as arrays.

Notation (docs/branch-and-bound.md, "All structures at once")
    S, V  structures of one size, and their variables
    F     features of the reference graphs, whose labels are all "*": pairs of nodes, and edges
    h     (S, F) how often a structure has each of them

What shapes, and variables of shapes, have in common is computed once for all of them: variables of
one *change class* change a shape alike while all variables are open (``reference``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import ChangeClasses, Integers, Shapes
from nasgoat.acquisition.costs import GROWING, LARGEST_BRANCH, ShapeCost, shape_cost
from nasgoat.errors import SettingError, TooLargeError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.spaces import CellSpace, SearchSpace
from nasgoat.spaces.structures import list_rows, matrices_of

_TABLE_SHARE = 0.3  # of the time of a question, for the tables of one size
_WRITTEN, _SMALL = 2e8, 5e7  # bytes of tables that are computed in a second, or in no time


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
    def largest(self) -> int:
        """Nodes of its largest graphs."""
        return int(self.shapes.nodes.max(initial=0)) + (0 if self.prefix_states is None else 2)

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
    _blocks: list[Block] = field(default_factory=list)
    _listed: dict[int, Matrices] = field(default_factory=dict)
    _begun: dict[int, tuple[Iterator[Matrices], list[Matrices]]] = field(default_factory=dict)
    _refused: set[int] = field(default_factory=set)  # sizes with too many
    _made_of: int = 0  # sizes that the blocks hold

    @cached_property
    def by_prefixes(self) -> set[bool]:
        """Whether sizes are searched by prefixes, listed or growing: there may be both kinds."""
        return {bool(cost.prefixes) for cost in self._costs.values()}

    @cached_property
    def _costs(self) -> dict[int, ShapeCost]:
        return {n: shape_cost(self.space, n, self.prefixes, self.most) for n in self.space.sizes}

    def blocks(self, deadline: float | None = None) -> list[Block]:
        """All blocks that can be listed until the deadline; :attr:`left_out` has the other sizes.

        Listing goes on where it stopped when it is asked for again.
        """
        if not self._listed and self.progress:
            self.progress("listing the structures of the space")
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
                chunks = map(matrices_of, list_rows(n - 2, space.edge_limit, whole=False))
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

    def _make_blocks(self) -> list[Block]:
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


def make_structure_block(space: CellSpace, listed: Sequence[tuple[int, Matrices]]) -> Block:
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


Matrices = NDArray[np.bool_]
_CHUNK = 8_192  # structures between two looks at the clock, some 10 ms


def measure_distances(adjacency: Matrices) -> NDArray[np.int8]:
    """Lengths of shortest paths, 0 where there is none."""
    distance = shortest_distances(adjacency)
    distance[distance == adjacency.shape[1]] = 0
    return np.ascontiguousarray(distance.astype(np.int8))


def find_twins(adjacency: Matrices) -> NDArray[np.int8]:
    """For each node the first node that may be swapped with it, itself included.

    Two nodes may be swapped if they have the same predecessors and the same successors.

    Example:
        >>> diamond = np.zeros((1, 4, 4), dtype=bool)
        >>> diamond[0, 0, [1, 2]] = diamond[0, [1, 2], 3] = True
        >>> find_twins(diamond).tolist()
        [[0, 1, 1, 3]]
    """
    total, n, _ = adjacency.shape
    first = np.tile(np.arange(n, dtype=np.int8), (total, 1))
    for i in range(n):
        for j in range(i):
            same = (adjacency[:, i] == adjacency[:, j]).all(axis=1)
            same &= (adjacency[:, :, i] == adjacency[:, :, j]).all(axis=1)
            first[same & (first[:, i] == i), i] = j
    return first


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


def classify_nodes(distance: NDArray[np.int8], nodes: Integers, whole: bool) -> Integers:
    """The change class of every labelled node of structures (``whole``) or prefixes, (P, V).

    Two variables of one class have equal distances from the source and to the sink, and as many
    inner nodes at every distance before and after them.

    Example:
        >>> chain = np.array([[[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0]]])
        >>> classify_nodes(chain.astype(np.int8), np.array([4]), whole=True).tolist()
        [[1, 0]]
    """
    total, n, _ = distance.shape
    last = nodes - 1 if whole else nodes
    inner_node = (np.arange(n) > 0) & (np.arange(n) < last[:, None])
    variables = np.arange(1, n - 1) if whole else np.arange(n)
    code = np.zeros((total, len(variables)), dtype=np.int64)
    for d in np.flatnonzero(np.bincount(distance.ravel()))[1:].tolist():
        ahead = ((distance == d) & inner_node[:, None, :]).sum(axis=2)[:, variables]
        behind = ((distance == d) & inner_node[:, :, None]).sum(axis=1)[:, variables]
        code = _number((code * n + ahead) * n + behind)
    most = int(distance.max(initial=0)) + 1
    code = _number(code * most + distance[:, 0, variables])
    if whole:
        to_sink = distance[np.arange(total), :, nodes - 1][:, variables]
        code = _number(code * n + to_sink)
    return _number(code * (n + 1) + (nodes[:, None] if whole else 0))


def _number(code: Integers) -> Integers:
    """The same classes, numbered from 0."""
    _, place = np.unique(code, return_inverse=True)
    return np.ascontiguousarray(place.reshape(code.shape).astype(np.int64))


def number_classes(
    change_class: Integers, variables: Integers
) -> tuple[NDArray[np.int32], ChangeClasses]:
    """One number for the classes of every two variables i < j, (P, V, V), and where to find all.

    Example:
        >>> pair, classes = number_classes(np.array([[0, 1], [0, 1]]), np.array([2, 2]))
        >>> pair[:, 0, 1].tolist(), classes.pairs.tolist(), classes.home.tolist()
        ([0, 0], [[0, 1]], [[1, 0], [1, 1]])
    """
    total, width = change_class.shape
    pair = np.zeros((total, width, width), dtype=np.int32)
    first, second = np.triu_indices(width, 1)
    most = int(change_class.max(initial=0)) + 1
    names, place = np.unique(
        change_class[:, first] * most + change_class[:, second], return_inverse=True
    )
    pair[:, first, second] = place.reshape(total, len(first))
    home = np.full((int(change_class.max(initial=-1)) + 1, 2), -1, dtype=np.int64)
    shape, variable = np.nonzero(np.arange(width) < variables[:, None])
    home[change_class[shape, variable]] = np.stack([shape, variable], axis=1)
    return pair, ChangeClasses(home=home, pairs=np.stack([names // most, names % most], axis=1))


class Group(NamedTuple):
    """Structures of one size and number of variables, with what depends on the space alone."""

    rows: Integers  # (S,) places among the shapes
    size: int  # place of the number of nodes among the sizes of the space
    feature: Integers  # (F,) flat places of the features in the tables of paths, then of edges
    times: NDArray[np.int8]  # (S, F) h
    apart: NDArray[np.int8]  # (S, V, V) distance from variable i to j, 0 if none
    pairs: NDArray[np.int8]  # (S, n - 1) pairs of variables at distance 1, 2, ...

    def take(self, places: Integers) -> Group:
        """Some of the structures."""
        return self._replace(
            rows=self.rows[places],
            times=self.times[places],
            apart=self.apart[places],
            pairs=self.pairs[places],
        )


def group_structures(shapes: Shapes, labels: int) -> list[Group]:
    """Structures in chunks of equal size and number of variables."""
    alike = np.stack([shapes.size, shapes.variables], axis=1)
    found = []
    for size, variables in np.unique(alike, axis=0).tolist():
        rows = np.flatnonzero((alike == (size, variables)).all(axis=1))
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        found += [make_group(shapes, labels, chunk) for chunk in chunks]
    return found


def make_group(shapes: Shapes, labels: int, rows: Integers) -> Group:
    """The group of these structures, which have one size and number of variables."""
    size, variables = int(shapes.size[rows[0]]), int(shapes.variables[rows[0]])
    n, widest = int(shapes.nodes[rows[0]]), shapes.distance.shape[1]
    distance = shapes.distance[rows, :n, :n].astype(np.int64)
    edges = shapes.ends.shape[1] > 0
    codes, code = (widest, np.arange(n)) if edges else (labels + 3, np.full(n, labels + 2))
    if not edges:
        code[0], code[-1] = 0, labels + 1
    place = (distance * codes + code[:, None]) * codes + code
    shape, u, v = np.nonzero((distance > 0) | np.eye(n, dtype=bool))
    flat = place[shape, u, v]
    if edges:
        ends = shapes.ends[rows, :variables].astype(np.int64)
        flat = np.append(flat, widest * codes**2 + (ends[..., 0] * widest + ends[..., 1]).ravel())
        shape = np.append(shape, np.repeat(np.arange(len(rows)), variables))
    feature, column = np.unique(flat, return_inverse=True)
    total = np.bincount(shape * len(feature) + column.ravel(), minlength=len(rows) * len(feature))
    apart = np.zeros((len(rows), variables, variables), dtype=np.int8)
    if not edges:
        apart[:] = shapes.distance[rows, 1 : n - 1, 1 : n - 1]
    first, second = np.triu_indices(variables, 1)
    pairs = (apart[:, first, second][:, :, None] == np.arange(1, widest)).sum(axis=1)
    return Group(
        rows=rows,
        size=size,
        feature=feature,
        times=total.reshape(len(rows), -1).astype(np.int8),
        apart=apart,
        pairs=pairs.astype(np.int8),
    )
