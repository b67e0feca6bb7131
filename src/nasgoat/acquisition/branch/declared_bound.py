"""The lower bound on all ways to complete the labels of nodes and edges, compiled.

Notation (docs/branch-and-bound.md, Lemmas 2, 3 and 9)
    p        column of the reference graph: open nodes carry "*", open edges the mean of all labels
    i, j     open variables: nodes 0 .. n - 1, then edges (n + e) whose two ends have labels
    p_i(a)   change by state a of variable i;  I_ij(a, b) interaction of two nodes
    δ_e(l)   change by label l of an edge with an open end; it depends on the labels of both ends
    ω        at least the norm of all I_ij and δ_e together

For any c, ε > 0 and ρ = 1 / 2c every completion is worth at least
    m - ρ (‖p‖² + c² + (1 + 1/ε) ω²) + Σ θ_i + Σ θ_ij,
    θ_i(a)     = m_i(a) - ρ (2 p·p_i(a) + (1 + ε) ‖p_i(a)‖²)
    θ_ij(a, b) = m_ij(a, b) - 2ρ (p·I_ij(a, b) + (1 + ε) p_i(a)·p_j(b));
for each edge with an open end θ_i or θ_ij also has the least of m(δ) - 2ρ p·δ over its labels.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.declared_domains import least_weight
from nasgoat.acquisition.branch.message_passing import keep_move_bounds, make_sweep
from nasgoat.acquisition.branch.records import (
    Index,
    LabelProblem,
    LabelScratch,
    LabelStack,
    Potentials,
)
from nasgoat.acquisition.branch.reference import add_to, dot
from nasgoat.compiled import called, inner, merged

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value
_sweep = make_sweep(1)


@called
def load_label_reference(
    problem: LabelProblem, stack: LabelStack, scratch: LabelScratch, s: Index
) -> None:
    """Column of the reference graph of the labels so far."""
    shapes, tables = problem.shapes, problem.tables
    n, star = shapes.allowed.shape[1], shapes.allowed.shape[2]
    reference = scratch.reference
    reference[:] = 0.0
    for i in range(n):
        a = stack.label[i] if stack.label[i] >= 0 else star
        add_to(reference, tables.own[a])
        for j in range(i):
            b = stack.label[j] if stack.label[j] >= 0 else star
            add_to(reference, tables.pair[shapes.pair_class[s, i, j], a, b])
    for e in range(shapes.edges[s]):
        x = stack.label[n + e]
        if x >= 0:
            u, v = shapes.ends[s, e, 0], shapes.ends[s, e, 1]
            add_to(reference, tables.delta[x, stack.label[u], stack.label[v]])


@called
def load_label_moves(
    problem: LabelProblem, stack: LabelStack, scratch: LabelScratch, s: Index, t: Index
) -> int:
    """Changes of all open variables, and their products; returns how many are open."""
    shapes, tables = problem.shapes, problem.tables
    n, star = shapes.allowed.shape[1], shapes.allowed.shape[2]
    potentials, total = scratch.potentials, 0
    for i in range(n + shapes.edges[s]):
        if stack.label[i] >= 0 or stack.width[t, i] == 0:
            continue
        potentials.open[total] = i
        total += 1
        for c in range(stack.width[t, i]):
            x, move = stack.domain[t, i, c], scratch.move[i, c]
            if i >= n:
                u, v = shapes.ends[s, i - n, 0], shapes.ends[s, i - n, 1]
                move[:] = 0.0
                add_to(move, tables.delta[x, stack.label[u], stack.label[v]])
            else:
                for z in range(len(move)):
                    move[z] = tables.own[x, z] - tables.own[star, z]
                for j in range(n):
                    if j != i:
                        b = stack.label[j] if stack.label[j] >= 0 else star
                        add_to(move, tables.tail[shapes.pair_class[s, i, j], x, b])
            scratch.along[i, c] = dot(scratch.reference, move)
            scratch.square[i, c] = dot(move, move)
    for y in range(total):
        i = potentials.open[y]
        for z in range(y + 1, total):
            j = potentials.open[z]
            for c in range(stack.width[t, i]):
                for e in range(stack.width[t, j]):
                    scratch.gram[i, j, c, e] = dot(scratch.move[i, c], scratch.move[j, e])
    return total


@called
def measure_rest(
    problem: LabelProblem, stack: LabelStack, scratch: LabelScratch, s: Index
) -> float:
    """Products of the reference with interactions and with δ; returns ω (Lemma 9)."""
    shapes, tables = problem.shapes, problem.tables
    n, labels = shapes.allowed.shape[1], shapes.allowed.shape[2]
    classes, ops = scratch.classes, len(tables.delta)
    classes[:] = 0
    for i in range(n):
        for j in range(i + 1, n):
            if stack.label[i] < 0 and stack.label[j] < 0:
                classes[shapes.pair_class[s, i, j]] += 1
    for e in range(shapes.edges[s]):
        if stack.label[shapes.ends[s, e, 0]] < 0 or stack.label[shapes.ends[s, e, 1]] < 0:
            classes[-1] += 1 if ops > 1 else 0
    square = 0.0
    for k in range(len(classes)):
        for other in range(len(classes)):
            if classes[k] > 0 and classes[other] > 0:
                square += classes[k] * classes[other] * tables.gram[k, other]
    for a in range(labels):
        for b in range(labels):
            for k in range(len(classes) - 1):
                if classes[k] > 0:
                    scratch.both_along[k, a, b] = dot(scratch.reference, tables.both[k, a, b])
            if classes[-1] > 0:
                for x in range(ops):
                    scratch.delta_along[x, a, b] = dot(scratch.reference, tables.delta[x, a, b])
    return math.sqrt(square)


@inner
def _least_delta(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    ends: tuple[Index, Index],
    a: Index,
    b: Index,
    rho: float,
) -> float:
    """The least that an edge from label a to label b adds to the potentials."""
    rules, tables = problem.rules, problem.tables
    u, v = ends
    least = np.inf
    room_out = rules.high[1, a] - stack.load[1, 0, u]
    room_in = rules.high[0, b] - stack.load[0, 0, v]
    lightest = least_weight(rules, u, v)
    for x in range(len(tables.delta)):
        more = rules.weight[x] - lightest
        if rules.edge[u, v, x] and more <= room_out and more <= room_in:
            value = tables.delta[x, a, b, 0] - 2 * rho * scratch.delta_along[x, a, b]
            least = min(least, value)
    return least


@called
def fill_label_potentials(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    t: Index,
    total: Index,
    rho: float,
    wide: float,
) -> None:
    """θ_i and θ_ij of all open variables, δ of edges with an open end among them."""
    shapes, tables = problem.shapes, problem.tables
    n, potentials = shapes.allowed.shape[1], scratch.potentials
    at = 0
    for y in range(total):
        i = potentials.open[y]
        for c in range(stack.width[t, i]):
            product = 2 * scratch.along[i, c] + wide * scratch.square[i, c]
            potentials.unary[i, c] = scratch.move[i, c, 0] - rho * product
        for z in range(y + 1, total):
            j = potentials.open[z]
            potentials.pair_at[i, j] = at
            k = shapes.pair_class[s, i, j] if j < n else -1
            for c in range(stack.width[t, i]):
                for e in range(stack.width[t, j]):
                    value = -2 * rho * wide * scratch.gram[i, j, c, e]
                    if k >= 0:
                        a, b = stack.domain[t, i, c], stack.domain[t, j, e]
                        value += tables.both[k, a, b, 0] - 2 * rho * scratch.both_along[k, a, b]
                    potentials.pair[at] = value
                    at += 1
    if scratch.classes[-1] > 0:
        _add_open_edges(problem, stack, scratch, s, t, rho)


@inner
def _add_open_edges(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    t: Index,
    rho: float,
) -> None:
    shapes, potentials = problem.shapes, scratch.potentials
    for edge in range(shapes.edges[s]):
        u, v = np.int64(shapes.ends[s, edge, 0]), np.int64(shapes.ends[s, edge, 1])
        a, b = stack.label[u], stack.label[v]
        if a >= 0 and b >= 0:
            continue
        for c in range(stack.width[t, u] if a < 0 else 1):
            for e in range(stack.width[t, v] if b < 0 else 1):
                first = stack.domain[t, u, c] if a < 0 else a
                second = stack.domain[t, v, e] if b < 0 else b
                value = _least_delta(problem, stack, scratch, (u, v), first, second, rho)
                value = min(
                    value, 50.0 / rho
                )  # no label fits: dear, but no larger than rounding bears
                if a >= 0:
                    potentials.unary[v, e] += value
                elif b >= 0:
                    potentials.unary[u, c] += value
                elif u < v:
                    potentials.pair[potentials.pair_at[u, v] + c * stack.width[t, v] + e] += value
                else:
                    potentials.pair[potentials.pair_at[v, u] + e * stack.width[t, u] + c] += value


@merged
def start_label_messages(stack: LabelStack, potentials: Potentials, t: Index, total: Index) -> None:
    """Messages of depth t: those of the depth below where both variables were open."""
    for y in range(total):
        for z in range(total):
            i, j = potentials.open[y], potentials.open[z]
            for c in range(stack.width[t, j]):
                stack.message[t, i, j, c] = 0.0
                if t > 0 and stack.width[t - 1, i] > 0 and stack.origin[t, j, c] >= 0:
                    stack.message[t, i, j, c] = stack.message[t - 1, i, j, stack.origin[t, j, c]]


@called
def bound_labels(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    t: Index,
    total: Index,
    omega: float,
    rounds: Index,
) -> float:
    """Lower bound on all completions at depth t (Lemmas 2, 3 and 9).

    The bounds of each further choice are kept; every round but the first is taken around the states
    that looked best in the one before.
    """
    potentials, reference = scratch.potentials, scratch.reference
    start_label_messages(stack, potentials, t, total)
    square, length = dot(reference, reference), 0.0
    for y in range(total):
        i, longest = potentials.open[y], 0.0
        for c in range(stack.width[t, i]):
            longest = max(longest, scratch.square[i, c])
        length += math.sqrt(longest)
    largest_c = math.sqrt(square) + length + omega
    stack.scale[t, 0] = stack.scale[t - 1, 0] if t > 0 else largest_c
    stack.scale[t, 1] = stack.scale[t - 1, 1] if t > 0 else length
    best = -np.inf
    for _ in range(rounds):
        c = max(stack.scale[t, 0], _FLOOR * largest_c + _TINY)
        near = max(stack.scale[t, 1], _FLOOR * length + _TINY)
        rho, wide = 0.5 / c, 1.0 + omega / near
        fill_label_potentials(problem, stack, scratch, s, t, total, rho, wide)
        for half in range(2):
            _sweep(potentials, stack.message[t], stack.width[t], total, half == 0)
        rest = square + c * c + omega * omega + omega * near
        lower = potentials.bound[0] + reference[0] - rest * rho
        if lower > best:
            best = lower
            keep_move_bounds(stack, potentials, t, total, lower)
        _rescale(stack, scratch, t, total, square, omega)
    return best


@merged
def _rescale(
    stack: LabelStack,
    scratch: LabelScratch,
    t: Index,
    total: Index,
    square: float,
    omega: float,
) -> None:
    """The c and ‖U‖ of the states of lowest belief: what the next bound is taken around."""
    belief, opened = scratch.potentials.belief, scratch.potentials.open
    own = cross = 0.0
    for y in range(total):
        i = opened[y]
        choice = 0
        for c in range(1, stack.width[t, i]):
            if belief[i, c] < belief[i, choice]:
                choice = c
        scratch.choice[i] = choice
        own += scratch.square[i, choice]
        cross += 2 * scratch.along[i, choice]
        for z in range(y):
            j = opened[z]
            own += 2 * scratch.gram[j, i, scratch.choice[j], choice]
    own = math.sqrt(max(own, 0.0))
    stack.scale[t, 1] = own
    stack.scale[t, 0] = math.sqrt(max(square + cross + (own + omega) ** 2, 0.0))
