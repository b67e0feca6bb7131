"""Bounds and search for the linear kernel, compiled.

Notation (docs/branch-and-bound.md has the proofs)
    m, p     mean part and vector of the reference graph: open variables carry the label "*"
    m_i(l), p_i(l)        change if open variable i takes label l, all others unchanged
    m_ij(l, l'), p_ij(l, l')  interaction of two open variables: what the sum of both changes misses
    T        Σ_i max_l ‖p_i(l)‖ + Σ_ij max ‖p_ij‖, so ‖sum of any changes‖ ≤ T

Every completion has value m + Σ m_i + Σ m_ij - ‖p + Δ‖, Δ = Σ p_i + Σ p_ij. For any c > 0
    ‖p + Δ‖ ≤ (‖p + Δ‖² + c²) / 2c  and  ‖p + Δ‖² ≤ ‖p‖² + 2 p·Δ + T Σ ‖changes‖,
which leaves a sum over variables and pairs, each minimised on its own.
"""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import kept

_TINY = 1e-150
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value


@kept
def _add_path(tables, stack, size, d, a, b, sign):  # type: ignore[no-untyped-def]
    stack.mean[0] += sign * tables.path_mean[size, d, a, b]
    for x in range(stack.vector.shape[1]):
        stack.vector[0, x] += sign * tables.path_vector[size, d, a, b, x]


@kept
def _add_move(tables, stack, size, i, k, d, a, b, sign):  # type: ignore[no-untyped-def]
    stack.move_mean[0, i, k] += sign * tables.path_mean[size, d, a, b]
    for x in range(stack.vector.shape[1]):
        stack.move_vector[0, i, k, x] += sign * tables.path_vector[size, d, a, b, x]


@kept
def load(tables: Tables, shapes: Shapes, stack: Stack, s: int) -> None:
    """Put structure s with every variable open on the bottom of the stack."""
    size, n = shapes.size[s], shapes.nodes[s]
    stack.mean[0] = 0.0
    stack.vector[0] = 0.0
    stack.move_mean[0] = 0.0
    stack.move_vector[0] = 0.0
    stack.labels[:] = -1
    if shapes.ends.shape[1] > 0:
        _load_edges(tables, shapes, stack, s)
    else:
        _load_nodes(tables, shapes.distance[s], stack, size, n)


@kept
def _load_nodes(tables, d, stack, size, n):  # type: ignore[no-untyped-def]
    labels = stack.move_mean.shape[2]
    out, star = labels + 1, labels + 2
    for u in range(n):
        a = 0 if u == 0 else (out if u == n - 1 else star)
        _add_path(tables, stack, size, 0, a, a, 1.0)
        for v in range(u + 1, n):
            if d[u, v] > 0:
                b = out if v == n - 1 else star
                _add_path(tables, stack, size, d[u, v], a, b, 1.0)
    for i in range(n - 2):
        for k in range(labels):
            for label, sign in ((k + 1, 1.0), (star, -1.0)):
                _add_move(tables, stack, size, i, k, 0, label, label, sign)
                for v in range(n):
                    b = 0 if v == 0 else (out if v == n - 1 else star)
                    if d[i + 1, v] > 0:
                        _add_move(tables, stack, size, i, k, d[i + 1, v], label, b, sign)
                    elif d[v, i + 1] > 0:
                        _add_move(tables, stack, size, i, k, d[v, i + 1], b, label, sign)


@kept
def _load_edges(tables, shapes, stack, s):  # type: ignore[no-untyped-def]
    n, labels = shapes.nodes[s], stack.move_mean.shape[2]
    for u in range(n):
        _add_path(tables, stack, 0, 0, u, u, 1.0)
        for v in range(u + 1, n):
            if shapes.distance[s, u, v] > 0:
                _add_path(tables, stack, 0, shapes.distance[s, u, v], u, v, 1.0)
    for i in range(shapes.variables[s]):
        u, v = shapes.ends[s, i]
        stack.mean[0] += tables.edge_mean[u, v, labels]
        stack.vector[0] += tables.edge_vector[u, v, labels]
        for k in range(labels):
            stack.move_mean[0, i, k] = tables.edge_mean[u, v, k] - tables.edge_mean[u, v, labels]
            stack.move_vector[0, i, k] = (
                tables.edge_vector[u, v, k] - tables.edge_vector[u, v, labels]
            )


@kept
def assign(tables: Tables, shapes: Shapes, stack: Stack, s: int, t: int, i: int, k: int) -> None:
    """Give variable i label k: depth t to depth t + 1."""
    size, r = shapes.size[s], stack.vector.shape[1]
    stack.mean[t + 1] = stack.mean[t] + stack.move_mean[t, i, k]
    for x in range(r):
        stack.vector[t + 1, x] = stack.vector[t, x] + stack.move_vector[t, i, k, x]
    stack.labels[i] = k
    on_nodes = shapes.ends.shape[1] == 0
    for j in range(shapes.variables[s]):
        if stack.labels[j] >= 0:
            continue
        ahead = shapes.distance[s, i + 1, j + 1] if on_nodes else 0
        behind = shapes.distance[s, j + 1, i + 1] if on_nodes else 0
        for other in range(stack.move_mean.shape[2]):
            move = stack.move_mean[t, j, other]
            if ahead > 0:
                move += tables.both_mean[size, ahead, k, other]
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = (
                        stack.move_vector[t, j, other, x]
                        + tables.both_vector[size, ahead, k, other, x]
                    )
            elif behind > 0:
                move += tables.both_mean[size, behind, other, k]
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = (
                        stack.move_vector[t, j, other, x]
                        + tables.both_vector[size, behind, other, k, x]
                    )
            else:
                for x in range(r):
                    stack.move_vector[t + 1, j, other, x] = stack.move_vector[t, j, other, x]
            stack.move_mean[t + 1, j, other] = move


@kept
def _list_open(shapes, stack, s, terms):  # type: ignore[no-untyped-def]
    """Open variables and the distances between them; returns how many are open."""
    on_nodes = shapes.ends.shape[1] == 0
    terms.count[:] = 0
    total = 0
    for i in range(shapes.variables[s]):
        if stack.labels[i] < 0:
            terms.open[total] = i
            total += 1
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            d = shapes.distance[s, i + 1, j + 1] if on_nodes else 0
            terms.apart[i, j] = d
            if d > 0:
                terms.count[d] += 1
    return total


@kept
def _measure_moves(stack, t, terms, total):  # type: ignore[no-untyped-def]
    """Products of the moves with p and with themselves; returns ‖p‖²."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for x in range(r):
        square += stack.vector[t, x] * stack.vector[t, x]
    for y in range(total):
        i = terms.open[y]
        for k in range(labels):
            product = length = 0.0
            for x in range(r):
                product += stack.vector[t, x] * stack.move_vector[t, i, k, x]
                length += stack.move_vector[t, i, k, x] * stack.move_vector[t, i, k, x]
            terms.along[i, k] = product
            terms.square[i, k] = length
    return square


@kept
def _measure_gram(stack, t, terms, total):  # type: ignore[no-untyped-def]
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    for y in range(total):
        for z in range(y + 1, total):
            i, j = terms.open[y], terms.open[z]
            for a in range(labels):
                for b in range(labels):
                    product = 0.0
                    for x in range(r):
                        product += stack.move_vector[t, i, a, x] * stack.move_vector[t, j, b, x]
                    terms.gram[i, j, a, b] = product


@kept
def _measure_interactions(tables, stack, size, t, terms):  # type: ignore[no-untyped-def]
    """Products of the interactions with p; returns ω, a bound on the norm of their sum."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for d in range(1, len(terms.count)):
        if terms.count[d] == 0:
            continue
        for e in range(1, len(terms.count)):
            square += terms.count[d] * terms.count[e] * tables.both_gram[size, d, e]
        for a in range(labels):
            for b in range(labels):
                product = 0.0
                for x in range(r):
                    product += stack.vector[t, x] * tables.both_vector[size, d, a, b, x]
                terms.both_along[d, a, b] = product
    return math.sqrt(square)


@kept
def _potentials(tables, stack, size, t, terms, total, c, stretch):  # type: ignore[no-untyped-def]
    """θ_i and θ_ij of the bound at this c; stretch is 1 + ε."""
    labels = stack.move_mean.shape[2]
    for x in range(total):
        i = terms.open[x]
        for a in range(labels):
            step = 2 * terms.along[i, a] + stretch * terms.square[i, a]
            terms.unary[i, a] = stack.move_mean[t, i, a] - step / (2 * c)
        for y in range(x + 1, total):
            j = terms.open[y]
            d = terms.apart[i, j]
            for a in range(labels):
                for b in range(labels):
                    value = -stretch * terms.gram[i, j, a, b] / c
                    if d > 0:
                        value += tables.both_mean[size, d, a, b] - terms.both_along[d, a, b] / c
                    terms.pair[i, j, a, b] = value


@kept
def _apply_messages(terms, message, total):  # type: ignore[no-untyped-def]
    labels = terms.unary.shape[1]
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            for a in range(labels):
                terms.unary[i, a] += message[j, i, a]
                terms.unary[j, a] += message[i, j, a]
                for b in range(labels):
                    terms.pair[i, j, a, b] -= message[j, i, a] + message[i, j, b]


@kept
def _collect(terms, message, i, j):  # type: ignore[no-untyped-def]
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


@kept
def _hand_on(terms, message, i, j, share):  # type: ignore[no-untyped-def]
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


@kept
def _sweep(terms, message, total, forward):  # type: ignore[no-untyped-def]
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


@kept
def _sum_of_minima(terms, total):  # type: ignore[no-untyped-def]
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


@kept
def _squares_of_best(terms, total):  # type: ignore[no-untyped-def]
    """2 p·Δ and ‖U‖² at the labels that look best: they tell which c and ε to try next."""
    labels = terms.unary.shape[1]
    choice = np.zeros(len(terms.open), dtype=np.int64)
    cross = own = 0.0
    for x in range(total):
        i = terms.open[x]
        for a in range(1, labels):
            if terms.unary[i, a] < terms.unary[i, choice[i]]:
                choice[i] = a
        cross += 2 * terms.along[i, choice[i]]
        own += terms.square[i, choice[i]]
    for x in range(total):
        for y in range(x + 1, total):
            i, j = terms.open[x], terms.open[y]
            own += 2 * terms.gram[i, j, choice[i], choice[j]]
            if terms.apart[i, j] > 0:
                cross += 2 * terms.both_along[terms.apart[i, j], choice[i], choice[j]]
    return cross, max(own, 0.0)


@kept
def _keep_move_bounds(stack, t, terms, total, lower):  # type: ignore[no-untyped-def]
    labels = terms.unary.shape[1]
    for x in range(total):
        i = terms.open[x]
        least = np.inf
        for a in range(labels):
            least = min(least, terms.unary[i, a])
        for a in range(labels):
            stack.move_bound[t, i, a] = lower + terms.unary[i, a] - least


@kept
def bound(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, s: int, t: int, rounds: int
) -> float:
    """Lower bound on all completions at depth t; also those of each further choice."""
    size = shapes.size[s]
    total = _list_open(shapes, stack, s, terms)
    square = _measure_moves(stack, t, terms, total)
    if t == 0 or shapes.ends.shape[1] == 0:
        _measure_gram(stack, t, terms, total)
    omega = _measure_interactions(tables, stack, size, t, terms)
    message = stack.message[t]
    best = -np.inf
    # Labels with a tiny norm must not stretch the potentials beyond what rounding can bear.
    longest = 0.0
    for x in range(total):
        largest = 0.0
        for a in range(terms.square.shape[1]):
            largest = max(largest, terms.square[terms.open[x], a])
        longest += largest
    least_length = _FLOOR * math.sqrt(longest) + _TINY
    least_c = _FLOOR * math.sqrt(square + longest + omega * omega) + _TINY
    if t == 0:
        message[:] = 0.0
        stack.scale[0, 0] = math.sqrt(square + longest + omega * omega)
        stack.scale[0, 1] = math.sqrt(longest)
    c, length = max(stack.scale[t, 0], least_c), max(stack.scale[t, 1], least_length)
    for _ in range(rounds):
        # 2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0; ε = ω / ‖U‖ is best at the labels that matter.
        stretch = 1.0 + omega / length
        rest = omega * omega + omega * length
        _potentials(tables, stack, size, t, terms, total, c, stretch)
        _apply_messages(terms, message, total)
        _sweep(terms, message, total, True)
        _sweep(terms, message, total, False)
        lower = stack.mean[t] - (square + c * c + rest) / (2 * c) + _sum_of_minima(terms, total)
        cross, own = _squares_of_best(terms, total)
        if lower > best:
            best = lower
            _keep_move_bounds(stack, t, terms, total, lower)
        length = max(math.sqrt(own), least_length)
        c = max(math.sqrt(max(square + cross + (math.sqrt(own) + omega) ** 2, 0.0)), least_c)
        stack.scale[t, 0], stack.scale[t, 1] = c, length
    return best


@kept
def root_bounds(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, rounds: int, out: Floats
) -> None:
    """Lower bound of every structure."""
    for s in range(len(shapes.nodes)):
        load(tables, shapes, stack, s)
        out[s] = bound(tables, shapes, stack, terms, s, 0, rounds)
