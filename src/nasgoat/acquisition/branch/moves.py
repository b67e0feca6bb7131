"""Reference graphs and what each state changes, compiled.

Notation (docs/branch-and-bound.md)
    m, p            mean part and vector of the reference graph: open variables carry "*"
    m_i(l), p_i(l)  change if open variable i takes label l, all others unchanged
"""

from __future__ import annotations

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, States, Tables
from nasgoat.acquisition.branch.compiled import inner


@inner
def load(tables: Tables, shapes: Shapes, states: States, stack: Stack, s: Index) -> None:
    """Put shape s with every variable open on the bottom of the stack."""
    p, tail = shapes.home[s], shapes.tail[s]
    labels, r = stack.move_mean.shape[2], stack.vector.shape[1]
    stack.mean[0] = states.fixed_mean[tail, 0] if tail >= 0 else 0.0
    for x in range(r):
        stack.vector[0, x] = states.fixed_vector[tail, 0, x] if tail >= 0 else 0.0
    for i in range(shapes.variables[p]):
        for k in range(labels):
            stack.move_mean[0, i, k] = 0.0
            for x in range(r):
                stack.move_vector[0, i, k, x] = 0.0
        if tail >= 0:
            kind = 1 if i > 0 else 2
            stack.mean[0] += states.fixed_mean[tail, kind]
            for x in range(r):
                stack.vector[0, x] += states.fixed_vector[tail, kind, x]


@inner
def load_paths(tables: Tables, shapes: Shapes, stack: Stack, s: Index) -> None:
    """Add the pairs of known nodes to the reference graph; where edges carry labels, those too."""
    p = shapes.home[s]
    size, n = shapes.size[p], shapes.nodes[p]
    labels, r = stack.move_mean.shape[2], stack.vector.shape[1]
    indexed, whole = shapes.ends.shape[1] > 0, shapes.tail[s] < 0
    for u in range(n):
        for v in range(u, n):
            d = shapes.distance[p, u, v]
            if u != v and d == 0:
                continue
            a = 0 if u == 0 else (labels + 1 if u == n - 1 and whole else labels + 2)
            b = 0 if v == 0 else (labels + 1 if v == n - 1 and whole else labels + 2)
            if indexed:
                a, b = u, v
            stack.mean[0] += tables.path_mean[size, d, a, b]
            for x in range(r):
                stack.vector[0, x] += tables.path_vector[size, d, a, b, x]
    for i in range(shapes.variables[p] if indexed else 0):
        u, v = shapes.ends[p, i, 0], shapes.ends[p, i, 1]
        stack.mean[0] += tables.edge_mean[u, v, labels]
        for x in range(r):
            stack.vector[0, x] += tables.edge_vector[u, v, labels, x]
        for k in range(labels):
            stack.move_mean[0, i, k] = tables.edge_mean[u, v, k] - tables.edge_mean[u, v, labels]
            for x in range(r):
                stack.move_vector[0, i, k, x] = (
                    tables.edge_vector[u, v, k, x] - tables.edge_vector[u, v, labels, x]
                )


@inner
def load_shifts(tables: Tables, shapes: Shapes, stack: Stack, s: Index) -> None:
    """What each label of a node changes in the pairs of known nodes."""
    p = shapes.home[s]
    size, n = shapes.size[p], shapes.nodes[p]
    labels, r = stack.move_mean.shape[2], stack.vector.shape[1]
    whole = shapes.tail[s] < 0
    first = 1 if whole else 0
    for i in range(1 - first, shapes.variables[p]):
        u = i + first
        for v in range(n):
            ahead, behind = shapes.distance[p, u, v], shapes.distance[p, v, u]
            if u != v and ahead == 0 and behind == 0:
                continue
            b = 0 if v == 0 else (labels + 1 if v == n - 1 and whole else labels + 2)
            end = 1 if behind > 0 else 0
            d = behind if behind > 0 else ahead
            for k in range(labels):
                stack.move_mean[0, i, k] += tables.shift_mean[end, size, d, k, b]
                for x in range(r):
                    stack.move_vector[0, i, k, x] += tables.shift_vector[end, size, d, k, b, x]


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
