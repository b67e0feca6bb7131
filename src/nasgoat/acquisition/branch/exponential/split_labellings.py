"""All labellings of labelled edges under the exponential kernel, split into two halves (Lemma 7).

Notation (docs/branch-and-bound.md)
    l, r     a labelling of the first half of the edges, and of the second half
    k, κ     k_j = base_j · left_j(l) · right_j(r), and κ likewise (``model``)
    ψ        L⁻¹ k;  value a·k - √β S with S² = κ - ‖ψ‖²
    k₀, S₀   any kernel vector and any positive number: the *tangent*

S ≤ (S² + S₀²) / 2S₀ and ‖ψ - ψ₀‖² ≥ 0 give value ≥ g·k - √β (κ + κ₀) / 2S₀ with
g = a + √β K⁻¹ k₀ / S₀ and κ₀ = S₀² + ‖ψ₀‖². For all l and r at once g·k is one product of two
matrices. Only labellings whose bound is low enough are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nasgoat.acquisition.branch.cells.domains import EPSILON
from nasgoat.acquisition.branch.exponential.enumeration import ExponentialRun
from nasgoat.acquisition.branch.exponential.model import ExponentialProblem, Model
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Integers, Run
from nasgoat.compiled import ALONE, Threads

_MANY_LABELLINGS = 50_000  # of all structures, from which a second thread pays
_MANY_OF_ONE = 20_000  # of one structure, from which products of matrices pay
_LARGEST_HALF = 200_000  # labellings of half the edges that fit in memory as a matrix
_ENTRIES = 3_000_000  # bounds that are computed at a time
_BATCH = 4096  # labellings that are looked at one by one before the threshold is asked for again
_SAMPLE = 512  # random labellings from which the first tangent of a structure is taken


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

    def bound(self, kernel: Floats, prior: Floats) -> Floats:
        """Lower bounds of the values at these kernel vectors."""
        return kernel @ self.weights - self.slope * prior - self.constant


def take_tangent(model: Model, white: Floats, deviation: float) -> KernelTangent:
    """The tangent at ψ₀ = ``white`` and S₀ = ``deviation`` (Lemma 7).

    Example:
        >>> settings = np.array([1.0, 2.0, 0.0])
        >>> model = Model(dual=np.ones(1), whitening=np.eye(1), settings=settings)
        >>> tangent = take_tangent(model, np.zeros(1), 1.0)
        >>> tangent.bound(np.array([[0.5]]), np.array([1.0])).tolist()
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
        values, white, deviation = score_kernels(self.model, *self._join_halves(first, second))
        low = np.argsort(values, kind="stable")[: max(_SAMPLE // 20, 1)]
        spread = float(deviation[low].mean()) or 1.0
        self._tangent = take_tangent(self.model, white[low].mean(axis=0), spread)
        self.margin = MARGIN + self._bound_rounding()

    @property
    def labellings(self) -> int:
        """How many labellings the structure has."""
        return len(self.left.prior) * len(self.right.prior)

    def _join_halves(self, first: Integers, second: Integers) -> tuple[Floats, Floats]:
        kernel = self.left.kernel[first] * self.right.kernel[second]
        return kernel, self.left.prior[first] * self.right.prior[second]

    def _bound_rounding(self) -> float:
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
        values, _, _ = score_kernels(self.model, *self._join_halves(first, second))
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
        at = min(s, len(factors.given) - 1)
        kernel, square = factors.given[at].copy(), float(factors.given_square[at])
        for u in range(n):
            for v in range(u, n):
                if u == v or distance[u, v] > 0:
                    kernel *= factors.path[size, distance[u, v], u, v]
                    square += factors.square[size, factors.path_column[distance[u, v], u, v]]
        power = model.settings[2]
        kernel *= np.exp(-0.5 * power * square)
        return kernel, float(model.settings[0] * np.exp((1.0 - power) * square))

    def _label_edges(self, s: int, edges: range, kernel: Floats, prior: float) -> HalfLabellings:
        """All labellings of some edges, from the kernel vector and prior variance without them."""
        factors, size = self._problem.factors, self.block.shapes.size[s]
        limits, power = self._problem.limits, self._problem.model.settings[2]
        m, count = len(kernel), self.block.labels
        found = HalfLabellings(
            kernel=np.ones((1, m)),
            prior=np.ones(1),
            labels=np.zeros((1, 0), dtype=np.int64),
            cost=np.zeros((len(limits.cap), 1)),
        )
        for i in edges:
            u, v = self.block.shapes.ends[s, i]
            squares = factors.square[size, factors.edge_column[u, v]]
            values = factors.edge[size, u, v] * np.exp(-0.5 * power * squares)[:, None]
            each = np.tile(np.arange(count), len(found.labels))[:, None]
            cost = limits.state[:, None, limits.place[s, i]]
            found = HalfLabellings(
                kernel=(found.kernel[:, None] * values).reshape(-1, m),
                prior=np.multiply.outer(found.prior, np.exp((1.0 - power) * squares)).ravel(),
                labels=np.hstack([np.repeat(found.labels, count, axis=0), each]),
                cost=(found.cost[:, :, None] + cost).reshape(len(limits.cap), len(each)),
            )
        found.kernel *= kernel
        found.prior *= prior
        return found


def start_labellings(problem: ExponentialProblem, threads: Threads) -> Run:
    """The search that suits the labellings of a block: one by one, or by products of matrices."""
    block = problem.block
    variables = int(block.shapes.variables.max(initial=0))
    most, half = block.labels**variables, block.labels ** ((variables + 1) // 2)
    if len(problem.roots) * most < _MANY_LABELLINGS:
        threads = ALONE
    on_edges = block.space.labels_on == "edges"
    if on_edges and most > _MANY_OF_ONE and half <= _LARGEST_HALF:
        return SplitRun(problem, threads)
    return ExponentialRun(problem, threads)
