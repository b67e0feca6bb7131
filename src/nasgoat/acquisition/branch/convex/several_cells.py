"""The search of several cells at once under the linear kernel (docs/branch-and-bound.md, Lemma 11).

Notation (see also ``cell_rows`` and ``bound``)
    N     pairs of rows looked at together;  E  places of both sides;  x (N, E, L) weights of labels
    m₀, r₀  mean part and vector of a pair of rows, places without their labels
    H     B - G over the places of both sides, for all pairs the same; G the Gram matrix of labels

Where no cell has places, a pair of rows is a graph, and its value m₀ - ‖r₀‖ is one entry of a
product of two matrices. Otherwise Lemma 8 bounds a pair; Frank and Wolfe's method takes its steps
for thousands of pairs at a time. The few pairs that are left are searched like long chains.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.convex.bound import AddedColumns, find_block_majorant
from nasgoat.acquisition.branch.convex.cell_rows import CellPairs, SideColumns, widen
from nasgoat.acquisition.branch.convex.long_chains import RelaxedRun
from nasgoat.acquisition.branch.records import Floats, Found, Integers

_TILE = 4_000_000  # pairs of graphs whose values are computed at a time
_NUMBERS = 2_000_000  # weights of labels that are worked on at a time
_COARSE, _FINE = 4, 30  # steps for all pairs, and for those that are left
_REFINED = 256  # pairs that are bounded more finely at a time
_GIVEN = 200  # graphs of a tile that are handed over at a time
_TINY = 1e-9  # of the size of a value: far more than rounding in a bound
_HALVINGS = 20  # of the interval in which a step is looked for


class _Pairs(NamedTuple):
    """Pairs of rows whose labels are open."""

    number: Integers  # (N,) first row times the rows of the second side, plus second row
    mean: Floats  # (N,) m₀, the mean over labels at places included
    square: Floats  # (N,) ‖r₀‖²
    linear: Floats  # (N, E L) 2 R r₀ + diag B
    present: NDArray[np.bool_]  # (N, E)

    def take(self, at: NDArray[np.intp]) -> _Pairs:
        """Some of the pairs."""
        number, mean, square, linear, present = self
        return _Pairs(
            number=number[at],
            mean=mean[at],
            square=square[at],
            linear=linear[at],
            present=present[at],
        )


class _PairBound:
    """Bounds pairs of rows, many at a time (Lemma 11)."""

    def __init__(self, first: SideColumns, second: SideColumns) -> None:
        label = _join_places(first.label, second.label, 0)
        places, self.labels, _ = label.shape
        centre = label.mean(axis=1)
        moved = label - centre[:, None]
        vectors = moved[..., 1:].reshape(places * self.labels, -1)
        gram = vectors @ vectors.T
        majorant = find_block_majorant(gram, self.labels, np.full(len(gram), 1.0 / self.labels))
        cut = len(first.label)
        self.mean: Floats = moved[..., 0].ravel()
        self._square, self._diagonal = majorant - gram, np.diag(majorant).copy()
        self._present = first.side.present, second.side.present
        self._starts = (
            first.start + first.side.present @ centre[:cut],
            second.start + second.side.present @ centre[cut:],
        )
        self._along = [2.0 * start[:, 1:] @ vectors.T for start in self._starts]

    def list_pairs(self, number: Integers) -> _Pairs:
        """The pairs of these numbers."""
        i, j = np.divmod(number, len(self._starts[1]))
        one, two = (start[rows] for start, rows in zip(self._starts, (i, j), strict=True))
        vectors = one[:, 1:] + two[:, 1:]
        return _Pairs(
            number=number,
            mean=one[:, 0] + two[:, 0],
            square=(vectors * vectors).sum(axis=1),
            linear=self._along[0][i] + self._along[1][j] + self._diagonal,
            present=np.hstack([self._present[0][i], self._present[1][j]]),
        )

    def bound(self, pairs: _Pairs, steps: int, enough: float) -> tuple[Floats, Floats]:
        """A lower bound of each pair, and where its relaxation is lowest, shape (N, E, L)."""
        total, places = pairs.present.shape
        weights = np.repeat(pairs.present[:, :, None] / self.labels, self.labels, axis=2)
        x = weights.reshape(total, -1)
        bounds = np.full(total, -np.inf)
        open_ = np.arange(total)
        for step in range(steps):
            part = pairs.take(open_)
            here = x[open_]
            curved = here @ self._square
            inside = part.square + ((part.linear - curved) * here).sum(axis=1)
            root = np.sqrt(np.maximum(inside, 0.0) + _TINY**2 * (1.0 + part.square))
            slope = self.mean - (part.linear - 2.0 * curved) / (2.0 * root[:, None])
            table = slope.reshape(len(open_), places, self.labels)
            least = table.argmin(axis=2)[:, :, None]
            lowest = np.where(part.present, np.take_along_axis(table, least, 2)[:, :, 0], 0.0)
            value = part.mean + here @ self.mean - root
            found = value - (slope * here).sum(axis=1) + lowest.sum(axis=1)
            found -= _TINY * (1.0 + np.abs(found))
            bounds[open_] = np.maximum(bounds[open_], found)
            if step == steps - 1:
                break
            corner = np.zeros_like(table)
            np.put_along_axis(corner, least, part.present[:, :, None].astype(float), 2)
            way = corner.reshape(here.shape) - here
            x[open_] = here + self._find_steps(part, here, way, inside)[:, None] * way
            open_ = open_[bounds[open_] < enough]
            if not len(open_):
                break
        return bounds, x.reshape(total, places, self.labels)

    def _find_steps(self, pairs: _Pairs, x: Floats, way: Floats, inside: Floats) -> Floats:
        """The step from 0 to 1 of lowest value for each pair, by bisection of the derivative."""
        curved = way @ self._square
        rise, fall = way @ self.mean, -(way * curved).sum(axis=1)
        along = (pairs.linear * way).sum(axis=1) - 2.0 * (x * curved).sum(axis=1)
        low, high = np.zeros(len(x)), np.ones(len(x))
        for _ in range(_HALVINGS):
            t = 0.5 * (low + high)
            root = np.sqrt(np.maximum(inside + along * t + fall * t * t, _TINY))
            falls = rise - (along + 2.0 * fall * t) / (2.0 * root) < 0.0
            low, high = np.where(falls, t, low), np.where(falls, high, t)
        return np.asarray(0.5 * (low + high))


class CellsRun:
    """The search of all pairs of rows: go on, what was found, what is still open."""

    def __init__(self, block: CellPairs, first: SideColumns, second: SideColumns) -> None:
        self.block, self._first, self._second = block, first, second
        self._with_labels = bool(len(first.label) + len(second.label))
        self._bound = _PairBound(first, second) if self._with_labels else None
        self._portions = self._list_portions()
        self._next = next(self._portions, None)
        self._given: list[Found] = []  # of the last portion: not yet handed over
        self._waiting: tuple[Floats, Integers] = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._relaxed = RelaxedRun(block, self._find_columns)
        self._looked_at = 0

    @property
    def nodes(self) -> int:
        """Pairs and nodes below them that were looked at."""
        return self._looked_at + self._relaxed.nodes

    def _list_portions(self) -> Iterator[Integers]:
        """Numbers of pairs that are looked at together."""
        total = len(self._first.start) * len(self._second.start)
        numbers = 1 if self._bound is None else len(self._bound.mean)
        size = max(_TILE if self._bound is None else _NUMBERS // max(numbers, 1), 1)
        for start in range(0, total, size):
            yield np.arange(start, min(start + size, total), dtype=np.int64)

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        given = self._given[0][2] if self._given else np.inf
        waiting = float(self._waiting[0].min(initial=np.inf))
        unseen = self._bound_unseen() if self._next is not None else np.inf
        return min(given, waiting, unseen, self._relaxed.open_bound())

    def _bound_unseen(self) -> float:
        """A lower bound on all pairs: the sum of each side's least, as norms are subadditive."""
        found = 0.0
        for side in (self._first, self._second):
            rows = side.start[:, 0] - np.linalg.norm(side.start[:, 1:], axis=1)
            if len(side.label):
                alone = side.label[..., 0] - np.linalg.norm(side.label[..., 1:], axis=2)
                rows = rows + side.side.present @ alone.min(axis=1)
            found += float(rows.min(initial=np.inf))
        return found

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best`` of one more portion or node; None if there are no others."""
        if self._given:
            found, self._given = self._given[:_GIVEN], self._given[_GIVEN:]
            if found[0][2] < best:
                return found
            self._given = []
            return []
        if self._next is not None:
            numbers, self._next = self._next, next(self._portions, None)
            self._looked_at += len(numbers)
            within = self._find_possible(numbers)
            return self._value(within, best) if self._bound is None else self._begin(within, best)
        if len(self._waiting[0]):
            return self._refine(best)
        return self._relaxed.go_on(best)

    def _find_possible(self, numbers: Integers) -> Integers:
        """The pairs that limits leave a graph."""
        i, j = np.divmod(numbers, len(self._second.start))
        possible = np.ones(len(numbers), dtype=bool)
        for k, cap in enumerate(self.block.cap.tolist()):
            total = np.zeros(len(numbers))
            for side, rows in ((self._first, i), (self._second, j)):
                total += side.fixed[k, rows]
                if len(side.label):
                    total += (side.side.present @ side.cost[k].min(axis=1))[rows]
            possible &= total <= cap
        return numbers[possible]

    def _value(self, numbers: Integers, best: float) -> list[Found]:
        """Score pairs without free labels, each of which is one graph; keep the better ones."""
        i, j = np.divmod(numbers, len(self._second.start))
        one, two = self._first.start, self._second.start
        low, high = (int(i[0]), int(i[-1]) + 1) if len(i) else (0, 0)
        product = one[low:high, 1:] @ two[:, 1:].T
        squares = [(side[:, 1:] ** 2).sum(axis=1) for side in (one[low:high], two)]
        square = squares[0][i - low] + squares[1][j] + 2.0 * product[i - low, j]
        values = one[i, 0] + two[j, 0] - np.sqrt(np.maximum(square, 0.0))
        better = np.flatnonzero(values < best)
        order = better[np.argsort(values[better], kind="stable")]
        none = np.zeros(0, dtype=np.int64)
        self._given = [(int(numbers[at]), none, float(values[at])) for at in order[: 50 * _GIVEN]]
        if len(order) > len(self._given):  # as long as there is no cut-off: come back to them
            rest = np.sort(numbers[order[len(self._given) :]])
            waiting = [] if self._next is None else [self._next]
            self._next, self._portions = rest, chain(waiting, self._portions)
        return []

    def _begin(self, numbers: Integers, best: float) -> list[Found]:
        """Coarse bounds of a portion of pairs; the best of them is searched for first graphs."""
        if self._bound is None or not len(numbers):
            return []
        pairs = self._bound.list_pairs(numbers)
        bounds, points = self._bound.bound(pairs, _COARSE, best)
        found = self._score_without_places(pairs)
        left = pairs.present.any(axis=1) & (bounds < best)
        known, waiting = self._waiting
        self._waiting = (
            np.concatenate([known, bounds[left]]),
            np.concatenate([waiting, numbers[left]]),
        )
        if left.any():
            lowest = int(np.where(left, bounds, np.inf).argmin())
            point = points[lowest][pairs.present[lowest]]
            found += self._relaxed.look_near(int(numbers[lowest]), point, best)
        return found

    def _score_without_places(self, pairs: _Pairs) -> list[Found]:
        """Pairs of rows that have no place: each is a graph."""
        none = np.zeros(0, dtype=np.int64)
        bare = np.flatnonzero(~pairs.present.any(axis=1))
        values = pairs.mean[bare] - np.sqrt(pairs.square[bare])
        return [
            (int(pairs.number[at]), none, float(value))
            for at, value in zip(bare, values.tolist(), strict=True)
        ]

    def _refine(self, best: float) -> list[Found]:
        """Finer bounds of the pairs of lowest bounds; those below ``best`` are searched."""
        bounds, numbers = self._waiting
        order = np.argsort(bounds, kind="stable")
        order = order[bounds[order] < best]
        taken, kept = order[:_REFINED], order[_REFINED:]
        self._waiting = bounds[kept], numbers[kept]
        if self._bound is None or not len(taken):
            return []
        pairs = self._bound.list_pairs(numbers[taken])
        finer = np.maximum(self._bound.bound(pairs, _FINE, best)[0], bounds[taken])
        for bound, number in zip(finer.tolist(), numbers[taken].tolist(), strict=True):
            if bound < best:
                self._relaxed.enter(bound, number)
        return []

    def _find_columns(self, s: int) -> AddedColumns:
        """The columns of a pair of rows as those of one structure."""
        i, j = divmod(s, len(self._second.start))
        sides = ((self._first, i), (self._second, j))
        labels = [side.label[side.side.present[row]] for side, row in sides]
        costs = [side.cost[:, side.side.present[row]] for side, row in sides]
        return AddedColumns(
            start=self._first.start[i] + self._second.start[j],
            label=_join_places(labels[0], labels[1], 0),
            cost=_join_places(costs[0], costs[1], 1),
            cap=self.block.cap - self._first.fixed[:, i] - self._second.fixed[:, j],
        )


def _join_places(one: Floats, two: Floats, axis: int) -> Floats:
    """The places of both sides, with as many labels each."""
    most = max(one.shape[axis + 1], two.shape[axis + 1])
    return np.concatenate([widen(part, most, axis + 1) for part in (one, two)], axis=axis)
