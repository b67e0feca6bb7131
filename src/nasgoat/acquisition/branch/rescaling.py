"""Around which states the next bound is taken, compiled.

Notation (docs/branch-and-bound.md)
    c, ‖U‖  of Lemma 2, at the states of lowest belief
"""

from __future__ import annotations

import math

from nasgoat.acquisition.branch.arrays import Index, Stack, States, Terms
from nasgoat.compiled import inner


@inner
def choose_best(stack: Stack, terms: Terms, t: Index, total: int) -> None:
    """Note for every open variable the state of lowest belief."""
    for y in range(total):
        i = terms.open[y]
        terms.choice[i] = 0
        for c in range(1, stack.width[t, i]):
            if terms.belief[i, c] < terms.belief[i, terms.choice[i]]:
                terms.choice[i] = c


@inner
def _products(
    states: States, stack: Stack, terms: Terms, q: int, t: Index, total: int, y: int
) -> tuple[float, float]:
    """Σ_j p_i(x)·p_j(y) and Σ_j p·p_ij over the noted states of later variables j."""
    labels, i = stack.move_mean.shape[2], terms.open[y]
    x = stack.domain[t, i, terms.choice[i]]
    a = states.label[x]
    product = across = 0.0
    for z in range(y + 1, total):
        j = terms.open[z]
        other = stack.domain[t, j, terms.choice[j]]
        b = states.label[other]
        if a < labels and b < labels:
            product += terms.gram[i, j, a, b]
            if terms.apart[i, j] > 0:
                across += terms.both_along[terms.apart[i, j], a, b]
        if q < 0:
            continue
        product += states.gram[q, x, other]
        for f in range(2):
            if a < labels:
                product += terms.part_gram[i, a, states.part[other, f]]
            if b < labels:
                product += terms.part_gram[j, b, states.part[x, f]]
    return product, across


@inner
def rescale(
    states: States,
    stack: Stack,
    terms: Terms,
    q: int,
    t: Index,
    total: int,
    square: float,
    omega: float,
) -> None:
    """The c and ‖U‖ of the noted states: what the next bound is taken around."""
    labels = stack.move_mean.shape[2]
    cross = own = 0.0
    for y in range(total):
        i = terms.open[y]
        x = stack.domain[t, i, terms.choice[i]]
        a = states.label[x]
        cross += 2 * terms.along[i, a] if a < labels else 0.0
        cross += 2 * terms.free_along[x] if q >= 0 else 0.0
        product, across = _products(states, stack, terms, q, t, total, y)
        own += terms.norm[i, terms.choice[i]] + 2 * product
        cross += 2 * across
    own = max(own, 0.0)
    stack.scale[t, 1] = math.sqrt(own)
    stack.scale[t, 0] = math.sqrt(max(square + cross + (math.sqrt(own) + omega) ** 2, 0.0))
