"""The lower bound of the linear kernel, compiled.

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

from nasgoat.acquisition.branch.arrays import Index, Problem, Stack, Terms
from nasgoat.acquisition.branch.messages import keep_move_bounds, start_messages, sweep
from nasgoat.acquisition.branch.potentials import pair_potentials, unary_potentials
from nasgoat.acquisition.branch.quadratic import (
    list_open,
    look_up_moves,
    look_up_parts,
    measure_interactions,
    measure_moves,
    measure_norms,
    measure_states,
)
from nasgoat.acquisition.branch.rescaling import choose_best, rescale
from nasgoat.compiled import called, inner

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value


@inner
def measure(
    problem: Problem, stack: Stack, terms: Terms, s: Index, t: Index
) -> tuple[int, float, float, float]:
    """All products at depth t; returns the number of open variables, ‖p‖², Σ max ‖p_i‖² and ω."""
    tables, shapes, states, _, kinds = problem
    q = shapes.tail[s]
    total = list_open(tables, shapes, stack, terms, s, t)
    if t == 0:
        square = look_up_moves(shapes, kinds, stack, terms, s, total)
        if q >= 0:
            look_up_parts(shapes, kinds, terms, s, total)
    else:
        square = measure_moves(stack, terms, t, total)
    if q >= 0:
        measure_states(states, stack, terms, q, t, total)
    omega = measure_interactions(tables, stack, terms, shapes.size[shapes.home[s]], t)
    longest = measure_norms(states, stack, terms, q, t, total)
    start_messages(stack, terms, t, total)
    return total, square, longest, omega


@called
def linear_bound(
    problem: Problem, stack: Stack, terms: Terms, s: Index, t: Index, rounds: Index
) -> float:
    """Lower bound on all completions at depth t; those of each further choice if rounds > 0.

    Without rounds it is the quick bound of a shape: one pair of sweeps and nothing kept.
    """
    total, square, longest, omega = measure(problem, stack, terms, s, t)
    tables, shapes, states, _, _ = problem
    q = shapes.tail[s]
    stack.scale[t, 0] = (
        stack.scale[t - 1, 0] if t > 0 else math.sqrt(square + longest + omega * omega)
    )
    stack.scale[t, 1] = stack.scale[t - 1, 1] if t > 0 else math.sqrt(longest)
    # States with a tiny norm must not stretch the potentials beyond what rounding can bear.
    least_c = _FLOOR * math.sqrt(square + longest + omega * omega) + _TINY
    least_length = _FLOOR * math.sqrt(longest) + _TINY
    best = -np.inf
    for _ in range(max(rounds, 1)):
        c, length = max(stack.scale[t, 0], least_c), max(stack.scale[t, 1], least_length)
        # 2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0; ε = ω / ‖U‖ is best at the states that matter.
        rest = omega * omega + omega * length
        wide = 1.0 + omega / length
        unary_potentials(states, stack, terms, q, t, total, 0.5 / c, wide)
        pair_potentials(tables, shapes, states, stack, terms, s, t, total, 0.5 / c, wide)
        lower = 0.0
        for half in range(2):
            lower = sweep(stack, terms, t, total, half == 0)
        lower += stack.mean[t] - (square + c * c + rest) / (2 * c)
        best = max(best, lower)
        if rounds > 0:
            if lower == best:
                keep_move_bounds(stack, terms, t, total, lower)
            choose_best(stack, terms, t, total)
            rescale(states, stack, terms, q, t, total, square, omega)
    return best
