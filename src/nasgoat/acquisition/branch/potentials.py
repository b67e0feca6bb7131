"""The sum that Lemma 2 leaves, as potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md)
    θ_i(x), θ_ij(x, y)   potentials of a state of variable i, and of states of two variables
    ρ = 1 / 2c, 1 + ε    factors of Lemma 2, ``rho`` and ``wide``
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.records import (
    Index,
    Potentials,
    Products,
    Shapes,
    Stack,
    States,
    Tables,
)
from nasgoat.compiled import inner


@inner
def fill_unary(
    states: States | None,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    q: Index,
    t: Index,
    total: Index,
    rho: float,
    wide: float,
) -> None:
    """θ_i: mean of a state minus ρ times what it adds to the bound on ‖p + U + W‖²."""
    labels = stack.move_mean.shape[2]
    for y in range(total):
        i = potentials.open[y]
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = x if states is None else states.label[x]
            mean = along = 0.0
            if label < labels:
                mean, along = stack.move_mean[t, i, label], products.along[i, label]
            if states is not None:
                mean += states.mean[q, x]
                along += products.state_along[x]
            potentials.unary[i, c] = mean - rho * (2 * along + wide * products.norm[i, c])


@inner
def fill_pairs(
    tables: Tables,
    shapes: Shapes,
    states: States | None,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    s: Index,
    t: Index,
    total: Index,
    rho: float,
    wide: float,
) -> None:
    """θ_ij: what two states together add; a high price where distances contradict each other."""
    p, q = shapes.home[s], shapes.last_label[s]
    size, price = shapes.size[p], 4.0 / rho  # the size of c: enough to matter, harmless to rounding
    for z in range(total):
        j = potentials.open[z]
        if states is not None:
            _find_runs(states, stack, potentials, t, j)
        for y in range(z):
            i = potentials.open[y]
            if states is None:
                _fill_label_block(tables, stack, products, potentials, size, t, i, j, rho, wide)
            else:
                _fill_label_rows(
                    tables, states, stack, products, potentials, size, t, i, j, rho, wide
                )
                far = np.int64(shapes.distance[p, i, j])
                if tables.options[far] > 0:
                    far = np.int64(0)
                _fill_state_block(
                    states, stack, products, potentials, q, t, i, j, far, -2 * rho * wide, price
                )


@inner
def _fill_label_block(
    tables: Tables,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    size: Index,
    t: Index,
    i: Index,
    j: Index,
    rho: float,
    wide: float,
) -> None:
    """θ_ij where states are labels."""
    d, at = products.apart[i, j], potentials.pair_at[i, j]
    for c in range(stack.width[t, i]):
        a = stack.domain[t, i, c]
        for e in range(stack.width[t, j]):
            b = stack.domain[t, j, e]
            value = -2 * rho * wide * products.gram[i, j, a, b]
            if d > 0:
                value += tables.both_mean[size, d, a, b] - 2 * rho * products.both_along[d, a, b]
            potentials.pair[at] = value
            at += 1


@inner
def _least_option(
    tables: Tables, products: Products, d: Index, a: Index, b: Index, rho: float
) -> float:
    """The least that two labels can add at any of the distances that code d leaves open."""
    code = d - (len(products.pairs) - len(tables.option_mean))
    mean, along = tables.option_mean[code, a, b], products.option_along[code, a, b]
    least = 1e300
    for e in range(tables.options[d]):
        least = min(least, mean[e] - 2 * rho * along[e])
    return least


@inner
def _fill_label_rows(
    tables: Tables,
    states: States,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    size: Index,
    t: Index,
    i: Index,
    j: Index,
    rho: float,
    wide: float,
) -> None:
    """The part of θ_ij that depends on the label of i and the state of j (Lemma 4); no label: 0."""
    labels, d = stack.move_mean.shape[2], products.apart[i, j]
    for e in range(stack.width[t, j]):
        y = stack.domain[t, j, e]
        b, first, second = states.label[y], states.link[y, 0], states.link[y, 1]
        floating = d > 0 and tables.options[d] > 0 and b < labels
        for a in range(labels + 1):
            value = 0.0
            if a < labels:
                product = products.link_gram[i, a, first] + products.link_gram[i, a, second]
                if b < labels:
                    product += products.gram[i, j, a, b]
                value = -2 * rho * wide * product
                if d > 0 and tables.options[d] == 0:
                    value += tables.both_mean[size, d, a, b]
                    value -= 2 * rho * products.both_along[d, a, b]
            if floating:  # the source has no label: any row of the options is its own
                value += _least_option(tables, products, d, a if a < labels else 0, b, rho)
            potentials.row[a, e] = value


@inner
def _fill_state_block(
    states: States,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    q: Index,
    t: Index,
    i: Index,
    j: Index,
    far: Index,
    factor: float,
    price: float,
) -> None:
    """θ_ij of a prefix: the rows of labels, and what the links of states add."""
    labels, at, columns = stack.move_mean.shape[2], potentials.pair_at[i, j], stack.width[t, j]
    if far == 0:
        price = 0.0
    for c in range(stack.width[t, i]):
        x = stack.domain[t, i, c]
        a, first, second = states.label[x], states.link[x, 0], states.link[x, 1]
        gram, clash, row = states.gram[q, x], states.clash[far, x], potentials.row[a]
        e = 0
        while e < columns:
            y = stack.domain[t, j, e]
            b, length = states.label[y], potentials.run[j, e]
            side = 0.0
            if b < labels:
                side = products.link_gram[j, b, first] + products.link_gram[j, b, second]
            for z in range(length):
                potentials.pair[at + e + z] = (
                    row[e + z] + factor * side + factor * gram[y + z] + price * clash[y + z]
                )
            e += length
        at += columns


@inner
def _find_runs(states: States, stack: Stack, potentials: Potentials, t: Index, j: Index) -> None:
    """For every place in the domain of j how many neighbouring states of one label follow."""
    length = 0
    for back in range(stack.width[t, j]):
        e = stack.width[t, j] - 1 - back
        y = stack.domain[t, j, e]
        joined = length > 0 and stack.domain[t, j, e + 1] == y + 1
        length = length + 1 if joined and states.label[y + 1] == states.label[y] else 1
        potentials.run[j, e] = length
