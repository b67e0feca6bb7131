"""The search of the linear kernel, compiled: bounds of all shapes, then depth first below them.

Shapes come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call returns whenever it has found graphs, so that Python can tell the excluded and the
isomorphic ones, or has explored its share of nodes, so that Python can look at the clock; the next
call goes on where the last one stopped.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.bound import bound_completions
from nasgoat.acquisition.branch.domains import (
    is_consistent,
    keep_affordable,
    keep_supported,
    narrow_domains,
    open_domains,
)
from nasgoat.acquisition.branch.potentials import measure_products
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    NODES,
    PAUSED,
    POSITION,
    SHAPE,
    Floats,
    Index,
    Integers,
    LimitRows,
    Potentials,
    Prefixes,
    Problem,
    Scratch,
    Shapes,
    Stack,
)
from nasgoat.acquisition.branch.reference import assign, load_moves, load_reference
from nasgoat.compiled import called, compiled, inner, merged


@compiled
def search(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    order: Integers,
    roots: Floats,
    rooting: bool,
    best: float,
    margin: float,
    pause: int,
    chosen: Integers,
    values: Floats,
) -> tuple[int, int]:
    """Go on until graphs better than ``best`` are found, nodes are used up, or all is done.

    With ``rooting`` it bounds the shapes of ``order`` one after another, without a look below: one
    function for both, because the bound would be compiled twice otherwise. Returns how the call
    ended and how many graphs were found: their states and values are in ``chosen`` and ``values``.
    """
    pairs, shapes, limits, changes = problem
    threshold, stop = best + margin, stack.place[NODES] + pause
    while stack.place[NODES] < stop:
        stack.place[NODES] += 1
        turn = _next_node(problem, prefixes, stack, order, roots, rooting, threshold)
        if turn < 0:
            return DONE, 0
        if turn == 0:
            continue
        s, t = stack.place[SHAPE], stack.place[DEPTH] + 1
        total = shapes.variables[shapes.home[s]] - t  # one more has its state at each depth
        if total <= 1 and not rooting:
            load_moves(shapes, changes, stack, s, t)
            found = _find_leaves(shapes, limits, prefixes, stack, s, t, best, chosen, values)
            if found > 0:
                return FOUND, found
            continue
        rounds = np.int64(0) if rooting else np.int64(1 if t > 0 else 2)
        sizes = measure_products(pairs, shapes, changes, prefixes, stack, scratch, s, t)
        lower = bound_completions(pairs, shapes, prefixes, stack, scratch, sizes, s, t, rounds)
        if rooting:
            roots[s] = lower
        elif lower < threshold:
            load_moves(shapes, changes, stack, s, t)
            _choose_variable(stack, scratch.potentials, t, total, threshold)
            stack.place[DEPTH] = t
    return PAUSED, 0


@called
def _next_node(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    order: Integers,
    roots: Floats,
    rooting: bool,
    threshold: float,
) -> int:
    """Take the next choice below the current shape, or the next shape.

    Returns 1 if there is a node to bound, one below ``DEPTH``; 0 if it is closed; -1 at the end.
    """
    place = stack.place
    if place[DEPTH] >= 0:
        turn = _descend(problem, prefixes, stack, place[SHAPE], place[DEPTH], threshold)
        if turn < 0:
            place[DEPTH] -= 1
        return max(turn, 0)
    if place[POSITION] >= len(order):
        return -1
    s = order[place[POSITION]]
    if not rooting and roots[s] >= threshold:
        return -1
    place[POSITION] += 1
    place[SHAPE] = s
    load_reference(problem.pairs.path, problem.shapes, problem.changes, prefixes, stack, s)
    open_domains(problem.shapes, prefixes, stack, s)
    if _drop_impossible(problem, prefixes, stack, s, np.int64(0)):
        return 1
    roots[s] = np.inf
    return 0


@inner
def _descend(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index, threshold: float
) -> int:
    """The next state of the branching variable of depth t: 1 if it is open to graphs, 0 if not.

    With -1 there is none left that could beat the threshold.
    """
    stack.states[stack.variable[t]] = -1
    y = stack.next[t]
    if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
        return -1
    stack.next[t] += 1
    assign(problem.pairs.both, problem.shapes, prefixes, stack, s, t, stack.order[t, y])
    if not narrow_domains(problem.shapes, prefixes, stack, s, t, threshold):
        return 0
    return 1 if _drop_impossible(problem, prefixes, stack, s, t + 1) else 0


@called
def _drop_impossible(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index
) -> bool:
    """Drop states that no graph can have at depth t; False if a variable has none left."""
    if prefixes is not None and not keep_supported(problem.shapes, prefixes, stack, s, t):
        return False
    return bool(keep_affordable(problem.shapes, problem.limits, stack, s, t))


@merged
def _choose_variable(
    stack: Stack, potentials: Potentials, t: Index, total: Index, threshold: float
) -> None:
    """Branch on the variable whose states the bound tells apart best, its best state first."""
    best = -1.0
    for y in range(total):
        i = potentials.open[y]
        least = np.inf
        for c in range(stack.width[t, i]):
            least = min(least, stack.move_bound[t, i, c])
        worth = 0.0
        for c in range(stack.width[t, i]):
            worth += min(stack.move_bound[t, i, c], threshold) - least
        worth /= stack.width[t, i]
        if worth > best:
            best = worth
            stack.variable[t] = i
    i = stack.variable[t]
    for c in range(stack.width[t, i]):
        bound, y = stack.move_bound[t, i, c], c
        while y > 0 and stack.order_bound[t, y - 1] > bound:
            stack.order[t, y] = stack.order[t, y - 1]
            stack.order_bound[t, y] = stack.order_bound[t, y - 1]
            y -= 1
        stack.order[t, y] = stack.domain[t, i, c]
        stack.order_bound[t, y] = bound
    stack.next[t] = 0


@called
def _find_leaves(
    shapes: Shapes,
    limits: LimitRows,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
    t: Index,
    best: float,
    chosen: Integers,
    values: Floats,
) -> int:
    """Graphs better than ``best`` with at most one variable open; returns how many."""
    variables, q = shapes.variables[shapes.home[s]], shapes.last_label[s]
    last = -1
    for i in range(variables):
        if stack.states[i] < 0:
            last = i
    found = 0
    for c in range(stack.width[t, last] if last >= 0 else 1):
        x = np.int64(-1)
        if last >= 0:
            x = stack.domain[t, last, c]
            stack.states[last] = x
        fits = keep_affordable(shapes, limits, stack, s, t)
        if prefixes is not None and fits:
            fits = is_consistent(shapes, prefixes.states, stack, s)
        if fits:
            value = _evaluate(stack, prefixes, q, t, last, x)
            if value < best:
                values[found] = value
                for i in range(variables):
                    chosen[found, i] = stack.states[i]
                found += 1
    if last >= 0:
        stack.states[last] = -1
    return found


@inner
def _evaluate(
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
