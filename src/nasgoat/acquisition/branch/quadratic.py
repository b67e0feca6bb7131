"""What states and pairs of states do to the norm, compiled.

Notation (docs/branch-and-bound.md)
    p                 vector of the reference graph
    p_i(x), p_ij(l, l')  its change by a state of variable i, and the interaction of two labels
    U, W              Σ_i p_i(x_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels
"""

from __future__ import annotations

import math

from nasgoat.acquisition.branch.arrays import Index, Kinds, Shapes, Stack, States, Tables, Terms
from nasgoat.compiled import inner


@inner
def list_open(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, s: Index, t: Index
) -> int:
    """Open variables, distances between them, and their states; returns how many are open."""
    p, first = shapes.home[s], 1 if shapes.tail[s] < 0 else 0
    for d in range(len(terms.pairs)):
        terms.pairs[d] = 0
    for x in range(len(terms.used)):
        terms.used[x] = 0
    total = 0
    for i in range(shapes.variables[p]):
        if stack.states[i] < 0:
            terms.open[total] = i
            total += 1
            for c in range(stack.width[t, i]):
                terms.used[stack.domain[t, i, c]] = 1
    block = 0
    for y in range(total):
        for z in range(y + 1, total):
            i, j = terms.open[y], terms.open[z]
            terms.apart[i, j] = 0
            if shapes.ends.shape[1] == 0:
                d = shapes.distance[p, i + first, j + first]
                if i + first > 0 or tables.options[d] > 0:
                    terms.apart[i, j] = d
            if terms.apart[i, j] > 0:
                terms.pairs[terms.apart[i, j]] += 1
            terms.pair_at[i, j] = block
            block += stack.width[t, i] * stack.width[t, j]
    return total


@inner
def measure_moves(stack: Stack, terms: Terms, t: Index, total: int) -> float:
    """Products of the moves with p and with each other; returns ‖p‖²."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for x in range(r):
        square += stack.vector[t, x] * stack.vector[t, x]
    for y in range(total):
        i = terms.open[y]
        for a in range(labels):
            product = length = 0.0
            for x in range(r):
                product += stack.vector[t, x] * stack.move_vector[t, i, a, x]
                length += stack.move_vector[t, i, a, x] * stack.move_vector[t, i, a, x]
            terms.along[i, a] = product
            terms.square[i, a] = length
            for z in range(y + 1, total):
                j = terms.open[z]
                for b in range(labels):
                    product = 0.0
                    for x in range(r):
                        product += stack.move_vector[t, i, a, x] * stack.move_vector[t, j, b, x]
                    terms.gram[i, j, a, b] = product
    return square


@inner
def look_up_moves(
    shapes: Shapes, kinds: Kinds, stack: Stack, terms: Terms, s: Index, total: int
) -> float:
    """The same while every variable is open: products of moves are known by their kinds."""
    p, r, labels = shapes.home[s], stack.vector.shape[1], kinds.mean.shape[1]
    square = 0.0
    for x in range(r):
        square += stack.vector[0, x] * stack.vector[0, x]
    for i in range(total):
        k = shapes.kind[p, i]
        for a in range(labels):
            product = 0.0
            for x in range(r):
                product += stack.vector[0, x] * kinds.vector[k, a, x]
            terms.along[i, a] = product
            terms.square[i, a] = kinds.square[k, a]
            stack.move_mean[0, i, a] = kinds.mean[k, a]
        for j in range(i + 1, total):
            c = shapes.couple[p, i, j]
            for a in range(labels):
                for b in range(labels):
                    terms.gram[i, j, a, b] = kinds.gram[c, a, b]
    return square


@inner
def measure_states(
    states: States, stack: Stack, terms: Terms, q: int, t: Index, total: int
) -> None:
    """Products of the vectors of states with p, and of their parts with the moves."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    for f in range(len(terms.used_part)):
        terms.used_part[f] = 0
    for x in range(len(terms.used)):
        if terms.used[x] == 1:
            terms.used_part[states.part[x, 0]] = 1
            terms.used_part[states.part[x, 1]] = 1
    for f in range(len(terms.used_part)):
        if terms.used_part[f] == 0:
            continue
        terms.part_along[f] = 0.0
        for e in range(r):
            terms.part_along[f] += stack.vector[t, e] * states.part_vector[q, f, e]
        for y in range(total if t > 0 else 0):
            i = terms.open[y]
            for a in range(labels):
                product = 0.0
                for e in range(r):
                    product += stack.move_vector[t, i, a, e] * states.part_vector[q, f, e]
                terms.part_gram[i, a, f] = product
    for x in range(len(terms.used)):
        if terms.used[x] == 1:
            first, second = states.part[x, 0], states.part[x, 1]
            terms.free_along[x] = terms.part_along[first] + terms.part_along[second]


@inner
def look_up_parts(shapes: Shapes, kinds: Kinds, terms: Terms, s: Index, total: int) -> None:
    """Products of parts of states with the moves while every variable is open."""
    p, q, labels = shapes.home[s], shapes.tail[s], kinds.mean.shape[1]
    for i in range(total):
        for a in range(labels):
            for f in range(kinds.part_gram.shape[3]):
                terms.part_gram[i, a, f] = kinds.part_gram[q, shapes.kind[p, i], a, f]


@inner
def measure_interactions(tables: Tables, stack: Stack, terms: Terms, size: int, t: Index) -> float:
    """Products of the interactions with p; returns ω, a bound on the norm of their sum."""
    r, labels = stack.vector.shape[1], stack.move_mean.shape[2]
    square = 0.0
    for d in range(1, len(terms.pairs)):
        if terms.pairs[d] == 0:
            continue
        for e in range(1, len(terms.pairs)):
            square += terms.pairs[d] * terms.pairs[e] * tables.both_gram[size, d, e]
        known = len(terms.pairs) - len(tables.option_mean)
        for a in range(labels):
            for b in range(labels):
                product = 0.0
                for x in range(r):
                    product += stack.vector[t, x] * tables.both_vector[size, d, a, b, x]
                terms.both_along[d, a, b] = product
                for e in range(tables.options[d]):
                    product = 0.0
                    for x in range(r):
                        product += stack.vector[t, x] * tables.option_vector[d - known, a, b, e, x]
                    terms.option_along[d - known, a, b, e] = product
    return math.sqrt(square)


@inner
def measure_norms(
    states: States, stack: Stack, terms: Terms, q: int, t: Index, total: int
) -> float:
    """‖p_i(x)‖² of every state; returns Σ_i max_x ‖p_i(x)‖²."""
    labels = stack.move_mean.shape[2]
    longest = 0.0
    for y in range(total):
        i = terms.open[y]
        largest = 0.0
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = states.label[x]
            length = terms.square[i, label] if label < labels else 0.0
            if q >= 0:
                length += states.gram[q, x, x]
                if label < labels:
                    length += 2 * terms.part_gram[i, label, states.part[x, 0]]
                    length += 2 * terms.part_gram[i, label, states.part[x, 1]]
            terms.norm[i, c] = length
            largest = max(largest, length)
        longest += largest
    return longest
