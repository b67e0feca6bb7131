"""Every labelling of a structure under the exponential kernel, one by one, compiled (Lemma 5).

Notation: see ``model``.

k is a product over the features of a graph, so a label multiplies the vector of the labels before
it; Q is Σ_f λ_f z_f², so a feature adds λ_f (2 z_f + 1). What the first observations explain of the
variance is a lower bound on what all do, so a few rows of L⁻¹ k dismiss most graphs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.domains import EPSILON, has_longest
from nasgoat.acquisition.branch.cells.records import LimitRows, Shapes
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.exponential.model import ExponentialProblem, Factors, Model
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    MARGIN,
    NODES,
    PAUSED,
    POSITION,
    SHAPE,
    Floats,
    Found,
    Index,
    Integers,
    make_place,
)
from nasgoat.compiled import Threads, compiled, compiled_inline

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms


class Labelling(NamedTuple):
    """The state of the enumeration; row t belongs to the first t variables."""

    kernel: Floats  # (V + 1, m)
    single: Floats  # (V, L, m) factor of all features of one variable's label alone
    own: Floats  # (V + 1,) k_lin with itself
    counts: NDArray[np.int16]  # (V + 1, columns)
    spent: Floats  # (V + 1, K) what the limits have used up
    least: Floats  # (K, places) the smallest cost of a label
    needed: Floats  # (V + 1, K) what the variables from t on use up at least
    labels: Integers  # (V,)
    place: Integers  # (4,) POSITION, DEPTH, NODES, SHAPE
    richest: Integers  # (2, n) scratch of what limits say about paths


class Enumeration(NamedTuple):
    """The labellings of some structures, and how far they have been gone through."""

    factors: Factors
    shapes: Shapes
    limits: LimitRows
    order: Integers  # the structures, one after the other
    roots: Floats  # a lower bound of every structure of the block
    state: Labelling


def begin_enumeration(
    block: CellBlock, factors: Factors, limits: LimitRows, order: Integers, roots: Floats
) -> Enumeration:
    """Before the first labelling of the structures ``order`` of a block."""
    state = _make_labelling(block.shapes, block.labels, factors, limits)
    return Enumeration(
        factors=factors,
        shapes=block.shapes,
        limits=limits,
        order=order,
        roots=roots,
        state=state,
    )


def _make_labelling(shapes: Shapes, labels: int, factors: Factors, limits: LimitRows) -> Labelling:
    """An empty state for these structures and that many labels."""
    variables = max(int(shapes.variables.max()), 1)
    depth, m, columns = variables + 1, factors.path.shape[-1], factors.square.shape[1]
    return Labelling(
        kernel=np.zeros((depth, m)),
        single=np.zeros((variables, labels, m)),
        own=np.zeros(depth),
        counts=np.zeros((depth, columns), dtype=np.int16),
        spent=np.zeros((depth, len(limits.cap))),
        least=limits.state.min(axis=2),
        needed=np.zeros((depth, len(limits.cap))),
        labels=np.full(variables, -1, dtype=np.int64),
        place=make_place(),
        richest=np.zeros((2, shapes.distance.shape[1]), dtype=np.int64),
    )


@compiled
def search_labellings(
    walk: Enumeration, model: Model, best: float, margin: float, pause: int
) -> tuple[int, float]:
    """Go on until a graph better than ``best`` is found, nodes are used up, or all is done.

    Returns how the call ended and the value of the graph: its shape is ``place[SHAPE]``.
    """
    place, stop = walk.state.place, walk.state.place[NODES] + pause
    while True:
        status = go_to_labelling(walk, best + margin, stop)
        if status != FOUND:
            return status, 0.0
        value = _evaluate(model, walk.state, place[DEPTH] + 1, best)
        if value < best:
            return FOUND, value


@compiled_inline
def go_to_labelling(walk: Enumeration, threshold: float, stop: Index) -> int:
    """Go on to the next complete labelling of a structure whose bound is below a threshold.

    Returns ``FOUND`` with the labelling in row ``DEPTH`` + 1 of the state, ``PAUSED`` when ``stop``
    nodes are used up, or ``DONE`` when there is no other.
    """
    factors, shapes, limits, state = walk.factors, walk.shapes, walk.limits, walk.state
    place, order, labels = state.place, walk.order, state.single.shape[1]
    while place[NODES] < stop:
        place[NODES] += 1
        if place[DEPTH] < 0:
            if place[POSITION] >= len(order) or walk.roots[order[place[POSITION]]] >= threshold:
                return DONE
            place[SHAPE] = order[place[POSITION]]
            place[POSITION] += 1
            if not _begin_costs(shapes, limits, state, place[SHAPE]):
                continue
            _begin(factors, shapes, state, place[SHAPE])
            place[DEPTH] = 0
        s, t = place[SHAPE], place[DEPTH]
        if t == shapes.variables[s]:
            place[DEPTH] -= 1
            return FOUND
        k = _find_next_label(shapes, state, s, t)
        if k >= labels:
            state.labels[t] = -1
            place[DEPTH] -= 1
            continue
        state.labels[t] = k
        if _is_affordable(limits, state, s, t, k) and (
            len(limits.longest) == 0
            or has_longest(shapes, limits.longest, state.labels, state.richest, s)
        ):
            _extend(factors, shapes, state, s, t, k)
            place[DEPTH] = t + 1
    return PAUSED


@compiled_inline
def _count(factors: Factors, state: Labelling, t: Index, size: Index, column: Index) -> None:
    """One more feature in row t: k_lin with itself."""
    state.own[t] += factors.square[size, column] * (2 * state.counts[t, column] + 1)
    state.counts[t, column] += 1


@compiled_inline
def _multiply(kernel: Floats, factor: Floats) -> None:
    for j in range(len(kernel)):
        kernel[j] *= factor[j]


@compiled_inline
def _add_pair(
    factors: Factors, state: Labelling, t: Index, size: Index, d: Index, a: Index, b: Index
) -> None:
    """A pair of nodes with codes a and b at distance d, in row t."""
    _multiply(state.kernel[t], factors.path[size, d, a, b])
    _count(factors, state, t, size, factors.path_column[d, a, b])


@compiled_inline
def _begin(factors: Factors, shapes: Shapes, state: Labelling, s: Index) -> None:
    """Row 0: everything that does not depend on labels; then the factors of single labels."""
    size, n, d = shapes.size[s], shapes.nodes[s], shapes.distance[s]
    at = min(s, len(factors.given) - 1)
    first, state.own[0] = np.int64(0), factors.given_square[at]
    for j in range(state.kernel.shape[1]):
        state.kernel[0, j] = factors.given[at, j]
    state.counts[0, :] = 0
    state.labels[:] = -1
    state.single[:] = 1.0
    if shapes.ends.shape[1] > 0:
        for u in range(n):
            for v in range(u, n):
                if u == v or d[u, v] > 0:
                    _add_pair(factors, state, first, size, np.int64(d[u, v]), u, v)
        for i in range(shapes.variables[s]):
            u, v = shapes.ends[s, i, 0], shapes.ends[s, i, 1]
            for k in range(state.single.shape[1]):
                _multiply(state.single[i, k], factors.edge[size, u, v, k])
        return
    out = factors.path.shape[2] - 1
    _add_pair(factors, state, first, size, first, first, first)
    _add_pair(factors, state, first, size, first, out, out)
    _add_pair(factors, state, first, size, np.int64(d[0, n - 1]), first, out)
    for i in range(n - 2):
        for k in range(state.single.shape[1]):
            _multiply(state.single[i, k], factors.path[size, 0, k + 1, k + 1])
            _multiply(state.single[i, k], factors.path[size, d[0, i + 1], 0, k + 1])
            _multiply(state.single[i, k], factors.path[size, d[i + 1, n - 1], k + 1, out])


@compiled_inline
def _extend(
    factors: Factors, shapes: Shapes, state: Labelling, s: Index, t: Index, k: Index
) -> None:
    """Row t + 1: variable t takes label k."""
    size, n = shapes.size[s], shapes.nodes[s]
    before, after, single = state.kernel[t], state.kernel[t + 1], state.single[t, k]
    for j in range(len(after)):
        after[j] = before[j] * single[j]
    state.own[t + 1] = state.own[t]
    for c in range(state.counts.shape[1]):
        state.counts[t + 1, c] = state.counts[t, c]
    if shapes.ends.shape[1] > 0:
        column = factors.edge_column[shapes.ends[s, t, 0], shapes.ends[s, t, 1], k]
        _count(factors, state, t + 1, size, column)
        return
    d, out = shapes.distance[s], factors.path.shape[2] - 1
    _count(factors, state, t + 1, size, factors.path_column[0, k + 1, k + 1])
    _count(factors, state, t + 1, size, factors.path_column[d[0, t + 1], 0, k + 1])
    _count(factors, state, t + 1, size, factors.path_column[d[t + 1, n - 1], k + 1, out])
    for u in range(1, t + 1):
        far = np.int64(d[u, t + 1])
        if far > 0:
            _add_pair(factors, state, t + 1, size, far, state.labels[u - 1] + 1, k + 1)


@compiled_inline
def _evaluate(model: Model, state: Labelling, t: Index, best: float) -> float:
    """The value of the complete row t; inf as soon as Lemma 5 shows it is not below ``best``."""
    sqrt_beta = model.settings[1]
    mean, left, fade = predict_row(model, state, t)
    for j in range(state.kernel.shape[1]):
        # mean - √β √left ≥ best, without the root
        slack = mean - best
        if slack >= 0.0 and slack * slack >= sqrt_beta * sqrt_beta * left:
            return np.inf
        left -= explain_variance(model, state, t, j, fade)
    return float(mean - sqrt_beta * math.sqrt(max(left, 0.0)))


@compiled_inline
def predict_row(model: Model, state: Labelling, t: Index) -> tuple[float, float, float]:
    """Mean and prior variance of the complete row t, and what its kernel vector is multiplied by.

    The factor is 1 under the exponential kernel, exp(-Q / 2) under the normalised one.
    """
    kernel, power = state.kernel[t], model.settings[2]
    fade = math.exp(-0.5 * power * state.own[t])
    mean = 0.0
    for j in range(len(kernel)):
        mean += model.dual[j] * kernel[j]
    return mean * fade, model.settings[0] * math.exp((1.0 - power) * state.own[t]), fade


@compiled_inline
def explain_variance(model: Model, state: Labelling, t: Index, j: Index, fade: float) -> float:
    """What observation j explains of the variance of row t beyond those before it: (L⁻¹ k)_j²."""
    kernel, row = state.kernel[t], model.whitening[j]
    u = 0.0
    for x in range(j + 1):
        u += row[x] * kernel[x]
    u *= fade
    return u * u


@compiled_inline
def _begin_costs(shapes: Shapes, limits: LimitRows, state: Labelling, s: Index) -> bool:
    """What the limits have used up in row 0; False if the labels can't be paid for."""
    total = shapes.variables[s]
    for row in range(len(limits.cap)):
        state.spent[0, row] = limits.shape[row, s]
        state.needed[total, row] = 0.0
        for back in range(total):
            t = total - 1 - back
            least = state.least[row, limits.place[s, t]]
            state.needed[t, row] = state.needed[t + 1, row] + least
        if state.spent[0, row] + state.needed[0, row] > limits.cap[row] + EPSILON:
            return False
    return True


@compiled_inline
def _is_affordable(limits: LimitRows, state: Labelling, s: Index, t: Index, k: Index) -> bool:
    """Whether label k on variable t leaves enough for the variables after it."""
    for row in range(len(limits.cap)):
        cost = limits.state[row, limits.place[s, t], k]
        state.spent[t + 1, row] = state.spent[t, row] + cost
        if state.spent[t + 1, row] + state.needed[t + 1, row] > limits.cap[row] + EPSILON:
            return False
    return True


@compiled_inline
def _find_next_label(shapes: Shapes, state: Labelling, s: Index, t: Index) -> Index:
    """The label that variable t takes next: twins in ascending order."""
    if state.labels[t] >= 0:
        return int(state.labels[t] + 1)
    for u in range(t - 1, -1, -1):
        if shapes.twin[s, u] == shapes.twin[s, t]:
            return int(state.labels[u])
    return 0


@dataclass
class _Worker:
    """What one thread goes through."""

    walk: Enumeration
    done: bool = False


class ExponentialRun:
    """Every labelling of every structure whose bound does not rule it out."""

    def __init__(self, problem: ExponentialProblem, threads: Threads) -> None:
        self._problem, self._threads, self.block = problem, threads, problem.block
        order = np.argsort(problem.roots, kind="stable")
        shares = [order[j :: threads.total].copy() for j in range(threads.total)]
        given = self.block, problem.factors, problem.limits
        self._workers = [
            _Worker(begin_enumeration(*given, share, problem.roots)) for share in shares
        ]

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return sum(int(worker.walk.state.place[NODES]) for worker in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        working = [worker for worker in self._workers if not worker.done]
        if not working:
            return None
        answers = self._threads.map(lambda worker: self._step(worker, best), working)
        return [found for answer in answers for found in answer]

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        state, model = worker.walk.state, self._problem.model
        status, value = search_labellings(worker.walk, model, best, MARGIN, _PAUSE)
        worker.done = status == DONE
        if status != FOUND:
            return []
        return [(int(state.place[SHAPE]), state.labels.copy(), float(value))]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        lowest = np.inf
        for worker in self._workers:
            place = worker.walk.state.place
            waiting = worker.walk.order[place[POSITION] :][:1].tolist()
            current = [int(place[SHAPE])] if place[DEPTH] >= 0 else []
            lowest = min([lowest, *self._problem.roots[current + waiting].tolist()])
        return lowest
