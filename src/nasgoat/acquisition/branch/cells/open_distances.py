"""Prefixes all of whose labels are known: what open distances add (Lemma 14).

Notation (docs/branch-and-bound.md, "Labels first in dense spaces")
    r_ij(d)   what option d of an open distance adds beyond the mean of its options
    A_ij,kl(d)  the largest product of r_ij(d) with an option of another pair, in one part
    s_ij(d)   ‖r_ij(d)‖² + Σ A_ij,kl(d): their sum over all pairs is at least ‖W‖²
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
    Scratch,
    Stack,
)
from nasgoat.acquisition.branch.records import Index, dot
from nasgoat.compiled import inner


@inner
def measure_open(
    prefixes: Prefixes, stack: Stack, scratch: Scratch, s: Index, t: Index, total: int
) -> float:
    """Products p · r_ij(d) and s_ij(d) of all open distances; returns about the largest ω."""
    states, found = prefixes.states, prefixes.scratch
    many = _list_pairs(prefixes, scratch, s, total)
    before = len(states.options) - len(states.option)
    first_most = second_most = 0.0
    for x in range(many):
        i, j, kind = found.pairs[x]
        d = scratch.apart[i, j]
        a, b = states.names[s, i] if i > 0 else 0, states.names[s, j]
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


@inner
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
            code, b = scratch.apart[i, j] - before, states.names[s, j]
            found.pairs[many, 0], found.pairs[many, 1] = i, j
            if i > 0:
                found.pairs[many, 2] = (code * labels + states.names[s, i]) * labels + b
            else:
                found.pairs[many, 2] = codes * labels * labels + (code - codes) * labels + b
            many += 1
    return many


@inner
def price_option(
    prefixes: Prefixes, scratch: Scratch, s: Index, i: Index, j: Index, e: Index, rho: float
) -> float:
    """What option e of the distance from i to j adds to the bound, its mean part included."""
    states, found = prefixes.states, prefixes.scratch
    code = scratch.apart[i, j] - (len(states.options) - len(states.option))
    a, b = states.names[s, i] if i > 0 else 0, states.names[s, j]
    mean: float = states.option[code, a, b, e, 0]
    price, parts = found.price, found.parts
    wider = parts[FIRST_OVER] * price[1, i, j, e] + parts[SECOND_OVER] * price[2, i, j, e]
    value: float = mean - rho * (2 * price[0, i, j, e] + wider)
    return value


@inner
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


@inner
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
