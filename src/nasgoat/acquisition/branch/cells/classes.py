"""Classes of shapes and of variables that are alike, so that work is done once for each class.

Notation (docs/branch-and-bound.md, "All structures at once")
    S, V  structures of one size, and their variables
    F     features of the reference graphs, whose labels are all "*": pairs of nodes, and edges
    h     (S, F) how often a structure has each of them

Variables of one *change class* change a shape alike while all variables are open (``reference``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.records import ChangeClasses, Shapes
from nasgoat.acquisition.branch.records import Integers
from nasgoat.graphs.shortest_paths import find_distances

Matrices = NDArray[np.bool_]
_CHUNK = 8_192  # structures between two looks at the clock, some 10 ms


def measure_distances(adjacency: Matrices) -> NDArray[np.int8]:
    """Lengths of shortest paths, 0 where there is none."""
    distance = find_distances(adjacency)
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
    size: int  # number of nodes, less that of the smallest graphs of the space
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
