"""Lower bounds on sums of potentials of labels and of pairs of labels, compiled.

Notation
    θ_i(a), θ_ij(a, b)  potentials; their sum over all variables and pairs is to be bounded below
    M_ji(a)             what the pair {i, j} hands to label a of variable i
    b_i(a)              belief: θ_i(a) + Σ_j M_ji(a)

A sweep visits the variables in turn. Variable i hands the share γ of its belief to each pair with a
variable still to come, and the pair hands M_ij(b) = min_a [θ_ij(a, b) - M_ji(a) + γ b_i(a)] to that
variable, which leaves the pair with nothing negative. What the variables have kept is the bound:
Σ_i (1 - γ_i · pairs still to come) min_a b_i(a), with γ ≤ 1 / (pairs still to come). These are the
sweeps of sequential tree-reweighted message passing (Kolmogorov, IEEE TPAMI 28(10), 2006) on the
complete graph; the bound nears that of the linear relaxation.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Index, Stack, Terms
from nasgoat.acquisition.branch.compiled import inner


@inner
def _belief(terms: Terms, message: Floats, total: int, i: int) -> None:
    """θ_i plus everything that was handed to variable i."""
    for a in range(terms.unary.shape[1]):
        belief = terms.unary[i, a]
        for y in range(total):
            j = terms.open[y]
            if j != i:
                belief += message[j, i, a]
        terms.belief[i, a] = belief


@inner
def _send(terms: Terms, message: Floats, i: int, j: int, share: float) -> None:
    """What the pair {i, j} hands to variable j, given a share of the belief of variable i."""
    labels = terms.unary.shape[1]
    for b in range(labels):
        least = np.inf
        for a in range(labels):
            pair = terms.pair[i, j, a, b] if i < j else terms.pair[j, i, b, a]
            value = share * terms.belief[i, a] - message[j, i, a] + pair
            if value < least:
                least = value
        message[i, j, b] = least


@inner
def clear_messages(stack: Stack) -> None:
    """Forget the messages at the bottom of the stack."""
    _, variables, _, labels = stack.message.shape
    for i in range(variables):
        for j in range(variables):
            for a in range(labels):
                stack.message[0, i, j, a] = 0.0


@inner
def copy_messages(stack: Stack, t: Index) -> None:
    """Start depth t + 1 with the messages of depth t."""
    _, variables, _, labels = stack.message.shape
    for i in range(variables):
        for j in range(variables):
            for a in range(labels):
                stack.message[t + 1, i, j, a] = stack.message[t, i, j, a]


@inner
def sweep(terms: Terms, message: Floats, total: int, forward: bool) -> float:
    """One sweep over the open variables; returns the bound that it proves."""
    lower = 0.0
    for z in range(total):
        x = z if forward else total - 1 - z
        i = terms.open[x]
        _belief(terms, message, total, i)
        ahead = total - 1 - z
        share = 1.0 / max(ahead, z, 1)
        for y in range(total):
            if y != x and (y > x) == forward:
                _send(terms, message, i, terms.open[y], share)
        least = np.inf
        for a in range(terms.belief.shape[1]):
            if terms.belief[i, a] < least:
                least = terms.belief[i, a]
        terms.kept[i] = 1.0 - share * ahead
        lower += terms.kept[i] * least
    return lower
