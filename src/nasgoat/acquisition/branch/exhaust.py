"""Every labelling of a structure under the exponential kernel, compiled.

k(x) is a product over the features of x, so a label multiplies the vector of its prefix; k_lin with
itself is Σ_f λ_f z_f², so a feature adds λ_f (2 z_f + 1). The variance explained by the first
observations alone is a lower bound on what all of them explain, so most graphs are dismissed after
a few rows of L⁻¹ k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Index, Limits, Shapes
from nasgoat.compiled import compiled, inner

DONE, FOUND, PAUSED = 0, 1, 2  # how a call ends
_EPSILON = 1e-9  # as in ``domains``
POSITION, DEPTH, NODES = 0, 1, 2  # places in Labelling.place


class Model(NamedTuple):
    """The posterior of the exponential kernel."""

    dual: Floats  # (m,) a = K⁻¹ y
    whitening: Floats  # (m, m) L⁻¹
    settings: Floats  # (2,) σ_k² and √β


class Factors(NamedTuple):
    """Features as factors of the kernel vector."""

    path: Floats  # (sizes, n, labels, labels, m) exp of what a pair adds to k_lin(x, X)
    path_column: NDArray[np.int64]  # (n, labels, labels) place among the counts
    edge: Floats  # (n, n, L, m)
    edge_column: NDArray[np.int64]  # (n, n, L)
    square: Floats  # (sizes, columns) λ_f


class Labelling(NamedTuple):
    """The state of the enumeration; row t belongs to the first t variables."""

    kernel: Floats  # (V + 1, m)
    single: Floats  # (V, L, m) factor of all features of one variable's label alone
    own: Floats  # (V + 1,) k_lin with itself
    counts: NDArray[np.int16]  # (V + 1, columns)
    spent: Floats  # (V + 1, K) what the limits have used up
    least: Floats  # (K,) the smallest cost of a label
    labels: NDArray[np.int64]  # (V,)
    place: NDArray[np.int64]  # (3,)


def new_labelling(variables: int, labels: int, m: int, columns: int, limits: Limits) -> Labelling:
    """An empty state for that many variables, labels, observations and count columns."""
    depth = variables + 1
    return Labelling(
        np.zeros((depth, m)),
        np.zeros((variables, labels, m)),
        np.zeros(depth),
        np.zeros((depth, columns), dtype=np.int16),
        np.zeros((depth, len(limits.cap))),
        limits.state.min(axis=1, initial=np.inf) if limits.state.shape[1] else limits.cap * 0.0,
        np.full(variables, -1, dtype=np.int64),
        np.array([0, -1, 0], dtype=np.int64),
    )


@inner
def _count(factors: Factors, state: Labelling, t: int, size: int, column: int) -> None:
    """One more feature in row t: k_lin with itself."""
    state.own[t] += factors.square[size, column] * (2 * state.counts[t, column] + 1)
    state.counts[t, column] += 1


@inner
def _add_pair(
    factors: Factors, state: Labelling, t: int, size: int, d: int, a: int, b: int
) -> None:
    for j in range(state.kernel.shape[1]):
        state.kernel[t, j] *= factors.path[size, d, a, b, j]
    _count(factors, state, t, size, factors.path_column[d, a, b])


@inner
def _begin(factors: Factors, model: Model, shapes: Shapes, state: Labelling, s: int) -> None:
    """Row 0: everything that does not depend on labels; then the factors of single labels."""
    size, n, d = shapes.size[s], shapes.nodes[s], shapes.distance[s]
    m = state.kernel.shape[1]
    for j in range(m):
        state.kernel[0, j] = model.settings[0]
    state.own[0] = 0.0
    for j in range(state.counts.shape[1]):
        state.counts[0, j] = 0
    for i in range(len(state.labels)):
        state.labels[i] = -1
    if shapes.ends.shape[1] == 0:
        out = factors.path.shape[2] - 1
        _add_pair(factors, state, 0, size, 0, 0, 0)
        _add_pair(factors, state, 0, size, 0, out, out)
        _add_pair(factors, state, 0, size, d[0, n - 1], 0, out)
        for i in range(n - 2):
            for k in range(state.single.shape[1]):
                for j in range(m):
                    state.single[i, k, j] = (
                        factors.path[size, 0, k + 1, k + 1, j]
                        * factors.path[size, d[0, i + 1], 0, k + 1, j]
                        * factors.path[size, d[i + 1, n - 1], k + 1, out, j]
                    )
        return
    for u in range(n):
        _add_pair(factors, state, 0, size, 0, u, u)
        for v in range(u + 1, n):
            if d[u, v] > 0:
                _add_pair(factors, state, 0, size, d[u, v], u, v)
    for i in range(shapes.variables[s]):
        u, v = shapes.ends[s, i, 0], shapes.ends[s, i, 1]
        for k in range(state.single.shape[1]):
            for j in range(m):
                state.single[i, k, j] = factors.edge[u, v, k, j]


@inner
def _extend(factors: Factors, shapes: Shapes, state: Labelling, s: int, t: int, k: int) -> None:
    """Row t + 1: variable t takes label k."""
    size, n = shapes.size[s], shapes.nodes[s]
    before, after, single = state.kernel[t], state.kernel[t + 1], state.single[t, k]
    for j in range(len(after)):
        after[j] = before[j] * single[j]
    state.own[t + 1] = state.own[t]
    for c in range(state.counts.shape[1]):
        state.counts[t + 1, c] = state.counts[t, c]
    if shapes.ends.shape[1] > 0:
        u, v = shapes.ends[s, t, 0], shapes.ends[s, t, 1]
        _count(factors, state, t + 1, size, factors.edge_column[u, v, k])
        return
    d, out = shapes.distance[s], factors.path.shape[2] - 1
    _count(factors, state, t + 1, size, factors.path_column[0, k + 1, k + 1])
    _count(factors, state, t + 1, size, factors.path_column[d[0, t + 1], 0, k + 1])
    _count(factors, state, t + 1, size, factors.path_column[d[t + 1, n - 1], k + 1, out])
    for u in range(1, t + 1):
        if d[u, t + 1] > 0:
            _add_pair(factors, state, t + 1, size, d[u, t + 1], state.labels[u - 1] + 1, k + 1)


@inner
def _value(model: Model, state: Labelling, t: int, best: float) -> float:
    """The value of the complete row t; inf if it is not below ``best``."""
    kernel, sqrt_beta = state.kernel[t], model.settings[1]
    mean = 0.0
    for j in range(len(kernel)):
        mean += model.dual[j] * kernel[j]
    left = model.settings[0] * math.exp(state.own[t])
    for j in range(len(kernel)):
        # mean - √β √left ≥ best, without the root
        slack = mean - best
        if slack >= 0.0 and slack * slack >= sqrt_beta * sqrt_beta * left:
            return np.inf
        row = model.whitening[j]
        u = 0.0
        for x in range(j + 1):
            u += row[x] * kernel[x]
        left -= u * u
    value: float = mean - sqrt_beta * math.sqrt(max(left, 0.0))
    return value


@inner
def _affordable(
    shapes: Shapes, limits: Limits, state: Labelling, s: Index, t: Index, k: Index
) -> bool:
    """Whether the first t variables leave enough for the others; label k was the last."""
    for row in range(len(limits.cap)):
        if t == 0:
            state.spent[0, row] = limits.shape[row, s]
        else:
            state.spent[t, row] = state.spent[t - 1, row] + limits.state[row, k]
        needed = (shapes.variables[s] - t) * state.least[row]
        if state.spent[t, row] + needed > limits.cap[row] + _EPSILON:
            return False
    return True


@inner
def _next_label(shapes: Shapes, state: Labelling, s: int, t: int) -> int:
    """The label that variable t takes next: twins in ascending order."""
    if state.labels[t] >= 0:
        return int(state.labels[t] + 1)
    for u in range(t - 1, -1, -1):
        if shapes.twin[s, u] == shapes.twin[s, t]:
            return int(state.labels[u])
    return 0


@compiled
def exhaust(
    factors: Factors,
    model: Model,
    shapes: Shapes,
    limits: Limits,
    state: Labelling,
    labels: int,
    order: NDArray[np.int64],
    roots: Floats,
    best: float,
    margin: float,
    pause: int,
) -> tuple[int, float]:
    """Go on until a graph better than ``best`` is found, nodes are used up, or all is done."""
    place = state.place
    stop = place[NODES] + pause
    while place[NODES] < stop:
        place[NODES] += 1
        if place[DEPTH] < 0:
            if place[POSITION] >= len(order) or roots[order[place[POSITION]]] >= best + margin:
                return DONE, 0.0
            s = order[place[POSITION]]
            if not _affordable(shapes, limits, state, s, np.int64(0), np.int64(0)):
                place[POSITION] += 1
                continue
            _begin(factors, model, shapes, state, s)
            place[DEPTH] = 0
        s, t = order[place[POSITION]], place[DEPTH]
        if t == shapes.variables[s]:
            place[DEPTH] -= 1
            if t == 0:
                place[POSITION] += 1
            value = _value(model, state, t, best)
            if value < best:
                return FOUND, value
            continue
        k = _next_label(shapes, state, s, t)
        if k >= labels:
            state.labels[t] = -1
            place[DEPTH] -= 1
            if t == 0:
                place[POSITION] += 1
            continue
        state.labels[t] = k
        if _affordable(shapes, limits, state, s, t + 1, k):
            _extend(factors, shapes, state, s, t, k)
            place[DEPTH] = t + 1
    return PAUSED, 0.0
