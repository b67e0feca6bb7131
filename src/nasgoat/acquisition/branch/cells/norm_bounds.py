"""The quantities that the bound of Lemma 2 needs: Ω, c and lengths of vectors, compiled.

For prefixes Ω says what interactions can add to the norm. After a round of the bound, c and what
the ε are chosen by come from the states that look best (:func:`rescale`).

Notation (docs/branch-and-bound.md)
    W_b  sum of the interactions of all open pairs, in part b of its entries
    Ω_b  ≥ ‖W_b‖²
    While labels are open (Lemma 2), by labels and pairs of labels:
    g_b, h_b  largest product of two interactions given both tails, and given both heads: halves of
              both are in ``Tables.spread``;  Ω_b is Σ over pairs of pairs of (g_b + h_b) / 2
    Once all labels are known (Lemma 14), by the options of open distances:
    r_ij(d)     what option d of an open distance adds beyond the mean of its options
    A_ij,kl(d)  the largest product of r_ij(d) with an option of another pair, in one part
    s_ij(d)     ‖r_ij(d)‖² + Σ A_ij,kl(d): their sum over all pairs is at least ‖W‖²
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.cells.records import (
    FIRST_OMEGA,
    FIRST_OVER,
    SECOND_OMEGA,
    SECOND_OVER,
    USUAL_OMEGA,
    Prefixes,
    Problem,
    Scratch,
    Stack,
)
from nasgoat.acquisition.branch.cells.reference import is_labelled
from nasgoat.acquisition.branch.records import RHO, Index, NodeSizes, dot
from nasgoat.compiled import compiled_inline


@compiled_inline
def measure_spread(prefixes: Prefixes, scratch: Scratch, total: int) -> float:
    """Ω of both parts as a sum over labels and pairs of labels; returns about the largest ω."""
    found, listed = prefixes.scratch, scratch.potentials.open
    _count_ends(prefixes, scratch, total)
    for part in range(2):
        most = 0.0
        for y in range(total):
            i = listed[y]
            for z in range(y, total):
                most += _add_spread(prefixes, part, i, listed[z])
        found.parts[FIRST_OMEGA if part == 0 else SECOND_OMEGA] = math.sqrt(max(most, 0.0))
    return USUAL_OMEGA * math.sqrt(found.parts[FIRST_OMEGA] ** 2 + found.parts[SECOND_OMEGA] ** 2)


@compiled_inline
def _count_ends(prefixes: Prefixes, scratch: Scratch, total: int) -> None:
    """How often each open node is the tail, and the head, of a pair at each distance."""
    found, listed = prefixes.scratch, scratch.potentials.open
    for y in range(total):
        for end in range(2):
            found.often[end, listed[y]] = 0
            found.many[end, listed[y]] = 0
    for y in range(total):
        for z in range(y + 1, total):
            d = scratch.apart[listed[y], listed[z]]
            for end in range(2 if d > 0 else 0):
                i = listed[y] if end == 0 else listed[z]
                if found.often[end, i, d] == 0:
                    found.kinds[end, i, found.many[end, i]] = d
                    found.many[end, i] += 1
                found.often[end, i, d] += 1


@compiled_inline
def _add_spread(prefixes: Prefixes, part: Index, i: Index, j: Index) -> float:
    """What labels of i and j (or of i alone) add to Ω in one part; returns the most."""
    states, found = prefixes.states, prefixes.scratch
    labels = found.own_spread.shape[2]
    for a in range(labels):
        found.own_spread[part, i, a] = 0.0 if i == j else found.own_spread[part, i, a]
        for b in range(labels if i < j else 0):
            found.spread[part, i, j, a, b] = 0.0
    for end in range(0 if i == 0 else 2):
        for x in range(found.many[end, i]):
            d = found.kinds[end, i, x]
            for y in range(found.many[end, j]):
                e = found.kinds[end, j, y]
                often = found.often[end, i, d] * found.often[end, j, e]
                terms = states.spread[part, end, d, e]
                for a in range(labels):
                    if i == j:
                        found.own_spread[part, i, a] += often * terms[a, a]
                    else:  # either may come first
                        for b in range(labels):
                            found.spread[part, i, j, a, b] += 2 * often * terms[a, b]
    most = -1e300
    for a in range(labels):
        if i == j:
            most = max(most, found.own_spread[part, i, a])
        for b in range(labels if i < j else 0):
            most = max(most, found.spread[part, i, j, a, b])
    return most


@compiled_inline
def measure_open(
    prefixes: Prefixes, stack: Stack, scratch: Scratch, s: Index, t: Index, total: int
) -> float:
    """Products p · r_ij(d) and s_ij(d) of all open distances (Lemma 14); about the largest ω."""
    states, found = prefixes.states, prefixes.scratch
    many = _list_pairs(prefixes, scratch, s, total)
    before = len(states.options) - len(states.option)
    first_most = second_most = 0.0
    for x in range(many):
        i, j, kind = found.pairs[x]
        d = scratch.apart[i, j]
        a, b = states.known_labels[s, i] if i > 0 else 0, states.known_labels[s, j]
        largest_first = largest_second = 0.0
        for e in range(states.options[d]):
            found.price[0, i, j, e] = dot(stack.reference[t], states.option[d - before, a, b, e])
            first, second = states.pull[0, kind, e], states.pull[1, kind, e]
            in_first, in_second = first[-1], second[-1]
            for y in range(many):
                if y != x:
                    in_first += first[found.pairs[y, 2]]
                    in_second += second[found.pairs[y, 2]]
            found.price[1, i, j, e], found.price[2, i, j, e] = in_first, in_second
            largest_first = max(largest_first, in_first)
            largest_second = max(largest_second, in_second)
        first_most += largest_first
        second_most += largest_second
    found.parts[FIRST_OMEGA] = math.sqrt(first_most)
    found.parts[SECOND_OMEGA] = math.sqrt(second_most)
    return USUAL_OMEGA * math.sqrt(first_most + second_most)


@compiled_inline
def _list_pairs(prefixes: Prefixes, scratch: Scratch, s: Index, total: int) -> int:
    """Note all pairs whose distance is open, and their kinds: code and labels; how many."""
    states, found = prefixes.states, prefixes.scratch
    before, labels = len(states.options) - len(states.option), scratch.along.shape[1]
    codes, many = len(states.option) // 2, 0
    for y in range(total):
        for z in range(y + 1, total):
            i, j = scratch.potentials.open[y], scratch.potentials.open[z]
            if scratch.apart[i, j] == 0:
                continue
            code, b = scratch.apart[i, j] - before, states.known_labels[s, j]
            found.pairs[many, 0], found.pairs[many, 1] = i, j
            if i > 0:
                found.pairs[many, 2] = (code * labels + states.known_labels[s, i]) * labels + b
            else:
                found.pairs[many, 2] = codes * labels * labels + (code - codes) * labels + b
            many += 1
    return many


@compiled_inline
def price_option(
    prefixes: Prefixes, scratch: Scratch, s: Index, i: Index, j: Index, e: Index, rho: float
) -> float:
    """What option e of the distance from i to j adds to the bound, its mean part included."""
    states, found = prefixes.states, prefixes.scratch
    code = scratch.apart[i, j] - (len(states.options) - len(states.option))
    a, b = states.known_labels[s, i] if i > 0 else 0, states.known_labels[s, j]
    mean: float = states.option[code, a, b, e, 0]
    price, parts = found.price, found.parts
    wider = parts[FIRST_OVER] * price[1, i, j, e] + parts[SECOND_OVER] * price[2, i, j, e]
    value: float = mean - rho * (2 * price[0, i, j, e] + wider)
    return value


@compiled_inline
def find_least_prices(
    prefixes: Prefixes, scratch: Scratch, s: Index, i: Index, j: Index, rho: float
) -> None:
    """What the pair adds at least if it is so far apart, or further, or without a path.

    From the source there is a path, so that a distance beyond all options gets the price of a
    contradiction.
    """
    states, least = prefixes.states, prefixes.scratch.least[0, 0]
    total, first = states.options[scratch.apart[i, j]], 0 if i > 0 else 1
    lowest = 4.0 / rho
    if i > 0:
        lowest = price_option(prefixes, scratch, s, i, j, np.int64(0), rho)
    for back in range(len(least)):
        far = len(least) - 1 - back
        e = far - first
        if 0 <= e < total:
            lowest = min(lowest, price_option(prefixes, scratch, s, i, j, e, rho))
        least[far] = lowest


@compiled_inline
def add_up_open(
    prefixes: Prefixes, stack: Stack, scratch: Scratch, s: Index, t: Index, total: Index, rho: float
) -> tuple[float, float, float]:
    """Σ p · r_ij and Ω of both parts in the states that were noted, at distances of least price."""
    states, found = prefixes.states, prefixes.scratch
    along = first_omega = second_omega = 0.0
    for y in range(total):
        for z in range(y + 1, total):
            i, j = scratch.potentials.open[y], scratch.potentials.open[z]
            if scratch.apart[i, j] == 0:
                continue
            x, other = stack.domain[t, i, scratch.choice[i]], stack.domain[t, j, scratch.choice[j]]
            start = states.needed[x, other] - (0 if i > 0 else 1)
            best, lowest = 0, 1e300
            for e in range(states.options[scratch.apart[i, j]]):
                if e >= start or (i > 0 and e == 0):
                    price = price_option(prefixes, scratch, s, i, j, e, rho)
                    if price < lowest:
                        best, lowest = e, price
            along += found.price[0, i, j, best]
            first_omega += found.price[1, i, j, best]
            second_omega += found.price[2, i, j, best]
    return along, first_omega, second_omega


@compiled_inline
def _add_up_pairs(
    stack: Stack,
    prefixes: Prefixes | None,
    scratch: Scratch,
    y: Index,
    total: Index,
    q: Index,
    t: Index,
) -> tuple[float, float, float]:
    """Σ_j p_i(x)·p_j(y), that of first parts, and Σ_j p·p_ij over later variables j.

    They are in the states that were noted.
    """
    labels, i = stack.move.shape[2], scratch.potentials.open[y]
    x = stack.domain[t, i, scratch.choice[i]]
    a = x if prefixes is None else prefixes.states.label[x]
    product = first = across = 0.0
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
            product += states.gram[0, q, x, other]
            first += states.gram[1, q, x, other]
            if a < labels and b < labels:
                first += prefixes.scratch.first_gram[i, j, a, b]
            for f in range(2):
                if a < labels:
                    product += gram[0, i, a, states.link[other, f]]
                    first += gram[1, i, a, states.link[other, f]]
                if b < labels:
                    product += gram[0, j, b, states.link[x, f]]
                    first += gram[1, j, b, states.link[x, f]]
    return product, first, across


@compiled_inline
def _add_up_spread(
    prefixes: Prefixes, stack: Stack, scratch: Scratch, total: Index, t: Index, part: Index
) -> float:
    """Ω of one part at the states that were noted."""
    found, listed, labels = prefixes.scratch, scratch.potentials.open, stack.move.shape[2]
    square = 0.0
    for y in range(total):
        i = listed[y]
        a = prefixes.states.label[stack.domain[t, i, scratch.choice[i]]]
        if a == labels:
            continue
        square += found.own_spread[part, i, a]
        for z in range(y + 1, total):
            j = listed[z]
            b = prefixes.states.label[stack.domain[t, j, scratch.choice[j]]]
            square += found.spread[part, i, j, a, b]
    return square


@compiled_inline
def rescale(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    sizes: NodeSizes,
    s: Index,
    t: Index,
) -> None:
    """Recompute c and ‖U‖ at the noted states; the next round of the bound starts from them."""
    labels, q = stack.move.shape[2], problem.shapes.last_label[s]
    cross = own = own_first = 0.0
    for y in range(sizes.open):
        i = scratch.potentials.open[y]
        x = stack.domain[t, i, scratch.choice[i]]
        a = x if prefixes is None else prefixes.states.label[x]
        cross += 2 * scratch.along[i, a] if a < labels else 0.0
        if prefixes is not None:
            cross += 2 * prefixes.scratch.along[x]
        product, first, across = _add_up_pairs(stack, prefixes, scratch, y, sizes.open, q, t)
        own += scratch.norm[i, scratch.choice[i]] + 2 * product
        cross += 2 * across
        if prefixes is not None:
            own_first += prefixes.scratch.first_norm[i, scratch.choice[i]] + 2 * first
    length = math.sqrt(max(own, 0.0))
    stack.scale[t, 1] = length
    widened = (length + sizes.omega) ** 2
    if prefixes is not None:
        parts = prefixes.scratch.parts
        stack.scale[t, 1] = math.sqrt(max(own - own_first, 0.0))
        stack.scale[t, 2] = math.sqrt(max(own_first, 0.0))
        widened, spread = own, (0.0, 0.0)
        if is_labelled(prefixes):
            rho = scratch.factor[RHO]
            along, first, second = add_up_open(prefixes, stack, scratch, s, t, sizes.open, rho)
            cross, spread = cross + 2 * along, (first, second)
        else:
            first = _add_up_spread(prefixes, stack, scratch, sizes.open, t, np.int64(0))
            second = _add_up_spread(prefixes, stack, scratch, sizes.open, t, np.int64(1))
            spread = (first, second)
        for part in range(2):
            omega = math.sqrt(max(spread[part], 0.0))
            widened += omega * (omega + 2 * stack.scale[t, 2 - part])
            most = parts[FIRST_OMEGA if part == 0 else SECOND_OMEGA]
            stack.scale[t, 3 + part] = omega / most if most > 0.0 else USUAL_OMEGA
    stack.scale[t, 0] = math.sqrt(max(sizes.square + cross + widened, 0.0))
