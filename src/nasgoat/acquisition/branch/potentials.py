"""The sum that the bound leaves as potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md)
    θ_i(x), θ_ij(x, y)   potentials of a state of variable i, and of states of two variables
    ρ = 1 / 2c, 1 + ε    factors of Lemma 2
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, States, Tables, Terms
from nasgoat.compiled import inner


@inner
def unary_potentials(
    states: States,
    stack: Stack,
    terms: Terms,
    q: int,
    t: Index,
    total: int,
    rho: float,
    wide: float,
) -> None:
    """θ_i: mean of a state minus ρ times what it adds to the bound on ‖p + U + W‖²."""
    labels = stack.move_mean.shape[2]
    for y in range(total):
        i = terms.open[y]
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = states.label[x]
            mean = along = 0.0
            if label < labels:
                mean, along = stack.move_mean[t, i, label], terms.along[i, label]
            if q >= 0:
                mean += states.mean[q, x]
                along += terms.free_along[x]
            terms.unary[i, c] = mean - rho * (2 * along + wide * terms.norm[i, c])


@inner
def _label_block(
    tables: Tables,
    stack: Stack,
    terms: Terms,
    size: int,
    t: Index,
    i: int,
    j: int,
    rho: float,
    wide: float,
) -> None:
    """θ_ij where states are labels."""
    d, at = terms.apart[i, j], terms.pair_at[i, j]
    for c in range(stack.width[t, i]):
        a = stack.domain[t, i, c]
        for e in range(stack.width[t, j]):
            b = stack.domain[t, j, e]
            value = -2 * rho * wide * terms.gram[i, j, a, b]
            if d > 0:
                value += tables.both_mean[size, d, a, b] - 2 * rho * terms.both_along[d, a, b]
            terms.pair[at] = value
            at += 1


@inner
def _best_option(tables: Tables, terms: Terms, d: Index, a: Index, b: Index, rho: float) -> float:
    """The least that two labels can add at any of the distances that code d leaves open."""
    code = d - (len(terms.pairs) - len(tables.option_mean))
    least = 1e300
    for e in range(tables.options[d]):
        value = tables.option_mean[code, a, b, e] - 2 * rho * terms.option_along[code, a, b, e]
        least = min(least, value)
    return least


@inner
def _label_rows(
    tables: Tables,
    states: States,
    stack: Stack,
    terms: Terms,
    size: int,
    t: Index,
    i: int,
    j: int,
    rho: float,
    wide: float,
) -> None:
    """The part of θ_ij that depends on the label of i and the state of j; no label: 0."""
    labels, d = stack.move_mean.shape[2], terms.apart[i, j]
    for e in range(stack.width[t, j]):
        y = stack.domain[t, j, e]
        b, first, second = states.label[y], states.part[y, 0], states.part[y, 1]
        for a in range(labels):
            product = terms.part_gram[i, a, first] + terms.part_gram[i, a, second]
            if b < labels:
                product += terms.gram[i, j, a, b]
            value = -2 * rho * wide * product
            if d > 0 and tables.options[d] == 0:
                value += tables.both_mean[size, d, a, b] - 2 * rho * terms.both_along[d, a, b]
            if d > 0 and tables.options[d] > 0 and b < labels:
                value += _best_option(tables, terms, d, a, b, rho)
            terms.row[a, e] = value
        terms.row[labels, e] = 0.0
        if d > 0 and tables.options[d] > 0 and b < labels:  # i is the source
            terms.row[labels, e] = _best_option(tables, terms, d, np.int64(0), b, rho)


@inner
def _state_block(
    states: States,
    stack: Stack,
    terms: Terms,
    q: int,
    t: Index,
    i: int,
    j: int,
    far: Index,
    factor: float,
    price: float,
) -> None:
    """θ_ij of a prefix: the rows of labels, and what the parts of states add."""
    labels, at, columns = stack.move_mean.shape[2], terms.pair_at[i, j], stack.width[t, j]
    if far == 0:
        price = 0.0
    for c in range(stack.width[t, i]):
        x = stack.domain[t, i, c]
        a, first, second = states.label[x], states.part[x, 0], states.part[x, 1]
        e = 0
        while e < columns:  # runs of neighbouring states of one label
            y = stack.domain[t, j, e]
            b, length = states.label[y], terms.run[j, e]
            side = 0.0
            if b < labels:
                side = factor * (terms.part_gram[j, b, first] + terms.part_gram[j, b, second])
            for z in range(length):
                terms.pair[at + e + z] = (
                    terms.row[a, e + z]
                    + side
                    + factor * states.gram[q, x, y + z]
                    + price * states.clash[far, x, y + z]
                )
            e += length
        at += columns


@inner
def _find_runs(states: States, stack: Stack, terms: Terms, t: Index, j: int) -> None:
    """For every place in the domain of j how many neighbouring states of one label follow."""
    length = 0
    for back in range(stack.width[t, j]):
        e = stack.width[t, j] - 1 - back
        y = stack.domain[t, j, e]
        joined = length > 0 and stack.domain[t, j, e + 1] == y + 1
        length = length + 1 if joined and states.label[y + 1] == states.label[y] else 1
        terms.run[j, e] = length


@inner
def pair_potentials(
    tables: Tables,
    shapes: Shapes,
    states: States,
    stack: Stack,
    terms: Terms,
    s: Index,
    t: Index,
    total: int,
    rho: float,
    wide: float,
) -> None:
    """θ_ij: what two states together add; a high price where distances contradict each other."""
    p, q = shapes.home[s], shapes.tail[s]
    size, price = shapes.size[p], 4.0 / rho  # the size of c: enough to matter, harmless to rounding
    for z in range(total):
        j = terms.open[z]
        if q >= 0:
            _find_runs(states, stack, terms, t, j)
        for y in range(z):
            i = terms.open[y]
            if q < 0:
                _label_block(tables, stack, terms, size, t, i, j, rho, wide)
                continue
            _label_rows(tables, states, stack, terms, size, t, i, j, rho, wide)
            far = shapes.distance[p, i, j]
            far = 0 if tables.options[far] > 0 else far
            _state_block(states, stack, terms, q, t, i, j, far, -2 * rho * wide, price)
