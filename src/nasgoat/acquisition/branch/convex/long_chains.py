"""The search of long chains, whose labels add up, below bounds by convex relaxation.

The bounds of ``bound`` are strong, but take milliseconds each. So few nodes are looked at: the one
of lowest bound first, its labels split at the variable that the relaxation is least sure of. Labels
that the relaxation shows to be too expensive leave a node for good. Local search finds good labels
early.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.records import LimitRows, Tables
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.convex.bound import AddedColumns, Allowed, ConvexBound, Relaxed
from nasgoat.acquisition.branch.records import Builds, Floats, Found, Integers
from nasgoat.acquisition.costs import FEW_STRUCTURES, MANY_LABELLINGS

_LISTED = 20_000  # labellings below a node that are scored one by one
_STARTS, _LATER_STARTS = 12, 1  # of local search, at the root of a structure and below
_WIDEST = 700  # variables times labels up to which two labels are changed at a time
_BETTER = 1e-12  # less is rounding
_FORBIDDING = 1e6  # weight of what is beyond limits, against the acquisition


def is_relaxed(block: CellBlock) -> bool:
    """Whether a block is searched by relaxations: few structures, many labellings, on edges."""
    shapes = block.shapes
    most = float(block.labels) ** min(int(shapes.variables.max(initial=0)), 300)
    few = len(shapes.home) <= FEW_STRUCTURES
    return few and block.space.labels_on == "edges" and most >= MANY_LABELLINGS


class RelaxedRun:
    """The search of structures by relaxations: go on, what was found, what is still open.

    Args:
        block: Makes the graphs.
        find_columns: The columns of a structure by its number.
        roots: A bound and the number of each structure to begin with; :meth:`enter` adds others.
    """

    def __init__(
        self,
        block: Builds,
        find_columns: Callable[[int], AddedColumns],
        roots: Iterable[tuple[float, int]] = (),
    ) -> None:
        self.block = block
        self.nodes = 0
        self._find_columns = find_columns
        self._columns: dict[int, AddedColumns] = {}
        self._bounds: dict[int, ConvexBound] = {}
        self._rng = np.random.default_rng(0)
        self._number = count()  # breaks ties: nodes of one bound in the order of their making
        self._open: list[tuple[float, int, int, Allowed | None, Relaxed | None]] = []
        for bound, s in roots:
            self.enter(bound, s)

    @classmethod
    def of(
        cls,
        block: CellBlock,
        tables: Tables,
        limits: LimitRows,
        codes: NDArray[np.uint8] | None = None,
    ) -> RelaxedRun:
        """The search of all structures of a block."""
        total = range(len(block.shapes.home))
        columns = [AddedColumns.of(block, tables, limits, s, codes) for s in total]
        return cls(block, columns.__getitem__, [(columns[s].bound_alone(), s) for s in total])

    def enter(self, bound: float, s: int) -> None:
        """Search a further structure, whose graphs are not below the bound."""
        self._push(bound, s, None, None)

    def look_near(self, s: int, point: Floats, best: float) -> list[Found]:
        """Graphs of a structure better than ``best``, by local search near relaxed labels."""
        found = self._descend(s, point, _LATER_STARTS)
        return self._score(s, np.array(found), best) if found else []

    def _load_columns(self, s: int) -> AddedColumns:
        if s not in self._columns:
            self._columns[s] = self._find_columns(s)
        return self._columns[s]

    def _push(self, bound: float, s: int, allowed: Allowed | None, relaxed: Relaxed | None) -> None:
        if np.isfinite(bound):
            heapq.heappush(self._open, (bound, next(self._number), s, allowed, relaxed))

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        return self._open[0][0] if self._open else np.inf

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best`` of one more node; None when there are no others."""
        if not self._open or self._open[0][0] >= best:
            return None
        bound, _, s, allowed, relaxed = heapq.heappop(self._open)
        self.nodes += 1
        if allowed is None:
            found = self._begin(bound, s)
        elif _count_labellings(allowed) <= _LISTED:
            found = [*_list_labellings(allowed)]
        elif relaxed is None:
            found = self._relax(bound, s, allowed, best)
        else:
            found = []
            self._split(bound, s, allowed, relaxed, best)
        return self._score(s, np.array(found), best) if found else []

    def _begin(self, bound: float, s: int) -> list[Integers]:
        """The root of a structure: a bound, and good labels by local search; all of a few."""
        everything = np.ones(self._load_columns(s).label.shape[:2], dtype=bool)
        if _count_labellings(everything) <= _LISTED:
            return [*_list_labellings(everything)]
        self._bounds[s] = ConvexBound(self._load_columns(s))
        root = self._bounds[s].find_root()
        self._push(max(bound, root.bound), s, everything, root)
        return self._descend(s, root.point, _STARTS) if np.isfinite(root.bound) else []

    def _relax(self, bound: float, s: int, allowed: Allowed, best: float) -> list[Integers]:
        """Bound a node, and look for better labels near its relaxed ones."""
        found = self._bounds[s].relax(allowed, enough=best)
        self._push(max(found.bound, bound), s, allowed, found)
        return self._descend(s, found.point, _LATER_STARTS) if found.bound < best else []

    def _split(self, bound: float, s: int, allowed: Allowed, relaxed: Relaxed, best: float) -> None:
        """A node for each label of the variable that the relaxation is least sure of."""
        kept = allowed & (relaxed.bound + relaxed.more < best)
        if not kept.any(axis=1).all():
            return
        unsure = np.where(kept.sum(axis=1) > 1, 1.0 - relaxed.point.max(axis=1), -1.0)
        i = int(np.argmax(unsure + 1e-6 * kept.sum(axis=1)))
        for label in np.flatnonzero(kept[i]).tolist():
            below = kept.copy()
            below[i] = False
            below[i, label] = True
            self._push(max(bound, relaxed.bound + relaxed.more[i, label]), s, below, None)

    def _score(self, s: int, labels: Integers, best: float) -> list[Found]:
        """The labellings within limits that are better than ``best``, best first, each once."""
        columns = self._load_columns(s)
        labels = np.unique(labels, axis=0)
        labels = labels[columns.measure_excess(labels) <= 0.0]
        values = columns.evaluate(labels)
        order = np.argsort(values, kind="stable")
        return [(s, labels[i], float(values[i])) for i in order.tolist() if values[i] < best]

    def _descend(self, s: int, point: Floats, starts: int) -> list[Integers]:
        """Local optima near the relaxed labels and, from the second on, drawn by their weights."""
        weights = np.cumsum(np.maximum(point, 0.0) + 1e-3, axis=1)
        drawn = [point.argmax(axis=1)]
        for _ in range(starts - 1):
            at = self._rng.random((len(point), 1)) * weights[:, -1:]
            drawn.append((weights < at).sum(axis=1).clip(max=point.shape[1] - 1))
        columns, gram = self._load_columns(s), self._measure(s)
        return [near for labels in drawn for near in descend(columns, gram, labels)]

    def _measure(self, s: int) -> Floats | None:
        """Products of the vectors of labels; None if they are too many for pairs of changes."""
        label = self._load_columns(s).label
        vectors = label[..., 1:].reshape(-1, label.shape[2] - 1)
        return vectors @ vectors.T if len(vectors) <= _WIDEST else None


def _count_labellings(allowed: Allowed) -> float:
    return float(np.prod(allowed.sum(axis=1, dtype=float)))


def _list_labellings(allowed: Allowed) -> Iterator[Integers]:
    """Every labelling with allowed labels alone."""
    grids = np.meshgrid(*(np.flatnonzero(row) for row in allowed), indexing="ij")
    yield from np.stack([grid.ravel() for grid in grids], axis=1)


class _Changes(NamedTuple):
    """What every change of one label does: V L places, the present labels among them."""

    own: Integers  # (V L,) place of the present label of the same variable
    now: float  # squared norm before the change
    mean: Floats  # (V L,) mean part after the change
    square: Floats  # (V L,) by how much the squared norm grows
    over: Floats  # (K, V L) total of each limit after the change, less its cap


def descend(columns: AddedColumns, gram: Floats | None, labels: Integers) -> list[Integers]:
    """Change one label, or two where one does not help, as long as that is better.

    What is beyond limits comes before the acquisition. Returns the labels at the end and all that
    differ from them in one variable: among them are the next best ones.
    """
    labels, value, width = labels.copy(), np.inf, columns.label.shape[1]
    while True:
        changes = _measure_changes(columns, labels)
        single = _value_single(columns, changes)
        places = [int(single.argmin())]
        lowest = float(single[places[0]])
        if lowest >= value - _BETTER and gram is not None:
            pair = _value_pairs(columns, gram, changes)
            places = [int(place) for place in np.unravel_index(int(pair.argmin()), pair.shape)]
            lowest = float(pair[places[0], places[1]])
        if lowest >= value - _BETTER:
            break
        value = lowest
        for place in places:
            labels[place // width] = place % width
    near = np.repeat(labels[None], labels.size * width, axis=0)
    every = np.arange(len(near))
    near[every, every // width] = every % width
    return list(near)


def _measure_changes(columns: AddedColumns, labels: Integers) -> _Changes:
    """What each change of a single label adds to mean, squared norm and costs."""
    total, width, _ = columns.label.shape
    own = np.repeat(np.arange(total) * width + labels, width)
    flat = columns.label.reshape(total * width, -1)
    now = columns.start + flat[own[::width]].sum(axis=0)
    vectors = (flat - flat[own])[:, 1:]
    cost = columns.cost.reshape(len(columns.cap), total * width)
    spent = cost[:, own[::width]].sum(axis=1) - columns.cap
    return _Changes(
        own=own,
        now=float(now[1:] @ now[1:]),
        mean=now[0] + (flat - flat[own])[:, 0],
        square=2.0 * vectors @ now[1:] + (vectors * vectors).sum(axis=1),
        over=spent[:, None] + cost - cost[:, own],
    )


def _value_single(columns: AddedColumns, changes: _Changes) -> Floats:
    """The acquisition after each change of one label, with what limits are exceeded by."""
    norm = np.sqrt(np.maximum(changes.now + changes.square, 0.0))
    return changes.mean - norm + _penalise(columns, changes.over)


def _value_pairs(columns: AddedColumns, gram: Floats, changes: _Changes) -> Floats:
    """The acquisition after two changes of labels, (V L, V L); infinite for two of one variable."""
    own, mean, over = changes.own, changes.mean, changes.over
    both = gram - gram[:, own] - gram[own] + gram[np.ix_(own, own)]
    inside = changes.now + changes.square[:, None] + changes.square + 2.0 * both
    before = mean[own[:1]] if len(own) else mean
    spent = over[:, own[:1], None]  # of the present labels: a change to what there is
    found = mean[:, None] + mean - before - np.sqrt(np.maximum(inside, 0.0))
    found += _penalise(columns, over[:, :, None] + over[:, None] - spent)
    found[own[:, None] == own] = np.inf
    return found


def _penalise(columns: AddedColumns, over: Floats) -> Floats:
    """What limits are exceeded by, heavily weighted; the first axis are the limits."""
    size = np.maximum(np.abs(columns.cap), 1.0).reshape(-1, *[1] * (over.ndim - 1))
    found: Floats = _FORBIDDING * (np.maximum(over, 0.0) / size).sum(axis=0)
    return found
