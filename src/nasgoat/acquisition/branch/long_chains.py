"""Cells whose labels add up, long chains above all: a bound by convex relaxation, and its search.

Notation
    V, L     variables (edges) and labels;  x (V, L) has a 1 for the label of each variable, else 0
    m, R     mean parts (V, L) and vectors (V, L, r) of the labels, centred for each variable
    m₀, r₀   mean part and vector of all that does not depend on labels
    G        Gram matrix of R;  B block diagonal, one (L, L) block for each variable, B ⪰ G
    H        B - G, positive semidefinite

The acquisition is m₀ + m·x - ‖r₀ + Rᵀx‖. A variable has one label, so xᵀ B x = diag(B)·x, and

    ‖r₀ + Rᵀx‖² = ‖r₀‖² + (2 R r₀ + diag B)·x - xᵀ H x,

which is concave in x. So the acquisition is convex on all fractional x too, and any tangent is a
lower bound that adds up over variables (docs/branch-and-bound.md, Lemma 8). B comes from the dual
of the semidefinite program max ⟨G, X⟩ over X ⪰ 0 whose diagonal blocks are diag(p) for weights p.

These bounds are strong, but take milliseconds each. So few nodes are looked at: the one of lowest
bound first, its labels split at the variable that the relaxation is least sure of. Labels that the
relaxation shows to be too expensive leave a node for good. Local search finds good labels early.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nasgoat.acquisition.branch.records import Floats, Found, Integers, LimitRows, Tables
from nasgoat.acquisition.branch.structures import Block
from nasgoat.acquisition.costs import FEW_STRUCTURES, MANY_LABELLINGS
from nasgoat.graphs import LabeledGraph

Allowed = NDArray[np.bool_]

_SWEEPS = 40  # of the block coordinate ascent that finds B
_ROUNDS = 3  # of B for the weights of the last relaxed solution
_STEPS, _FIRST_STEPS = 30, 120  # of Frank and Wolfe's method, below a node and at the root
_CLOSE = 1e-3  # relative distance of the relaxed value to its bound that ends it
_TINY = 1e-9  # of the size of a value: far more than rounding in a bound
_LEAST_WEIGHT = 0.01


@dataclass(frozen=True, eq=False)
class AddedColumns:
    """A structure whose acquisition is that of a sum of columns, one for each label."""

    start: Floats  # (1 + r,) mean part and vector of what does not depend on labels
    label: Floats  # (V, L, 1 + r) of a label of a variable
    cost: Floats  # (K, V, L) of a label in each limit
    cap: Floats  # (K,) what the costs may add up to

    @classmethod
    def of(
        cls,
        block: Block,
        tables: Tables,
        limits: LimitRows,
        s: int,
        codes: NDArray[np.uint8] | None = None,
    ) -> AddedColumns:
        """The columns of structure s of a block whose edges carry the labels.

        ``codes`` are those of the blocks beside the paper's, of every structure.
        """
        shapes = block.shapes
        n, total, size = int(shapes.nodes[s]), int(shapes.variables[s]), int(shapes.size[s])
        distance = shapes.distance[s, :n, :n].astype(np.int64)
        u, v = np.nonzero((distance > 0) | np.eye(n, dtype=bool))
        tail, head = shapes.ends[s, :total].astype(np.int64).T
        given = 0.0 if codes is None else codes[s] @ tables.codes
        return cls(
            start=tables.pairs.path[size][distance[u, v], u, v].sum(axis=0) + given,
            label=np.ascontiguousarray(tables.edge[size][tail, head, :-1]),
            cost=limits.state[:, limits.place[s, :total]],
            cap=limits.cap - limits.shape[:, s],
        )

    def evaluate(self, labels: Integers) -> Floats:
        """The acquisition of rows of labels."""
        total, width, _ = self.label.shape
        chosen = np.zeros((len(labels), total * width))
        np.put_along_axis(chosen, labels + width * np.arange(total), 1.0, axis=1)
        columns = self.start + chosen @ self.label.reshape(total * width, -1)
        found: Floats = columns[:, 0] - np.linalg.norm(columns[:, 1:], axis=1)
        return found

    def measure_excess(self, labels: Integers) -> Floats:
        """By how much rows of labels are beyond the limits, in units of their bounds."""
        if not len(self.cap):
            return np.zeros(len(labels))
        totals = self.cost[:, np.arange(labels.shape[1]), labels].sum(axis=2)
        size = np.maximum(np.abs(self.cap), 1.0)[:, None]
        found: Floats = (np.maximum(totals - self.cap[:, None], 0.0) / size).sum(axis=0)
        return found

    def bound_alone(self) -> float:
        """A bound at once: every label by itself, since norms are subadditive."""
        parts = self.label[..., 0] - np.linalg.norm(self.label[..., 1:], axis=2)
        return float(
            self.start[0] - np.linalg.norm(self.start[1:]) + parts.min(axis=1, initial=np.inf).sum()
        )


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxed minimum over the labels that are allowed.

    Args:
        bound: A lower bound on all labellings; infinite if limits leave none.
        point: Where the relaxed acquisition is lowest, shape (V, L).
        more: By how much the bound rises at least if a variable takes a label, shape (V, L).
    """

    bound: float
    point: Floats
    more: Floats


class ConvexBound:
    """Bounds the acquisition of one structure for any choice of allowed labels."""

    def __init__(self, columns: AddedColumns) -> None:
        self.columns = columns
        centre = columns.label.mean(axis=1, keepdims=True)
        start, moved = columns.start + centre.sum(axis=(0, 1)), columns.label - centre
        total, labels, _ = moved.shape
        self._mean_start, self._mean = start[0], moved[..., 0].ravel()
        vectors = moved[..., 1:].reshape(total * labels, -1)
        self._gram = vectors @ vectors.T
        self._square_start = float(start[1:] @ start[1:])
        self._along = 2.0 * vectors @ start[1:]
        self._floor = _TINY**2 * (1.0 + self._square_start)  # keeps the root differentiable
        self._use(np.full(total * labels, 1.0 / labels))

    @cached_property
    def _every(self) -> Allowed:
        return np.ones(self.columns.label.shape[:2], dtype=bool)

    def _use(self, weights: Floats) -> None:
        """Take the B that is best on average where labels have these weights."""
        block = find_block_majorant(self._gram, self.columns.label.shape[1], weights)
        self._linear = self._along + np.diag(block)
        self._square = block - self._gram

    def find_root(self) -> Relaxed:
        """The bound over all labels, by the best B of a few."""
        best = self.relax(self._every, steps=_FIRST_STEPS)
        kept = self._linear, self._square
        weights = np.full(self._mean.shape, 1.0 / self._every.shape[1])
        for _ in range(_ROUNDS if np.isfinite(best.bound) else 0):
            weights = np.maximum(0.3 * weights + 0.7 * best.point.ravel(), _LEAST_WEIGHT)
            self._use(weights)
            found = self.relax(self._every, steps=_FIRST_STEPS)
            if found.bound > best.bound:
                best, kept = found, (self._linear, self._square)
        self._linear, self._square = kept
        return best

    def relax(
        self,
        allowed: Allowed,
        start: Floats | None = None,
        enough: float = np.inf,
        steps: int = _STEPS,
    ) -> Relaxed:
        """Frank and Wolfe's method; it ends early once the bound is ``enough``."""
        begin = allowed / allowed.sum(axis=1, keepdims=True)
        if start is not None:
            kept = np.where(allowed, start, 0.0) + 1e-9 * allowed
            begin = kept / kept.sum(axis=1, keepdims=True)
        slope = self._differentiate(begin.ravel())[1]
        x, prices = self._find_corner(slope, allowed)
        best = Relaxed(-np.inf, begin, np.zeros(allowed.shape))
        for _ in range(steps):
            if x is None:
                return Relaxed(np.inf, begin, np.zeros(allowed.shape))
            value, slope = self._differentiate(x)
            corner, prices = self._find_corner(slope, allowed)
            found = self._bound_by(x, value, slope, prices, allowed)
            best = found if found.bound > best.bound else best
            if corner is None or best.bound >= enough:
                break
            if value - best.bound <= _CLOSE * (1.0 + abs(value)):
                break
            x = x + self._find_step(x, corner - x) * (corner - x)
        return best

    def _differentiate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient of the relaxed acquisition."""
        curved = self._square @ x
        inside = self._square_start + self._linear @ x - x @ curved
        root = np.sqrt(max(float(inside), 0.0) + self._floor)
        value = float(self._mean_start + self._mean @ x - root)
        return value, self._mean - (self._linear - 2.0 * curved) / (2.0 * root)

    def _bound_by(
        self, x: Floats, value: float, slope: Floats, prices: Floats, allowed: Allowed
    ) -> Relaxed:
        """The tangent at x, plus prices times what limits are exceeded by, minimised by variable.

        It bounds every labelling within the limits, whatever the prices from 0 up are.
        """
        priced = slope.reshape(allowed.shape) + np.tensordot(prices, self.columns.cost, 1)
        priced = np.where(allowed, priced, np.inf)
        least = priced.min(axis=1, keepdims=True)
        bound = value - slope @ x + least.sum() - prices @ self.columns.cap
        return Relaxed(
            float(bound - _TINY * (1.0 + abs(bound))), x.reshape(allowed.shape), priced - least
        )

    def _find_corner(self, slope: Floats, allowed: Allowed) -> tuple[Floats | None, Floats]:
        """Labels, fractional where limits bind, of lowest slope, and prices of the limits."""
        cost, cap = self.columns.cost, self.columns.cap
        table = np.where(allowed, slope.reshape(allowed.shape), np.inf)
        corner = np.zeros(allowed.shape)
        corner[np.arange(len(corner)), table.argmin(axis=1)] = 1.0
        if (np.tensordot(cost, corner, 2) <= cap).all():
            return corner.ravel(), np.zeros(len(cap))
        used = np.flatnonzero(allowed.ravel())
        one = (used // allowed.shape[1])[None] == np.arange(len(allowed))[:, None]
        found = linprog(
            slope[used],
            A_ub=cost.reshape(len(cap), -1)[:, used],
            b_ub=cap,
            A_eq=one.astype(float),
            b_eq=np.ones(len(allowed)),
            method="highs",
        )
        if found.status != 0:
            return None, np.zeros(len(cap))
        corner = np.zeros(slope.shape)
        corner[used] = found.x
        return corner, np.maximum(-found.ineqlin.marginals, 0.0)

    def _find_step(self, x: Floats, way: Floats) -> float:
        """The step from 0 to 1 of lowest value, by bisection of the derivative."""
        curved = self._square @ way
        rise, fall = self._mean @ way, -(way @ curved)
        along = self._linear @ way - 2.0 * (x @ curved)
        inside = self._square_start + self._linear @ x - x @ (self._square @ x) + self._floor
        low, high = 0.0, 1.0
        for _ in range(30):
            t = 0.5 * (low + high)
            root = np.sqrt(max(inside + along * t + fall * t * t, self._floor))
            if rise - (along + 2.0 * fall * t) / (2.0 * root) < 0.0:
                low = t
            else:
                high = t
        return 0.5 * (low + high)


def find_block_majorant(gram: Floats, labels: int, weights: Floats) -> Floats:
    """A block-diagonal B with B - G positive semidefinite and small diag(B)·p.

    Block coordinate ascent on max ⟨G, Y Yᵀ⟩ where each block of rows Y_v has Y_v Y_vᵀ = diag(p_v):
    the best Y_v is a polar factor. Its multipliers are B, up to a shift by an eigenvalue.

    Args:
        gram: G, shape (V L, V L).
        labels: L.
        weights: p, positive.

    Example:
        >>> gram = np.array([[2.0, 1.0], [1.0, 2.0]])  # two variables with one label
        >>> find_block_majorant(gram, 1, np.ones(2)).round(4).tolist()
        [[3.0, 0.0], [0.0, 3.0]]
    """
    width = len(gram)
    blocks = [slice(at, at + labels) for at in range(0, width, labels)]
    rank, root = max(labels, int(np.sqrt(2 * width)) + 1), np.sqrt(weights)[:, None]
    rng = np.random.default_rng(0)
    rows = np.zeros((width, rank))
    for block in blocks:
        rows[block] = root[block] * np.linalg.qr(rng.standard_normal((rank, labels)))[0].T
    for _ in range(_SWEEPS):
        for block in blocks:
            pull = gram[block] @ rows - gram[block, block] @ rows[block]
            left, _, right = np.linalg.svd(root[block] * pull, full_matrices=False)
            rows[block] = root[block] * (left @ right)
    found = np.zeros_like(gram)
    for block in blocks:
        multiplier = (gram[block] @ rows) @ rows[block].T / weights[block]
        found[block, block] = (multiplier + multiplier.T) / 2
    shift = float(np.linalg.eigvalsh(gram - found)[-1])
    found[np.arange(width), np.arange(width)] += max(shift, 0.0) + _TINY * np.trace(gram) / width
    return found


_LISTED = 20_000  # labellings below a node that are scored one by one
_STARTS, _LATER_STARTS = 12, 1  # of local search, at the root of a structure and below
_WIDEST = 700  # variables times labels up to which two labels are changed at a time
_BETTER = 1e-12  # less is rounding
_FORBIDDING = 1e6  # weight of what is beyond limits, against the acquisition


def is_relaxed(block: Block) -> bool:
    """Whether a block is searched by relaxations: few structures, many labellings, on edges."""
    shapes = block.shapes
    most = float(block.labels) ** min(int(shapes.variables.max(initial=0)), 300)
    few = len(shapes.home) <= FEW_STRUCTURES
    return few and block.space.labels_on == "edges" and most >= MANY_LABELLINGS


class Builds(Protocol):
    """Makes a graph of a structure and the labels of its variables."""

    def graph(self, s: int, states: Integers, /) -> LabeledGraph:
        """The graph of structure s."""


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
        block: Block,
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

    def _at(self, s: int) -> AddedColumns:
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
        everything = np.ones(self._at(s).label.shape[:2], dtype=bool)
        if _count_labellings(everything) <= _LISTED:
            return [*_list_labellings(everything)]
        self._bounds[s] = ConvexBound(self._at(s))
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
        columns = self._at(s)
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
        columns, gram = self._at(s), self._measure(s)
        return [near for labels in drawn for near in descend(columns, gram, labels)]

    def _measure(self, s: int) -> Floats | None:
        """Products of the vectors of labels; None if they are too many for pairs of changes."""
        label = self._at(s).label
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
    """The same after two changes, shape (V L, V L); infinite for two of one variable."""
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
