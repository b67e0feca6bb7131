"""Bounds of all structures at once: the first of Lemma 2 and Lemma 3, several structures in step.

Notation (docs/branch-and-bound.md)
    S, V, L  structures of one size, their variables, labels;  K  kinds of variables
    F        features of the reference graph, whose labels are all "*": pairs of nodes and edges
    h        (S, F) how often a structure has each of them, so that m = Σ h_f m_f, p = Σ h_f p_f
    c, ε     1 / 2c = ρ and 1 + ε of Lemma 2

While every variable is open, everything about a structure is a product of h with tables of the
posterior, and no vector of the features has to be added up. The sweeps run over ``_LANES``
structures in step, which is what vector units are good at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers, Kinds, Shapes, Tables
from nasgoat.acquisition.branch.groups import Group
from nasgoat.compiled import MACHINE_CODE, compiled, inner

_LANES = 16 if MACHINE_CODE else 1  # structures in step
_TINY = 1e-150
#: Of the size of all that is added up: products of h have more terms than sums of vectors.
_ROUNDING = 256 * 2.0**-52


class Free(NamedTuple):
    """What a bound holds for, whatever it is, and may be chosen for each structure."""

    prices: Floats  # (S, L) that are added to the value for each node with the label
    stretch: Floats  # (S,) factor of c


class _Structures(NamedTuple):
    """A group as the compiled code sees it."""

    rows: Integers  # (S,) places among the shapes
    h: Floats  # (S, F)
    kind: Integers  # of all shapes
    couple: NDArray[np.int32]  # of all shapes
    apart: NDArray[np.int8]  # (S, V, V)
    square: Floats  # (S,) ‖p‖² of the reference graph
    omega: Floats  # (S,)
    rounding: Floats  # (S,) error of ‖p‖² and of all products with p, at most
    free: Free


class _Products(NamedTuple):
    """Mean parts of changes and interactions, and products of their vectors."""

    along: Floats  # (K, L, F) p_f · p_i(l)
    square: Floats  # (K, L) ‖p_i(l)‖²
    mean: Floats  # (K, L)
    gram: Floats  # (couples, L, L)
    both_mean: Floats  # (n, L, L)
    both_along: Floats  # (S, n, L, L) p · p_ij(l, l') of every structure


class _Scratch(NamedTuple):
    """Potentials and messages of the structures in step."""

    unary: Floats  # (V, L, lanes)
    pair: Floats  # (V, V, L, L, lanes)
    message: Floats  # (V, V, L, lanes)
    belief: Floats  # (L, lanes) of the variable that is visited
    given: Floats  # (L, lanes) what it hands to a pair
    bound: Floats  # (lanes,)


def quick_bounds(
    tables: Tables,
    shapes: Shapes,
    kinds: Kinds,
    group: Group,
    free: Free | None = None,
    sweeps: int = 2,
) -> Floats:
    """A lower bound on the graphs of every structure of the group, prices added to their values."""
    r, size, labels = tables.path_vector.shape[-1], group.size, kinds.mean.shape[1]
    total, variables = group.apart.shape[:2]
    free = free or Free(np.zeros((total, labels)), np.ones(total))
    paths = tables.path_vector[size].reshape(-1, r)
    vector = np.concatenate([paths, tables.edge_vector[:, :, -1].reshape(-1, r)])[group.feature]
    means = np.append(tables.path_mean[size], tables.edge_mean[:, :, -1])[group.feature]
    h, pairs = group.times.astype(float), group.pairs.astype(float)
    square = np.maximum(np.einsum("sf,sf->s", h @ (vector @ vector.T), h), 0.0)
    known = slice(1, 1 + pairs.shape[1])
    products = tables.both_gram[size, known, known]
    omega = np.sqrt(np.einsum("sd,sd->s", pairs @ products, pairs))
    whole = h @ np.sqrt(np.einsum("fr,fr->f", vector, vector))
    changes = pairs @ np.sqrt(np.diag(products))
    changes += variables * np.sqrt(kinds.square.max(initial=0.0))
    rounding = _ROUNDING * whole * (whole + changes)
    along = (kinds.vector.reshape(-1, r) @ vector.T).reshape(*kinds.mean.shape, -1)
    both = np.zeros((total, 0, labels, labels))
    if tables.both_vector.shape[2]:
        most = int(group.apart.max(initial=0)) + 1
        both = h @ (vector @ tables.both_vector[size, :most].reshape(-1, r).T)
        both = both.reshape(total, most, labels, labels)
    found: Floats = h @ means
    _bounds(
        _Structures(
            group.rows, h, shapes.kind, shapes.couple, group.apart, square, omega, rounding, free
        ),
        _Products(along, kinds.square, kinds.mean, kinds.gram, tables.both_mean[size], both),
        _scratch(variables, labels),
        sweeps,
        found,
    )
    return found


def _scratch(variables: int, labels: int) -> _Scratch:
    return _Scratch(
        np.empty((variables, labels, _LANES)),
        np.empty((variables, variables, labels, labels, _LANES)),
        np.empty((variables, variables, labels, _LANES)),
        np.empty((labels, _LANES)),
        np.empty((labels, _LANES)),
        np.empty(_LANES),
    )


@inner
def _factors(structures: _Structures, products: _Products, s: int) -> tuple[float, float, float]:
    """ρ and 1 + ε of a structure, and what its bound loses to the norm."""
    variables, labels = structures.apart.shape[1], products.mean.shape[1]
    longest = 0.0
    for i in range(variables):
        k = structures.kind[structures.rows[s], i]
        largest = 0.0
        for a in range(labels):
            largest = max(largest, products.square[k, a])
        longest += largest
    # As in ``linear_bound``: c is the norm if all changes are as long as they can be.
    square, omega = structures.square[s], structures.omega[s]
    c, length = math.sqrt(square + longest + omega * omega) + _TINY, math.sqrt(longest) + _TINY
    c *= structures.free.stretch[s]
    rest = square + structures.rounding[s] + c * c + omega * omega + omega * length
    return 0.5 / c, 1.0 + omega / length, rest / (2 * c)


@inner
def _fill(
    structures: _Structures,
    products: _Products,
    scratch: _Scratch,
    s: int,
    lane: int,
    rho: float,
    wide: float,
) -> None:
    """The potentials of structure s."""
    place, h = structures.rows[s], structures.h
    variables, labels, _ = scratch.unary.shape
    for i in range(variables):
        k = structures.kind[place, i]
        for a in range(labels):
            product = 0.0
            for f in range(h.shape[1]):
                product += h[s, f] * products.along[k, a, f]
            spread = 2 * product + wide * products.square[k, a]
            mean = products.mean[k, a] + structures.free.prices[s, a]
            scratch.unary[i, a, lane] = mean - rho * spread
        for j in range(i + 1, variables):
            c, d = structures.couple[place, i, j], structures.apart[s, i, j]
            for a in range(labels):
                for b in range(labels):
                    scratch.pair[i, j, a, b, lane] = -2 * rho * wide * products.gram[c, a, b]
            for a in range(labels if d > 0 else 0):
                for b in range(labels):
                    value = products.both_mean[d, a, b] - 2 * rho * products.both_along[s, d, a, b]
                    scratch.pair[i, j, a, b, lane] += value


@inner
def _visit(scratch: _Scratch, i: int, kept: float) -> None:
    """The belief of variable i; what it keeps of it is added to the bound."""
    variables, labels, _ = scratch.unary.shape
    belief = scratch.belief
    for a in range(labels):
        for x in range(_LANES):
            belief[a, x] = scratch.unary[i, a, x]
        for j in range(variables):
            if j != i:
                for x in range(_LANES):
                    belief[a, x] += scratch.message[j, i, a, x]
    for x in range(_LANES):
        least = belief[0, x]
        for a in range(1, labels):
            least = belief[a, x] if belief[a, x] < least else least
        scratch.bound[x] += kept * least


@inner
def _sweep(scratch: _Scratch, forward: bool) -> None:
    """One sweep of Lemma 3 over all variables, and the bound that it proves."""
    variables, labels, _ = scratch.unary.shape
    message, belief, given = scratch.message, scratch.belief, scratch.given
    scratch.bound[:] = 0.0
    for step in range(variables):
        i, ahead = step if forward else variables - 1 - step, variables - 1 - step
        share = 1.0 / max(ahead, step, 1)
        _visit(scratch, i, 1.0 - share * ahead)
        for j in range(i + 1 if forward else 0, variables if forward else i):
            for a in range(labels):
                for x in range(_LANES):
                    given[a, x] = share * belief[a, x] - message[j, i, a, x]
            for b in range(labels):
                for a in range(labels):
                    block = scratch.pair[i, j, a, b] if forward else scratch.pair[j, i, b, a]
                    for x in range(_LANES):
                        value, old = given[a, x] + block[x], message[i, j, b, x]
                        message[i, j, b, x] = value if a == 0 or value < old else old


@compiled
def _bounds(
    structures: _Structures, products: _Products, scratch: _Scratch, sweeps: int, found: Floats
) -> None:
    """Turn the mean part of every reference graph in ``found`` into a bound."""
    total = len(found)
    for start in range(0, total, _LANES):
        for lane in range(_LANES):
            s = min(start + lane, total - 1)
            rho, wide, rest = _factors(structures, products, s)
            _fill(structures, products, scratch, s, lane, rho, wide)
            if start + lane < total:
                found[s] -= rest
        scratch.message[:] = 0.0
        for sweep in range(sweeps):
            _sweep(scratch, sweep % 2 == 0)
        for lane in range(min(_LANES, total - start)):
            found[start + lane] += scratch.bound[lane]
