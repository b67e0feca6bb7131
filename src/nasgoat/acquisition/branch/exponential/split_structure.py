"""The labellings of one structure in two halves, and the pairs that bounds leave.

The order of the steps:

1. *A first look*: random labellings and local search, for a good value and a tangent (Lemma 7).
2. *Halves*: under that tangent Lemma 13 bounds each labelling of half the edges, whatever labels
   the other half has.
3. *Rows*: each labelling of the left half that is low enough has a tangent of its own, and its
   bound over the right half once more.
4. *Pairs*: bounds of what is left are one product of two matrices.
5. What these leave is scored.

Notation: see ``kernel_rows``.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.exponential.kernel_rows import (
    EdgeFactors,
    Tangents,
    bound_half,
    bound_rows,
    centre_half,
    multiply_labels,
    score_rows,
    take_tangents,
)
from nasgoat.acquisition.branch.exponential.model import Model
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Integers

_ENTRIES = 1_000_000  # bounds of pairs that are computed at a time
_BATCH = 4096  # labellings that are scored before the threshold is asked for again
_SAMPLE = 512  # random labellings of the first look
_LOW = 25  # lowest ones of them, around which tangents are taken
_FLATTEST = 1e-3  # least deviation of a tangent, in prior deviations
_BROKEN = 1e9  # more than the values of two graphs differ by


class Half:
    """The labellings of half the edges that may be part of a good graph."""

    def __init__(self, factors: EdgeFactors, edges: slice, bounds: Floats, needed: Floats) -> None:
        self.values, labels = factors.values[edges], factors.values.shape[1]
        self._shape = (labels,) * len(self.values)
        cost = np.zeros((len(factors.room), 1))
        for edge in factors.cost[:, edges].transpose(1, 0, 2):
            cost = (cost[:, :, None] + edge[:, None]).reshape(len(cost), cost.shape[1] * labels)
        affordable = (cost + needed[:, None] <= factors.room[:, None]).all(axis=0)
        self._bounds = np.where(affordable, bounds, np.inf)
        self.lowest = float(self._bounds.min())
        self._chosen = np.zeros(0, dtype=np.int64)

    def choose(self, cutoff: float) -> None:
        """Keep what is below the cut-off, lowest first."""
        chosen = np.flatnonzero(self._bounds < cutoff)
        self._chosen = chosen[np.argsort(self._bounds[chosen], kind="stable")]

    def __len__(self) -> int:
        return len(self._chosen)

    def find_labels(self, at: Integers | slice) -> Integers:
        """The labels of chosen ones: (rows, edges)."""
        chosen = self._chosen[at]
        if not self._shape:
            return np.zeros((len(chosen), 0), dtype=np.int64)
        return np.stack(np.unravel_index(chosen, self._shape), axis=1)

    def multiply(self, at: slice) -> Floats:
        """The factors of chosen ones: (rows, m + 1)."""
        return multiply_labels(self.values, self.find_labels(at))


class Pairs:
    """Labellings of the left half, chosen ones, with those of the right half."""

    def __init__(self, model: Model, given: Floats, halves: tuple[Half, Half], low: Floats) -> None:
        self._model, self._given, (self._left, self._right) = model, given, halves
        self._low = low  # (m + 1,) factors of the right half in labellings of low value
        self._centre = centre_half(self._right.values)
        self._largest = self._right.values.max(axis=1).prod(axis=0)
        self._start, self._row = 0, 0  # chosen labellings on the left of this step: from, to
        self._columns, self._rows = np.zeros((0, 0)), np.zeros((0, 0))
        self.margin = MARGIN  # what is added to the threshold: rounding in the bounds
        self.looked = 0  # bounds computed so far

    @property
    def are_done(self) -> bool:
        """Whether all pairs have been looked at."""
        return self._row >= len(self._left) or not len(self._right)

    def bound_next(self, best: float) -> tuple[Integers, Floats]:
        """The next pairs with a bound below ``best``, lowest first, and the bounds.

        A pair is a place among the rows of this step and one among the chosen on the right.
        """
        self._start = self._row
        self._row += max(_ENTRIES // len(self._right), 1)
        self._rows = rows = self._given * self._left.multiply(slice(self._start, self._row))
        tangents = self._take_tangents(rows * self._low)
        self.margin = MARGIN + tangents.bound_rounding(rows.max(axis=0) * self._largest)
        weights = tangents.weights * rows
        bounds = bound_rows(self._centre, weights) - tangents.constant
        self.looked += len(rows)
        hopeful = np.flatnonzero(bounds < best + self.margin)
        if not len(hopeful):
            return np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        if not len(self._columns):
            self._columns = self._right.multiply(slice(None))
        bounds = weights[hopeful] @ self._columns.T - tangents.constant[hopeful, None]
        self.looked += bounds.size
        at = np.flatnonzero(bounds < best + self.margin)
        at = at[np.argsort(bounds.ravel()[at], kind="stable")]
        first, second = np.divmod(at, len(self._columns))
        return np.stack([hopeful[first], second], axis=1), bounds.ravel()[at]

    def _take_tangents(self, around: Floats) -> Tangents:
        """A tangent at each of these rows."""
        _, white, deviation = score_rows(self._model, around)
        # A labelling without deviation would have a tangent of infinite slope.
        deviation = np.maximum(deviation, _FLATTEST * np.sqrt(around[:, -1]))
        return take_tangents(self._model, white, deviation)

    def join(self, pairs: Integers) -> tuple[Integers, Floats]:
        """Labels and kernel rows of pairs of the last step."""
        first, second = pairs.T
        left, right = self._left, self._right
        labels = np.hstack([left.find_labels(self._start + first), right.find_labels(second)])
        return labels, self._rows[first] * self._columns[second]


class StructureSearch:
    """The search through one structure: a first look and bounds of halves, then the pairs."""

    def __init__(self, shape: int, model: Model, factors: EdgeFactors) -> None:
        self.shape, self._model, self._factors = shape, model, factors
        self._middle = len(factors.values) // 2
        self._looked = 0
        self._pairs: Pairs | None = None
        self._waiting = np.zeros((0, 2), dtype=np.int64)  # pairs whose bounds are low enough
        self._bounds = np.zeros(0)
        self._low, self._near = self._look_around()
        self._tangent, self._rounding = self._take_tangent()
        self._left, self._right = self._bound_halves()
        self.lowest = max(self._left.lowest, self._right.lowest)

    @property
    def looked(self) -> int:
        """Bounds computed and labellings scored so far."""
        return self._looked + (self._pairs.looked if self._pairs else 0)

    def _look_around(self) -> tuple[Integers, Integers]:
        """The lowest of some random labellings, and the neighbours of a local optimum."""
        edges, labels, _ = self._factors.values.shape
        sample = np.random.default_rng(self.shape).integers(0, labels, (_SAMPLE, edges))
        values = self._score(sample)
        order = np.argsort(values, kind="stable")
        edge, label = np.divmod(np.arange(edges * labels), labels)
        near, at, before = sample, order[0], np.inf
        while values[at] < before:
            before = values[at]
            near = np.repeat(near[at][None], max(edges * labels, 1), axis=0)
            near[np.arange(edges * labels), edge] = label
            values = self._score(near)
            at = np.argmin(values)
        return sample[order[:_LOW]], near

    def _score(self, labels: Integers) -> Floats:
        """Values of labellings; those that break a limit come after all others."""
        self._looked += len(labels)
        values, _, _ = score_rows(self._model, self._factors.multiply(labels))
        return np.where(self._factors.is_affordable(labels), values, values + _BROKEN)

    def _take_tangent(self) -> tuple[Tangents, float]:
        """A tangent near the mean of low labellings, and an upper bound on its rounding error."""
        factors = self._factors
        _, white, deviation = score_rows(self._model, factors.multiply(self._low))
        spread = np.array([float(deviation.mean()) or 1.0])
        tangent = take_tangents(self._model, white.mean(axis=0)[None], spread)
        largest = factors.given * factors.values.max(axis=1).prod(axis=0)
        return tangent, tangent.bound_rounding(largest)

    def _bound_halves(self) -> tuple[Half, Half]:
        """Bounds of the labellings of each half (Lemma 13)."""
        factors, first, second = self._factors, slice(self._middle), slice(self._middle, None)
        left, right = centre_half(factors.values[first]), centre_half(factors.values[second])
        weights = self._tangent.weights[0] * factors.given
        off = self._tangent.constant[0] + self._rounding
        bounds = bound_half(left, right, weights) - off, bound_half(right, left, weights) - off
        self._looked += len(bounds[0]) + len(bounds[1])
        needed = factors.cost.min(axis=2)
        return (
            Half(factors, first, bounds[0], needed[:, second].sum(axis=1)),
            Half(factors, second, bounds[1], needed[:, first].sum(axis=1)),
        )

    def list_first_found(self, best: float) -> list[Found]:
        """What the local search found that is better than ``best``."""
        return self._list_better(self._near, self._factors.multiply(self._near), best)

    def go_on(self, best: float) -> list[Found] | None:
        """Labellings better than ``best``; None when all are ruled out or looked at."""
        pairs = self._pairs = self._pairs or self._pair_halves(best)
        if not len(self._waiting):
            if pairs.are_done:
                return None
            self._waiting, self._bounds = pairs.bound_next(best)
        open_ = self._bounds < best + pairs.margin
        waiting, self._bounds = self._waiting[open_], self._bounds[open_][_BATCH:]
        chosen, self._waiting = waiting[:_BATCH], waiting[_BATCH:]
        if not len(chosen):
            return []
        labels, rows = pairs.join(chosen)
        # For a few pairs the tangent of the whole structure is closer than that of the row.
        low = self._tangent.bound(rows)[0] < best + MARGIN + self._rounding
        return self._list_better(labels[low], rows[low], best)

    def _pair_halves(self, best: float) -> Pairs:
        """The pairs of the halves' labellings that are low enough to be part of a better graph."""
        self._left.choose(best + MARGIN)
        self._right.choose(best + MARGIN)
        low = multiply_labels(self._right.values, self._low[:, self._middle :]).mean(axis=0)
        return Pairs(self._model, self._factors.given, (self._left, self._right), low)

    def _list_better(self, labels: Integers, rows: Floats, best: float) -> list[Found]:
        """Which of these labellings are better than ``best``, lowest first."""
        self._looked += len(rows)
        values, _, _ = score_rows(self._model, rows)
        better = np.flatnonzero((values < best) & self._factors.is_affordable(labels))
        better = better[np.argsort(values[better], kind="stable")]
        states = np.zeros((len(better), labels.shape[1]), dtype=np.int64)
        states[:, self._factors.order] = labels[better]
        found = zip(states, values[better].tolist(), strict=True)
        return [(self.shape, row, value) for row, value in found]
