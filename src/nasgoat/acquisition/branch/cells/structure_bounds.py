"""Bounds of all structures at once: Lemmas 2 and 3, many structures side by side.

Notation (docs/branch-and-bound.md, "All structures at once")
    S, V, L  structures of one size, their variables, labels;  C  change classes
    F        features of the reference graphs, whose labels are all "*": pairs of nodes, and edges
    h        (S, F) how often a structure has each of them, so that m = Σ h_f m_f, p = Σ h_f p_f
    c, ε     1 / 2c = ρ and 1 + ε of Lemma 2

While every variable is open, everything about a structure is a product of h, which depends on the
space alone, with tables of the posterior: no vector of the features has to be added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import Group
from nasgoat.acquisition.branch.cells.records import Changes, PairTables, Shapes, Tables
from nasgoat.acquisition.branch.message_passing import make_sweep
from nasgoat.acquisition.branch.records import Floats, Integers, Potentials, make_potentials
from nasgoat.compiled import MACHINE_CODE, compiled, compiled_inline
from nasgoat.compiled_records import record

_LANES = 16 if MACHINE_CODE else 1  # structures side by side
_TINY = 1e-150
#: Of the size of all that is added up: products of h have more terms than sums of vectors.
_ROUNDING = 256 * 2.0**-52
_sweep = make_sweep(_LANES)


class Multipliers(NamedTuple):
    """Prices λ of labels and a factor of c (Lemma 2) for each structure; any choice is valid."""

    prices: Floats  # (S, L) that are added to the value for each node with the label
    stretch: Floats  # (S,) factor of c


@record
class _Structures(NamedTuple):
    """A group as the compiled code sees it."""

    rows: Integers  # (S,) places among the shapes
    h: Floats  # (S, F)
    change_class: Integers  # of all shapes
    class_pair: NDArray[np.int32]  # of all shapes
    apart: NDArray[np.int8]  # (S, V, V)
    square: Floats  # (S,) ‖p‖² of the reference graph
    omega: Floats  # (S,)
    rounding: Floats  # (S,) error of ‖p‖² and of all products with p, at most
    prices: Floats  # (S, L)
    stretch: Floats  # (S,)


@record
class _ClassTables(NamedTuple):
    """Mean parts of changes and interactions, and products of their vectors."""

    along: Floats  # (C, L, F) p_f · p_i(l)
    square: Floats  # (C, L) ‖p_i(l)‖²
    mean: Floats  # (C, L)
    gram: Floats  # (class pairs, L, L)
    both_mean: Floats  # (n, L, L)
    both_along: Floats  # (S, n, L, L) p · p_ij(l, l') of every structure


def bound_structures(
    tables: Tables,
    shapes: Shapes,
    changes: Changes,
    group: Group,
    multipliers: Multipliers | None = None,
    sweeps: int = 2,
) -> Floats:
    """A lower bound on the graphs of every structure of the group (Lemmas 2 and 3).

    With ``multipliers`` it holds for the values of graphs plus the prices of their labels.
    """
    (total, variables), labels = group.apart.shape[:2], changes.move.shape[1]
    if multipliers is None:
        multipliers = Multipliers(prices=np.zeros((total, labels)), stretch=np.ones(total))
    pairs, width = tables.pairs, tables.edge.shape[-1]
    features = np.concatenate(
        [
            pairs.path[group.size].reshape(-1, width),
            tables.edge[group.size, :, :, -1].reshape(-1, width),
            tables.codes,
        ]
    )[group.feature]
    means = features[:, 0].copy()
    features[:, 0] = 0.0  # so that products of columns are those of vectors
    structures = _add_up(pairs, shapes, changes, group, features, multipliers)
    classes = _multiply(pairs, changes, group, features)
    found: Floats = structures.h @ means
    potentials, message = _make_lanes(variables, labels)
    states = np.full(variables, labels, dtype=np.int64)
    _bound(structures, classes, potentials, message, states, sweeps, found)
    return found


def add_codes(tables: Tables, group: Group, codes: NDArray[np.uint8]) -> Group:
    """The group with the codes of its structures among its features; ``codes`` are of all."""
    first = tables.pairs.path[0, ..., 0].size + tables.edge[0, :, :, -1, 0].size
    return group._replace(
        feature=np.append(group.feature, np.arange(first, first + codes.shape[1])),
        times=np.hstack([group.times, codes[group.rows].astype(np.int8)]),
    )


def _add_up(
    pairs: PairTables,
    shapes: Shapes,
    changes: Changes,
    group: Group,
    vector: Floats,
    multipliers: Multipliers,
) -> _Structures:
    """What Lemma 2 asks of each reference graph; ``vector`` holds 0 and p_f, (F, 1 + r)."""
    h, apart = group.times.astype(float), group.pairs.astype(float)
    known = slice(1, 1 + apart.shape[1])
    products = pairs.both_gram[group.size, known, known]
    whole = h @ np.sqrt(np.einsum("fr,fr->f", vector, vector))
    lengths = apart @ np.sqrt(np.diag(products))
    lengths += group.apart.shape[1] * np.sqrt(changes.square.max(initial=0.0))
    return _Structures(
        rows=group.rows,
        h=h,
        change_class=shapes.change_class,
        class_pair=shapes.class_pair,
        apart=group.apart,
        square=np.maximum(np.einsum("sf,sf->s", h @ (vector @ vector.T), h), 0.0),
        omega=np.sqrt(np.einsum("sd,sd->s", apart @ products, apart)),
        rounding=_ROUNDING * whole * (whole + lengths),
        prices=multipliers.prices,
        stretch=multipliers.stretch,
    )


def _multiply(pairs: PairTables, changes: Changes, group: Group, vector: Floats) -> _ClassTables:
    """Products of changes and interactions with the features of the reference graphs."""
    total, width = len(group.rows), vector.shape[1]
    labels = changes.move.shape[1]
    both = np.zeros((total, 0, labels, labels))
    if pairs.both.shape[2]:
        most = int(group.apart.max(initial=0)) + 1
        both = group.times.astype(float) @ (
            vector @ pairs.both[group.size, :most].reshape(-1, width).T
        )
        both = both.reshape(total, most, labels, labels)
    along = changes.move.reshape(-1, width) @ vector.T
    return _ClassTables(
        along=along.reshape(*changes.square.shape, len(vector)),
        square=changes.square,
        mean=np.ascontiguousarray(changes.move[..., 0]),
        gram=changes.gram,
        both_mean=np.ascontiguousarray(pairs.both[group.size, ..., 0]),
        both_along=both,
    )


def _make_lanes(variables: int, labels: int) -> tuple[Potentials, Floats]:
    """Scratch for structures side by side, all of them with these variables and labels."""
    potentials = make_potentials(variables, labels, _LANES)
    i, j = np.ogrid[:variables, :variables]
    number = i * (2 * variables - i - 1) // 2 + j - i - 1  # of a pair i < j, row by row
    potentials.pair_at[:] = number * labels * labels * _LANES
    return potentials, np.zeros((variables, variables, labels * _LANES))


@compiled_inline
def _choose_factors(
    structures: _Structures, classes: _ClassTables, s: int
) -> tuple[float, float, float]:
    """ρ and 1 + ε of a structure, and what its bound loses to the norm (Lemma 2)."""
    variables, labels = structures.apart.shape[1], classes.mean.shape[1]
    longest = 0.0
    for i in range(variables):
        k = structures.change_class[structures.rows[s], i]
        largest = 0.0
        for a in range(labels):
            largest = max(largest, classes.square[k, a])
        longest += largest
    # As in ``bound_completions``: c is the norm if all changes are as long as they can be.
    square, omega = structures.square[s], structures.omega[s]
    c, length = math.sqrt(square + longest + omega * omega) + _TINY, math.sqrt(longest) + _TINY
    c *= structures.stretch[s]
    rest = square + structures.rounding[s] + c * c + omega * omega + omega * length
    return 0.5 / c, 1.0 + omega / length, rest / (2 * c)


@compiled_inline
def _fill_lane(
    structures: _Structures,
    classes: _ClassTables,
    potentials: Potentials,
    s: int,
    lane: int,
    rho: float,
    wide: float,
) -> None:
    """The potentials of structure s."""
    place, h = structures.rows[s], structures.h[s]
    variables, labels = structures.apart.shape[1], classes.mean.shape[1]
    for i in range(variables):
        k = structures.change_class[place, i]
        for a in range(labels):
            along = classes.along[k, a]
            product = 0.0
            for f in range(len(h)):
                product += h[f] * along[f]
            spread = 2 * product + wide * classes.square[k, a]
            mean = classes.mean[k, a] + structures.prices[s, a]
            potentials.unary[i, a * _LANES + lane] = mean - rho * spread
        for j in range(i + 1, variables):
            c, d = structures.class_pair[place, i, j], structures.apart[s, i, j]
            at = potentials.pair_at[i, j] + lane
            for a in range(labels):
                for b in range(labels):
                    value = -2 * rho * wide * classes.gram[c, a, b]
                    if d > 0:
                        value += classes.both_mean[d, a, b]
                        value -= 2 * rho * classes.both_along[s, d, a, b]
                    potentials.pair[at] = value
                    at += _LANES


@compiled
def _bound(
    structures: _Structures,
    classes: _ClassTables,
    potentials: Potentials,
    message: Floats,
    width: Integers,
    sweeps: int,
    found: Floats,
) -> None:
    """Turn the mean part of every reference graph in ``found`` into a bound."""
    total = len(found)
    for start in range(0, total, _LANES):
        for lane in range(_LANES):
            s = min(start + lane, total - 1)
            rho, wide, rest = _choose_factors(structures, classes, s)
            _fill_lane(structures, classes, potentials, s, lane, rho, wide)
            if start + lane < total:
                found[s] -= rest
        message[:] = 0.0
        for sweep in range(sweeps):
            _sweep(potentials, message, width, len(width), sweep % 2 == 0)
        for lane in range(min(_LANES, total - start)):
            found[start + lane] += potentials.bound[lane]
