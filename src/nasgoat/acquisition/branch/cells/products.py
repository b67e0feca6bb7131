"""Products of vectors at a search node, which the potentials of Lemma 2 are made of, compiled.

Notation (docs/branch-and-bound.md)
    p                    vector of the reference graph
    p_i(x), p_ij(l, l')  its change by a state of variable i, and the interaction of two labels
    U, W                 Σ_i p_i(x_i) and Σ_ij p_ij(l_i, l_j);  ω ≥ ‖W‖ for all labels

They do not depend on the factors ρ and ε, so that each round of a bound takes them as they are.
"""

from __future__ import annotations

import math

from nasgoat.acquisition.branch.cells.norm_bounds import measure_open, measure_spread
from nasgoat.acquisition.branch.cells.records import (
    FIRST_LENGTH,
    SECOND_LENGTH,
    Changes,
    PairTables,
    Prefixes,
    Problem,
    Scratch,
    Shapes,
    Stack,
)
from nasgoat.acquisition.branch.cells.reference import has_known_labels, is_labelled
from nasgoat.acquisition.branch.records import Floats, Index, NodeSizes, Potentials, dot
from nasgoat.compiled import compiled_apart, compiled_inline


@compiled_apart
def measure_products(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, scratch: Scratch, s: Index, t: Index
) -> NodeSizes:
    """All products at depth t."""
    pairs, shapes, changes = problem.pairs, problem.shapes, problem.changes
    size, q = shapes.size[shapes.home[s]], shapes.last_label[s]
    total = _list_open(shapes, prefixes, stack, scratch, s, t)
    if prefixes is not None:
        _note_labels(prefixes, stack, scratch, t, total)
    if is_labelled(prefixes):
        pass  # labels change nothing
    elif t == 0 and not has_known_labels(prefixes):
        _look_up_moves(shapes, changes, prefixes, stack, scratch, s)
    else:
        _measure_moves(prefixes, stack, scratch, t, total)
    if prefixes is not None:
        _measure_links(shapes, prefixes, stack, scratch.potentials, s, t, total)
    if prefixes is not None and is_labelled(prefixes):
        omega = measure_open(prefixes, stack, scratch, s, t, total)
    else:
        omega = _measure_interactions(pairs, prefixes, stack, scratch, size, t)
        if prefixes is not None:
            omega = measure_spread(prefixes, scratch, total)
    longest = _measure_norms(prefixes, stack, scratch, q, t, total)
    square = dot(stack.reference[t], stack.reference[t])
    return NodeSizes(
        open=total,
        mean=stack.reference[t, 0],
        square=square,
        norm=math.sqrt(square + longest + omega * omega),
        length=math.sqrt(longest),
        omega=omega,
    )


@compiled_inline
def _list_open(
    shapes: Shapes, prefixes: Prefixes | None, stack: Stack, scratch: Scratch, s: Index, t: Index
) -> int:
    """Note open variables, the distances between them, and their states; returns how many."""
    p, first, listed = shapes.home[s], 1 if shapes.last_label[s] < 0 else 0, scratch.potentials
    scratch.pairs[:] = 0
    total = 0
    for i in range(shapes.variables[p]):
        if stack.states[i] < 0:
            listed.open[total] = i
            total += 1
    place_pairs(stack, listed, t, total)
    for y in range(total):
        for z in range(y + 1, total):
            i, j = listed.open[y], listed.open[z]
            apart: Index = 0
            if shapes.ends.shape[1] == 0:
                apart = shapes.distance[p, i + first, j + first]
            # The source of a prefix has no label: only an open distance says something.
            if prefixes is not None:
                if i == 0:
                    apart = apart if prefixes.states.options[apart] > 0 else 0
                elif prefixes.scratch.known[i] + prefixes.scratch.known[j] > 0:
                    apart = _code_open_distance(prefixes, apart)
            scratch.apart[i, j] = apart
            if apart > 0:
                scratch.pairs[apart] += 1
    return total


@compiled_inline
def _code_open_distance(prefixes: Prefixes, d: Index) -> Index:
    """The code of distance d if one end's label is known; 0 if d is known too: nothing is open."""
    return d + prefixes.states.known_offset if prefixes.states.options[d] > 0 else 0


@compiled_inline
def _note_labels(prefixes: Prefixes, stack: Stack, scratch: Scratch, t: Index, total: int) -> None:
    """Note which labels open variables can take; none where the label was known before."""
    found, labels = prefixes.scratch, stack.move.shape[2]
    for y in range(total):
        i = scratch.potentials.open[y]
        found.used_label[i] = 0
        for c in range(stack.width[t, i] if found.known[i] == 0 else 0):
            a = prefixes.states.label[stack.domain[t, i, c]]
            if a < labels:
                found.used_label[i, a] = 1


@compiled_inline
def _may_take(prefixes: Prefixes | None, i: Index, a: Index) -> bool:
    """Whether label a of variable i changes something."""
    return True if prefixes is None else bool(prefixes.scratch.used_label[i, a] == 1)


@compiled_inline
def place_pairs(stack: Stack, listed: Potentials, t: Index, total: Index) -> None:
    """Note where the potentials of each two open variables begin."""
    block = 0
    for y in range(total):
        for z in range(y + 1, total):
            i, j = listed.open[y], listed.open[z]
            listed.pair_at[i, j] = block
            block += stack.width[t, i] * stack.width[t, j]


@compiled_inline
def _measure_moves(
    prefixes: Prefixes | None, stack: Stack, scratch: Scratch, t: Index, total: int
) -> None:
    """Products of the moves with p and with each other."""
    labels, listed = stack.move.shape[2], scratch.potentials.open
    for y in range(total):
        i = listed[y]
        for a in range(labels):
            move = stack.move[t, i, a]
            if not _may_take(prefixes, i, a):
                _clear_products(prefixes, scratch, i, a, y, total)
                continue
            scratch.along[i, a] = dot(stack.reference[t], move)
            if prefixes is None:
                scratch.square[i, a] = dot(move, move)
            else:
                first, whole = _dot_parts(move, move, prefixes.states.split)
                scratch.square[i, a], prefixes.scratch.first_square[i, a] = whole, first
            for z in range(y + 1, total):
                j = listed[z]
                for b in range(labels):
                    other = stack.move[t, j, b]
                    if not _may_take(prefixes, j, b):
                        scratch.gram[i, j, a, b] = 0.0
                        if prefixes is not None:
                            prefixes.scratch.first_gram[i, j, a, b] = 0.0
                    elif prefixes is None:
                        scratch.gram[i, j, a, b] = dot(move, other)
                    else:
                        first, whole = _dot_parts(move, other, prefixes.states.split)
                        scratch.gram[i, j, a, b] = whole
                        prefixes.scratch.first_gram[i, j, a, b] = first


@compiled_inline
def _clear_products(
    prefixes: Prefixes | None, scratch: Scratch, i: Index, a: Index, y: Index, total: int
) -> None:
    """The products of a label that changes nothing."""
    scratch.along[i, a] = scratch.square[i, a] = 0.0
    if prefixes is not None:
        prefixes.scratch.first_square[i, a] = 0.0
        for z in range(y + 1, total):
            j = scratch.potentials.open[z]
            scratch.gram[i, j, a] = 0.0
            prefixes.scratch.first_gram[i, j, a] = 0.0


@compiled_inline
def _dot_parts(a: Floats, b: Floats, split: Index) -> tuple[float, float]:
    """The product of the first parts of the vectors of two columns, and of all of them."""
    first = rest = 0.0
    for x in range(1, split + 1):
        first += a[x] * b[x]
    for x in range(split + 1, len(a)):
        rest += a[x] * b[x]
    return first, first + rest


@compiled_inline
def _look_up_moves(
    shapes: Shapes,
    changes: Changes,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    s: Index,
) -> None:
    """Products of the moves while every variable is open: they are known by change classes."""
    p, labels = shapes.home[s], stack.move.shape[2]
    for i in range(shapes.variables[p]):
        k = shapes.change_class[p, i]
        for a in range(labels):
            scratch.along[i, a] = dot(stack.reference[0], changes.move[k, a])
            scratch.square[i, a] = changes.square[k, a]
            stack.move[0, i, a, 0] = changes.move[k, a, 0]
            if prefixes is not None:
                prefixes.scratch.first_square[i, a] = prefixes.states.first_square[k, a]
        for j in range(i + 1, shapes.variables[p]):
            c = shapes.class_pair[p, i, j]
            for a in range(labels):
                for b in range(labels):
                    scratch.gram[i, j, a, b] = changes.gram[c, a, b]
                    if prefixes is not None:
                        found = prefixes.scratch
                        found.first_gram[i, j, a, b] = prefixes.states.first_gram[c, a, b]


@compiled_inline
def _measure_links(
    shapes: Shapes,
    prefixes: Prefixes,
    stack: Stack,
    listed: Potentials,
    s: Index,
    t: Index,
    total: int,
) -> None:
    """Products of the vectors of states with p, and of their links with the moves."""
    states, found = prefixes.states, prefixes.scratch
    p, q = shapes.home[s], shapes.last_label[s]
    known = t == 0 and not has_known_labels(prefixes)
    found.used[:] = 0
    found.used_link[:] = 0
    for y in range(total):
        i = listed.open[y]
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            found.used[x] = 1
            found.used_link[states.link[x, 0]] = 1
            found.used_link[states.link[x, 1]] = 1
    for f in range(len(found.used_link)):
        if found.used_link[f] == 0:
            continue
        link, product = states.link_vector[q, f], 0.0
        for e in range(len(link)):
            product += stack.reference[t, 1 + e] * link[e]
        found.link_along[f] = product
        for y in range(0 if is_labelled(prefixes) else total):
            i = listed.open[y]
            for a in range(stack.move.shape[2]):
                if known:  # every variable is open: known by change classes
                    products = states.link_gram[:, q, shapes.change_class[p, i], a, f]
                    product, first = products[0], products[1]
                elif found.used_label[i, a] == 0:
                    product = first = 0.0
                else:
                    first = rest = 0.0
                    for e in range(states.split):
                        first += stack.move[t, i, a, 1 + e] * link[e]
                    for e in range(states.split, len(link)):
                        rest += stack.move[t, i, a, 1 + e] * link[e]
                    product = first + rest
                found.link_gram[0, i, a, f] = product
                found.link_gram[1, i, a, f] = first
    for x in range(len(found.used)):
        if found.used[x] == 1:
            first, second = states.link[x, 0], states.link[x, 1]
            found.along[x] = found.link_along[first] + found.link_along[second]


@compiled_inline
def _measure_interactions(
    pairs: PairTables,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    size: Index,
    t: Index,
) -> float:
    """Products of the interactions with p; returns ω, a bound on the norm of their sum."""
    labels, column = stack.move.shape[2], stack.reference[t]
    square = 0.0
    for d in range(1, len(scratch.pairs)):
        if scratch.pairs[d] == 0:
            continue
        for e in range(1, len(scratch.pairs)):
            square += scratch.pairs[d] * scratch.pairs[e] * pairs.both_gram[size, d, e]
        for a in range(labels):
            for b in range(labels):
                scratch.both_along[d, a, b] = dot(column, pairs.both[size, d, a, b])
                if prefixes is not None:
                    option, options = prefixes.states.option, prefixes.states.options
                    code = d - (len(options) - len(option))
                    for e in range(options[d]):
                        product = dot(column, option[code, a, b, e])
                        prefixes.scratch.option_along[code, a, b, e] = product
    return math.sqrt(square)


@compiled_inline
def _measure_norms(
    prefixes: Prefixes | None, stack: Stack, scratch: Scratch, q: Index, t: Index, total: int
) -> float:
    """‖p_i(x)‖² of every state; returns Σ_i max_x ‖p_i(x)‖²."""
    labels = stack.move.shape[2]
    longest = longest_first = longest_second = 0.0
    for y in range(total):
        i = scratch.potentials.open[y]
        largest = largest_first = largest_second = 0.0
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            label = x if prefixes is None else prefixes.states.label[x]
            length = scratch.square[i, label] if label < labels else 0.0
            if prefixes is not None:
                states, found = prefixes.states, prefixes.scratch
                length += states.gram[0, q, x, x]
                first = found.first_square[i, label] if label < labels else 0.0
                first += states.gram[1, q, x, x]
                if label < labels:
                    for f in range(2):
                        length += 2 * found.link_gram[0, i, label, states.link[x, f]]
                        first += 2 * found.link_gram[1, i, label, states.link[x, f]]
                found.first_norm[i, c] = first
                largest_first = max(largest_first, first)
                largest_second = max(largest_second, length - first)
            scratch.norm[i, c] = length
            largest = max(largest, length)
        longest += largest
        longest_first += largest_first
        longest_second += largest_second
    if prefixes is not None:
        prefixes.scratch.parts[FIRST_LENGTH] = math.sqrt(longest_first)
        prefixes.scratch.parts[SECOND_LENGTH] = math.sqrt(longest_second)
    return longest
