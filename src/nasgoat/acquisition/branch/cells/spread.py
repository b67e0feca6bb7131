"""Ω of Lemma 2 for prefixes: a bound on ‖W‖² by labels and pairs of labels, compiled.

Notation (docs/branch-and-bound.md)
    W_b  sum of the interactions of all open pairs, in part b of its entries
    g_b, h_b  largest product of two interactions given both tails, and given both heads: halves of
              both are in ``Tables.spread``
    Ω_b  ≥ ‖W_b‖²: Σ over pairs of pairs of (g_b + h_b) / 2
"""

from __future__ import annotations

import math

from nasgoat.acquisition.branch.cells.records import (
    FIRST_OMEGA,
    SECOND_OMEGA,
    USUAL_OMEGA,
    Prefixes,
    Scratch,
)
from nasgoat.acquisition.branch.records import Index
from nasgoat.compiled import inner


@inner
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


@inner
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


@inner
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
