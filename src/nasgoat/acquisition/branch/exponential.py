"""The exponential kernel: bounds of structures, and the searches below them (Lemmas 5 to 7).

Notation (docs/branch-and-bound.md)
    Q        k_lin of a graph with itself;  κ = σ² exp(Q) its prior variance
    k, L     kernel vector and Cholesky factor of K;  v = ‖L⁻¹ k‖²;  s = ‖L⁻¹ y‖
    value    a·k - √β √(κ - v), a = K⁻¹ y

Bounds of structures (Lemma 6): by Cauchy and Schwarz a·k = (L⁻¹ y)·(L⁻¹ k) ≥ -s √v, and v ≤ κ
because a variance is never negative. So the value is at least -s √v - √β √(κ - v) ≥ -√(s² + β) √κ.
What is left is to bound Q.

Where edges carry the labels, all labellings of a structure are split in two (Lemma 7):
    l, r     a labelling of the first half of the edges, and of the second half
    k, κ     k_j = base_j · left_j(l) · right_j(r), and κ likewise
    ψ        L⁻¹ k;  value a·k - √β S with S² = κ - ‖ψ‖²
    k₀, S₀   any kernel vector and any positive number: the *tangent*

S ≤ (S² + S₀²) / 2S₀ and ‖ψ - ψ₀‖² ≥ 0 give value ≥ g·k - √β (κ + κ₀) / 2S₀ with
g = a + √β K⁻¹ k₀ / S₀ and κ₀ = S₀² + ‖ψ₀‖². For all l and r at once g·k is one product of two
matrices. Only labellings whose bound is low enough are looked at one by one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from nasgoat.acquisition.branch.blocks import Block
from nasgoat.acquisition.branch.domains import EPSILON
from nasgoat.acquisition.branch.labellings import (
    Labelling,
    new_labelling,
    search_labellings,
)
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    MARGIN,
    NODES,
    POSITION,
    SHAPE,
    Factors,
    Floats,
    Found,
    Integers,
    LimitRows,
    Model,
)
from nasgoat.compiled import Threads
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms
_ENTRIES = 3_000_000  # bounds that are computed at a time
_BATCH = 4096  # labellings that are looked at one by one before the threshold is asked for again
_SAMPLE = 512  # random labellings from which the first tangent of a structure is taken


@dataclass(frozen=True)
class ExponentialProblem:
    """What a search under the exponential kernel looks up.

    Args:
        block: The structures.
        factors, model, limits: What the posterior and the space say about them.
        roots: A lower bound of each structure.
    """

    block: Block
    factors: Factors
    model: Model
    limits: LimitRows
    roots: Floats


def make_factors(features: FeatureMap, posterior: ExponentialPosterior) -> Factors:
    """The features of a space as factors of the kernel vector of the exponential kernel."""
    space = features.space
    n, codes, edges = space.sizes[-1], len(space.node_vocabulary), len(space.edge_vocabulary)
    codes = codes or n
    on_counts = [posterior.on_counts(features, size) for size in space.sizes]
    columns = np.stack([np.exp(part.projections) for part in on_counts])
    path_column = np.zeros((n, codes, codes), dtype=np.int64)
    edge_column = np.zeros((n, n, edges), dtype=np.int64)
    for column, (s, a, b) in enumerate(features.path_types):
        path_column[s, a, b] = column
    for column, (u, v, label) in enumerate(features.edge_types, len(features.path_types)):
        edge_column[u, v, label] = column
    return Factors(
        path=columns[:, path_column],
        path_column=path_column,
        edge=columns[:, edge_column],
        edge_column=edge_column,
        square=np.stack([part.squares for part in on_counts]),
    )


def make_model(posterior: ExponentialPosterior, sqrt_beta: float) -> Model:
    """The arrays of a posterior of the exponential kernel."""
    return Model(
        dual=np.ascontiguousarray(posterior.dual),
        whitening=np.ascontiguousarray(posterior.whitening),
        settings=np.array([posterior.variance, sqrt_beta]),
    )


def bound_exponential(block: Block, factors: Factors, model: Model) -> Floats:
    """A lower bound of every structure (Lemma 6), with the largest Q that its labels allow."""
    # L⁻¹ y = Lᵀ a, and Lᵀ is the inverse of the transposed whitening.
    s = np.linalg.solve(model.whitening.T, model.dual) if len(model.dual) else np.zeros(0)
    variance, sqrt_beta = model.settings
    factor = -np.sqrt((s @ s + sqrt_beta**2) * variance)
    largest = np.zeros(len(block.shapes.nodes))
    for size in np.unique(block.shapes.size):
        rows = np.flatnonzero(block.shapes.size == size)
        largest[rows] = _bound_squares(block, factors, int(size), rows)
    bounds: Floats = factor * np.exp(np.minimum(largest / 2, 700.0))
    return bounds


def _bound_squares(block: Block, factors: Factors, size: int, rows: Integers) -> Floats:
    """An upper bound on Q = Σ_f λ_f z_f² for structures of one size.

    Pairs of nodes are alike if each end is the source, inner or the sink in both (with indexed
    nodes: the same node), at one distance. A count z is largest if all pairs that are alike have
    the same labels.
    """
    shapes, squares = block.shapes, factors.square[size]
    n, indexed = int(shapes.nodes[rows[0]]), shapes.ends.shape[1] > 0
    codes = _list_codes(factors, n, indexed)
    distance = shapes.distance[rows]
    counts: dict[tuple[int, int, int], Floats] = defaultdict(lambda: np.zeros(len(rows)))
    role = [u if indexed else (0 if u == 0 else 2 if u == n - 1 else 1) for u in range(n)]
    for u in range(n):
        counts[0, role[u], role[u]] += 1.0
        for v in range(u + 1, n):
            for d in range(1, n):
                counts[d, role[u], role[v]] += distance[:, u, v] == d
    total = np.zeros(len(rows))
    for (d, a, b), count in counts.items():
        columns = factors.path_column[d][np.ix_(codes[a], codes[b])]
        total += squares[np.diag(columns) if d == 0 else columns].max() * count**2
    if indexed:
        weights = squares[factors.edge_column].max(axis=2)
        total += (block.adjacency[rows] * weights).sum(axis=(1, 2))
    return total


def _list_codes(factors: Factors, n: int, indexed: bool) -> list[list[int]]:
    """The label codes that a node of each role can have."""
    if indexed:
        return [[u] for u in range(n)]
    last = factors.path_column.shape[1] - 1
    return [[0], list(range(1, last)) or [0], [last]]


@dataclass
class _Worker:
    """The state of one thread."""

    state: Labelling
    order: Integers
    done: bool = False


class ExponentialRun:
    """Every labelling of every structure whose bound does not rule it out."""

    def __init__(self, problem: ExponentialProblem, threads: Threads) -> None:
        self._problem, self._threads, self.block = problem, threads, problem.block
        order = np.argsort(problem.roots, kind="stable")
        variables = max(int(self.block.shapes.variables.max()), 1)
        given = (variables, self.block.labels, problem.factors, problem.limits)
        self._workers = [
            _Worker(new_labelling(*given), order[j :: threads.total].copy())
            for j in range(threads.total)
        ]

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return sum(int(worker.state.place[NODES]) for worker in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        working = [worker for worker in self._workers if not worker.done]
        if not working:
            return None
        answers = self._threads.map(lambda worker: self._step(worker, best), working)
        return [found for answer in answers for found in answer]

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        state = worker.state
        problem = self._problem
        status, value = search_labellings(
            problem.factors,
            problem.model,
            self.block.shapes,
            problem.limits,
            state,
            self.block.labels,
            worker.order,
            problem.roots,
            best,
            MARGIN,
            _PAUSE,
        )
        worker.done = status == DONE
        if status != FOUND:
            return []
        return [(int(state.place[SHAPE]), state.labels.copy(), float(value))]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        lowest = np.inf
        for worker in self._workers:
            place = worker.state.place
            waiting = worker.order[place[POSITION] :][:1].tolist()
            current = [int(place[SHAPE])] if place[DEPTH] >= 0 else []
            lowest = min([lowest, *self._problem.roots[current + waiting].tolist()])
        return lowest


@dataclass
class HalfLabellings:
    """Factors and costs of all labellings of one half of the edges."""

    kernel: Floats  # (l, m)
    prior: Floats  # (l,)
    labels: Integers  # (l, edges)
    cost: Floats  # (limits, l)


@dataclass
class KernelTangent:
    """A bound that is linear in the kernel vector and in κ.

    Args:
        weights: g.
        slope: √β / 2S₀, the factor of κ.
        constant: √β κ₀ / 2S₀.
    """

    weights: Floats
    slope: float
    constant: float

    def bounds(self, kernel: Floats, prior: Floats) -> Floats:
        """Lower bounds of the values at these kernel vectors."""
        return kernel @ self.weights - self.slope * prior - self.constant


def take_tangent(model: Model, white: Floats, deviation: float) -> KernelTangent:
    """The tangent at ψ₀ = ``white`` and S₀ = ``deviation`` (Lemma 7).

    Example:
        >>> model = Model(dual=np.ones(1), whitening=np.eye(1), settings=np.array([1.0, 2.0]))
        >>> tangent = take_tangent(model, np.zeros(1), 1.0)
        >>> tangent.bounds(np.array([[0.5]]), np.array([1.0])).tolist()
        [-1.5]
    """
    sqrt_beta = model.settings[1]
    weights = model.dual + sqrt_beta / deviation * (white @ model.whitening)
    square = deviation**2 + white @ white
    slope = sqrt_beta / (2 * deviation)
    return KernelTangent(weights, float(slope), float(slope * square))


def score_kernels(model: Model, kernel: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
    """Values, whitened kernel vectors and S of labellings."""
    white = kernel @ model.whitening.T
    deviation = np.sqrt(np.maximum(prior - np.einsum("ij,ij->i", white, white), 0.0))
    values: Floats = kernel @ model.dual - model.settings[1] * deviation
    return values, white, deviation


@dataclass
class StructureSearch:
    """The search through one structure: bounds of all labellings, then those that they leave."""

    shape: int
    model: Model
    left: HalfLabellings
    right: HalfLabellings
    room: Floats  # (limits,) what the limits leave for the labels
    _row: int = 0  # first labelling of the left half whose bounds are next
    _waiting: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _bounds: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.shape)
        sides = len(self.left.prior), len(self.right.prior)
        first, second = (rng.integers(0, side, _SAMPLE) for side in sides)
        values, white, deviation = score_kernels(self.model, *self._kernel(first, second))
        low = np.argsort(values, kind="stable")[: max(_SAMPLE // 20, 1)]
        spread = float(deviation[low].mean()) or 1.0
        self._tangent = take_tangent(self.model, white[low].mean(axis=0), spread)
        self.margin = MARGIN + self._rounding()

    @property
    def labellings(self) -> int:
        """How many labellings the structure has."""
        return len(self.left.prior) * len(self.right.prior)

    def _kernel(self, first: Integers, second: Integers) -> tuple[Floats, Floats]:
        kernel = self.left.kernel[first] * self.right.kernel[second]
        return kernel, self.left.prior[first] * self.right.prior[second]

    def _rounding(self) -> float:
        """More than what rounding changes in any bound: m + 8 operations on sums of this size."""
        size = np.abs(self._tangent.weights) @ (
            self.left.kernel.max(axis=0) * self.right.kernel.max(axis=0)
        )
        size += self._tangent.slope * self.left.prior.max() * self.right.prior.max()
        size += self._tangent.constant
        return float(2.0**-52 * (len(self._tangent.weights) + 8) * size)

    def go_on(self, best: float) -> list[Found] | None:
        """Labellings better than ``best``; None when all are ruled out or looked at."""
        if not len(self._waiting):
            if self._row >= len(self.left.prior):
                return None
            self._bound_next(best)
        open_ = self._bounds < best + self.margin
        self._waiting, self._bounds = self._waiting[open_], self._bounds[open_]
        chosen, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        self._bounds = self._bounds[_BATCH:]
        if not len(chosen):
            return []
        first, second = np.divmod(chosen, len(self.right.prior))
        values, _, _ = score_kernels(self.model, *self._kernel(first, second))
        spent = self.left.cost[:, first] + self.right.cost[:, second]
        better = np.flatnonzero((values < best) & (spent <= self.room[:, None]).all(axis=0))
        better = better[np.argsort(values[better], kind="stable")]
        labels = np.hstack([self.left.labels[first[better]], self.right.labels[second[better]]])
        return [
            (self.shape, row, value)
            for row, value in zip(labels, values[better].tolist(), strict=True)
        ]

    def _bound_next(self, best: float) -> None:
        """Bounds of the next labellings, lowest first."""
        rows = slice(self._row, self._row + max(_ENTRIES // len(self.right.prior), 1))
        self._row = rows.stop
        tangent = self._tangent
        weighted = self.left.kernel[rows] * tangent.weights
        bounds = weighted @ self.right.kernel.T
        bounds -= np.multiply.outer(tangent.slope * self.left.prior[rows], self.right.prior)
        bounds -= tangent.constant
        flat = bounds.ravel()
        waiting = np.flatnonzero(flat < best + self.margin)
        order = np.argsort(flat[waiting], kind="stable")
        self._bounds = flat[waiting][order]
        self._waiting = waiting[order] + rows.start * len(self.right.prior)


class SplitRun:
    """Structure after structure with labelled edges, in the order of their bounds."""

    def __init__(self, problem: ExponentialProblem, threads: Threads) -> None:
        self._problem, self._threads, self.block = problem, threads, problem.block
        self._order = np.argsort(problem.roots, kind="stable").tolist()
        self._working: list[StructureSearch | None] = [None] * threads.total
        self._next = 0
        self.nodes = 0

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        for at, structure in enumerate(self._working):
            if structure is None and self._next < len(self._order):
                s = self._order[self._next]
                hopeful = self._problem.roots[s] < best + MARGIN
                self._next = self._next + 1 if hopeful else len(self._order)
                if hopeful:
                    self._working[at] = self._begin(s)
        places = [at for at, structure in enumerate(self._working) if structure is not None]
        if not places:
            return None
        working = [s for s in self._working if s is not None]
        answers = self._threads.map(lambda structure: structure.go_on(best), working)
        for at, structure, answer in zip(places, working, answers, strict=True):
            if answer is None:
                self._working[at] = None
                self.nodes += structure.labellings
        return [found for answer in answers for found in answer or ()]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        left = self._order[self._next :][:1] + [s.shape for s in self._working if s is not None]
        return min((float(self._problem.roots[s]) for s in left), default=np.inf)

    def _begin(self, s: int) -> StructureSearch:
        total, limits = int(self.block.shapes.variables[s]), self._problem.limits
        kernel, prior = self._measure_paths(s)
        left = self._label_edges(s, range(total // 2), kernel, prior)
        right = self._label_edges(s, range(total // 2, total), np.ones_like(kernel), 1.0)
        room = limits.cap - limits.shape[:, s] + EPSILON
        return StructureSearch(s, self._problem.model, left, right, room)

    def _measure_paths(self, s: int) -> tuple[Floats, float]:
        """Kernel vector and prior variance of the paths alone."""
        shapes, factors, model = self.block.shapes, self._problem.factors, self._problem.model
        n, size, distance = int(shapes.nodes[s]), shapes.size[s], shapes.distance[s]
        kernel, square = np.full(len(model.dual), model.settings[0]), 0.0
        for u in range(n):
            for v in range(u, n):
                if u == v or distance[u, v] > 0:
                    kernel *= factors.path[size, distance[u, v], u, v]
                    square += factors.square[size, factors.path_column[distance[u, v], u, v]]
        return kernel, float(model.settings[0] * np.exp(square))

    def _label_edges(self, s: int, edges: range, kernel: Floats, prior: float) -> HalfLabellings:
        """All labellings of some edges, from the kernel vector and prior variance without them."""
        factors, size = self._problem.factors, self.block.shapes.size[s]
        limits = self._problem.limits
        m, count = len(kernel), self.block.labels
        found = HalfLabellings(
            kernel=np.ones((1, m)),
            prior=np.ones(1),
            labels=np.zeros((1, 0), dtype=np.int64),
            cost=np.zeros((len(limits.cap), 1)),
        )
        for i in edges:
            u, v = self.block.shapes.ends[s, i]
            squares = np.exp(factors.square[size, factors.edge_column[u, v]])
            each = np.tile(np.arange(count), len(found.labels))[:, None]
            cost = limits.state[:, None, limits.place[s, i]]
            found = HalfLabellings(
                kernel=(found.kernel[:, None] * factors.edge[size, u, v]).reshape(-1, m),
                prior=np.multiply.outer(found.prior, squares).ravel(),
                labels=np.hstack([np.repeat(found.labels, count, axis=0), each]),
                cost=(found.cost[:, :, None] + cost).reshape(len(limits.cap), len(each)),
            )
        found.kernel *= kernel
        found.prior *= prior
        return found
