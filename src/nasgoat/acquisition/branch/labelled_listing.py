"""Listing of all labels below a node of the search tree, one after the other, compiled.

Where few labellings of nodes are left, it is quicker to list them than to bound them: a label adds
its columns to those of the labels before it. Edges follow once all nodes have labels; labels of
the nodes are dropped if no labels of the edges can make up for what is missing. A listing can be
interrupted at any label.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.labelled_domains import is_leaf, may_take, weigh
from nasgoat.acquisition.branch.labelled_records import (
    LISTING,
    NODE_VARIABLES,
    VARIABLES,
    LabelProblem,
    LabelScratch,
    LabelStack,
)
from nasgoat.acquisition.branch.records import DEPTH, MARGIN, NODES, Floats, Index, Integers
from nasgoat.acquisition.branch.reference import add_to, dot
from nasgoat.compiled import called, inner

_STEPS = 100_000  # labels between two looks at the clock
_STEPS_OF_A_NODE = 100  # labels that count as one node of the search tree


@called
def begin_listing(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    t: Index,
    most: tuple[Index, Index],
) -> bool:
    """Whether to list what is below this node; the listing is then ready to begin."""
    shapes, tables = problem.shapes, problem.tables
    n, total = shapes.allowed.shape[1], 0
    many: Index = np.int64(1)
    for i in range(n):
        if stack.label[i] < 0:
            many = min(many * stack.width[t, i], most[0] + 1)
            scratch.listed[total] = i
            total += 1
    if many > most[0]:
        return False
    scratch.turn[NODE_VARIABLES] = total
    many = np.int64(1)
    for e in range(shapes.edges[s] if len(tables.delta) > 1 else 0):
        if stack.label[n + e] < 0:
            scratch.listed[total] = n + e
            total += 1
            many = min(many * len(tables.delta), most[1] + 1)
    if many > most[1]:
        return False
    scratch.turn[VARIABLES] = total
    scratch.turn[LISTING] = 0
    if scratch.turn[NODE_VARIABLES] == 0 and not _is_first(problem, stack, s):
        scratch.turn[LISTING] = -1
    scratch.try_at[0] = 0
    # The column of what is labelled: the reference without its open nodes.
    column = scratch.column[0]
    column[:] = 0.0
    for i in range(n):
        if stack.label[i] >= 0:
            _add_node(problem, stack, column, s, i, i)
    for e in range(shapes.edges[s]):
        x = stack.label[n + e]
        if x >= 0:
            u, v = shapes.ends[s, e, 0], shapes.ends[s, e, 1]
            add_to(column, tables.delta[x, stack.label[u], stack.label[v]])
    return True


@inner
def _add_node(
    problem: LabelProblem, stack: LabelStack, column: Floats, s: Index, i: Index, before: Index
) -> None:
    """Add node i and its pairs with all labelled nodes among the first ones (before i), or all."""
    shapes, tables = problem.shapes, problem.tables
    a = stack.label[i]
    add_to(column, tables.own[a])
    for j in range(before):
        b = stack.label[j]
        if b >= 0 and j != i:
            add_to(column, tables.pair[shapes.pair_class[s, i, j], a, b])


@called
def list_labels(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    best: float,
    chosen: Integers,
    values: Floats,
) -> int:
    """Go on listing until all is listed, ``chosen`` is full or it is time to look at the clock.

    Returns how many graphs better than ``best`` were found.
    """
    n, turn = problem.shapes.allowed.shape[1], scratch.turn
    total, nodes, found = turn[VARIABLES], turn[NODE_VARIABLES], 0
    y = turn[LISTING]
    steps = 0
    while y >= 0 and found < len(values) and steps < _STEPS:
        steps += 1
        if y == total:
            column = scratch.column[y]
            value = column[0] - math.sqrt(dot(column, column))
            if value < best and is_leaf(problem, stack, s):
                values[found] = value
                for i in range(n + problem.shapes.edges[s]):
                    chosen[found, i] = max(stack.label[i], 0)
                found += 1
            y -= 1
            continue
        i = scratch.listed[y]
        if not _take_next(problem, stack, scratch, s, y, i):
            y -= 1
            continue
        _extend_column(problem, stack, scratch, s, y, i)
        if y + 1 == nodes and not _is_first(problem, stack, s):
            continue
        if y + 1 >= nodes and _is_hopeless(problem, stack, scratch, s, y + 1, best):
            continue
        y += 1
        if y < total:
            scratch.try_at[y] = 0
            stack.label[scratch.listed[y]] = -1
    turn[LISTING] = y
    stack.place[NODES] += 1 + steps // _STEPS_OF_A_NODE
    return found


@called
def _take_next(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    i: Index,
) -> bool:
    """Give variable i, the y-th of the listing, its next label; False if it has had all."""
    n, t = problem.shapes.allowed.shape[1], stack.place[DEPTH] + 1
    if i >= n and stack.label[i] >= 0:
        weigh(problem, stack, s, i - n, stack.label[i], -1)
    c = scratch.try_at[y]
    stack.label[i] = -1
    while c < (stack.width[t, i] if i < n else len(problem.rules.weight)):
        x = stack.domain[t, i, c] if i < n else c
        c += 1
        if may_take(problem, stack, s, i, x):
            stack.label[i] = x
            break
    scratch.try_at[y] = c
    if stack.label[i] >= 0 and i >= n:
        weigh(problem, stack, s, i - n, stack.label[i], 1)
    return bool(stack.label[i] >= 0)


@inner
def _extend_column(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    i: Index,
) -> None:
    """The column with the new label of variable i, the y-th of the listing."""
    shapes, column = problem.shapes, scratch.column[y + 1]
    n = shapes.allowed.shape[1]
    column[:] = 0.0
    add_to(column, scratch.column[y])
    if i < n:
        _add_node(problem, stack, column, s, i, n)
    else:
        u, v = shapes.ends[s, i - n, 0], shapes.ends[s, i - n, 1]
        add_to(column, problem.tables.delta[stack.label[i], stack.label[u], stack.label[v]])


@called
def _is_first(problem: LabelProblem, stack: LabelStack, s: Index) -> bool:
    """Whether no automorphism turns the labels of the nodes into a smaller word."""
    shapes = problem.shapes
    for g in range(shapes.symmetry_at[s], shapes.symmetry_at[s + 1]):
        for v in range(shapes.symmetry.shape[1]):
            other = stack.label[shapes.symmetry[g, v]]
            if other < stack.label[v]:
                return False
            if other > stack.label[v]:
                break
    return True


@inner
def _is_hopeless(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    best: float,
) -> bool:
    """Whether no labels of the edges left can beat ``best``: the triangle inequality."""
    shapes, reach, column = problem.shapes, problem.tables.reach, scratch.column[y]
    n = shapes.allowed.shape[1]
    mean, length = column[0], math.sqrt(dot(column, column))
    for z in range(y, scratch.turn[VARIABLES]):
        e = scratch.listed[z] - n
        a, b = stack.label[shapes.ends[s, e, 0]], stack.label[shapes.ends[s, e, 1]]
        mean += reach[a, b, 0]
        length += reach[a, b, 1]
    return bool(mean - length >= best + MARGIN)
