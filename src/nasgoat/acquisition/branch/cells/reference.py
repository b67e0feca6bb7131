"""The reference graph of a search node and what each label changes in it, compiled (Lemma 1).

Notation (docs/branch-and-bound.md)
    m, p            mean part and vector of the reference graph: open variables carry "*"
    m_i(l), p_i(l)  change if open variable i takes label l, all others unchanged

With every variable open, m_i(l) and p_i(l) depend only on how many nodes there are at each distance
before and after node i, and where the ends are; for an edge that carries a label, only on its place
and on the number of nodes. Such a *change class* (``classes``) comes back in many shapes, and so
does a pair of classes, so that changes and their products are computed once for all shapes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.records import (
    ChangeClasses,
    Changes,
    Prefixes,
    Shapes,
    Stack,
    Tables,
)
from nasgoat.acquisition.branch.records import Floats, Index, Integers, add_to, dot
from nasgoat.compiled import compiled, compiled_inline


@compiled_inline
def _copy_to(target: Floats, source: Floats) -> None:
    for x in range(len(target)):
        target[x] = source[x]


def measure_changes(tables: Tables, shapes: Shapes, classes: ChangeClasses, labels: int) -> Changes:
    """Changes of all classes under a posterior, and their products (Lemma 1)."""
    total, path = len(classes.home), tables.pairs.path
    own, move = np.zeros((total, path.shape[-1])), np.zeros((total, labels, path.shape[-1]))
    used = np.flatnonzero(classes.home[:, 0] >= 0)
    if shapes.ends.shape[1] > 0:
        p, i = classes.home[used].T
        edge = tables.edge[shapes.size[p], shapes.ends[p, i, 0], shapes.ends[p, i, 1]]
        own[used], move[used] = edge[:, -1], edge[:, :-1] - edge[:, -1:]
    else:
        places = shapes.size, shapes.nodes, shapes.distance, classes.home
        _measure_nodes(path, tables.shift, *places, bool(shapes.last_label[0] < 0), own, move)
    square = np.einsum("clr,clr->cl", move[..., 1:], move[..., 1:])
    gram = multiply_changes(move, classes)
    given = np.zeros((0, path.shape[-1]))
    return Changes(own=own, move=move, square=square, gram=gram, given=given)


def make_no_changes(tables: Tables) -> Changes:
    """The changes where all labels are known: there are none."""
    labels, width = tables.option.shape[1], tables.option.shape[-1]
    return Changes(
        own=np.zeros((0, width)),
        move=np.zeros((0, labels, width)),
        square=np.zeros((0, labels)),
        gram=np.zeros((0, labels, labels)),
        given=np.zeros((0, width)),
    )


def multiply_changes(move: Floats, classes: ChangeClasses) -> Floats:
    """Products of the changes of each two classes that some shape has, by their labels."""
    gram = np.zeros((len(classes.pairs), move.shape[1], move.shape[1]))
    _multiply(move, classes.pairs, gram)
    return gram


@compiled
def _measure_nodes(
    path: Floats,
    shift: Floats,
    sizes: Integers,
    nodes: Integers,
    distance: NDArray[np.int8],
    home: Integers,
    whole: bool,
    own: Floats,
    move: Floats,
) -> None:
    """Changes of classes of labelled nodes, the source of a prefix among them."""
    labels = move.shape[1]
    for k in range(len(home)):
        p, u = home[k, 0], home[k, 1] + 1 if whole else home[k, 1]
        for v in range(nodes[p] if p >= 0 else 0):
            ahead, behind = distance[p, u, v], distance[p, v, u]
            if (u != v and ahead == 0 and behind == 0) or (u == 0 and v > 0):
                continue
            a = 0 if u == 0 else labels + 2
            b = 0 if v == 0 else (labels + 1 if v == nodes[p] - 1 and whole else labels + 2)
            end, d = (1, behind) if behind > 0 else (0, ahead)
            # A pair of two inner nodes belongs to both of them.
            share = 0.5 if u != v and b == labels + 2 else 1.0
            first, second = (b, a) if end == 1 else (a, b)
            for x in range(own.shape[1]):
                own[k, x] += share * path[sizes[p], d, first, second, x]
            for label in range(labels if u > 0 else 0):
                add_to(move[k, label], shift[end, sizes[p], d, label, b])


@compiled
def _multiply(move: Floats, pairs: Integers, gram: Floats) -> None:
    """Products of the changes of all pairs of classes."""
    for c in range(len(pairs)):
        _multiply_all(move[pairs[c, 0]], move[pairs[c, 1]], gram[c])


@compiled_inline
def _multiply_all(left: Floats, right: Floats, products: Floats) -> None:
    """Products of every two columns: three at a time, so that the left one is read less often."""
    for a in range(len(left)):
        for b in range(0, len(right) - 2, 3):
            first = second = third = 0.0
            for x in range(1, left.shape[1]):
                first += left[a, x] * right[b, x]
                second += left[a, x] * right[b + 1, x]
                third += left[a, x] * right[b + 2, x]
            products[a, b], products[a, b + 1], products[a, b + 2] = first, second, third
        for b in range(len(right) // 3 * 3, len(right)):
            products[a, b] = dot(left[a], right[b])


@compiled_inline
def load_reference(
    path: Floats,
    shapes: Shapes,
    changes: Changes,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
) -> None:
    """Put the reference graph of shape s, every variable open, at the bottom of the stack."""
    p, last = shapes.home[s], shapes.last_label[s]
    size, n, column = shapes.size[p], shapes.nodes[p], stack.reference[0]
    column[:] = 0.0
    if len(changes.given):
        add_to(column, changes.given[p])
    if prefixes is not None and is_labelled(prefixes):
        _load_labelled(path, shapes, prefixes, column, s)
    else:
        for i in range(shapes.variables[p]):
            add_to(column, changes.own[shapes.change_class[p, i]])
    if prefixes is not None:
        fixed = prefixes.states.fixed[last]
        add_to(column, fixed[0])
        for i in range(shapes.variables[p]):
            add_to(column, fixed[1 if i > 0 else 2])
    elif shapes.ends.shape[1] > 0:
        for u in range(n):
            for v in range(u, n):
                if u == v or shapes.distance[p, u, v] > 0:
                    add_to(column, path[size, shapes.distance[p, u, v], u, v])
    else:
        out = changes.move.shape[1] + 1
        add_to(column, path[size, 0, 0, 0])
        add_to(column, path[size, 0, out, out])
        add_to(column, path[size, shapes.distance[p, 0, n - 1], 0, out])


@compiled_inline
def load_moves(
    shapes: Shapes, changes: Changes, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index
) -> None:
    """At depth 0, what each label of each variable changes in the reference graph of shape s.

    Where labels are known from the start, the moves are there already.
    """
    if t > 0 or has_known_labels(prefixes):
        return
    _copy_moves(shapes, changes, stack, s)


@compiled_inline
def has_known_labels(prefixes: Prefixes | None) -> bool:
    """Whether the current shape has labels that are known from the start."""
    return False if prefixes is None else bool(prefixes.scratch.known[-1] > 0)


@compiled_inline
def is_labelled(prefixes: Prefixes | None) -> bool:
    """Whether the labels of all variables are known from the start."""
    return False if prefixes is None else prefixes.states.pull.shape[1] > 0


@compiled_inline
def _load_labelled(
    path: Floats, shapes: Shapes, prefixes: Prefixes, column: Floats, s: Index
) -> None:
    """The pairs of a prefix all of whose labels are known."""
    p, known_labels = shapes.home[s], prefixes.states.known_labels
    size = shapes.size[p]
    for i in range(shapes.variables[p]):
        a = known_labels[s, i] + 1 if i > 0 else 0
        add_to(column, path[size, 0, a, a])
        for j in range(i + 1, shapes.variables[p]):
            d = shapes.distance[p, i, j]
            if d > 0:
                add_to(column, path[size, d, a, known_labels[s, j] + 1])


@compiled_inline
def load_known_labels(
    both: Floats, shapes: Shapes, changes: Changes, prefixes: Prefixes, stack: Stack, s: Index
) -> None:
    """Put labels of shape s that are known from the start into its reference graph (Lemma 14).

    Their variables stay open, because their distances are, but change nothing by their labels.
    """
    known_labels, known = prefixes.states.known_labels, prefixes.scratch.known
    p, labels = shapes.home[s], stack.move.shape[2]
    known[:] = 0
    for i in range(shapes.variables[p] if len(known_labels) else 0):
        if known_labels[s, i] >= 0:
            known[-1] += 1
    if known[-1] == 0:
        return
    if is_labelled(prefixes):
        for i in range(1, shapes.variables[p]):
            known[i] = 1
        return
    _copy_moves(shapes, changes, stack, s)
    for i in range(shapes.variables[p]):
        label = known_labels[s, i]
        if label < 0:
            continue
        known[i] = 1
        add_to(stack.reference[0], stack.move[0, i, label])
        for a in range(labels):
            stack.move[0, i, a, :] = 0.0
        for j in range(1, shapes.variables[p]):
            ahead, behind = shapes.distance[p, i, j], shapes.distance[p, j, i]
            d = max(ahead, behind)
            for other in range(labels if d > 0 and known[j] == 0 else 0):
                a, b = (label, other) if ahead > 0 else (other, label)
                add_to(stack.move[0, j, other], both[shapes.size[p], d, a, b])


@compiled_inline
def _copy_moves(shapes: Shapes, changes: Changes, stack: Stack, s: Index) -> None:
    """The moves of shape s, every label open."""
    p = shapes.home[s]
    for i in range(shapes.variables[p]):
        for a in range(stack.move.shape[2]):
            _copy_to(stack.move[0, i, a], changes.move[shapes.change_class[p, i], a])


@compiled_inline
def assign(
    both: Floats,
    shapes: Shapes,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
    t: Index,
    x: Index,
) -> None:
    """Give the variable of depth t the state x: the reference graph and moves of depth t + 1."""
    i, column = stack.variable[t], stack.reference[t + 1]
    label = x if prefixes is None else prefixes.states.label[x]
    stack.states[i] = x
    _copy_to(column, stack.reference[t])
    if prefixes is not None:
        add_to(column, prefixes.states.added[shapes.last_label[s], x])
    if label < stack.move.shape[2]:
        add_to(column, stack.move[t, i, label])
    _change_moves(both, shapes, prefixes, stack, s, t, i, label)


@compiled_inline
def _change_moves(
    both: Floats,
    shapes: Shapes,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
    t: Index,
    i: Index,
    label: Index,
) -> None:
    """The moves of the open variables once variable i has its label: interactions are added."""
    p, labels = shapes.home[s], stack.move.shape[2]
    size, first = shapes.size[p], 1 if shapes.last_label[s] < 0 else 0
    interacts = shapes.ends.shape[1] == 0 and label < labels
    for j in range(shapes.variables[p]):
        if stack.states[j] >= 0:
            continue
        labelled = interacts and j + first > 0
        if prefixes is not None:  # what two labels do was added with the first that was known
            known = prefixes.scratch.known
            labelled = labelled and known[i] == 0 and known[j] == 0
        ahead = shapes.distance[p, i + first, j + first] if labelled else 0
        behind = shapes.distance[p, j + first, i + first] if labelled else 0
        d = max(ahead, behind)
        for other in range(labels):
            a, b = (label, other) if ahead > 0 else (other, label)
            _copy_to(stack.move[t + 1, j, other], stack.move[t, j, other])
            if d > 0:
                add_to(stack.move[t + 1, j, other], both[size, d, a, b])


@compiled_inline
def evaluate_leaf(
    stack: Stack, prefixes: Prefixes | None, q: Index, t: Index, i: Index, x: Index
) -> float:
    """The value with open variable i in state x (none open: i = -1)."""
    label = x if prefixes is None else prefixes.states.label[x]
    known = i >= 0 and label < stack.move.shape[2]
    square = mean = 0.0
    for e in range(stack.reference.shape[1]):
        entry = stack.reference[t, e]
        if known:
            entry += stack.move[t, i, label, e]
        if prefixes is not None and i >= 0:
            entry += prefixes.states.added[q, x, e]
        if e == 0:
            mean = entry
        else:
            square += entry * entry
    return mean - math.sqrt(square)
