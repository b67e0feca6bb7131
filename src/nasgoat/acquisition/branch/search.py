"""The search of the linear kernel, compiled: bounds of all shapes, then depth first below them.

Shapes come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call returns whenever it has found graphs, so that Python can tell the excluded and the
isomorphic ones, or has explored its share of nodes, so that Python can look at the clock; the next
call goes on where the last one stopped.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import (
    Floats,
    Index,
    Integers,
    Limits,
    Shapes,
    Stack,
    States,
    Tables,
    Terms,
)
from nasgoat.acquisition.branch.compiled import compiled, inner
from nasgoat.acquisition.branch.domains import (
    consistent,
    narrow,
    open_domains,
    support,
    within_limits,
)
from nasgoat.acquisition.branch.linear import linear_bound
from nasgoat.acquisition.branch.moves import assign, load, load_paths, load_shifts

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
def _value(stack: Stack, states: States, q: int, t: Index, i: int, k: int) -> float:
    """The value with open variable i in state k (none open: i = -1)."""
    label = states.label[k] if i >= 0 else -1
    known = 0 <= label < stack.move_mean.shape[2]
    square, mean = 0.0, stack.mean[t]
    for x in range(stack.vector.shape[1]):
        entry = stack.vector[t, x]
        if known:
            entry += stack.move_vector[t, i, label, x]
        if i >= 0 and q >= 0:
            entry += states.vector[q, k, x]
        square += entry * entry
    if known:
        mean += stack.move_mean[t, i, label]
    if i >= 0 and q >= 0:
        mean += states.mean[q, k]
    value: float = mean - math.sqrt(square)
    return value


@inner
def _leaves(
    shapes: Shapes,
    states: States,
    limits: Limits,
    stack: Stack,
    s: Index,
    t: Index,
    best: float,
    chosen: Integers,
    values: Floats,
) -> int:
    """Graphs better than ``best`` with at most one variable open; returns how many."""
    variables, q = shapes.variables[shapes.home[s]], shapes.tail[s]
    last = -1
    for i in range(variables):
        if stack.states[i] < 0:
            last = i
    found = 0
    for c in range(stack.width[t, last] if last >= 0 else 1):
        k = -1
        if last >= 0:
            k = stack.domain[t, last, c]
            stack.states[last] = k
        fits = within_limits(shapes, limits, stack, s, t, True)
        if fits and q >= 0:
            fits = consistent(shapes, states, stack, s)
        if fits:
            value = _value(stack, states, q, t, last, k)
            if value < best:
                values[found] = value
                for i in range(variables):
                    chosen[found, i] = stack.states[i]
                found += 1
    if last >= 0:
        stack.states[last] = -1
    return found


@inner
def _open_count(shapes: Shapes, stack: Stack, s: Index) -> int:
    total = 0
    for i in range(shapes.variables[shapes.home[s]]):
        if stack.states[i] < 0:
            total += 1
    return total


@compiled
def search(
    tables: Tables,
    shapes: Shapes,
    states: States,
    limits: Limits,
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

    With ``rooting`` it bounds the shapes of ``order`` one after another, without looking below.
    """
    threshold = best + margin
    place = stack.place
    stop = place[NODES] + pause
    while place[NODES] < stop:
        place[NODES] += 1
        if place[DEPTH] < 0:
            if place[POSITION] >= len(order):
                return DONE, 0
            s, t = order[place[POSITION]], np.int64(0)
            if not rooting and roots[s] >= threshold:
                return DONE, 0
            place[POSITION] += 1
            load(tables, shapes, states, stack, s)
            load_paths(tables, shapes, stack, s)
            if shapes.ends.shape[1] == 0:
                load_shifts(tables, shapes, stack, s)
            open_domains(shapes, states, stack, s)
            fits = True
        else:
            s, t = order[place[POSITION] - 1], place[DEPTH]
            stack.states[stack.variable[t]] = -1
            y = stack.next[t]
            if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
                place[DEPTH] -= 1
                continue
            stack.next[t] += 1
            assign(tables, shapes, states, stack, s, t, stack.order[t, y])
            fits = narrow(shapes, states, stack, s, t, threshold)
            t = t + 1
        if fits and shapes.tail[s] >= 0:
            fits = support(shapes, states, stack, terms, s, t)
        fits = fits and within_limits(shapes, limits, stack, s, t, False)
        if not fits:
            if rooting:
                roots[s] = np.inf
            continue
        total = _open_count(shapes, stack, s)
        if total <= 1 and not rooting:
            found = _leaves(shapes, states, limits, stack, s, t, best, chosen, values)
            if found > 0:
                return FOUND, found
            continue
        rounds = 1 if rooting or t > 0 else 2
        lower = linear_bound(tables, shapes, states, stack, terms, s, t, rounds)
        if rooting:
            roots[s] = lower
        elif lower < threshold:
            _choose(stack, terms, t, total, threshold)
            place[DEPTH] = t
    return PAUSED, 0
