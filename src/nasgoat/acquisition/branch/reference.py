"""The reference graph of a search node and what each label changes in it, compiled (Lemma 1).

Notation (docs/branch-and-bound.md)
    m, p            mean part and vector of the reference graph: open variables carry "*"
    m_i(l), p_i(l)  change if open variable i takes label l, all others unchanged
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.records import (
    Changes,
    Floats,
    Index,
    Shapes,
    Stack,
    States,
    Tables,
)
from nasgoat.compiled import inner


@inner
def dot(a: Floats, b: Floats) -> float:
    """The product of two vectors."""
    product = 0.0
    for x in range(len(a)):
        product += a[x] * b[x]
    return product


@inner
def add_to(total: Floats, vector: Floats) -> None:
    """Add a vector to another one, in place."""
    for x in range(len(total)):
        total[x] += vector[x]


@inner
def _copy_to(target: Floats, source: Floats) -> None:
    for x in range(len(target)):
        target[x] = source[x]


@inner
def _add_pair(tables: Tables, stack: Stack, size: Index, d: Index, a: Index, b: Index) -> None:
    """A pair of nodes with codes a and b at distance d, at the bottom of the stack."""
    stack.mean[0] += tables.path_mean[size, d, a, b]
    add_to(stack.vector[0], tables.path_vector[size, d, a, b])


@inner
def load_reference(
    tables: Tables,
    shapes: Shapes,
    states: States | None,
    changes: Changes,
    stack: Stack,
    s: Index,
) -> None:
    """Put the reference graph of shape s, every variable open, at the bottom of the stack."""
    p, last = shapes.home[s], shapes.last_label[s]
    size, n = shapes.size[p], shapes.nodes[p]
    out = changes.mean.shape[1] + 1
    stack.mean[0] = 0.0
    stack.vector[0, :] = 0.0
    if states is not None:
        stack.mean[0] = states.fixed_mean[last, 0]
        _copy_to(stack.vector[0], states.fixed_vector[last, 0])
    for i in range(shapes.variables[p]):
        k = shapes.change_class[p, i]
        stack.mean[0] += changes.own_mean[k]
        add_to(stack.vector[0], changes.own_vector[k])
        if states is not None:
            centre = 1 if i > 0 else 2
            stack.mean[0] += states.fixed_mean[last, centre]
            add_to(stack.vector[0], states.fixed_vector[last, centre])
    if shapes.ends.shape[1] > 0:
        for u in range(n):
            for v in range(u, n):
                if u == v or shapes.distance[p, u, v] > 0:
                    _add_pair(tables, stack, size, np.int64(shapes.distance[p, u, v]), u, v)
    elif states is None:
        none = np.int64(0)
        _add_pair(tables, stack, size, none, none, none)
        _add_pair(tables, stack, size, none, out, out)
        _add_pair(tables, stack, size, np.int64(shapes.distance[p, 0, n - 1]), none, out)


@inner
def load_moves(shapes: Shapes, changes: Changes, stack: Stack, s: Index, t: Index) -> None:
    """At depth 0, what each label of each variable changes in the reference graph of shape s."""
    if t > 0:
        return
    p = shapes.home[s]
    for i in range(shapes.variables[p]):
        k = shapes.change_class[p, i]
        for a in range(stack.move_mean.shape[2]):
            stack.move_mean[0, i, a] = changes.mean[k, a]
            _copy_to(stack.move_vector[0, i, a], changes.vector[k, a])


@inner
def assign(
    tables: Tables,
    shapes: Shapes,
    states: States | None,
    stack: Stack,
    s: Index,
    t: Index,
    x: Index,
) -> None:
    """Give the variable of depth t the state x: the reference graph and moves of depth t + 1."""
    last, i = shapes.last_label[s], stack.variable[t]
    label = x if states is None else states.label[x]
    stack.states[i] = x
    stack.mean[t + 1] = stack.mean[t]
    _copy_to(stack.vector[t + 1], stack.vector[t])
    if states is not None:
        stack.mean[t + 1] += states.mean[last, x]
        add_to(stack.vector[t + 1], states.vector[last, x])
    if label < stack.move_mean.shape[2]:
        stack.mean[t + 1] += stack.move_mean[t, i, label]
        add_to(stack.vector[t + 1], stack.move_vector[t, i, label])
    _change_moves(tables, shapes, stack, s, t, i, label)


@inner
def _change_moves(
    tables: Tables, shapes: Shapes, stack: Stack, s: Index, t: Index, i: Index, label: Index
) -> None:
    """The moves of the open variables once variable i has its label: interactions are added."""
    p, labels = shapes.home[s], stack.move_mean.shape[2]
    size, first = shapes.size[p], 1 if shapes.last_label[s] < 0 else 0
    interacts = shapes.ends.shape[1] == 0 and label < labels
    for j in range(shapes.variables[p]):
        if stack.states[j] >= 0:
            continue
        both = interacts and j + first > 0
        ahead = shapes.distance[p, i + first, j + first] if both else 0
        behind = shapes.distance[p, j + first, i + first] if both else 0
        d = max(ahead, behind)
        for other in range(labels):
            a, b = (label, other) if ahead > 0 else (other, label)
            stack.move_mean[t + 1, j, other] = stack.move_mean[t, j, other]
            _copy_to(stack.move_vector[t + 1, j, other], stack.move_vector[t, j, other])
            if d > 0:
                stack.move_mean[t + 1, j, other] += tables.both_mean[size, d, a, b]
                add_to(stack.move_vector[t + 1, j, other], tables.both_vector[size, d, a, b])
