"""The search of the linear kernel, compiled: bounds of all shapes, then depth first below them.

Shapes come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call returns whenever it has found graphs, so that Python can tell the excluded and the
isomorphic ones, or has explored its share of nodes, so that Python can look at the clock; the next
call goes on where the last one stopped.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import (
    Floats,
    Index,
    Integers,
    Limits,
    Problem,
    Shapes,
    Stack,
    States,
    Terms,
)
from nasgoat.acquisition.branch.domains import narrow, open_domains, support, within_limits
from nasgoat.acquisition.branch.leaves import leaves
from nasgoat.acquisition.branch.linear import linear_bound
from nasgoat.acquisition.branch.moves import assign, load, load_moves
from nasgoat.compiled import called, compiled, inner

DONE, FOUND, PAUSED = 0, 1, 2  # how a call ends
POSITION, DEPTH, NODES = 0, 1, 2  # places in Stack.place


@inner
def _choose(stack: Stack, terms: Terms, t: Index, total: int, threshold: float) -> None:
    """Branch on the variable whose states the bound tells apart best, its best state first."""
    best = -1.0
    for y in range(total):
        i = terms.open[y]
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


@inner
def _open_count(shapes: Shapes, stack: Stack, s: Index) -> int:
    total = 0
    for i in range(shapes.variables[shapes.home[s]]):
        if stack.states[i] < 0:
            total += 1
    return total


@inner
def _enter(problem: Problem, stack: Stack, terms: Terms, s: Index) -> bool:
    """Put shape s on the bottom of the stack, all variables open; False if no graph has it."""
    tables, shapes, states, limits, kinds = problem
    load(tables, shapes, states, kinds, stack, s)
    open_domains(shapes, states, stack, s)
    return _fits(shapes, states, limits, stack, terms, s, np.int64(0))


@inner
def _fits(
    shapes: Shapes,
    states: States,
    limits: Limits,
    stack: Stack,
    terms: Terms,
    s: Index,
    t: Index,
) -> bool:
    """Drop states that no graph can have at depth t; False if a variable has none left."""
    if shapes.tail[s] >= 0 and not support(shapes, states, stack, terms, s, t):
        return False
    return bool(within_limits(shapes, limits, stack, s, t))


@inner
def _descend(
    problem: Problem, stack: Stack, terms: Terms, s: Index, t: Index, threshold: float
) -> int:
    """The next state of the branching variable of depth t: 1 if it is open to graphs, 0 if not.

    With -1 there is none left that could beat the threshold.
    """
    tables, shapes, states, limits, _ = problem
    stack.states[stack.variable[t]] = -1
    y = stack.next[t]
    if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
        return -1
    stack.next[t] += 1
    assign(tables, shapes, states, stack, s, t, stack.order[t, y])
    if not narrow(shapes, states, stack, s, t, threshold):
        return 0
    return 1 if _fits(shapes, states, limits, stack, terms, s, t + 1) else 0


@called
def _next_node(
    problem: Problem,
    stack: Stack,
    terms: Terms,
    order: Integers,
    roots: Floats,
    rooting: bool,
    threshold: float,
) -> tuple[int, Index, Index]:
    """The next shape, or choice below one: 1 and where it is; 0 if it is closed; -1 at the end."""
    place = stack.place
    if place[DEPTH] >= 0:
        s, t = order[place[POSITION] - 1], place[DEPTH]
        turn = _descend(problem, stack, terms, s, t, threshold)
        if turn < 0:
            place[DEPTH] -= 1
        return max(turn, 0), s, t + 1
    if place[POSITION] >= len(order):
        return -1, np.int64(0), np.int64(0)
    s = order[place[POSITION]]
    if not rooting and roots[s] >= threshold:
        return -1, s, np.int64(0)
    place[POSITION] += 1
    if _enter(problem, stack, terms, s):
        return 1, s, np.int64(0)
    roots[s] = np.inf
    return 0, s, np.int64(0)


@compiled
def search(
    problem: Problem,
    stack: Stack,
    terms: Terms,
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
    function for both, because the bound would be compiled twice otherwise.
    """
    _, shapes, states, limits, kinds = problem
    threshold, stop = best + margin, stack.place[NODES] + pause
    while stack.place[NODES] < stop:
        stack.place[NODES] += 1
        turn, s, t = _next_node(problem, stack, terms, order, roots, rooting, threshold)
        if turn < 0:
            return DONE, 0
        if turn == 0:
            continue
        total = _open_count(shapes, stack, s)
        if total <= 1 and not rooting:
            load_moves(shapes, kinds, stack, s, t)
            found = leaves(shapes, states, limits, stack, s, t, best, chosen, values)
            if found > 0:
                return FOUND, found
            continue
        rounds = np.int64(0) if rooting else np.int64(1 if t > 0 else 2)
        lower = linear_bound(problem, stack, terms, s, t, rounds)
        if rooting:
            roots[s] = lower
        elif lower < threshold:
            load_moves(shapes, kinds, stack, s, t)
            _choose(stack, terms, t, total, threshold)
            stack.place[DEPTH] = t
    return PAUSED, 0
