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

from nasgoat.acquisition.branch.declared.domains import find_least_weight
from nasgoat.acquisition.branch.declared.records import (
    DeclaredProblem,
    DeclaredScratch,
    DeclaredStack,
)
from nasgoat.acquisition.branch.message_passing import make_bound
from nasgoat.acquisition.branch.records import RHO, WIDE, Floats, Index, NodeSizes, add_to, dot
from nasgoat.compiled import compiled_apart, compiled_inline


@compiled_apart
def measure_labels(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    s: Index,
    t: Index,
) -> NodeSizes:
    """The reference graph, its moves and all products at depth t."""
    reference, potentials = scratch.reference, scratch.potentials
    _load_reference(problem, stack, reference, s)
    total = _load_moves(problem, stack, scratch, s, t)
    _multiply_moves(stack, scratch, t, total)
    omega = _measure_rest(problem, stack, scratch, s)
    length = 0.0
    for y in range(total):
        i, longest = potentials.open[y], 0.0
        for c in range(stack.width[t, i]):
            longest = max(longest, scratch.square[i, c])
        length += math.sqrt(longest)
    square = dot(reference, reference)
    return NodeSizes(
        open=total,
        mean=reference[0],
        square=square,
        norm=math.sqrt(square) + length + omega,
        length=length,
        omega=omega,
    )


@compiled_inline
def _load_reference(
    problem: DeclaredProblem, stack: DeclaredStack, reference: Floats, s: Index
) -> None:
    """Column of the reference graph of the labels so far."""
    shapes, pair, own = problem.shapes, problem.tables.pair, problem.tables.own
    n, star = shapes.allowed.shape[1], len(own) - 1
    reference[:] = 0.0
    if len(problem.summary.given) > 0:
        add_to(reference, problem.summary.given[s])
    for i in range(n):
        a = stack.label[i] if stack.label[i] >= 0 else star
        add_to(reference, own[a])
        for j in range(i):
            b = stack.label[j] if stack.label[j] >= 0 else star
            add_to(reference, pair[shapes.pair_class[s, i, j], a, b])
    add_labelled_edges(problem, stack, reference, s)


@compiled_inline
def add_labelled_edges(
    problem: DeclaredProblem, stack: DeclaredStack, column: Floats, s: Index
) -> None:
    """Add to a column what the labels of edges change, where they are known."""
    shapes, delta = problem.shapes, problem.tables.delta
    for e in range(shapes.edges[s]):
        x = stack.label[shapes.allowed.shape[1] + e]
        if x >= 0:
            u, v = shapes.ends[s, e, 0], shapes.ends[s, e, 1]
            add_to(column, delta[x, stack.label[u], stack.label[v]])


@compiled_inline
def _load_moves(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index, t: Index
) -> int:
    """Changes of all open variables, and their products with p; returns how many are open."""
    n, total = problem.shapes.allowed.shape[1], 0
    for i in range(n + problem.shapes.edges[s]):
        if stack.label[i] >= 0 or stack.width[t, i] == 0:
            continue
        scratch.potentials.open[total] = i
        total += 1
        for c in range(stack.width[t, i]):
            move = scratch.move[i, c]
            if i < n:
                _load_node(problem, stack, move, s, i, stack.domain[t, i, c])
            else:
                _load_edge(problem, stack, move, s, i - n, stack.domain[t, i, c])
            scratch.along[i, c] = dot(scratch.reference, move)
            scratch.square[i, c] = dot(move, move)
    return total


@compiled_inline
def _load_node(
    problem: DeclaredProblem, stack: DeclaredStack, move: Floats, s: Index, i: Index, x: Index
) -> None:
    """What label x of node i changes."""
    tables, star = problem.tables, len(problem.tables.own) - 1
    for z in range(len(move)):
        move[z] = tables.own[x, z] - tables.own[star, z]
    for j in range(problem.shapes.allowed.shape[1]):
        if j != i:
            b = stack.label[j] if stack.label[j] >= 0 else star
            add_to(move, tables.tail[problem.shapes.pair_class[s, i, j], x, b])


@compiled_inline
def _load_edge(
    problem: DeclaredProblem, stack: DeclaredStack, move: Floats, s: Index, e: Index, x: Index
) -> None:
    """What label x of edge e changes, whose ends have labels."""
    u, v = problem.shapes.ends[s, e, 0], problem.shapes.ends[s, e, 1]
    move[:] = 0.0
    add_to(move, problem.tables.delta[x, stack.label[u], stack.label[v]])


@compiled_inline
def _multiply_moves(stack: DeclaredStack, scratch: DeclaredScratch, t: Index, total: Index) -> None:
    """Products of the changes of every two open variables."""
    opened, move = scratch.potentials.open, scratch.move
    for y in range(total):
        for z in range(y + 1, total):
            i, j = opened[y], opened[z]
            for c in range(stack.width[t, i]):
                for e in range(stack.width[t, j]):
                    scratch.gram[i, j, c, e] = dot(move[i, c], move[j, e])


@compiled_apart
def _measure_rest(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index
) -> float:
    """Products of the reference with interactions and with δ; returns ω (Lemma 9)."""
    shapes, tables, classes = problem.shapes, problem.tables, scratch.classes
    (_, n, labels), ops = shapes.allowed.shape, len(tables.delta)
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


@compiled_inline
def _find_least_delta(
    problem: DeclaredProblem,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
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
    lightest = find_least_weight(rules, u, v)
    for x in range(len(tables.delta)):
        more = rules.weight[x] - lightest
        if rules.edge[u, v, x] and more <= room_out and more <= room_in:
            value = tables.delta[x, a, b, 0] - 2 * rho * scratch.delta_along[x, a, b]
            least = min(least, value)
    return least


@compiled_apart
def _fill_potentials(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    s: Index,
    t: Index,
    total: Index,
) -> None:
    """θ_i and θ_ij of all open variables, δ of edges with an open end among them."""
    rho, wide = scratch.factor[RHO], scratch.factor[WIDE]
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
        _add_open_edges(problem, stack, scratch, s, t)


@compiled_inline
def _add_open_edges(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index, t: Index
) -> None:
    """Add to the potentials the least that each edge with an open end adds, over its labels."""
    shapes, potentials, rho = problem.shapes, scratch.potentials, scratch.factor[RHO]
    for edge in range(shapes.edges[s]):
        u, v = np.int64(shapes.ends[s, edge, 0]), np.int64(shapes.ends[s, edge, 1])
        a, b = stack.label[u], stack.label[v]
        if a >= 0 and b >= 0:
            continue
        for c in range(stack.width[t, u] if a < 0 else 1):
            for e in range(stack.width[t, v] if b < 0 else 1):
                first = stack.domain[t, u, c] if a < 0 else a
                second = stack.domain[t, v, e] if b < 0 else b
                value = _find_least_delta(problem, stack, scratch, (u, v), first, second, rho)
                value = min(value, 50.0 / rho)  # none fits: dear, but no more than rounding bears
                if a >= 0:
                    potentials.unary[v, e] += value
                elif b >= 0:
                    potentials.unary[u, c] += value
                elif u < v:
                    potentials.pair[potentials.pair_at[u, v] + c * stack.width[t, v] + e] += value
                else:
                    potentials.pair[potentials.pair_at[v, u] + e * stack.width[t, u] + c] += value


@compiled_inline
def _rescale(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    sizes: NodeSizes,
    s: Index,
    t: Index,
) -> None:
    """Recompute c and ‖U‖ at the noted states; the next round of the bound starts from them."""
    choice, opened = scratch.choice, scratch.potentials.open
    own = cross = 0.0
    for y in range(sizes.open):
        i = opened[y]
        own += scratch.square[i, choice[i]]
        cross += 2 * scratch.along[i, choice[i]]
        for z in range(y):
            j = opened[z]
            own += 2 * scratch.gram[j, i, choice[j], choice[i]]
    length = math.sqrt(max(own, 0.0))
    stack.scale[t, 1] = length
    stack.scale[t, 0] = math.sqrt(max(sizes.square + cross + (length + sizes.omega) ** 2, 0.0))


#: Lower bound on all completions of a search node (Lemmas 2, 3 and 9).
bound_labels = make_bound(_fill_potentials, _rescale)
