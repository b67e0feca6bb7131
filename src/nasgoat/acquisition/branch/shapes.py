"""From a space to the shapes of the compiled search: structures, or prefixes of structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Integers, Shapes
from nasgoat.acquisition.branch.groups import Group, groups_of
from nasgoat.acquisition.branch.kinds import couples_of, homes_of, kinds_of_nodes
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.spaces import IndexedSpace, NodeLabeledSpace, SearchSpace


@dataclass(frozen=True, eq=False)
class Block:
    """Shapes that are searched together, and the way back to graphs.

    Args:
        space: The space that they belong to.
        shapes: Structures, or prefixes of structures with one number of nodes.
        adjacency: Their matrices, padded.
        last, sink: What a state of a prefix says (``arrays.States``); empty for structures.
        label: The label of each state.
    """

    space: SearchSpace
    shapes: Shapes
    adjacency: NDArray[np.bool_]
    label: Integers
    last: Integers
    sink: Integers

    @property
    def prefixes(self) -> bool:
        """Whether the last two nodes are left open."""
        return len(self.last) > 0

    @cached_property
    def labels(self) -> int:
        """How many labels a variable can take."""
        return len(labels_of(self.space))

    @cached_property
    def groups(self) -> list[Group]:
        """Structures of one size and number of variables, for the quick bounds."""
        return groups_of(self.shapes, self.labels)

    def graph(self, s: int, states: Integers) -> LabeledGraph:
        """Shape s with these states of its variables."""
        p = int(self.shapes.home[s])
        n = int(self.shapes.nodes[p])
        matrix = self.adjacency[p, :n, :n]
        if self.prefixes:
            return self._completed(matrix, states[:n], int(self.shapes.tail[s]))
        labels = self.label[states[: self.shapes.variables[p]]].tolist()
        if self.space.node_vocabulary:
            names = self.space.node_vocabulary
            inner = [names[1 + label] for label in labels]
            return LabeledGraph(matrix, (names[0], *inner, names[-1]))
        ends = self.shapes.ends[p, : self.shapes.variables[p]].tolist()
        named = {
            (u, v): self.space.edge_vocabulary[label]
            for (u, v), label in zip(ends, labels, strict=True)
        }
        return LabeledGraph(matrix, None, named)

    def _completed(self, known: NDArray[np.bool_], states: Integers, tail: int) -> LabeledGraph:
        n, names = len(known), self.space.node_vocabulary
        matrix = np.zeros((n + 2, n + 2), dtype=bool)
        matrix[:n, :n] = known
        matrix[:n, n] = self.last[states] == 1
        matrix[:n, n + 1] = self.sink[states] == 1
        matrix[n, n + 1] = True
        inner = [names[1 + label] for label in (*self.label[states[1:]].tolist(), tail)]
        return LabeledGraph(matrix, (names[0], *inner, names[-1]))


def labels_of(space: SearchSpace) -> tuple[str, ...]:
    """The labels that a variable of the space can take."""
    if isinstance(space, NodeLabeledSpace):
        return tuple(space.ops)
    return space.edge_vocabulary


def structure_block(
    space: NodeLabeledSpace, listed: Sequence[tuple[int, NDArray[np.bool_]]]
) -> Block:
    """Structures whose inner nodes wait for labels: matrices by their number of nodes."""
    total, n = sum(len(matrices) for _, matrices in listed), max(m for m, _ in listed)
    nodes = np.concatenate([np.full(len(block), m, dtype=np.int64) for m, block in listed])
    adjacency = np.zeros((total, n, n), dtype=bool)
    twin = np.zeros((total, max(n - 2, 1)), dtype=np.int8)
    start = 0
    for m, block in listed:
        rows = slice(start, start + len(block))
        adjacency[rows, :m, :m] = block
        twin[rows, : m - 2] = twins(block)[:, 1 : m - 1]
        start += len(block)
    distance = distances(adjacency)
    shapes = Shapes(
        np.arange(total),
        np.full(total, -1, dtype=np.int64),
        nodes - space.sizes[0],
        nodes,
        adjacency.sum(axis=(1, 2)).astype(np.int64),
        nodes - 2,
        distance,
        np.zeros((total, 0, 2), dtype=np.int8),
        twin,
        np.zeros(twin.shape, dtype=np.int64),
        *kind_arrays(kinds_of_nodes(distance, nodes, whole=True), nodes - 2),
    )
    return _of_labels(space, shapes, adjacency)


def prefix_block(space: NodeLabeledSpace, n: int, matrices: NDArray[np.bool_]) -> Block:
    """Prefixes of structures of n nodes, once for each label of the last inner node."""
    total, known, _ = matrices.shape
    labels = len(space.ops)
    nodes = np.full(total, known, dtype=np.int64)
    distance = distances(matrices)
    shapes = Shapes(
        np.repeat(np.arange(total), labels),
        np.tile(np.arange(labels), total),
        np.full(total, n - space.sizes[0], dtype=np.int64),
        nodes,
        matrices.sum(axis=(1, 2)).astype(np.int64),
        nodes,
        distance,
        np.zeros((total, 0, 2), dtype=np.int8),
        twins(matrices),
        distance.max(axis=2).astype(np.int64),
        *kind_arrays(kinds_of_nodes(distance, nodes, whole=False), nodes),
    )
    return Block(space, shapes, matrices, *prefix_states(labels, n))


def prefix_states(labels: int, n: int) -> tuple[Integers, Integers, Integers]:
    """Label, distance to the last inner node and to the sink of all states in n nodes.

    The label after the last stands for the source, from which every node is reached.

    Example:
        >>> label, last, sink = prefix_states(1, 4)
        >>> list(zip(label.tolist(), last.tolist(), sink.tolist()))[:5]
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
    label_, last_, sink_ = np.array(states, dtype=np.int64).T
    return np.ascontiguousarray(label_), np.ascontiguousarray(last_), np.ascontiguousarray(sink_)


def edge_block(space: IndexedSpace) -> Block:
    """Structures whose edges wait for labels."""
    adjacency = space.list_structures(space.nodes)
    total, n, _ = adjacency.shape
    counts = adjacency.sum(axis=(1, 2)).astype(np.int64)
    ends = np.zeros((total, max(int(counts.max()), 1), 2), dtype=np.int8)
    for s, matrix in enumerate(adjacency):
        ends[s, : counts[s]] = np.argwhere(matrix)
    shapes = Shapes(
        np.arange(total),
        np.full(total, -1, dtype=np.int64),
        np.zeros(total, dtype=np.int64),
        np.full(total, n, dtype=np.int64),
        counts,
        counts,
        distances(adjacency),
        ends,
        np.tile(np.arange(ends.shape[1], dtype=np.int8), (total, 1)),
        np.zeros(ends.shape[:2], dtype=np.int64),
        *kind_arrays(ends[:, :, 0].astype(np.int64) * n + ends[:, :, 1], counts),
    )
    return _of_labels(space, shapes, adjacency)


def kind_arrays(
    kind: Integers, variables: Integers
) -> tuple[Integers, Integers, NDArray[np.int32], Integers]:
    """Kinds of variables and couples of kinds, as ``Shapes`` has them."""
    return kind, homes_of(kind, variables), *couples_of(kind)


def _of_labels(space: SearchSpace, shapes: Shapes, adjacency: NDArray[np.bool_]) -> Block:
    nothing = np.zeros(0, dtype=np.int64)
    return Block(space, shapes, adjacency, np.arange(len(labels_of(space))), nothing, nothing)


def distances(adjacency: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Lengths of shortest paths, 0 where there is none."""
    distance = shortest_distances(adjacency)
    distance[distance == adjacency.shape[1]] = 0
    return np.ascontiguousarray(distance.astype(np.int8))


def twins(adjacency: NDArray[np.bool_]) -> NDArray[np.int8]:
    """For each node the first node that may be swapped with it, itself included.

    Two nodes may be swapped if they have the same predecessors and the same successors.

    Example:
        >>> diamond = np.zeros((1, 4, 4), dtype=bool)
        >>> diamond[0, 0, [1, 2]] = diamond[0, [1, 2], 3] = True
        >>> twins(diamond).tolist()
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
