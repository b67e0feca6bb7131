"""The sum that Lemma 2 leaves, as potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md; see also ``products``)
    θ_i(x), θ_ij(x, y)   potentials of a state of variable i, and of states of two variables
    ρ = 1 / 2c, 1 + ε    factors of Lemma 2, ``rho`` and ``wide``
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.cells.norm_bounds import find_least_prices, rescale
from nasgoat.acquisition.branch.cells.products import place_pairs
from nasgoat.acquisition.branch.cells.records import (
    FIRST_OVER,
    SECOND_OVER,
    WIDER,
    PairTables,
    Prefixes,
    Problem,
    Scratch,
    Shapes,
    Stack,
)
from nasgoat.acquisition.branch.cells.reference import is_labelled
from nasgoat.acquisition.branch.message_passing import make_bound
from nasgoat.acquisition.branch.records import RHO, WIDE, Index
from nasgoat.compiled import compiled_inline


@compiled_inline
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
    pairs, shapes = problem.pairs, problem.shapes
    p, listed = shapes.home[s], scratch.potentials.open
    _fill_unary(prefixes, stack, scratch, shapes.last_label[s], t, total)
    for z in range(total):
        j = listed[z]
        if prefixes is not None and not is_labelled(prefixes):
            _find_runs(prefixes, stack, t, j)
        for y in range(z):
            i = listed[y]
            if prefixes is None:
                _fill_labels(pairs, stack, scratch, shapes.size[p], t, i, j)
            elif is_labelled(prefixes):
                _fill_known(shapes, prefixes, stack, scratch, s, t, i, j)
            else:
                _fill_rows(pairs, prefixes, stack, scratch, shapes.size[p], t, i, j)
                _fill_states(shapes, prefixes, stack, scratch, s, t, i, j)


@compiled_inline
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
            square = wide * scratch.norm[i, c]
            if prefixes is not None:
                found = prefixes.scratch
                square += found.parts[WIDER] * found.first_norm[i, c]
                if label < labels:
                    square += found.parts[FIRST_OVER] * found.own_spread[0, i, label]
                    square += found.parts[SECOND_OVER] * found.own_spread[1, i, label]
            scratch.potentials.unary[i, c] = mean - rho * (2 * along + square)


@compiled_inline
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


@compiled_inline
def _find_least_options(prefixes: Prefixes, d: Index, source: bool, rho: float) -> None:
    """What two labels add at least if they are so far apart, or further, or without a path.

    Code d says which distances are open. From the source there is a path, so that a distance beyond
    them all gets the price of a contradiction.
    """
    states, found = prefixes.states, prefixes.scratch
    code = d - (len(states.options) - len(states.option))
    total = states.options[d]
    first = 1 if source else 0  # distance of the first option
    for a in range(1 if source else found.least.shape[0]):
        for b in range(found.least.shape[1]):
            column, along = states.option[code, a, b], found.option_along[code, a, b]
            lowest = 4.0 / rho if source else column[0, 0] - 2 * rho * along[0]
            for back in range(found.least.shape[2]):
                far = found.least.shape[2] - 1 - back
                e = far - first
                if 0 <= e < total:
                    lowest = min(lowest, column[e, 0] - 2 * rho * along[e])
                found.least[a, b, far] = lowest


@compiled_inline
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
    states, found = prefixes.states, prefixes.scratch
    rho, wide, wider = scratch.factor[RHO], scratch.factor[WIDE], found.parts[WIDER]
    labels, d, gram = stack.move.shape[2], scratch.apart[i, j], found.link_gram
    for e in range(stack.width[t, j]):
        y = stack.domain[t, j, e]
        b, first, second = states.label[y], states.link[y, 0], states.link[y, 1]
        for a in range(labels + 1):
            value = 0.0
            if a < labels:
                product = wide * (gram[0, i, a, first] + gram[0, i, a, second])
                product += wider * (gram[1, i, a, first] + gram[1, i, a, second])
                if b < labels:
                    product += wide * scratch.gram[i, j, a, b]
                    product += wider * found.first_gram[i, j, a, b]
                    product += 0.5 * found.parts[FIRST_OVER] * found.spread[0, i, j, a, b]
                    product += 0.5 * found.parts[SECOND_OVER] * found.spread[1, i, j, a, b]
                value = -2 * rho * product
                if d > 0 and states.options[d] == 0:
                    value += pairs.both[size, d, a, b, 0] - 2 * rho * scratch.both_along[d, a, b]
            found.row[a, e] = value


@compiled_inline
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
    states, found = prefixes.states, prefixes.scratch
    potentials, labels, columns = scratch.potentials, stack.move.shape[2], stack.width[t, j]
    at, rho, q = potentials.pair_at[i, j], scratch.factor[RHO], shapes.last_label[s]
    # The price is of the size of c: enough to matter, harmless to rounding.
    factor, price = -2 * rho * scratch.factor[WIDE], 4.0 / rho
    more, products = -2 * rho * found.parts[WIDER], found.link_gram
    far = np.int64(shapes.distance[shapes.home[s], i, j])
    floating = states.options[far] > 0
    if floating:
        _find_least_options(prefixes, scratch.apart[i, j], i == 0, rho)
    if far == 0 or floating:
        far, price = np.int64(0), 0.0
    for c in range(stack.width[t, i]):
        x = stack.domain[t, i, c]
        first, second, a = states.link[x, 0], states.link[x, 1], states.label[x]
        row, clash, needed = found.row[a], states.clash[far, x], states.needed[x]
        gram, first_gram = states.gram[0, q, x], states.gram[1, q, x]
        e = 0
        while e < columns:
            y = stack.domain[t, j, e]
            b, length = states.label[y], found.run[j, e]
            side = 0.0
            if b < labels:
                side = factor * (products[0, j, b, first] + products[0, j, b, second])
                side += more * (products[1, j, b, first] + products[1, j, b, second])
            for z in range(length):
                potentials.pair[at + e + z] = (
                    row[e + z]
                    + side
                    + factor * gram[y + z]
                    + more * first_gram[y + z]
                    + price * clash[y + z]
                )
            if floating:  # the source has no label: any row of the options is its own
                least = found.least[a if a < labels else 0, b]
                for z in range(length):
                    potentials.pair[at + e + z] += least[needed[y + z]]
            e += length
        at += columns


@compiled_inline
def _fill_known(
    shapes: Shapes,
    prefixes: Prefixes,
    stack: Stack,
    scratch: Scratch,
    s: Index,
    t: Index,
    i: Index,
    j: Index,
) -> None:
    """θ_ij of a prefix whose labels are all known."""
    states, found = prefixes.states, prefixes.scratch
    at, rho, q = scratch.potentials.pair_at[i, j], scratch.factor[RHO], shapes.last_label[s]
    factor, price = -2 * rho * scratch.factor[WIDE], 4.0 / rho
    more = -2 * rho * found.parts[WIDER]
    far, floating = np.int64(shapes.distance[shapes.home[s], i, j]), scratch.apart[i, j] > 0
    if floating:
        find_least_prices(prefixes, scratch, s, i, j, rho)
    if far == 0 or floating:
        far, price = np.int64(0), 0.0
    for c in range(stack.width[t, i]):
        x = stack.domain[t, i, c]
        clash, needed = states.clash[far, x], states.needed[x]
        gram, first_gram, least = states.gram[0, q, x], states.gram[1, q, x], found.least[0, 0]
        for e in range(stack.width[t, j]):
            y = stack.domain[t, j, e]
            value = factor * gram[y] + more * first_gram[y] + price * clash[y]
            if floating:
                value += least[needed[y]]
            scratch.potentials.pair[at] = value
            at += 1


@compiled_inline
def _find_runs(prefixes: Prefixes, stack: Stack, t: Index, j: Index) -> None:
    """For every place in the domain of j how many neighbouring states of one label follow."""
    label, length = prefixes.states.label, 0
    for back in range(stack.width[t, j]):
        e = stack.width[t, j] - 1 - back
        y = stack.domain[t, j, e]
        joined = length > 0 and stack.domain[t, j, e + 1] == y + 1
        length = length + 1 if joined and label[y + 1] == label[y] else 1
        prefixes.scratch.run[j, e] = length


@compiled_inline
def _narrow(
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    t: Index,
    total: Index,
    enough: float,
) -> bool:
    """Drop states of prefixes whose bound is enough; False if a variable has none left."""
    if prefixes is None:
        return True
    potentials, found = scratch.potentials, prefixes.scratch
    for y in range(total):
        i, kept = potentials.open[y], 0
        for c in range(stack.width[t, i]):
            if stack.move_bound[t, i, c] >= enough:
                continue
            stack.domain[t, i, kept] = stack.domain[t, i, c]
            stack.origin[t, i, kept] = stack.origin[t, i, c]
            stack.move_bound[t, i, kept] = stack.move_bound[t, i, c]
            potentials.belief[i, kept] = potentials.belief[i, c]
            scratch.norm[i, kept] = scratch.norm[i, c]
            found.first_norm[i, kept] = found.first_norm[i, c]
            for z in range(total):
                j = potentials.open[z]
                stack.message[t, j, i, kept] = stack.message[t, j, i, c]
            kept += 1
        stack.width[t, i] = kept
        if kept == 0:
            return False
    place_pairs(stack, potentials, t, total)
    return True


#: Lower bound on all completions of a search node (Lemmas 2 and 3).
bound_completions = make_bound(_fill_potentials, rescale, _narrow)
