"""Classes of variables that change a graph alike: their changes are computed once for all shapes.

Notation (docs/branch-and-bound.md)
    m_i(l), p_i(l)  change if open variable i takes label l, all other variables open

With every variable open, p_i(l) depends only on how many nodes there are at each distance before
and after node i, and where the ends are; for an edge that carries a label, only on its place and on
the number of nodes. Such a *change class* comes back in many shapes, and so does a pair of classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import (
    Changes,
    Floats,
    Index,
    Integers,
    Shapes,
    States,
    Tables,
)
from nasgoat.acquisition.branch.reference import add_to, dot
from nasgoat.compiled import compiled, inner


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


def number_pairs(change_class: Integers) -> tuple[NDArray[np.int32], Integers]:
    """One number for the classes of every two variables i < j, (P, V, V), and what it stands for.

    Example:
        >>> pair, classes = number_pairs(np.array([[0, 1], [0, 1]]))
        >>> pair[:, 0, 1].tolist(), classes.tolist()
        ([0, 0], [[0, 1]])
    """
    total, variables = change_class.shape
    pair = np.zeros((total, variables, variables), dtype=np.int32)
    first, second = np.triu_indices(variables, 1)
    most = int(change_class.max(initial=0)) + 1
    names, place = np.unique(
        change_class[:, first] * most + change_class[:, second], return_inverse=True
    )
    pair[:, first, second] = place.reshape(total, len(first))
    return pair, np.ascontiguousarray(np.stack([names // most, names % most], axis=1))


def _number(code: Integers) -> Integers:
    """The same classes, numbered from 0."""
    _, place = np.unique(code, return_inverse=True)
    return np.ascontiguousarray(place.reshape(code.shape).astype(np.int64))


def find_homes(change_class: Integers, variables: Integers) -> Integers:
    """For each class a shape and a variable in it that is of this class, (C, 2); -1 for none."""
    known = np.arange(change_class.shape[1]) < variables[:, None]
    shape, variable = np.nonzero(known)
    homes = np.full((int(change_class.max(initial=-1)) + 1, 2), -1, dtype=np.int64)
    homes[change_class[shape, variable]] = np.stack([shape, variable], axis=1)
    return homes


def measure_changes(tables: Tables, shapes: Shapes, states: States | None, labels: int) -> Changes:
    """Changes of all classes under a posterior, and their products."""
    total, r = len(shapes.class_home), tables.path_vector.shape[-1]
    last_labels, links = (0, 0) if states is None else states.link_vector.shape[:2]
    changes = Changes(
        own_mean=np.zeros(total),
        own_vector=np.zeros((total, r)),
        mean=np.zeros((total, labels)),
        vector=np.zeros((total, labels, r)),
        square=np.zeros((total, labels)),
        gram=np.zeros((len(shapes.pair_classes), labels, labels)),
        link_gram=np.zeros((last_labels, total, labels, links)),
    )
    _measure(tables, shapes, states, changes)
    return changes


@inner
def _measure_node(tables: Tables, shapes: Shapes, changes: Changes, k: Index, whole: bool) -> None:
    """Class k of a labelled node, or of the source of a prefix."""
    p, i = shapes.class_home[k, 0], shapes.class_home[k, 1]
    size, n, labels = shapes.size[p], shapes.nodes[p], changes.mean.shape[1]
    u = i + 1 if whole else i
    for v in range(n):
        ahead, behind = shapes.distance[p, u, v], shapes.distance[p, v, u]
        if (u != v and ahead == 0 and behind == 0) or (u == 0 and v > 0):
            continue
        a = 0 if u == 0 else labels + 2
        b = 0 if v == 0 else (labels + 1 if v == n - 1 and whole else labels + 2)
        end, d = (1, behind) if behind > 0 else (0, ahead)
        # A pair of two inner nodes belongs to both of them.
        share = 0.5 if u != v and b == labels + 2 else 1.0
        first, second = (b, a) if end == 1 else (a, b)
        changes.own_mean[k] += share * tables.path_mean[size, d, first, second]
        path = tables.path_vector[size, d, first, second]
        for x in range(len(path)):
            changes.own_vector[k, x] += share * path[x]
        for label in range(labels if u > 0 else 0):
            changes.mean[k, label] += tables.shift_mean[end, size, d, label, b]
            add_to(changes.vector[k, label], tables.shift_vector[end, size, d, label, b])


@inner
def _measure_edge(tables: Tables, shapes: Shapes, changes: Changes, k: Index) -> None:
    """Class k of an edge that carries a label."""
    p, i = shapes.class_home[k, 0], shapes.class_home[k, 1]
    u, v, labels = shapes.ends[p, i, 0], shapes.ends[p, i, 1], changes.mean.shape[1]
    mean, vector = tables.edge_mean[shapes.size[p], u, v], tables.edge_vector[shapes.size[p], u, v]
    changes.own_mean[k] = mean[labels]
    add_to(changes.own_vector[k], vector[labels])
    for label in range(labels):
        changes.mean[k, label] = mean[label] - mean[labels]
        for x in range(vector.shape[1]):
            changes.vector[k, label, x] = vector[label, x] - vector[labels, x]


@inner
def _multiply(a: Floats, b: Floats, out: Floats) -> None:
    """All products of the rows of a and b."""
    for i in range(len(a)):
        for j in range(len(b)):
            out[i, j] = dot(a[i], b[j])


@compiled
def _measure(tables: Tables, shapes: Shapes, states: States | None, changes: Changes) -> None:
    """Fill the arrays of ``changes``."""
    for k in range(len(changes.mean)):
        if shapes.class_home[k, 0] < 0:
            continue
        if shapes.ends.shape[1] > 0:
            _measure_edge(tables, shapes, changes, k)
        else:
            _measure_node(tables, shapes, changes, k, states is None)
        for a in range(changes.mean.shape[1]):
            changes.square[k, a] = dot(changes.vector[k, a], changes.vector[k, a])
        if states is not None:
            for q in range(len(states.link_vector)):
                _multiply(changes.vector[k], states.link_vector[q], changes.link_gram[q, k])
    for c in range(len(changes.gram)):
        a, b = shapes.pair_classes[c, 0], shapes.pair_classes[c, 1]
        _multiply(changes.vector[a], changes.vector[b], changes.gram[c])
