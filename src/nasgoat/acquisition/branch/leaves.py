"""The end of a branch: graphs with at most one variable open, compiled."""

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
)
from nasgoat.acquisition.branch.domains import consistent, within_limits
from nasgoat.compiled import called, inner


@inner
def _value(stack: Stack, states: States, q: int, t: Index, i: int, k: Index) -> float:
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


@called
def leaves(
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
        k = np.int64(-1)
        if last >= 0:
            k = stack.domain[t, last, c]
            stack.states[last] = k
        fits = within_limits(shapes, limits, stack, s, t)
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
