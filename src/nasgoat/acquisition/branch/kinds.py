"""Variables that change a graph alike: their changes, and the products of these, once for all.

Notation (docs/branch-and-bound.md)
    m_i(l), p_i(l)  change if open variable i takes label l, all other variables open

With every variable open, p_i(l) depends only on how many nodes there are at each distance before
and after node i, and where the ends are; for an edge that carries a label, only on its place. Such
a *kind* of variable comes back in many shapes, and so does a *couple* of two kinds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import (
    Floats,
    Index,
    Integers,
    Kinds,
    Shapes,
    States,
    Tables,
)
from nasgoat.compiled import compiled, inner


def kinds_of_nodes(distance: NDArray[np.int8], nodes: Integers, whole: bool) -> Integers:
    """The kind of every labelled node of structures (``whole``) or prefixes, (P, V).

    Two variables of one kind have equal distances from the source and to the sink, and as many
    inner nodes at every distance before and after them.

    Example:
        >>> chain = np.array([[[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0]]])
        >>> kinds_of_nodes(chain.astype(np.int8), np.array([4]), whole=True).tolist()
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
        code = _numbered((code * n + ahead) * n + behind)
    most = int(distance.max(initial=0)) + 1
    code = _numbered(code * most + distance[:, 0, variables])
    if whole:
        to_sink = distance[np.arange(total), :, nodes - 1][:, variables]
        code = _numbered(code * n + to_sink)
    return _numbered(code * (n + 1) + (nodes[:, None] if whole else 0))


def couples_of(kind: Integers) -> tuple[NDArray[np.int32], Integers]:
    """The couple of every two variables i < j, (P, V, V), and the two kinds of each couple.

    Example:
        >>> couple, kinds = couples_of(np.array([[0, 1], [0, 1]]))
        >>> couple[:, 0, 1].tolist(), kinds.tolist()
        ([0, 0], [[0, 1]])
    """
    total, variables = kind.shape
    couple = np.zeros((total, variables, variables), dtype=np.int32)
    first, second = np.triu_indices(variables, 1)
    most = int(kind.max(initial=0)) + 1
    names, place = np.unique(kind[:, first] * most + kind[:, second], return_inverse=True)
    couple[:, first, second] = place.reshape(total, len(first))
    return couple, np.ascontiguousarray(np.stack([names // most, names % most], axis=1))


def _numbered(code: Integers) -> Integers:
    """The same classes, numbered from 0."""
    _, place = np.unique(code, return_inverse=True)
    return np.ascontiguousarray(place.reshape(code.shape).astype(np.int64))


def homes_of(kind: Integers, variables: Integers) -> Integers:
    """For each kind a shape and a variable in it that is of this kind, (K, 2)."""
    known = np.arange(kind.shape[1]) < variables[:, None]
    shape, variable = np.nonzero(known)
    homes = np.full((int(kind.max(initial=-1)) + 1, 2), -1, dtype=np.int64)
    homes[kind[shape, variable]] = np.stack([shape, variable], axis=1)
    return homes


def measured_kinds(tables: Tables, shapes: Shapes, states: States, labels: int) -> Kinds:
    """Changes and products of all kinds under a posterior."""
    total, r = len(shapes.kind_home), tables.path_vector.shape[-1]
    tails, parts = states.part_vector.shape[:2]
    kinds = Kinds(
        np.zeros(total),
        np.zeros((total, r)),
        np.zeros((total, labels)),
        np.zeros((total, labels, r)),
        np.zeros((total, labels)),
        np.zeros((len(shapes.couple_kinds), labels, labels)),
        np.zeros((tails, total, labels, parts)),
    )
    _measure(tables, shapes, states, kinds)
    return kinds


@inner
def _measure_node(tables: Tables, shapes: Shapes, kinds: Kinds, k: Index, whole: bool) -> None:
    """Kind k of a labelled node, or of the source of a prefix."""
    p, i = shapes.kind_home[k, 0], shapes.kind_home[k, 1]
    size, n, labels = shapes.size[p], shapes.nodes[p], kinds.mean.shape[1]
    u = i + 1 if whole else i
    for v in range(n):
        ahead, behind = shapes.distance[p, u, v], shapes.distance[p, v, u]
        if (u != v and ahead == 0 and behind == 0) or (u == 0 and v > 0):
            continue
        a = 0 if u == 0 else labels + 2
        b = 0 if v == 0 else (labels + 1 if v == n - 1 and whole else labels + 2)
        end, d = (1, behind) if behind > 0 else (0, ahead)
        # A pair of two inner nodes belongs to both of them.
        part = 0.5 if u != v and b == labels + 2 else 1.0
        first, second = (b, a) if end == 1 else (a, b)
        kinds.own_mean[k] += part * tables.path_mean[size, d, first, second]
        for x in range(kinds.vector.shape[2]):
            kinds.own_vector[k, x] += part * tables.path_vector[size, d, first, second, x]
        for label in range(labels if u > 0 else 0):
            kinds.mean[k, label] += tables.shift_mean[end, size, d, label, b]
            for x in range(kinds.vector.shape[2]):
                kinds.vector[k, label, x] += tables.shift_vector[end, size, d, label, b, x]


@inner
def _measure_edge(tables: Tables, shapes: Shapes, kinds: Kinds, k: Index) -> None:
    """Kind k of an edge that carries a label."""
    p, i = shapes.kind_home[k, 0], shapes.kind_home[k, 1]
    u, v, labels = shapes.ends[p, i, 0], shapes.ends[p, i, 1], kinds.mean.shape[1]
    kinds.own_mean[k] = tables.edge_mean[u, v, labels]
    for label in range(labels):
        kinds.mean[k, label] = tables.edge_mean[u, v, label] - tables.edge_mean[u, v, labels]
    for x in range(kinds.vector.shape[2]):
        star = tables.edge_vector[u, v, labels, x]
        kinds.own_vector[k, x] = star
        for label in range(labels):
            kinds.vector[k, label, x] = tables.edge_vector[u, v, label, x] - star


@inner
def _products(a: Floats, b: Floats, out: Floats) -> None:
    for i in range(len(a)):
        for j in range(len(b)):
            product = 0.0
            for x in range(a.shape[1]):
                product += a[i, x] * b[j, x]
            out[i, j] = product


@compiled
def _measure(tables: Tables, shapes: Shapes, states: States, kinds: Kinds) -> None:
    """Fill the arrays of ``kinds``."""
    tails = len(states.part_vector)
    for k in range(len(kinds.mean)):
        if shapes.kind_home[k, 0] < 0:
            continue
        if shapes.ends.shape[1] > 0:
            _measure_edge(tables, shapes, kinds, k)
        else:
            _measure_node(tables, shapes, kinds, k, tails == 0)
        for a in range(kinds.mean.shape[1]):
            for x in range(kinds.vector.shape[2]):
                kinds.square[k, a] += kinds.vector[k, a, x] * kinds.vector[k, a, x]
        for q in range(tails):
            _products(kinds.vector[k], states.part_vector[q], kinds.part_gram[q, k])
    for c in range(len(kinds.gram)):
        a, b = shapes.couple_kinds[c, 0], shapes.couple_kinds[c, 1]
        _products(kinds.vector[a], kinds.vector[b], kinds.gram[c])
