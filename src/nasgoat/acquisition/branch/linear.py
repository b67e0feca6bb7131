"""The lower bound of the linear kernel, compiled.

Notation (docs/branch-and-bound.md has the proofs)
    m, p     mean part and vector of the reference graph: open variables carry the label "*"
    m_i(l), p_i(l)            change if open variable i takes label l, all others unchanged
    m_ij(l, l'), p_ij(l, l')  interaction of two open variables: what both changes together miss
    U, W     Σ_i p_i(l_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels

Every completion has the value m + Σ m_i + Σ m_ij - ‖p + U + W‖. For any c, ε > 0
    ‖p + U + W‖ ≤ (‖p + U + W‖² + c²) / 2c,
    ‖p + U + W‖² ≤ ‖p‖² + 2 p·U + 2 p·W + (1 + ε) ‖U‖² + (1 + 1/ε) ω²,
which leaves a sum of potentials of labels and of pairs of labels, bounded by message passing.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import Index, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import inner
from nasgoat.acquisition.branch.messages import clear_messages, sweep
from nasgoat.acquisition.branch.quadratic import (
    choose_best,
    keep_move_bounds,
    largest_squares,
    list_open,
    measure_gram,
    measure_interactions,
    measure_moves,
    potentials,
    squares_of_choice,
)

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value


@inner
def _copy_means(
    tables: Tables, stack: Stack, size: int, t: Index, terms: Terms, total: int
) -> None:
    for x in range(total):
        for a in range(terms.mean.shape[1]):
            terms.mean[terms.open[x], a] = stack.move_mean[t, terms.open[x], a]
    for d in range(1, len(terms.pairs)):
        if terms.pairs[d] > 0:
            for a in range(terms.mean.shape[1]):
                for b in range(terms.mean.shape[1]):
                    terms.both_mean[d, a, b] = tables.both_mean[size, d, a, b]


@inner
def linear_bound(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, s: Index, t: Index, rounds: Index
) -> float:
    """Lower bound on all completions at depth t; also those of each further choice."""
    size = shapes.size[s]
    total = list_open(shapes, stack, s, terms)
    square = measure_moves(stack, t, terms, total, np.int64(0))
    if t == 0 or shapes.ends.shape[1] == 0:
        measure_gram(stack, t, terms, total, np.int64(0))
    omega = measure_interactions(tables, stack, size, t, terms, np.int64(0))
    _copy_means(tables, stack, size, t, terms, total)
    longest, _ = largest_squares(terms, total)
    if t == 0:
        clear_messages(stack)
        stack.scale[0, 0] = math.sqrt(square + longest + omega * omega)
        stack.scale[0, 1] = math.sqrt(longest)
    # Labels with a tiny norm must not stretch the potentials beyond what rounding can bear.
    least_c = _FLOOR * math.sqrt(square + longest + omega * omega) + _TINY
    least_length = _FLOOR * math.sqrt(longest) + _TINY
    best = -np.inf
    for _ in range(rounds):
        c, length = max(stack.scale[t, 0], least_c), max(stack.scale[t, 1], least_length)
        # 2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0; ε = ω / ‖U‖ is best at the labels that matter.
        rest = omega * omega + omega * length
        potentials(terms, total, 0.5 / c, 1.0 + omega / length)
        sweep(terms, stack.message[t], total, True)
        lower = sweep(terms, stack.message[t], total, False)
        lower += stack.mean[t] - (square + c * c + rest) / (2 * c)
        if lower > best:
            best = lower
            keep_move_bounds(stack, t, terms, total, lower)
        choose_best(terms, total)
        cross, own = squares_of_choice(terms, total)
        stack.scale[t, 1] = math.sqrt(own)
        stack.scale[t, 0] = math.sqrt(max(square + cross + (math.sqrt(own) + omega) ** 2, 0.0))
    return best
