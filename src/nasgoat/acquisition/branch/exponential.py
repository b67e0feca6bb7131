"""The lower bound of the exponential kernel, compiled.

Notation (docs/branch-and-bound.md has the proofs)
    E_j      k_lin with observed graph j, between low_j and high_j;  k_j = σ² exp(E_j)
    Q        k_lin with itself;  a = K⁻¹ y;  L the Cholesky factor of K
    value    a·k - √β √(σ² exp(Q) - ‖L⁻¹ k‖²)

For any u and c > 0, with h = L⁻ᵀ u and g = β / 2c,
    value ≥ Σ_j (a_j + 2 g h_j) k_j - g (σ² exp(Q) + ‖u‖²) - c / 2.
Each exp is then replaced by a tangent or a chord, whichever bounds it on the right side, which
leaves costs that are linear in E and Q: potentials of labels and pairs, as for the linear kernel.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import (
    Exponential,
    Floats,
    Index,
    Shapes,
    Stack,
    Tables,
    Terms,
)
from nasgoat.acquisition.branch.compiled import inner
from nasgoat.acquisition.branch.messages import clear_messages, sweep
from nasgoat.acquisition.branch.quadratic import (
    choose_best,
    keep_move_bounds,
    largest_squares,
    list_open,
    measure_gram,
    measure_interactions,
    measure_moves,
    potentials,
    squares_of_choice,
)

_TINY = 1e-150
_FLOOR = 1e-2  # as for the linear kernel
_NARROW = 1e-9  # an interval so short that its chord is taken as level
_LARGEST = 300.0  # exponents beyond this are not bounded: exp would overflow in products


@inner
def _ranges(
    model: Exponential, stack: Stack, terms: Terms, size: int, t: Index, total: int, ends: Floats
) -> None:
    """Smallest and largest E_j of all completions."""
    m = len(model.dual)
    low, high = ends[0], ends[1]
    for j in range(m):
        low[j] = high[j] = stack.vector[t, j]
    for x in range(total):
        moves = stack.move_vector[t, terms.open[x]]
        for j in range(m):
            smallest = largest = moves[0, j]
            for a in range(1, len(moves)):
                smallest = min(smallest, moves[a, j])
                largest = max(largest, moves[a, j])
            low[j] += smallest
            high[j] += largest
    for d in range(1, len(terms.pairs)):
        for j in range(m if terms.pairs[d] > 0 else 0):
            low[j] += terms.pairs[d] * model.both_low[size, d, j]
            high[j] += terms.pairs[d] * model.both_high[size, d, j]
    for j in range(m):
        low[j] = max(low[j], 0.0)  # counts and weights are never negative


@inner
def _point(
    tables: Tables, stack: Stack, terms: Terms, size: int, t: Index, total: int, E: Floats
) -> None:
    """E at the chosen labels."""
    m = len(E)
    for j in range(m):
        E[j] = stack.vector[t, j]
    for x in range(total):
        i = terms.open[x]
        if terms.choice[i] < 0:
            continue
        move = stack.move_vector[t, i, terms.choice[i]]
        for j in range(m):
            E[j] += move[j]
        for y in range(x + 1, total):
            other = terms.open[y]
            if terms.apart[i, other] > 0 and terms.choice[other] >= 0:
                both = tables.both_vector[
                    size, terms.apart[i, other], terms.choice[i], terms.choice[other]
                ]
                for j in range(m):
                    E[j] += both[j]


@inner
def _whiten(model: Exponential, k: Floats, h: Floats) -> float:
    """H = L⁻ᵀ u for u = L⁻¹ k; returns ‖u‖²."""
    for j in range(len(h)):
        h[j] = 0.0
    square = 0.0
    for i in range(len(k)):
        row = model.whitening[i]
        u = 0.0
        for j in range(i + 1):
            u += row[j] * k[j]
        square += u * u
        for j in range(i + 1):
            h[j] += row[j] * u
    return square


@inner
def _straighten(
    model: Exponential, ends: Floats, E: Floats, h: Floats, g: float, slope: Floats
) -> float:
    """Slopes of a linear minorant of Σ_j s_j k_j, s = a + 2 g h; returns its constant."""
    variance = model.settings[0]
    constant = 0.0
    for j in range(len(E)):
        s = model.dual[j] + 2 * g * h[j]
        low, high = ends[0, j], ends[1, j]
        if s >= 0:  # tangent at E_j
            k = variance * math.exp(E[j])
            slope[j] = s * k
            constant += s * k * (1.0 - E[j])
        elif high - low < _NARROW:
            slope[j] = 0.0
            constant += s * variance * math.exp(high)
        else:  # chord from low to high
            k = variance * math.exp(low)
            rise = (variance * math.exp(high) - k) / (high - low)
            slope[j] = s * rise
            constant += s * (k - rise * low)
    return constant


@inner
def _linear_costs(
    tables: Tables, stack: Stack, terms: Terms, size: int, t: Index, total: int, slope: Floats
) -> float:
    """Costs of labels and pairs under the slopes; returns that of the reference graph."""
    m, labels = len(slope), terms.mean.shape[1]
    for x in range(total):
        for a in range(labels):
            move = stack.move_vector[t, terms.open[x], a]
            cost = 0.0
            for j in range(m):
                cost += slope[j] * move[j]
            terms.mean[terms.open[x], a] = cost
    for d in range(1, len(terms.pairs)):
        if terms.pairs[d] > 0:
            for a in range(labels):
                for b in range(labels):
                    both = tables.both_vector[size, d, a, b]
                    cost = 0.0
                    for j in range(m):
                        cost += slope[j] * both[j]
                    terms.both_mean[d, a, b] = cost
    cost = 0.0
    for j in range(m):
        cost += slope[j] * stack.vector[t, j]
    return cost


@inner
def _largest(ends: Floats) -> float:
    largest = 0.0
    for j in range(ends.shape[1]):
        largest = max(largest, ends[1, j])
    return largest


@inner
def _give_up(stack: Stack, t: Index, terms: Terms, total: int) -> float:
    for x in range(total):
        for a in range(stack.move_bound.shape[2]):
            stack.move_bound[t, terms.open[x], a] = -np.inf
    return -np.inf


@inner
def exponential_bound(
    tables: Tables,
    model: Exponential,
    shapes: Shapes,
    stack: Stack,
    terms: Terms,
    s: Index,
    t: Index,
    rounds: Index,
) -> float:
    """Lower bound on all completions at depth t; also those of each further choice."""
    size, m = shapes.size[s], len(model.dual)
    variance, sqrt_beta = model.settings[0], model.settings[1]
    total = list_open(shapes, stack, s, terms)
    square = measure_moves(stack, t, terms, total, m)
    if t == 0 or shapes.ends.shape[1] == 0:
        measure_gram(stack, t, terms, total, m)
    omega = measure_interactions(tables, stack, size, t, terms, m)
    longest, reach = largest_squares(terms, total)
    if t == 0:
        clear_messages(stack)
        for i in range(stack.choice.shape[1]):
            stack.choice[0, i] = -1
    for i in range(stack.choice.shape[1]):
        terms.choice[i] = stack.choice[t, i]
    ends = model.scratch[:2]
    _ranges(model, stack, terms, size, t, total, ends)
    Q_low = max(math.sqrt(square) - reach - omega, 0.0) ** 2
    Q_high = (math.sqrt(square) + reach + omega) ** 2
    if Q_high > _LARGEST or _largest(ends) > _LARGEST:
        return _give_up(stack, t, terms, total)
    chord = 0.0
    if Q_high - Q_low > _NARROW:
        chord = (math.exp(Q_high) - math.exp(Q_low)) / (Q_high - Q_low)
        level = math.exp(Q_low) - chord * Q_low
    else:
        level = math.exp(Q_high)
    E, k, h, slope = model.scratch[2], model.scratch[3], model.scratch[4], model.scratch[5]
    best = -np.inf
    for _ in range(rounds):
        _point(tables, stack, terms, size, t, total, E)
        for j in range(m):
            k[j] = variance * math.exp(E[j])
        explained = _whiten(model, k, h)
        cross, own = squares_of_choice(terms, total)
        prior = variance * math.exp(min(max(square + cross + own, Q_low), Q_high))
        c = sqrt_beta * math.sqrt(max(prior - explained, _FLOOR * _FLOOR * prior)) + _TINY
        g = sqrt_beta * sqrt_beta / (2 * c)
        length = max(math.sqrt(own), _FLOOR * math.sqrt(longest)) + _TINY
        lower = _straighten(model, ends, E, h, g, slope)
        lower += _linear_costs(tables, stack, terms, size, t, total, slope)
        rho = g * variance * chord
        lower -= g * (variance * level + explained) + 0.5 * c
        lower -= rho * (square + omega * omega + omega * length)
        potentials(terms, total, rho, 1.0 + omega / length)
        sweep(terms, stack.message[t], total, True)
        lower += sweep(terms, stack.message[t], total, False)
        if lower > best:
            best = lower
            keep_move_bounds(stack, t, terms, total, lower)
        choose_best(terms, total)
    for i in range(stack.choice.shape[1]):
        stack.choice[t, i] = terms.choice[i]
    return best
