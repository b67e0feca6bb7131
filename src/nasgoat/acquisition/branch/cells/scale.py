"""The c of Lemma 2 and what its ε are chosen by: lengths at the states that look best, compiled."""

from __future__ import annotations

import math

import numpy as np

from nasgoat.acquisition.branch.cells.records import (
    FIRST_OMEGA,
    SECOND_OMEGA,
    USUAL_OMEGA,
    Prefixes,
    Problem,
    Scratch,
    Stack,
)
from nasgoat.acquisition.branch.cells.reference import is_labelled
from nasgoat.acquisition.branch.cells.spread import add_up_open
from nasgoat.acquisition.branch.records import RHO, Index, Sizes
from nasgoat.compiled import inner


@inner
def _add_up_pairs(
    stack: Stack,
    prefixes: Prefixes | None,
    scratch: Scratch,
    y: Index,
    total: Index,
    q: Index,
    t: Index,
) -> tuple[float, float, float]:
    """Σ_j p_i(x)·p_j(y), that of first parts, and Σ_j p·p_ij over later variables j.

    They are in the states that were noted.
    """
    labels, i = stack.move.shape[2], scratch.potentials.open[y]
    x = stack.domain[t, i, scratch.choice[i]]
    a = x if prefixes is None else prefixes.states.label[x]
    product = first = across = 0.0
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
            product += states.gram[0, q, x, other]
            first += states.gram[1, q, x, other]
            if a < labels and b < labels:
                first += prefixes.scratch.first_gram[i, j, a, b]
            for f in range(2):
                if a < labels:
                    product += gram[0, i, a, states.link[other, f]]
                    first += gram[1, i, a, states.link[other, f]]
                if b < labels:
                    product += gram[0, j, b, states.link[x, f]]
                    first += gram[1, j, b, states.link[x, f]]
    return product, first, across


@inner
def _add_up_spread(
    prefixes: Prefixes, stack: Stack, scratch: Scratch, total: Index, t: Index, part: Index
) -> float:
    """Ω of one part at the states that were noted."""
    found, listed, labels = prefixes.scratch, scratch.potentials.open, stack.move.shape[2]
    square = 0.0
    for y in range(total):
        i = listed[y]
        a = prefixes.states.label[stack.domain[t, i, scratch.choice[i]]]
        if a == labels:
            continue
        square += found.own_spread[part, i, a]
        for z in range(y + 1, total):
            j = listed[z]
            b = prefixes.states.label[stack.domain[t, j, scratch.choice[j]]]
            square += found.spread[part, i, j, a, b]
    return square


@inner
def rescale(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    sizes: Sizes,
    s: Index,
    t: Index,
) -> None:
    """The c and ‖U‖ of the noted states: what the next bound is taken around."""
    labels, q = stack.move.shape[2], problem.shapes.last_label[s]
    cross = own = own_first = 0.0
    for y in range(sizes.open):
        i = scratch.potentials.open[y]
        x = stack.domain[t, i, scratch.choice[i]]
        a = x if prefixes is None else prefixes.states.label[x]
        cross += 2 * scratch.along[i, a] if a < labels else 0.0
        if prefixes is not None:
            cross += 2 * prefixes.scratch.along[x]
        product, first, across = _add_up_pairs(stack, prefixes, scratch, y, sizes.open, q, t)
        own += scratch.norm[i, scratch.choice[i]] + 2 * product
        cross += 2 * across
        if prefixes is not None:
            own_first += prefixes.scratch.first_norm[i, scratch.choice[i]] + 2 * first
    length = math.sqrt(max(own, 0.0))
    stack.scale[t, 1] = length
    widened = (length + sizes.omega) ** 2
    if prefixes is not None:
        parts = prefixes.scratch.parts
        stack.scale[t, 1] = math.sqrt(max(own - own_first, 0.0))
        stack.scale[t, 2] = math.sqrt(max(own_first, 0.0))
        widened, spread = own, (0.0, 0.0)
        if is_labelled(prefixes):
            rho = scratch.factor[RHO]
            along, first, second = add_up_open(prefixes, stack, scratch, s, t, sizes.open, rho)
            cross, spread = cross + 2 * along, (first, second)
        else:
            first = _add_up_spread(prefixes, stack, scratch, sizes.open, t, np.int64(0))
            second = _add_up_spread(prefixes, stack, scratch, sizes.open, t, np.int64(1))
            spread = (first, second)
        for part in range(2):
            omega = math.sqrt(max(spread[part], 0.0))
            widened += omega * (omega + 2 * stack.scale[t, 2 - part])
            most = parts[FIRST_OMEGA if part == 0 else SECOND_OMEGA]
            stack.scale[t, 3 + part] = omega / most if most > 0.0 else USUAL_OMEGA
    stack.scale[t, 0] = math.sqrt(max(sizes.square + cross + widened, 0.0))
