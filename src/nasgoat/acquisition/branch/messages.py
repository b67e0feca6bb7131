"""Lower bounds on sums of potentials of states and of pairs of states, compiled.

Notation
    θ_i(a), θ_ij(a, b)  potentials; their sum over all variables and pairs is to be bounded below
    M_ji(a)             what the pair {i, j} hands to state a of variable i
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

from nasgoat.acquisition.branch.arrays import Index, Stack, Terms
from nasgoat.compiled import inner


@inner
def start_messages(stack: Stack, terms: Terms, t: Index, total: int) -> None:
    """Messages of depth t: none at the bottom, else those of the depth below."""
    for y in range(total):
        for z in range(total):
            i, j = terms.open[y], terms.open[z]
            for c in range(stack.width[t, j]):
                stack.message[t, i, j, c] = 0.0
                if t > 0:
                    stack.message[t, i, j, c] = stack.message[t - 1, i, j, stack.origin[t, j, c]]


@inner
def _hand_on(stack: Stack, terms: Terms, t: Index, i: Index, j: Index, forward: bool) -> None:
    """The message of the pair {i, j} to variable j, of what i has given."""
    rows, columns = stack.width[t, i], stack.width[t, j]
    if forward:
        at = terms.pair_at[i, j]
        for e in range(columns):
            stack.message[t, i, j, e] = np.inf
        for c in range(rows):
            given = terms.given[c]
            for e in range(columns):
                value = given + terms.pair[at + e]
                if value < stack.message[t, i, j, e]:
                    stack.message[t, i, j, e] = value
            at += columns
        return
    at = terms.pair_at[j, i]
    for e in range(columns):
        least = np.inf
        for c in range(rows):
            least = min(least, terms.given[c] + terms.pair[at + c])
        stack.message[t, i, j, e] = least
        at += rows


@inner
def sweep(stack: Stack, terms: Terms, t: Index, total: int, forward: bool) -> float:
    """One sweep over the open variables; returns the bound that it proves."""
    lower = 0.0
    for step in range(total):
        place = step if forward else total - 1 - step
        i = terms.open[place]
        rows = stack.width[t, i]
        for c in range(rows):
            terms.belief[i, c] = terms.unary[i, c]
        for y in range(total):
            if y != place:
                j = terms.open[y]
                for c in range(rows):
                    terms.belief[i, c] += stack.message[t, j, i, c]
        least = np.inf
        for c in range(rows):
            least = min(least, terms.belief[i, c])
        ahead = total - 1 - step
        share = 1.0 / max(ahead, step, 1)
        for y in range(total):
            if y == place or (y > place) != forward:
                continue
            j = terms.open[y]
            for c in range(rows):
                terms.given[c] = share * terms.belief[i, c] - stack.message[t, j, i, c]
            _hand_on(stack, terms, t, i, j, forward)
        terms.kept[i] = 1.0 - share * ahead
        lower += terms.kept[i] * least
    return lower


@inner
def keep_move_bounds(stack: Stack, terms: Terms, t: Index, total: int, lower: float) -> None:
    """Bounds of each further choice, from what the variables have kept."""
    for y in range(total):
        i = terms.open[y]
        least = np.inf
        for c in range(stack.width[t, i]):
            least = min(least, terms.belief[i, c])
        for c in range(stack.width[t, i]):
            stack.move_bound[t, i, c] = lower + terms.kept[i] * (terms.belief[i, c] - least)
