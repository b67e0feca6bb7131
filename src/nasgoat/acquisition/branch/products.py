"""What states and pairs of states do to the norm: the products in the bound of Lemma 2, compiled.

Notation (docs/branch-and-bound.md)
    p                 vector of the reference graph
    p_i(x), p_ij(l, l')  its change by a state of variable i, and the interaction of two labels
    U, W              Σ_i p_i(x_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels
"""

from __future__ import annotations

import math

from nasgoat.acquisition.branch.records import (
    Changes,
    Index,
    Potentials,
    Problem,
    Products,
    Shapes,
    Stack,
    States,
    Tables,
)
from nasgoat.acquisition.branch.reference import dot
from nasgoat.compiled import inner


@inner
def measure(
    problem: Problem,
    states: States | None,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    s: Index,
    t: Index,
) -> tuple[int, float, float, float]:
    """All products at depth t; returns the number of open variables, ‖p‖², Σ max ‖p_i‖² and ω."""
    tables, shapes, _, changes = problem
    q = shapes.last_label[s]
    total = _list_open(tables, shapes, states, stack, products, potentials, s, t)
    if t == 0:
        _look_up_moves(shapes, changes, stack, products, s, total)
        if states is not None:
            _look_up_links(shapes, changes, products, s, total)
    else:
        _measure_moves(stack, products, potentials, t, total)
    if states is not None:
        _measure_states(states, stack, products, potentials, q, t, total)
    omega = _measure_interactions(tables, states, stack, products, shapes.size[shapes.home[s]], t)
    longest = _measure_norms(states, stack, products, potentials, q, t, total)
    return total, dot(stack.vector[t], stack.vector[t]), longest, omega


@inner
def _list_open(
    tables: Tables,
    shapes: Shapes,
    states: States | None,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    s: Index,
    t: Index,
) -> int:
    """Note open variables, the distances between them, and their states; returns how many."""
    p, first = shapes.home[s], 1 if shapes.last_label[s] < 0 else 0
    products.pairs[:] = 0
    products.used[:] = 0
    total = 0
    for i in range(shapes.variables[p]):
        if stack.states[i] < 0:
            potentials.open[total] = i
            total += 1
            if states is not None:
                for c in range(stack.width[t, i]):
                    products.used[stack.domain[t, i, c]] = 1
    block = 0
    for y in range(total):
        for z in range(y + 1, total):
            i, j = potentials.open[y], potentials.open[z]
            apart = 0
            if shapes.ends.shape[1] == 0:
                d = shapes.distance[p, i + first, j + first]
                # The source of a prefix has no label: only an open distance says something.
                if states is None or i > 0 or tables.options[d] > 0:
                    apart = d
            products.apart[i, j] = apart
            if apart > 0:
                products.pairs[apart] += 1
            potentials.pair_at[i, j] = block
            block += stack.width[t, i] * stack.width[t, j]
    return total


@inner
def _measure_moves(
    stack: Stack, products: Products, potentials: Potentials, t: Index, total: int
) -> None:
    """Products of the moves with p and with each other."""
    labels = stack.move_mean.shape[2]
    for y in range(total):
        i = potentials.open[y]
        for a in range(labels):
            move = stack.move_vector[t, i, a]
            products.along[i, a] = dot(stack.vector[t], move)
            products.square[i, a] = dot(move, move)
            for z in range(y + 1, total):
                j = potentials.open[z]
                for b in range(labels):
                    products.gram[i, j, a, b] = dot(move, stack.move_vector[t, j, b])


@inner
def _look_up_moves(
    shapes: Shapes, changes: Changes, stack: Stack, products: Products, s: Index, total: int
) -> None:
    """The same while every variable is open: products of moves are known by change classes."""
    p, labels = shapes.home[s], changes.mean.shape[1]
    for i in range(total):
        k = shapes.change_class[p, i]
        for a in range(labels):
            products.along[i, a] = dot(stack.vector[0], changes.vector[k, a])
            products.square[i, a] = changes.square[k, a]
            stack.move_mean[0, i, a] = changes.mean[k, a]
        for j in range(i + 1, total):
            c = shapes.class_pair[p, i, j]
            for a in range(labels):
                for b in range(labels):
                    products.gram[i, j, a, b] = changes.gram[c, a, b]


@inner
def _look_up_links(
    shapes: Shapes, changes: Changes, products: Products, s: Index, total: int
) -> None:
    """Products of the links of states with the moves while every variable is open."""
    p, q = shapes.home[s], shapes.last_label[s]
    for i in range(total):
        k = shapes.change_class[p, i]
        for a in range(changes.mean.shape[1]):
            for f in range(changes.link_gram.shape[3]):
                products.link_gram[i, a, f] = changes.link_gram[q, k, a, f]


@inner
def _measure_states(
    states: States,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    q: Index,
    t: Index,
    total: int,
) -> None:
    """Products of the vectors of states with p, and of their links with the moves."""
    products.used_link[:] = 0
    for x in range(len(products.used)):
        if products.used[x] == 1:
            products.used_link[states.link[x, 0]] = 1
            products.used_link[states.link[x, 1]] = 1
    for f in range(len(products.used_link)):
        if products.used_link[f] == 0:
            continue
        link = states.link_vector[q, f]
        products.link_along[f] = dot(stack.vector[t], link)
        for y in range(total if t > 0 else 0):
            i = potentials.open[y]
            for a in range(stack.move_mean.shape[2]):
                products.link_gram[i, a, f] = dot(stack.move_vector[t, i, a], link)
    for x in range(len(products.used)):
        if products.used[x] == 1:
            first, second = states.link[x, 0], states.link[x, 1]
            products.state_along[x] = products.link_along[first] + products.link_along[second]


@inner
def _measure_interactions(
    tables: Tables,
    states: States | None,
    stack: Stack,
    products: Products,
    size: Index,
    t: Index,
) -> float:
    """Products of the interactions with p; returns ω, a bound on the norm of their sum."""
    labels, known = stack.move_mean.shape[2], len(products.pairs) - len(tables.option_mean)
    square = 0.0
    for d in range(1, len(products.pairs)):
        if products.pairs[d] == 0:
            continue
        for e in range(1, len(products.pairs)):
            square += products.pairs[d] * products.pairs[e] * tables.both_gram[size, d, e]
        for a in range(labels):
            for b in range(labels):
                products.both_along[d, a, b] = dot(
                    stack.vector[t], tables.both_vector[size, d, a, b]
                )
                if states is not None:
                    for e in range(tables.options[d]):
                        products.option_along[d - known, a, b, e] = dot(
                            stack.vector[t], tables.option_vector[d - known, a, b, e]
                        )
    return math.sqrt(square)


@inner
def _measure_norms(
    states: States | None,
    stack: Stack,
    products: Products,
    potentials: Potentials,
    q: Index,
    t: Index,
    total: int,
) -> float:
    """‖p_i(x)‖² of every state; returns Σ_i max_x ‖p_i(x)‖²."""
    labels = stack.move_mean.shape[2]
    longest = 0.0
    for y in range(total):
        i = potentials.open[y]
        largest = 0.0
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = x if states is None else states.label[x]
            length = products.square[i, label] if label < labels else 0.0
            if states is not None:
                length += states.gram[q, x, x]
                if label < labels:
                    length += 2 * products.link_gram[i, label, states.link[x, 0]]
                    length += 2 * products.link_gram[i, label, states.link[x, 1]]
            products.norm[i, c] = length
            largest = max(largest, length)
        longest += largest
    return longest
