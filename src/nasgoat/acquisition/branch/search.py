"""The depth-first search below each structure, compiled: the linear kernel.

Structures come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call returns whenever it has found graphs, so that Python can tell the excluded and the
isomorphic ones, or has explored its share of nodes, so that Python can look at the clock; the next
call goes on where the last one stopped.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Index, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import compiled, inner
from nasgoat.acquisition.branch.linear import linear_bound
from nasgoat.acquisition.branch.messages import copy_messages
from nasgoat.acquisition.branch.moves import assign, load

DONE, FOUND, PAUSED = 0, 1, 2  # how a call ends
POSITION, DEPTH, NODES = 0, 1, 2  # places in Stack.place


@inner
def _twins_in_order(shapes: Shapes, stack: Stack, s: Index, i: int, k: int) -> bool:
    """Whether label k keeps the labels of variables that may be swapped in ascending order."""
    for j in range(shapes.variables[s]):
        if j != i and shapes.twin[s, j] == shapes.twin[s, i] and stack.labels[j] >= 0:
            if j < i and stack.labels[j] > k:
                return False
            if j > i and stack.labels[j] < k:
                return False
    return True


@inner
def _choose(stack: Stack, terms: Terms, t: Index, total: int, threshold: float) -> None:
    """Branch on the variable whose labels the bound tells apart best, its best label first."""
    labels = stack.move_mean.shape[2]
    best = -1.0
    for x in range(total):
        i = terms.open[x]
        least = np.inf
        for k in range(labels):
            least = min(least, stack.move_bound[t, i, k])
        worth = 0.0
        for k in range(labels):
            worth += min(stack.move_bound[t, i, k], threshold) - least
        if worth > best:
            best = worth
            stack.variable[t] = i
    i = stack.variable[t]
    for k in range(labels):
        y = k
        while y > 0 and stack.move_bound[t, i, stack.order[t, y - 1]] > stack.move_bound[t, i, k]:
            stack.order[t, y] = stack.order[t, y - 1]
            y -= 1
        stack.order[t, y] = k
    stack.next[t] = 0


@inner
def _value(stack: Stack, t: Index, i: int, k: int) -> float:
    """The value with open variable i labelled k (none open: i = -1)."""
    square = 0.0
    for x in range(stack.vector.shape[1]):
        entry = stack.vector[t, x] + (stack.move_vector[t, i, k, x] if i >= 0 else 0.0)
        square += entry * entry
    value: float = stack.mean[t] - math.sqrt(square)
    return value + (stack.move_mean[t, i, k] if i >= 0 else 0.0)


@inner
def _leaves(
    shapes: Shapes,
    stack: Stack,
    s: Index,
    t: Index,
    best: float,
    labels: NDArray[np.int64],
    values: Floats,
) -> int:
    """Graphs better than ``best`` with at most one variable open; returns how many."""
    last = -1
    for i in range(shapes.variables[s]):
        if stack.labels[i] < 0:
            last = i
    found = 0
    for k in range(stack.move_mean.shape[2] if last >= 0 else 1):
        if last >= 0 and not _twins_in_order(shapes, stack, s, last, k):
            continue
        value = _value(stack, t, last, k)
        if value < best:
            values[found] = value
            for i in range(shapes.variables[s]):
                labels[found, i] = stack.labels[i]
            if last >= 0:
                labels[found, last] = k
            found += 1
    return found


@inner
def _open_count(shapes: Shapes, stack: Stack, s: Index) -> int:
    total = 0
    for i in range(shapes.variables[s]):
        if stack.labels[i] < 0:
            total += 1
    return total


@compiled
def search(
    tables: Tables,
    shapes: Shapes,
    stack: Stack,
    terms: Terms,
    order: NDArray[np.int64],
    roots: Floats,
    best: float,
    margin: float,
    pause: int,
    labels: NDArray[np.int64],
    values: Floats,
) -> tuple[int, int]:
    """Go on until graphs better than ``best`` are found, nodes are used up, or all is done."""
    threshold = best + margin
    place = stack.place
    stop = place[NODES] + pause
    while place[NODES] < stop:
        place[NODES] += 1
        if place[DEPTH] < 0:
            if place[POSITION] >= len(order) or roots[order[place[POSITION]]] >= threshold:
                return DONE, 0
            s = order[place[POSITION]]
            load(tables, shapes, stack, s)
            if shapes.variables[s] <= 1:
                place[POSITION] += 1
                found = _leaves(shapes, stack, s, np.int64(0), best, labels, values)
                if found > 0:
                    return FOUND, found
                continue
            linear_bound(tables, shapes, stack, terms, s, np.int64(0), np.int64(2))
            _choose(stack, terms, np.int64(0), shapes.variables[s], threshold)
            place[DEPTH] = 0
            continue
        s, t = order[place[POSITION]], place[DEPTH]
        i = stack.variable[t]
        stack.labels[i] = -1
        if stack.next[t] < stack.order.shape[1]:
            k = stack.order[t, stack.next[t]]
            done = stack.move_bound[t, i, k] >= threshold
        else:
            done = True
        if done:
            place[DEPTH] -= 1
            if t == 0:
                place[POSITION] += 1
            continue
        stack.next[t] += 1
        if not _twins_in_order(shapes, stack, s, i, k):
            continue
        assign(tables, shapes, stack, s, t, i, k)
        total = _open_count(shapes, stack, s)
        if total <= 1:
            found = _leaves(shapes, stack, s, t + 1, best, labels, values)
            if found > 0:
                return FOUND, found
            continue
        copy_messages(stack, t)
        stack.scale[t + 1, 0], stack.scale[t + 1, 1] = stack.scale[t, 0], stack.scale[t, 1]
        if linear_bound(tables, shapes, stack, terms, s, t + 1, np.int64(1)) < threshold:
            _choose(stack, terms, t + 1, total, threshold)
            place[DEPTH] = t + 1
    return PAUSED, 0
