"""Reference graphs and what each state changes, compiled.

Notation (docs/branch-and-bound.md)
    m, p            mean part and vector of the reference graph: open variables carry "*"
    m_i(l), p_i(l)  change if open variable i takes label l, all others unchanged
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Index, Kinds, Shapes, Stack, States, Tables
from nasgoat.compiled import inner


@inner
def _add_pair(tables: Tables, stack: Stack, size: Index, d: Index, a: Index, b: Index) -> None:
    stack.mean[0] += tables.path_mean[size, d, a, b]
    for x in range(stack.vector.shape[1]):
        stack.vector[0, x] += tables.path_vector[size, d, a, b, x]


@inner
def load(
    tables: Tables, shapes: Shapes, states: States, kinds: Kinds, stack: Stack, s: Index
) -> None:
    """The reference graph of shape s with every variable open, on the bottom of the stack."""
    p, tail = shapes.home[s], shapes.tail[s]
    size, n, r = shapes.size[p], shapes.nodes[p], stack.vector.shape[1]
    out = kinds.mean.shape[1] + 1
    stack.mean[0] = states.fixed_mean[tail, 0] if tail >= 0 else 0.0
    for x in range(r):
        stack.vector[0, x] = states.fixed_vector[tail, 0, x] if tail >= 0 else 0.0
    for i in range(shapes.variables[p]):
        k = shapes.kind[p, i]
        stack.mean[0] += kinds.own_mean[k]
        for x in range(r):
            stack.vector[0, x] += kinds.own_vector[k, x]
        if tail >= 0:
            place = 1 if i > 0 else 2
            stack.mean[0] += states.fixed_mean[tail, place]
            for x in range(r):
                stack.vector[0, x] += states.fixed_vector[tail, place, x]
    if shapes.ends.shape[1] > 0:
        for u in range(n):
            for v in range(u, n):
                if u == v or shapes.distance[p, u, v] > 0:
                    _add_pair(tables, stack, size, np.int64(shapes.distance[p, u, v]), u, v)
    elif tail < 0:
        none = np.int64(0)
        _add_pair(tables, stack, size, none, none, none)
        _add_pair(tables, stack, size, none, out, out)
        _add_pair(tables, stack, size, np.int64(shapes.distance[p, 0, n - 1]), none, out)


@inner
def load_moves(shapes: Shapes, kinds: Kinds, stack: Stack, s: Index, t: Index) -> None:
    """What each label of each variable changes in the reference graph of shape s, at depth 0."""
    if t > 0:
        return
    p, labels, r = shapes.home[s], stack.move_mean.shape[2], stack.vector.shape[1]
    for i in range(shapes.variables[p]):
        k = shapes.kind[p, i]
        for a in range(labels):
            stack.move_mean[0, i, a] = kinds.mean[k, a]
            for x in range(r):
                stack.move_vector[0, i, a, x] = kinds.vector[k, a, x]


@inner
def assign(
    tables: Tables, shapes: Shapes, states: States, stack: Stack, s: Index, t: Index, k: int
) -> None:
    """Give the variable of depth t the state k: depth t to depth t + 1."""
    p, tail, i, r = shapes.home[s], shapes.tail[s], stack.variable[t], stack.vector.shape[1]
    size, labels = shapes.size[p], stack.move_mean.shape[2]
    label = states.label[k]
    stack.states[i] = k
    stack.mean[t + 1] = stack.mean[t]
    for x in range(r):
        stack.vector[t + 1, x] = stack.vector[t, x]
    if tail >= 0:
        stack.mean[t + 1] += states.mean[tail, k]
        for x in range(r):
            stack.vector[t + 1, x] += states.vector[tail, k, x]
    if label < labels:
        stack.mean[t + 1] += stack.move_mean[t, i, label]
        for x in range(r):
            stack.vector[t + 1, x] += stack.move_vector[t, i, label, x]
    first = 1 if tail < 0 else 0
    joined = shapes.ends.shape[1] == 0 and label < labels
    for j in range(shapes.variables[p]):
        if stack.states[j] >= 0:
            continue
        both = joined and j + first > 0
        ahead = shapes.distance[p, i + first, j + first] if both else 0
        behind = shapes.distance[p, j + first, i + first] if both else 0
        d = max(ahead, behind)
        for other in range(labels):
            a, b = (label, other) if ahead > 0 else (other, label)
            stack.move_mean[t + 1, j, other] = stack.move_mean[t, j, other]
            for x in range(r):
                stack.move_vector[t + 1, j, other, x] = stack.move_vector[t, j, other, x]
            if d > 0:
                stack.move_mean[t + 1, j, other] += tables.both_mean[size, d, a, b]
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] += tables.both_vector[size, d, a, b, x]
