"""The sum that the bound leaves as potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md)
    θ_i(x), θ_ij(x, y)   potentials of a state of variable i, and of states of two variables
    ρ = 1 / 2c, 1 + ε    factors of Lemma 2
"""

from __future__ import annotations

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, States, Tables, Terms
from nasgoat.acquisition.branch.compiled import inner


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
def label_rows(
    tables: Tables,
    states: States,
    stack: Stack,
    terms: Terms,
    size: int,
    q: int,
    t: Index,
    i: int,
    j: int,
    rho: float,
    wide: float,
) -> None:
    """The part of θ_ij that depends on the label of i and the state of j."""
    labels, d = stack.move_mean.shape[2], terms.apart[i, j]
    for a in range(labels):
        for e in range(stack.width[t, j]):
            y = stack.domain[t, j, e]
            b = states.label[y]
            product = terms.gram[i, j, a, b] if b < labels else 0.0
            if q >= 0:
                product += terms.part_gram[i, a, states.part[y, 0]]
                product += terms.part_gram[i, a, states.part[y, 1]]
            value = -2 * rho * wide * product
            if d > 0:
                value += tables.both_mean[size, d, a, b] - 2 * rho * terms.both_along[d, a, b]
            terms.row[a, e] = value


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
    p, q, labels = shapes.home[s], shapes.tail[s], stack.move_mean.shape[2]
    price = 4.0 / rho  # the size of c: enough to matter, too little to harm rounding
    for y in range(total):
        i = terms.open[y]
        for z in range(y + 1, total):
            j = terms.open[z]
            label_rows(tables, states, stack, terms, shapes.size[p], q, t, i, j, rho, wide)
            far = shapes.distance[p, i, j] if q >= 0 else 0
            at, across = terms.pair_at[i, j], terms.pair_at[j, i]
            rows, columns = stack.width[t, i], stack.width[t, j]
            for c in range(rows):
                x = stack.domain[t, i, c]
                a = states.label[x]
                if q < 0:  # states are labels: the row is all there is
                    for e in range(columns):
                        terms.pair[at + c * columns + e] = terms.row[a, e]
                        terms.pair[across + e * rows + c] = terms.row[a, e]
                    continue
                for b in range(labels):
                    terms.side[b] = (
                        -2
                        * rho
                        * wide
                        * (
                            terms.part_gram[j, b, states.part[x, 0]]
                            + terms.part_gram[j, b, states.part[x, 1]]
                        )
                    )
                for e in range(columns):
                    value = terms.row[a, e] if a < labels else 0.0
                    other = stack.domain[t, j, e]
                    value -= 2 * rho * wide * states.gram[q, x, other]
                    value += terms.side[states.label[other]]
                    if far > 0:
                        value += price * states.clash[far, x, other]
                    terms.pair[at + c * columns + e] = value
                    terms.pair[across + e * rows + c] = value
