"""From a space to the structures of the compiled search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Shapes
from nasgoat.acquisition.branch.ordered import ordered_structures
from nasgoat.errors import SettingError, TooLargeError
from nasgoat.graphs import LabeledGraph, canonical
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.spaces import IndexedSpace, NodeLabeledSpace, SearchSpace
from nasgoat.spaces.ordered_matrices import ordered_matrices

#: More structures than this are kept with the few that occur twice: a solve is exact all the same,
#: and telling them apart would take longer than it saves.
_TOLD_APART = 200_000
_LARGEST = 5_000_000  # ordered matrices; their arrays would take over a gigabyte


def node_structures(n: int, max_edges: int) -> NDArray[np.bool_]:
    """Structures of n nodes, each at least once, and at most once unless they are very many."""
    if (total := ordered_matrices(n, max_edges)) > _LARGEST:
        raise TooLargeError(
            f"branch and bound must have at most {_LARGEST:,} matrices to start from, this space "
            f"has {total:,} with {n} nodes; use scip, or allow fewer edges"
        )
    adjacency = ordered_structures(n, max_edges)
    if len(adjacency) > _TOLD_APART:
        return adjacency
    first: dict[bytes, int] = {}
    for i, matrix in enumerate(adjacency):
        first.setdefault(_structure_key(matrix), i)
    return adjacency[list(first.values())]


def _structure_key(matrix: NDArray[np.bool_]) -> bytes:
    n = len(matrix)
    arcs = {u: np.flatnonzero(row).tolist() for u, row in enumerate(matrix)}
    colours = {"inner": set(range(1, n - 1)), "sink": {n - 1}, "source": {0}}
    present = {name: nodes for name, nodes in colours.items() if nodes}
    return canonical.key_of_colored(n, arcs, present, directed=True)


def node_shapes(space: NodeLabeledSpace) -> tuple[Shapes, NDArray[np.bool_]]:
    """Structures whose inner nodes wait for labels, and their padded adjacency matrices."""
    n = space.sizes[-1]
    blocks = [(m, node_structures(m, space.edge_limit)) for m in space.sizes]
    total = sum(len(block) for _, block in blocks)
    adjacency = np.zeros((total, n, n), dtype=bool)
    nodes = np.concatenate([np.full(len(block), m, dtype=np.int64) for m, block in blocks])
    start = 0
    for m, block in blocks:
        adjacency[start : start + len(block), :m, :m] = block
        start += len(block)
    distance = shortest_distances(adjacency)
    distance[distance == n] = 0
    shapes = Shapes(
        nodes - space.sizes[0],
        nodes,
        nodes - 2,
        distance.astype(np.int8),
        np.zeros((total, 0, 2), dtype=np.int8),
        twins(adjacency),
    )
    return shapes, adjacency


def twins(adjacency: NDArray[np.bool_]) -> NDArray[np.int8]:
    """For each inner node the first inner node that may be swapped with it, itself included.

    Two nodes may be swapped if they have the same predecessors and the same successors.

    Example:
        >>> diamond = np.zeros((1, 4, 4), dtype=bool)
        >>> diamond[0, 0, [1, 2]] = diamond[0, [1, 2], 3] = True
        >>> twins(diamond).tolist()
        [[0, 0]]
    """
    total, n, _ = adjacency.shape
    first = np.tile(np.arange(n - 2, dtype=np.int8), (total, 1))
    for i in range(n - 2):
        for j in range(i):
            same = (adjacency[:, i + 1] == adjacency[:, j + 1]).all(axis=1)
            same &= (adjacency[:, :, i + 1] == adjacency[:, :, j + 1]).all(axis=1)
            first[same & (first[:, i] == i), i] = j
    return first


def edge_shapes(space: IndexedSpace) -> tuple[Shapes, NDArray[np.bool_]]:
    """Structures whose edges wait for labels, and their adjacency matrices."""
    adjacency = space.structures()
    total, n, _ = adjacency.shape
    counts = adjacency.sum(axis=(1, 2)).astype(np.int64)
    ends = np.zeros((total, int(counts.max()), 2), dtype=np.int8)
    for s, matrix in enumerate(adjacency):
        ends[s, : counts[s]] = np.argwhere(matrix)
    distance = shortest_distances(adjacency)
    distance[distance == n] = 0
    variables = np.arange(ends.shape[1], dtype=np.int8)
    shapes = Shapes(
        np.zeros(total, dtype=np.int64),
        np.full(total, n, dtype=np.int64),
        counts,
        distance.astype(np.int8),
        ends,
        np.tile(variables, (total, 1)),
    )
    return shapes, adjacency


@dataclass(frozen=True, eq=False)
class Skeletons:
    """The structures of a space, ready for the search, and the way back to graphs."""

    space: SearchSpace
    shapes: Shapes
    adjacency: NDArray[np.bool_]

    @classmethod
    def of(cls, space: SearchSpace, progress: Callable[[str], None] | None = None) -> Skeletons:
        """The skeletons of a node-labelled or an indexed space, or :class:`SettingError`."""
        if space.limits:
            raise SettingError(
                "branch and bound must have a space without limits so far, got "
                f"{', '.join(limit.text for limit in space.limits)}; use catalogue or scip"
            )
        if progress:
            progress("listing the structures of the space")
        if isinstance(space, NodeLabeledSpace):
            return cls(space, *node_shapes(space))
        if isinstance(space, IndexedSpace):
            return cls(space, *edge_shapes(space))
        raise SettingError(
            "branch and bound must have a node-labelled space or one with operations on the edges "
            f"of indexed nodes, got {space.describe()}; use another optimiser"
        )

    @property
    def labels(self) -> int:
        """How many labels a variable can take."""
        if isinstance(self.space, NodeLabeledSpace):
            return len(self.space.ops)
        return len(self.space.edge_vocabulary)

    def graph(self, s: int, labels: NDArray[np.int64]) -> LabeledGraph:
        """Structure s with these labels on its variables."""
        n = int(self.shapes.nodes[s])
        matrix = self.adjacency[s, :n, :n]
        if self.space.node_vocabulary:
            names = self.space.node_vocabulary
            inner = [names[1 + label] for label in labels[: n - 2].tolist()]
            return LabeledGraph(matrix, (names[0], *inner, names[-1]))
        ends = self.shapes.ends[s, : self.shapes.variables[s]].tolist()
        named = {
            (u, v): self.space.edge_vocabulary[label]
            for (u, v), label in zip(ends, labels.tolist(), strict=False)
        }
        return LabeledGraph(matrix, None, named)
