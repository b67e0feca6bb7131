"""The lower bound of the linear kernel on all completions of a search node, compiled (Lemma 2).

Notation (docs/branch-and-bound.md has the proofs)
    m, p     mean part and vector of the reference graph: open variables carry the label "*"
    m_i(x), p_i(x)            change if open variable i takes state x, all others unchanged
    m_ij(l, l'), p_ij(l, l')  interaction of two open variables: what both changes together miss
    U, W     Σ_i p_i(x_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels

Every completion has the value m + Σ m_i + Σ m_ij - ‖p + U + W‖. For any c, ε > 0
    ‖p + U + W‖ ≤ (‖p + U + W‖² + c²) / 2c,
    ‖p + U + W‖² ≤ ‖p‖² + 2 p·U + 2 p·W + (1 + ε) ‖U‖² + (1 + 1/ε) ω²,
which leaves a sum of potentials of states and of pairs of states, bounded by message passing.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.messages import (
    keep_move_bounds,
    make_sweep,
    new_potentials,
    start_messages,
)
from nasgoat.acquisition.branch.potentials import fill_pairs, fill_unary
from nasgoat.acquisition.branch.records import (
    RHO,
    WIDE,
    Index,
    PairTables,
    Prefixes,
    Scratch,
    Shapes,
    Stack,
    States,
    StateScratch,
)
from nasgoat.acquisition.branch.reference import dot
from nasgoat.compiled import called, inner, merged

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value
_sweep = make_sweep(1)


@called
def bound_completions(
    pairs: PairTables,
    shapes: Shapes,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    sizes: tuple[int, float, float],
    s: Index,
    t: Index,
    rounds: Index,
) -> float:
    """Lower bound on all completions at depth t (Lemmas 2 and 3).

    With ``rounds`` above 0 the bounds of each further choice are kept, and every round but the
    first is taken around the states that looked best in the one before. Without, it is the bound
    of a shape: one pair of sweeps and nothing kept. ``sizes`` are those of ``measure_products``.
    """
    total, longest, omega = sizes
    potentials, q = scratch.potentials, shapes.last_label[s]
    start_messages(stack, potentials, t, total)
    square = dot(stack.reference[t], stack.reference[t])
    largest_c, largest_length = math.sqrt(square + longest + omega * omega), math.sqrt(longest)
    stack.scale[t, 0] = stack.scale[t - 1, 0] if t > 0 else largest_c
    stack.scale[t, 1] = stack.scale[t - 1, 1] if t > 0 else largest_length
    best = -np.inf
    for _ in range(max(rounds, 1)):
        # States with a tiny norm must not stretch the potentials beyond what rounding can bear.
        c = max(stack.scale[t, 0], _FLOOR * largest_c + _TINY)
        length = max(stack.scale[t, 1], _FLOOR * largest_length + _TINY)
        # 2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0; ε = ω / ‖U‖ is best at the states that matter.
        scratch.factor[RHO], scratch.factor[WIDE] = 0.5 / c, 1.0 + omega / length
        fill_unary(prefixes, stack, scratch, q, t, total)
        fill_pairs(pairs, shapes, prefixes, stack, scratch, s, t, total)
        for half in range(2):
            _sweep(potentials, stack.message[t], stack.width[t], total, half == 0)
        rest = square + c * c + omega * omega + omega * length
        lower = potentials.bound[0] + stack.reference[t, 0] - rest / (2 * c)
        best = max(best, lower)
        if rounds > 0:
            if lower == best:
                keep_move_bounds(stack, potentials, t, total, lower)
            _choose_best(stack, scratch, t, total)
            _rescale(prefixes, stack, scratch, q, t, total, square, omega)
    return best


@merged
def _choose_best(stack: Stack, scratch: Scratch, t: Index, total: Index) -> None:
    """Note for every open variable the state of lowest belief."""
    belief, choice = scratch.potentials.belief, scratch.choice
    for y in range(total):
        i = scratch.potentials.open[y]
        choice[i] = 0
        for c in range(1, stack.width[t, i]):
            if belief[i, c] < belief[i, choice[i]]:
                choice[i] = c


@inner
def _pair_products(
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
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    q: Index,
    t: Index,
    total: Index,
    square: float,
    omega: float,
) -> None:
    """The c and ‖U‖ of the noted states: what the next bound is taken around."""
    labels = stack.move.shape[2]
    cross = own = 0.0
    for y in range(total):
        i = scratch.potentials.open[y]
        x = stack.domain[t, i, scratch.choice[i]]
        a = x if prefixes is None else prefixes.states.label[x]
        cross += 2 * scratch.along[i, a] if a < labels else 0.0
        if prefixes is not None:
            cross += 2 * prefixes.scratch.along[x]
        product, across = _pair_products(stack, prefixes, scratch, y, total, q, t)
        own += scratch.norm[i, scratch.choice[i]] + 2 * product
        cross += 2 * across
    own = max(own, 0.0)
    stack.scale[t, 1] = math.sqrt(own)
    stack.scale[t, 0] = math.sqrt(max(square + cross + (math.sqrt(own) + omega) ** 2, 0.0))


def new_scratch(variables: int, labels: int, domain: int, distances: int) -> Scratch:
    """Scratch for that many variables, labels, states of a variable and codes of distances."""
    return Scratch(
        along=np.zeros((variables, labels)),
        square=np.zeros((variables, labels)),
        gram=np.zeros((variables, variables, labels, labels)),
        both_along=np.zeros((distances, labels, labels)),
        norm=np.zeros((variables, domain)),
        apart=np.zeros((variables, variables), dtype=np.int64),
        pairs=np.zeros(distances, dtype=np.int64),
        choice=np.zeros(variables, dtype=np.int64),
        factor=np.zeros(2),
        potentials=new_potentials(variables, domain),
    )


def new_state_scratch(states: States, variables: int, labels: int, domain: int) -> StateScratch:
    """Scratch for these states, and that many variables, labels and states of a variable."""
    total, links = len(states.label), states.link_vector.shape[1]
    return StateScratch(
        along=np.zeros(total),
        link_along=np.zeros(links),
        link_gram=np.zeros((variables, labels, links)),
        option_along=np.zeros(states.option.shape[:-1]),
        used=np.zeros(total, dtype=np.int64),
        used_link=np.zeros(links, dtype=np.int64),
        mask=np.zeros((variables, 2), dtype=np.int64),
        row=np.zeros((labels + 1, domain)),
        run=np.zeros((variables, domain), dtype=np.int64),
    )
