"""Cells whose labels add up, long chains above all: a bound by convex relaxation.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nasgoat.acquisition.branch.cells.records import LimitRows, Tables
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.records import Floats, Integers

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
        block: CellBlock,
        tables: Tables,
        limits: LimitRows,
        s: int,
        codes: NDArray[np.uint8] | None = None,
    ) -> AddedColumns:
        """The columns of structure s of a block whose edges carry the labels.

        ``codes`` are those of the blocks other than the paper's, of every structure.
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
    """Bounds the acquisition of one structure for any choice of allowed labels (Lemma 8)."""

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
