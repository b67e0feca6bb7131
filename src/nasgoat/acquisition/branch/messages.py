"""Lower bounds on sums of potentials of labels and of pairs of labels, compiled.

Notation
    θ_i(a), θ_ij(a, b)  potentials;  the sum over all variables and pairs is to be bounded below
    M_ji(a)             what the pair {i, j} has handed to label a of variable i

Any messages leave the sum unchanged and give the bound Σ_i min θ_i + Σ_ij min θ_ij. The sweeps are
those of sequential tree-reweighted message passing (Kolmogorov, IEEE TPAMI 28(10), 2006) on the
complete graph: the bound never falls, and ends near that of the linear relaxation.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Terms
from nasgoat.acquisition.branch.compiled import compiled


@compiled
def apply_messages(terms: Terms, message: Floats, total: int) -> None:
    """Hand earlier messages from the pairs to their ends."""
    labels = terms.unary.shape[1]
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            for a in range(labels):
                terms.unary[i, a] += message[j, i, a]
                terms.unary[j, a] += message[i, j, a]
                for b in range(labels):
                    terms.pair[i, j, a, b] -= message[j, i, a] + message[i, j, b]


@compiled
def _collect(terms: Terms, message: Floats, i: int, j: int) -> None:
    """Variable i takes from the pair {i, j} all that the pair is sure to cost."""
    labels = terms.unary.shape[1]
    for a in range(labels):
        least = np.inf
        for b in range(labels):
            least = min(least, terms.pair[i, j, a, b] if i < j else terms.pair[j, i, b, a])
        message[j, i, a] += least
        terms.unary[i, a] += least
        for b in range(labels):
            if i < j:
                terms.pair[i, j, a, b] -= least
            else:
                terms.pair[j, i, b, a] -= least


@compiled
def _hand_on(terms: Terms, message: Floats, i: int, j: int, share: float) -> None:
    """Variable i gives a share of its cost to the pair {i, j}."""
    labels = terms.unary.shape[1]
    for a in range(labels):
        gift = share * terms.unary[i, a]
        message[j, i, a] -= gift
        for b in range(labels):
            if i < j:
                terms.pair[i, j, a, b] += gift
            else:
                terms.pair[j, i, b, a] += gift


@compiled
def sweep(terms: Terms, message: Floats, total: int, forward: bool) -> None:
    """One sweep of sequential tree-reweighted message passing over the open variables."""
    for z in range(total):
        x = z if forward else total - 1 - z
        i = terms.open[x]
        for y in range(total):
            if y != x:
                _collect(terms, message, i, terms.open[y])
        ahead = total - 1 - z
        if ahead > 0:
            share = 1.0 / max(ahead, z)
            for y in range(total):
                if y != x and (y > x) == forward:
                    _hand_on(terms, message, i, terms.open[y], share)
            for a in range(terms.unary.shape[1]):
                terms.unary[i, a] *= 1.0 - share * ahead


@compiled
def sum_of_minima(terms: Terms, total: int) -> float:
    """The bound Σ_i min θ_i + Σ_ij min θ_ij."""
    labels = terms.unary.shape[1]
    lower = 0.0
    for x in range(total):
        i = terms.open[x]
        least = np.inf
        for a in range(labels):
            least = min(least, terms.unary[i, a])
        lower += least
        for y in range(x + 1, total):
            j = terms.open[y]
            least = np.inf
            for a in range(labels):
                for b in range(labels):
                    least = min(least, terms.pair[i, j, a, b])
            lower += least
    return lower
