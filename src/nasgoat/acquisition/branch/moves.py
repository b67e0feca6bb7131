"""Reference graphs and what each label changes, compiled: the state of the linear search.

Notation (docs/branch-and-bound.md)
    m, p            mean part and vector of the reference graph: open variables carry "*"
    m_i(l), p_i(l)  change if open variable i takes label l, all others unchanged
"""

from __future__ import annotations

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, Tables
from nasgoat.acquisition.branch.compiled import inner


@inner
def _add_path(tables: Tables, stack: Stack, size: int, d: int, a: int, b: int) -> None:
    stack.mean[0] += tables.path_mean[size, d, a, b]
    for x in range(stack.vector.shape[1]):
        stack.vector[0, x] += tables.path_vector[size, d, a, b, x]


@inner
def _add_shift(
    tables: Tables, stack: Stack, end: int, size: int, i: int, k: int, d: int, b: int
) -> None:
    stack.move_mean[0, i, k] += tables.shift_mean[end, size, d, k, b]
    for x in range(stack.vector.shape[1]):
        stack.move_vector[0, i, k, x] += tables.shift_vector[end, size, d, k, b, x]


@inner
def load(tables: Tables, shapes: Shapes, stack: Stack, s: Index) -> None:
    """Put structure s with every variable open on the bottom of the stack."""
    _, variables, labels, r = stack.move_vector.shape
    stack.mean[0] = 0.0
    for x in range(r):
        stack.vector[0, x] = 0.0
    for i in range(variables):
        stack.labels[i] = -1
        for k in range(labels):
            stack.move_mean[0, i, k] = 0.0
            for x in range(r):
                stack.move_vector[0, i, k, x] = 0.0
    if shapes.ends.shape[1] > 0:
        _load_edges(tables, shapes, stack, s)
    else:
        _load_nodes(tables, shapes, stack, s)


@inner
def _load_nodes(tables: Tables, shapes: Shapes, stack: Stack, s: Index) -> None:
    size, n, d = shapes.size[s], shapes.nodes[s], shapes.distance[s]
    labels = stack.move_mean.shape[2]
    out, star = labels + 1, labels + 2
    for u in range(n):
        a = 0 if u == 0 else (out if u == n - 1 else star)
        _add_path(tables, stack, size, 0, a, a)
        for v in range(u + 1, n):
            if d[u, v] > 0:
                b = out if v == n - 1 else star
                _add_path(tables, stack, size, d[u, v], a, b)
    for i in range(n - 2):
        for k in range(labels):
            _add_shift(tables, stack, 0, size, i, k, 0, star)
            for v in range(n):
                b = 0 if v == 0 else (out if v == n - 1 else star)
                if d[i + 1, v] > 0:
                    _add_shift(tables, stack, 0, size, i, k, d[i + 1, v], b)
                elif d[v, i + 1] > 0:
                    _add_shift(tables, stack, 1, size, i, k, d[v, i + 1], b)


@inner
def _load_edges(tables: Tables, shapes: Shapes, stack: Stack, s: Index) -> None:
    n, labels, r = shapes.nodes[s], stack.move_mean.shape[2], stack.vector.shape[1]
    for u in range(n):
        _add_path(tables, stack, shapes.size[s], 0, u, u)
        for v in range(u + 1, n):
            if shapes.distance[s, u, v] > 0:
                _add_path(tables, stack, shapes.size[s], shapes.distance[s, u, v], u, v)
    for i in range(shapes.variables[s]):
        u, v = shapes.ends[s, i, 0], shapes.ends[s, i, 1]
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
def assign(
    tables: Tables, shapes: Shapes, stack: Stack, s: Index, t: Index, i: int, k: int
) -> None:
    """Give variable i label k: depth t to depth t + 1."""
    size, r = shapes.size[s], stack.vector.shape[1]
    stack.mean[t + 1] = stack.mean[t] + stack.move_mean[t, i, k]
    for x in range(r):
        stack.vector[t + 1, x] = stack.vector[t, x] + stack.move_vector[t, i, k, x]
    stack.labels[i] = k
    on_nodes = shapes.ends.shape[1] == 0
    for j in range(shapes.variables[s]):
        if stack.labels[j] >= 0:
            continue
        ahead = shapes.distance[s, i + 1, j + 1] if on_nodes else 0
        behind = shapes.distance[s, j + 1, i + 1] if on_nodes else 0
        for other in range(stack.move_mean.shape[2]):
            move = stack.move_mean[t, j, other]
            if ahead > 0:
                move += tables.both_mean[size, ahead, k, other]
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = (
                        stack.move_vector[t, j, other, x]
                        + tables.both_vector[size, ahead, k, other, x]
                    )
            elif behind > 0:
                move += tables.both_mean[size, behind, other, k]
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = (
                        stack.move_vector[t, j, other, x]
                        + tables.both_vector[size, behind, other, k, x]
                    )
            else:
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = stack.move_vector[t, j, other, x]
            stack.move_mean[t + 1, j, other] = move
