"""Quadratic and linear costs of open labels as potentials, compiled: shared by both kernels.

Notation (docs/branch-and-bound.md)
    p                 vector of the reference graph
    p_i(l), p_ij(l, l')  its change by a label, and the interaction of two labels
    U, W              Σ_i p_i(l_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import inner


@inner
def list_open(shapes: Shapes, stack: Stack, s: Index, terms: Terms) -> int:
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


@inner
def measure_moves(stack: Stack, t: Index, terms: Terms, total: int, start: Index) -> float:
    """Products of the moves with p and with themselves, from entry ``start``; returns ‖p‖²."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for x in range(start, r):
        square += stack.vector[t, x] * stack.vector[t, x]
    for y in range(total):
        i = terms.open[y]
        for k in range(labels):
            product = length = 0.0
            for x in range(start, r):
                product += stack.vector[t, x] * stack.move_vector[t, i, k, x]
                length += stack.move_vector[t, i, k, x] * stack.move_vector[t, i, k, x]
            terms.along[i, k] = product
            terms.square[i, k] = length
    return square


@inner
def measure_gram(stack: Stack, t: Index, terms: Terms, total: int, start: Index) -> None:
    """Products of the moves with each other."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    for y in range(total):
        for z in range(y + 1, total):
            i, j = terms.open[y], terms.open[z]
            for a in range(labels):
                for b in range(labels):
                    product = 0.0
                    for x in range(start, r):
                        product += stack.move_vector[t, i, a, x] * stack.move_vector[t, j, b, x]
                    terms.gram[i, j, a, b] = product


@inner
def measure_interactions(
    tables: Tables, stack: Stack, size: int, t: Index, terms: Terms, start: Index
) -> float:
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
                for x in range(start, r):
                    product += stack.vector[t, x] * tables.both_vector[size, d, a, b, x]
                terms.both_along[d, a, b] = product
    return math.sqrt(square)


@inner
def potentials(terms: Terms, total: int, rho: float, stretch: float) -> None:
    """θ_i and θ_ij: linear costs minus ρ times what labels add to the bound on ‖p + U + W‖²."""
    labels = terms.unary.shape[1]
    for x in range(total):
        i = terms.open[x]
        for a in range(labels):
            step = 2 * terms.along[i, a] + stretch * terms.square[i, a]
            terms.unary[i, a] = terms.mean[i, a] - rho * step
        for y in range(x + 1, total):
            j = terms.open[y]
            d = terms.apart[i, j]
            for a in range(labels):
                for b in range(labels):
                    value = -2 * rho * stretch * terms.gram[i, j, a, b]
                    if d > 0:
                        value += terms.both_mean[d, a, b] - 2 * rho * terms.both_along[d, a, b]
                    terms.pair[i, j, a, b] = value


@inner
def choose_best(terms: Terms, total: int) -> None:
    """Note for every open variable the label of lowest belief."""
    for x in range(total):
        i = terms.open[x]
        terms.choice[i] = 0
        for a in range(1, terms.belief.shape[1]):
            if terms.belief[i, a] < terms.belief[i, terms.choice[i]]:
                terms.choice[i] = a


@inner
def squares_of_choice(terms: Terms, total: int) -> tuple[float, float]:
    """2 p·(U + W) and ‖U‖² at the noted labels: they tell which c and ε to try."""
    cross = own = 0.0
    for x in range(total):
        i = terms.open[x]
        a = terms.choice[i]
        if a < 0:
            continue
        cross += 2 * terms.along[i, a]
        own += terms.square[i, a]
        for y in range(x + 1, total):
            j = terms.open[y]
            b = terms.choice[j]
            if b >= 0:
                own += 2 * terms.gram[i, j, a, b]
                if terms.apart[i, j] > 0:
                    cross += 2 * terms.both_along[terms.apart[i, j], a, b]
    return cross, max(own, 0.0)


@inner
def largest_squares(terms: Terms, total: int) -> tuple[float, float]:
    """Σ_i max_l ‖p_i(l)‖² and Σ_i max_l ‖p_i(l)‖."""
    squares = norms = 0.0
    for x in range(total):
        largest = 0.0
        for a in range(terms.square.shape[1]):
            largest = max(largest, terms.square[terms.open[x], a])
        squares += largest
        norms += math.sqrt(largest)
    return squares, norms


@inner
def keep_move_bounds(stack: Stack, t: Index, terms: Terms, total: int, lower: float) -> None:
    """Bounds of each further choice, from what the variables have kept."""
    labels = terms.unary.shape[1]
    for x in range(total):
        i = terms.open[x]
        least = np.inf
        for a in range(labels):
            least = min(least, terms.belief[i, a])
        for a in range(labels):
            stack.move_bound[t, i, a] = lower + terms.kept[i] * (terms.belief[i, a] - least)
