"""The sum that Lemma 2 leaves, as potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md; see also ``products``)
    θ_i(x), θ_ij(x, y)   potentials of a state of variable i, and of states of two variables
    ρ = 1 / 2c, 1 + ε    factors of Lemma 2, ``rho`` and ``wide``
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.cells.records import (
    PairTables,
    Prefixes,
    Problem,
    Scratch,
    Shapes,
    Stack,
)
from nasgoat.acquisition.branch.message_passing import make_bound
from nasgoat.acquisition.branch.records import RHO, WIDE, Index, Sizes
from nasgoat.compiled import inner


@inner
def _fill_potentials(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    s: Index,
    t: Index,
    total: Index,
) -> None:
    """The potentials of Lemma 2 at depth t: of each state, and of the states of each two variables.

    Two states of a prefix whose distances contradict each other get a high price.
    """
    pairs, shapes, _, _ = problem
    p, listed = shapes.home[s], scratch.potentials.open
    _fill_unary(prefixes, stack, scratch, shapes.last_label[s], t, total)
    for z in range(total):
        j = listed[z]
        if prefixes is not None:
            _find_runs(prefixes, stack, t, j)
        for y in range(z):
            i = listed[y]
            if prefixes is None:
                _fill_labels(pairs, stack, scratch, shapes.size[p], t, i, j)
            else:
                _fill_rows(pairs, prefixes, stack, scratch, shapes.size[p], t, i, j)
                _fill_states(shapes, prefixes, stack, scratch, s, t, i, j)


@inner
def _fill_unary(
    prefixes: Prefixes | None, stack: Stack, scratch: Scratch, q: Index, t: Index, total: Index
) -> None:
    """θ_i of Lemma 2: mean of a state minus ρ times what it adds to the bound on ‖p + U + W‖²."""
    labels = stack.move.shape[2]
    rho, wide = scratch.factor[RHO], scratch.factor[WIDE]
    for y in range(total):
        i = scratch.potentials.open[y]
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = x if prefixes is None else prefixes.states.label[x]
            mean = along = 0.0
            if label < labels:
                mean, along = stack.move[t, i, label, 0], scratch.along[i, label]
            if prefixes is not None:
                mean += prefixes.states.added[q, x, 0]
                along += prefixes.scratch.along[x]
            scratch.potentials.unary[i, c] = mean - rho * (2 * along + wide * scratch.norm[i, c])


@inner
def _fill_labels(
    pairs: PairTables, stack: Stack, scratch: Scratch, size: Index, t: Index, i: Index, j: Index
) -> None:
    """θ_ij where states are labels."""
    rho, wide = scratch.factor[RHO], scratch.factor[WIDE]
    d, at = scratch.apart[i, j], scratch.potentials.pair_at[i, j]
    for c in range(stack.width[t, i]):
        a = stack.domain[t, i, c]
        for e in range(stack.width[t, j]):
            b = stack.domain[t, j, e]
            value = -2 * rho * wide * scratch.gram[i, j, a, b]
            if d > 0:
                value += pairs.both[size, d, a, b, 0] - 2 * rho * scratch.both_along[d, a, b]
            scratch.potentials.pair[at] = value
            at += 1


@inner
def _find_least_option(prefixes: Prefixes, d: Index, a: Index, b: Index, rho: float) -> float:
    """The least that two labels can add at any of the distances that code d leaves open."""
    option, options = prefixes.states.option, prefixes.states.options
    code = d - (len(options) - len(option))
    column, along = option[code, a, b], prefixes.scratch.option_along[code, a, b]
    least = 1e300
    for e in range(options[d]):
        least = min(least, column[e, 0] - 2 * rho * along[e])
    return least


@inner
def _fill_rows(
    pairs: PairTables,
    prefixes: Prefixes,
    stack: Stack,
    scratch: Scratch,
    size: Index,
    t: Index,
    i: Index,
    j: Index,
) -> None:
    """The part of θ_ij that depends on the label of i and the state of j (Lemma 4); no label: 0."""
    states, found = prefixes
    rho, wide = scratch.factor[RHO], scratch.factor[WIDE]
    labels, d = stack.move.shape[2], scratch.apart[i, j]
    for e in range(stack.width[t, j]):
        y = stack.domain[t, j, e]
        b, first, second = states.label[y], states.link[y, 0], states.link[y, 1]
        floating = d > 0 and states.options[d] > 0 and b < labels
        for a in range(labels + 1):
            value = 0.0
            if a < labels:
                product = found.link_gram[i, a, first] + found.link_gram[i, a, second]
                if b < labels:
                    product += scratch.gram[i, j, a, b]
                value = -2 * rho * wide * product
                if d > 0 and states.options[d] == 0:
                    value += pairs.both[size, d, a, b, 0] - 2 * rho * scratch.both_along[d, a, b]
            if floating:  # the source has no label: any row of the options is its own
                value += _find_least_option(prefixes, d, a if a < labels else 0, b, rho)
            found.row[a, e] = value


@inner
def _fill_states(
    shapes: Shapes,
    prefixes: Prefixes,
    stack: Stack,
    scratch: Scratch,
    s: Index,
    t: Index,
    i: Index,
    j: Index,
) -> None:
    """θ_ij of a prefix: the rows of labels, and what the links of states add."""
    states, found = prefixes
    potentials, labels, columns = scratch.potentials, stack.move.shape[2], stack.width[t, j]
    at, rho = potentials.pair_at[i, j], scratch.factor[RHO]
    # The price is of the size of c: enough to matter, harmless to rounding.
    factor, price = -2 * rho * scratch.factor[WIDE], 4.0 / rho
    far = np.int64(shapes.distance[shapes.home[s], i, j])
    if far == 0 or states.options[far] > 0:
        far, price = np.int64(0), 0.0
    for c in range(stack.width[t, i]):
        x = stack.domain[t, i, c]
        first, second, row = states.link[x, 0], states.link[x, 1], found.row[states.label[x]]
        gram, clash = states.gram[shapes.last_label[s], x], states.clash[far, x]
        e = 0
        while e < columns:
            y = stack.domain[t, j, e]
            b, length = states.label[y], found.run[j, e]
            side = 0.0
            if b < labels:
                side = found.link_gram[j, b, first] + found.link_gram[j, b, second]
            for z in range(length):
                potentials.pair[at + e + z] = (
                    row[e + z] + factor * side + factor * gram[y + z] + price * clash[y + z]
                )
            e += length
        at += columns


@inner
def _find_runs(prefixes: Prefixes, stack: Stack, t: Index, j: Index) -> None:
    """For every place in the domain of j how many neighbouring states of one label follow."""
    label, length = prefixes.states.label, 0
    for back in range(stack.width[t, j]):
        e = stack.width[t, j] - 1 - back
        y = stack.domain[t, j, e]
        joined = length > 0 and stack.domain[t, j, e + 1] == y + 1
        length = length + 1 if joined and label[y + 1] == label[y] else 1
        prefixes.scratch.run[j, e] = length


@inner
def _add_up_pairs(
    stack: Stack,
    prefixes: Prefixes | None,
    scratch: Scratch,
    y: Index,
    total: Index,
    q: Index,
    t: Index,
) -> tuple[float, float]:
    """Σ_j p_i(x)·p_j(y) and Σ_j p·p_ij over the noted states of later variables j."""
    labels, i = stack.move.shape[2], scratch.potentials.open[y]
    x = stack.domain[t, i, scratch.choice[i]]
    a = x if prefixes is None else prefixes.states.label[x]
    product = across = 0.0
    for z in range(y + 1, total):
        j = scratch.potentials.open[z]
        other = stack.domain[t, j, scratch.choice[j]]
        b = other if prefixes is None else prefixes.states.label[other]
        if a < labels and b < labels:
            product += scratch.gram[i, j, a, b]
            if scratch.apart[i, j] > 0:
                across += scratch.both_along[scratch.apart[i, j], a, b]
        if prefixes is not None:
            states, gram = prefixes.states, prefixes.scratch.link_gram
            product += states.gram[q, x, other]
            for f in range(2):
                if a < labels:
                    product += gram[i, a, states.link[other, f]]
                if b < labels:
                    product += gram[j, b, states.link[x, f]]
    return product, across


@inner
def _rescale(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    sizes: Sizes,
    s: Index,
    t: Index,
) -> None:
    """The c and ‖U‖ of the noted states: what the next bound is taken around."""
    labels, q = stack.move.shape[2], problem.shapes.last_label[s]
    cross = own = 0.0
    for y in range(sizes.open):
        i = scratch.potentials.open[y]
        x = stack.domain[t, i, scratch.choice[i]]
        a = x if prefixes is None else prefixes.states.label[x]
        cross += 2 * scratch.along[i, a] if a < labels else 0.0
        if prefixes is not None:
            cross += 2 * prefixes.scratch.along[x]
        product, across = _add_up_pairs(stack, prefixes, scratch, y, sizes.open, q, t)
        own += scratch.norm[i, scratch.choice[i]] + 2 * product
        cross += 2 * across
    length = math.sqrt(max(own, 0.0))
    stack.scale[t, 1] = length
    stack.scale[t, 0] = math.sqrt(max(sizes.square + cross + (length + sizes.omega) ** 2, 0.0))


#: Lower bound on all completions of a search node (Lemmas 2 and 3).
bound_completions = make_bound(_fill_potentials, _rescale)
