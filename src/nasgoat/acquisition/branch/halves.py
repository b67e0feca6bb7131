"""All labellings of a structure with labelled edges under the exponential kernel, by two halves.

Notation (docs/branch-and-bound.md, Lemma 6)
    l, r     a labelling of the first half of the edges, and of the second half
    k        kernel vector: k_j = base_j · left_j(l) · right_j(r);  κ its prior variance, likewise
    ψ        L⁻¹ k;  value a·k - √β S with S² = κ - ‖ψ‖²
    k₀, S₀   any kernel vector and any positive number: the *tangent*

S ≤ (S² + S₀²) / 2S₀ and ‖ψ - ψ₀‖² ≥ 0 give value ≥ g·k - √β (κ + κ₀) / 2S₀ with
g = a + √β K⁻¹ k₀ / S₀ and κ₀ = S₀² + ‖ψ₀‖². For all l and r at once g·k is one product of two
matrices. Only labellings whose bound is low enough are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers
from nasgoat.acquisition.branch.exhaust import Model
from nasgoat.acquisition.branch.runs import MARGIN, Found

_ENTRIES = 3_000_000  # bounds that are computed at a time
_BATCH = 4096  # labellings that are looked at one by one before the threshold is asked for again
_SAMPLE = 512  # random labellings from which the first tangent of a structure is taken


@dataclass
class Half:
    """Factors of all labellings of one half of the edges."""

    kernel: Floats  # (l, m)
    prior: Floats  # (l,)
    labels: Integers  # (l, edges)


@dataclass
class Tangent:
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


def tangent_at(model: Model, white: Floats, deviation: float) -> Tangent:
    """The tangent at ψ₀ = ``white`` and S₀ = ``deviation``.

    Example:
        >>> model = Model(np.array([1.0]), np.eye(1), np.array([1.0, 2.0]))
        >>> tangent_at(model, np.zeros(1), 1.0).bounds(np.array([[0.5]]), np.array([1.0])).tolist()
        [-1.5]
    """
    sqrt_beta = model.settings[1]
    weights = model.dual + sqrt_beta / deviation * (white @ model.whitening)
    square = deviation**2 + white @ white
    slope = sqrt_beta / (2 * deviation)
    return Tangent(weights, float(slope), float(slope * square))


def values_of(model: Model, kernel: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
    """Values, whitened kernel vectors and S of labellings."""
    white = kernel @ model.whitening.T
    deviation = np.sqrt(np.maximum(prior - np.einsum("ij,ij->i", white, white), 0.0))
    values: Floats = kernel @ model.dual - model.settings[1] * deviation
    return values, white, deviation


@dataclass
class Structure:
    """The search through one structure: blocks of bounds, then the labellings that they leave."""

    shape: int
    model: Model
    left: Half
    right: Half
    room: Floats  # what the limits leave for the labels
    costs: Floats  # (limits, labels)
    seed: int = 0
    _row: int = 0  # first row of the next block
    _waiting: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _bounds: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        sides = len(self.left.prior), len(self.right.prior)
        first, second = (rng.integers(0, side, _SAMPLE) for side in sides)
        values, white, deviation = values_of(self.model, *self._kernel(first, second))
        low = np.argsort(values, kind="stable")[: max(_SAMPLE // 20, 1)]
        spread = float(deviation[low].mean()) or 1.0
        self._tangent = tangent_at(self.model, white[low].mean(axis=0), spread)
        self.margin = self._rounding()

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
            self._next_block(best)
        open_ = self._bounds < best + MARGIN + self.margin
        self._waiting, self._bounds = self._waiting[open_], self._bounds[open_]
        chosen, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        self._bounds = self._bounds[_BATCH:]
        if not len(chosen):
            return []
        first, second = np.divmod(chosen, len(self.right.prior))
        values, _, _ = values_of(self.model, *self._kernel(first, second))
        better = np.flatnonzero((values < best) & self._affordable(first, second))
        better = better[np.argsort(values[better], kind="stable")]
        return [(self.shape, self._labels(first[x], second[x]), float(values[x])) for x in better]

    def _next_block(self, best: float) -> None:
        """Bounds of the next rows, lowest first."""
        rows = slice(self._row, self._row + max(_ENTRIES // len(self.right.prior), 1))
        self._row = rows.stop
        tangent = self._tangent
        weighted = self.left.kernel[rows] * tangent.weights
        bounds = weighted @ self.right.kernel.T
        bounds -= np.multiply.outer(tangent.slope * self.left.prior[rows], self.right.prior)
        bounds -= tangent.constant
        flat = bounds.ravel()
        waiting = np.flatnonzero(flat < best + MARGIN + self.margin)
        order = np.argsort(flat[waiting], kind="stable")
        self._bounds = flat[waiting][order]
        self._waiting = waiting[order] + rows.start * len(self.right.prior)

    def _affordable(self, first: Integers, second: Integers) -> NDArray[np.bool_]:
        spent = self.costs[:, self.left.labels[first]].sum(axis=2)
        spent = spent + self.costs[:, self.right.labels[second]].sum(axis=2)
        fits: NDArray[np.bool_] = (spent <= self.room[:, None]).all(axis=0)
        return fits

    def _labels(self, first: int, second: int) -> Integers:
        return np.concatenate([self.left.labels[first], self.right.labels[second]])
