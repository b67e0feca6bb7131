"""The lower bound of the linear kernel, compiled.

Notation (docs/branch-and-bound.md has the proofs)
    m, p     mean part and vector of the reference graph: open variables carry the label "*"
    m_i(l), p_i(l)            change if open variable i takes label l, all others unchanged
    m_ij(l, l'), p_ij(l, l')  interaction of two open variables: what both changes together miss
    U, W     Σ_i p_i(l_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels

Every completion has the value m + Σ m_i + Σ m_ij - ‖p + U + W‖. For any c, ε > 0
    ‖p + U + W‖ ≤ (‖p + U + W‖² + c²) / 2c,
    ‖p + U + W‖² ≤ ‖p‖² + 2 p·U + 2 p·W + (1 + ε) ‖U‖² + (1 + 1/ε) ω²,
which leaves a sum of potentials of labels and of pairs of labels, bounded by message passing.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import compiled
from nasgoat.acquisition.branch.messages import sweep
from nasgoat.acquisition.branch.moves import load

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value


@compiled
def _list_open(shapes: Shapes, stack: Stack, s: int, terms: Terms) -> int:
    """Open variables and the distances between them; returns how many are open."""
    on_nodes = shapes.ends.shape[1] == 0
    terms.pairs[:] = 0
    total = 0
    for i in range(shapes.variables[s]):
        if stack.labels[i] < 0:
            terms.open[total] = i
            total += 1
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            d = shapes.distance[s, i + 1, j + 1] if on_nodes else 0
            terms.apart[i, j] = d
            if d > 0:
                terms.pairs[d] += 1
    return total


@compiled
def _measure_moves(stack: Stack, t: int, terms: Terms, total: int) -> float:
    """Products of the moves with p and with themselves; returns ‖p‖²."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for x in range(r):
        square += stack.vector[t, x] * stack.vector[t, x]
    for y in range(total):
        i = terms.open[y]
        for k in range(labels):
            product = length = 0.0
            for x in range(r):
                product += stack.vector[t, x] * stack.move_vector[t, i, k, x]
                length += stack.move_vector[t, i, k, x] * stack.move_vector[t, i, k, x]
            terms.along[i, k] = product
            terms.square[i, k] = length
    return square


@compiled
def _measure_gram(stack: Stack, t: int, terms: Terms, total: int) -> None:
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    for y in range(total):
        for z in range(y + 1, total):
            i, j = terms.open[y], terms.open[z]
            for a in range(labels):
                for b in range(labels):
                    product = 0.0
                    for x in range(r):
                        product += stack.move_vector[t, i, a, x] * stack.move_vector[t, j, b, x]
                    terms.gram[i, j, a, b] = product


@compiled
def _measure_interactions(tables: Tables, stack: Stack, size: int, t: int, terms: Terms) -> float:
    """Products of the interactions with p; returns ω, a bound on the norm of their sum."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for d in range(1, len(terms.pairs)):
        if terms.pairs[d] == 0:
            continue
        for e in range(1, len(terms.pairs)):
            square += terms.pairs[d] * terms.pairs[e] * tables.both_gram[size, d, e]
        for a in range(labels):
            for b in range(labels):
                product = 0.0
                for x in range(r):
                    product += stack.vector[t, x] * tables.both_vector[size, d, a, b, x]
                terms.both_along[d, a, b] = product
    return math.sqrt(square)


@compiled
def _potentials(
    tables: Tables,
    stack: Stack,
    size: int,
    t: int,
    terms: Terms,
    total: int,
    c: float,
    stretch: float,
) -> None:
    """θ_i and θ_ij of the bound at this c; stretch is 1 + ε."""
    labels = stack.move_mean.shape[2]
    for x in range(total):
        i = terms.open[x]
        for a in range(labels):
            step = 2 * terms.along[i, a] + stretch * terms.square[i, a]
            terms.unary[i, a] = stack.move_mean[t, i, a] - step / (2 * c)
        for y in range(x + 1, total):
            j = terms.open[y]
            d = terms.apart[i, j]
            for a in range(labels):
                for b in range(labels):
                    value = -stretch * terms.gram[i, j, a, b] / c
                    if d > 0:
                        value += tables.both_mean[size, d, a, b] - terms.both_along[d, a, b] / c
                    terms.pair[i, j, a, b] = value


@compiled
def _squares_of_best(terms: Terms, total: int) -> tuple[float, float]:
    """2 p·Δ and ‖U‖² at the labels that look best: they tell which c and ε to try next."""
    labels = terms.unary.shape[1]
    choice = np.zeros(len(terms.open), dtype=np.int64)
    cross = own = 0.0
    for x in range(total):
        i = terms.open[x]
        for a in range(1, labels):
            if terms.belief[i, a] < terms.belief[i, choice[i]]:
                choice[i] = a
        cross += 2 * terms.along[i, choice[i]]
        own += terms.square[i, choice[i]]
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            own += 2 * terms.gram[i, j, choice[i], choice[j]]
            if terms.apart[i, j] > 0:
                cross += 2 * terms.both_along[terms.apart[i, j], choice[i], choice[j]]
    return cross, max(own, 0.0)


@compiled
def _keep_move_bounds(stack: Stack, t: int, terms: Terms, total: int, lower: float) -> None:
    labels = terms.unary.shape[1]
    for x in range(total):
        i = terms.open[x]
        least = np.inf
        for a in range(labels):
            least = min(least, terms.belief[i, a])
        for a in range(labels):
            stack.move_bound[t, i, a] = lower + terms.kept[i] * (terms.belief[i, a] - least)


@compiled
def bound(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, s: int, t: int, rounds: int
) -> float:
    """Lower bound on all completions at depth t; also those of each further choice."""
    size = shapes.size[s]
    total = _list_open(shapes, stack, s, terms)
    square = _measure_moves(stack, t, terms, total)
    if t == 0 or shapes.ends.shape[1] == 0:
        _measure_gram(stack, t, terms, total)
    omega = _measure_interactions(tables, stack, size, t, terms)
    message = stack.message[t]
    best = -np.inf
    # Labels with a tiny norm must not stretch the potentials beyond what rounding can bear.
    longest = 0.0
    for x in range(total):
        largest = 0.0
        for a in range(terms.square.shape[1]):
            largest = max(largest, terms.square[terms.open[x], a])
        longest += largest
    least_length = _FLOOR * math.sqrt(longest) + _TINY
    least_c = _FLOOR * math.sqrt(square + longest + omega * omega) + _TINY
    if t == 0:
        message[:] = 0.0
        stack.scale[0, 0] = math.sqrt(square + longest + omega * omega)
        stack.scale[0, 1] = math.sqrt(longest)
    c, length = max(stack.scale[t, 0], least_c), max(stack.scale[t, 1], least_length)
    for _ in range(rounds):
        # 2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0; ε = ω / ‖U‖ is best at the labels that matter.
        stretch = 1.0 + omega / length
        rest = omega * omega + omega * length
        _potentials(tables, stack, size, t, terms, total, c, stretch)
        sweep(terms, message, total, True)
        lower = sweep(terms, message, total, False)
        lower += stack.mean[t] - (square + c * c + rest) / (2 * c)
        cross, own = _squares_of_best(terms, total)
        if lower > best:
            best = lower
            _keep_move_bounds(stack, t, terms, total, lower)
        length = max(math.sqrt(own), least_length)
        c = max(math.sqrt(max(square + cross + (math.sqrt(own) + omega) ** 2, 0.0)), least_c)
        stack.scale[t, 0], stack.scale[t, 1] = c, length
    return best


@compiled
def root_bounds(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, rounds: int, out: Floats
) -> None:
    """Lower bound of every structure."""
    for s in range(len(shapes.nodes)):
        load(tables, shapes, stack, s)
        out[s] = bound(tables, shapes, stack, terms, s, 0, rounds)
