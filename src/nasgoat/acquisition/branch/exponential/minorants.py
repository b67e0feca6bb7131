"""The exponential kernel bounded by functions that the linear search can take (Lemma 12).

Notation (docs/branch-and-bound.md, "By a linear kernel")
    x, y_j    rows of a graph and of the observed ones, times the roots of their weights
    c         a centre;  u = x - c,  v_j = y_j - c,  q = ‖u‖²
    s(x)      scale: kernel values are σ² s(x) s(y_j) exp(u·v_j)
    a~, K~    dual variables and Gram matrix of the observations divided by their scales
    e_p(z)    exp(z) without its terms of degree below p
    ℓ         const + m·u - ½ uᵀ M u, a lower bound on value / s(x) - cut / s(x)

A *shell* is the set of graphs with q between two numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np

from nasgoat.acquisition.branch.records import Floats
from nasgoat.kernels import FeatureMap, Sizes
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, NormalisedPosterior

#: Shares of the variance that cross terms are given, of which the best one is taken.
_SHARES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_ROUNDING = 1e-12  # of sums of products, relative to the sum of their absolute values
_LARGEST = 1e7  # of the constant that makes a norm of a square


@dataclass(frozen=True, eq=False)
class Minorant(LinearPosterior):
    """A quadratic function of rows as a mean part minus a norm, which is what can be searched.

    With K much larger than z = ‖B u‖², K - √(K² + K z) is -z/2, or above it by at most z²/8K.

    Args:
        offset: What every graph adds to mean part and vector, which comes second.
    """

    offset: Floats

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> LinearPosterior:
        """The function of rows as one of counts of graphs with n nodes: each has one first node."""
        both = features.fold(np.column_stack([self.w, self.R]), n)
        both[features.path_types.index((0, 0, 0))] += self.offset
        return LinearPosterior(both[:, 0], both[:, 1:])


def make_minorant(
    roots: Floats, centre: Floats, const: float, m: Floats, B: Floats, widest: float
) -> Minorant:
    """The function const + m·u - ½ ‖B u‖², less what rounding and a finite K may add.

    Args:
        roots: Roots of the weights of row columns.
        centre: The centre c.
        const: Its value at the centre.
        m: Its slope there.
        B: A root of its curvature.
        widest: An upper bound on q.
    """
    square = widest * float(np.linalg.norm(B, 2)) ** 2 if len(B) else 0.0
    size = min(1e3 * max(square, 1.0) ** 2, _LARGEST)
    const -= square**2 / (8 * size) + 10 * _ROUNDING * size
    root = np.sqrt(size)
    R = np.column_stack([root * (roots[:, None] * B.T), np.zeros(len(roots))])
    offset = np.concatenate([[const - m @ centre + size], -root * (B @ centre), [size]])
    return Minorant(roots * m, R, offset)


@dataclass(frozen=True)
class Shell:
    """Graphs with q from ``low`` to ``high``, and a graph of them to look at.

    Args:
        low, high: The bounds of q.
        usual: A row where the bound should be tight.
    """

    low: float
    high: float
    usual: Floats


@dataclass(frozen=True, eq=False)
class Expansion:
    """The posterior as an affine function of u, a quadratic one, and what is left.

    Args:
        posterior: Under the exponential or the normalised kernel.
        sqrt_beta: √β.
        centre: c, times the roots of weights.
    """

    posterior: ExponentialPosterior | NormalisedPosterior
    sqrt_beta: float
    centre: Floats

    @cached_property
    def roots(self) -> Floats:
        """Roots of the weights of row columns."""
        return np.asarray(np.sqrt(self.posterior.squares))

    @property
    def normalised(self) -> bool:
        """Whether the kernel is the normalised one."""
        return isinstance(self.posterior, NormalisedPosterior)

    def shift(self, rows: Floats) -> Floats:
        """The differences u of rows from the centre."""
        return np.asarray(rows * self.roots - self.centre)

    @cached_property
    def observed(self) -> Floats:
        """The observed graphs v_j, as differences from the centre."""
        roots = self.roots[:, None]
        known = np.divide(
            self.posterior.projections, roots, out=np.zeros_like(self.posterior.projections),
            where=roots > 0,
        )  # fmt: skip
        return np.asarray(known.T - self.centre)

    def log_scale(self, u: Floats) -> Floats:
        """The logarithm of the scale s of graphs with these differences from the centre."""
        if self.normalised:
            return np.asarray(-0.5 * (u * u).sum(axis=-1))
        return np.asarray(u @ self.centre + 0.5 * self.centre @ self.centre)

    @cached_property
    def _scales(self) -> Floats:
        return np.exp(self.log_scale(self.observed))

    @cached_property
    def _products(self) -> Floats:
        return np.asarray(self.observed @ self.observed.T)

    @cached_property
    def _dual(self) -> Floats:
        return np.asarray(self.posterior.dual * self._scales)

    @cached_property
    def mean(self) -> tuple[float, Floats, Floats, float]:
        """The mean over s(x): constant, slope, curvature, and the norm of what is left."""
        variance, v, dual = self.posterior.variance, self.observed, self._dual
        left = variance * compute_exp_tail(3, self._products)
        square = float(dual @ left @ dual) + _ROUNDING * float(
            np.abs(dual) @ np.abs(left) @ np.abs(dual)
        )
        curvature = variance * (v.T * dual) @ v
        norm = float(np.sqrt(max(square, 0.0)))
        return float(variance * dual.sum()), variance * v.T @ dual, curvature, norm

    def bound_variance(self, share: float) -> Floats:
        """C: (1, u)ᵀ C (1, u) + (1 + 1/share) σ² e_2(q) bounds the variance over s(x)²."""
        variance, v = self.posterior.variance, self.observed
        affine = np.column_stack([np.ones(len(v)), v])
        lower = np.linalg.inv(self.posterior.whitening)
        gram = (lower @ lower.T) / np.outer(self._scales, self._scales)
        gram += share * variance * compute_exp_tail(2, self._products)
        explained = affine.T @ np.linalg.solve(gram, affine)
        found = variance * np.eye(affine.shape[1]) - variance**2 * explained
        slack = 1e3 * _ROUNDING * variance
        return np.asarray((found + found.T) / 2 + slack * np.eye(len(found)))

    @cached_property
    def _covariances(self) -> list[tuple[float, Floats]]:
        return [(share, self.bound_variance(share)) for share in _SHARES]

    def bound(self, shell: Shell, cut: float, scales: tuple[float, float]) -> Minorant:
        """ℓ: a lower bound on (value - cut) / s(x) of every graph of a shell (Lemma 12).

        Args:
            shell: The graphs.
            cut: A value, at best hardly above the least one.
            scales: The least and the largest s(x).
        """
        const, slope, curvature, norm = self.mean
        variance, u = self.posterior.variance, self.shift(shell.usual)
        low, high = shell.low, shell.high
        left = cut_chord(
            norm * np.sqrt(variance * compute_exp_tail(3, np.array([low, high]))), low, high
        )
        share, C, deviation = self._find_share(shell)
        rest = cut_chord(
            (1 + 1 / share) * variance * compute_exp_tail(2, np.array([low, high])), low, high
        )
        half = self.sqrt_beta / (2 * deviation)
        one = np.eye(len(u))
        const += -left[0] - half * (C[0, 0] + rest[0] + deviation**2)
        m = slope - 2 * half * C[0, 1:]
        M = 2 * left[1] * one + 2 * half * (C[1:, 1:] + rest[1] * one) - curvature
        added, more, curved = self._divide(cut, u, scales, high)
        const, m, M = const + added, m + more, M + curved * one
        values, vectors = np.linalg.eigh(M)
        convex = values < 0  # a convex part lies above its tangents
        rises = (vectors[:, convex] * np.sqrt(-values[convex])).T
        const -= 0.5 * float(np.sum((rises @ u) ** 2))
        m = m + rises.T @ (rises @ u)
        falls = (vectors[:, ~convex] * np.sqrt(values[~convex])).T
        return make_minorant(self.roots, self.centre, const, m, falls, high)

    def measure_curvature(self, shell: Shell) -> float:
        """The curvature in q of the bound at the shell's usual graph, at the shell's far end."""
        share, _, deviation = self._find_share(shell)
        rest = (1 + 1 / share) * self.posterior.variance * float(np.exp(shell.high))
        return self.sqrt_beta / (2 * deviation) * rest

    def _find_share(self, shell: Shell) -> tuple[float, Floats, float]:
        """The share that makes the deviation of a usual graph least; C; that deviation."""
        u = self.shift(shell.usual)
        one, q = np.append(1.0, u), np.clip(u @ u, shell.low, shell.high)
        ends = np.array([shell.low, shell.high])
        found = []
        for place, (share, C) in enumerate(self._covariances):
            chord = cut_chord(compute_exp_tail(2, ends), shell.low, shell.high)
            rest = (1 + 1 / share) * self.posterior.variance * (chord[0] + chord[1] * q)
            found.append((float(np.sqrt(one @ C @ one + rest)), place))
        deviation, place = min(found)
        return *self._covariances[place], max(deviation, 1e-6)

    def _divide(
        self, cut: float, u: Floats, scales: tuple[float, float], high: float
    ) -> tuple[float, Floats, float]:
        """A lower bound on -cut / s(x): constant, slope, and what it adds to M."""
        none = np.zeros(len(u))
        if cut >= 0.0:
            return -cut / scales[0], none, 0.0
        if self.normalised:  # 1 / s = exp(q / 2), above its tangents
            q = min(float(u @ u), high)
            size = -cut * float(np.exp(q / 2))
            return size * (1 - q / 2), none, -size
        at = float(self.log_scale(u))  # 1 / s = exp(-log s)
        size = -cut * float(np.exp(-at))
        return size * (1 + at - 0.5 * float(self.centre @ self.centre)), -size * self.centre, 0.0

    def measure_size(self, widest: float) -> Minorant:
        """The function -q, whose bounds say how far graphs are from the centre."""
        width = len(self.centre)
        B = np.sqrt(2.0) * np.eye(width)
        return make_minorant(self.roots, self.centre, 0.0, np.zeros(width), B, widest)

    def measure_scale(self, sign: float) -> Minorant:
        """The function log s or -log s, under the exponential kernel."""
        const = sign * 0.5 * float(self.centre @ self.centre)
        none = np.zeros((0, len(self.centre)))
        return make_minorant(self.roots, self.centre, const, sign * self.centre, none, 0.0)


def compute_exp_tail(p: int, z: Floats) -> Floats:
    """e_p: exp without its terms of degree below p.

    Example:
        >>> compute_exp_tail(2, np.array([1.0])).round(6).tolist()
        [0.718282]
    """
    term, total = np.ones_like(z), np.zeros_like(z)
    for degree in range(p + 30):  # the series, because a difference would cancel near 0
        if degree >= p:
            total += term
        term = term * z / (degree + 1)
    direct = np.exp(z) - sum((z**degree / factorial(degree) for degree in range(p)), 0.0)
    return np.where(np.abs(z) < 2.0, total, direct)


def cut_chord(values: Floats, low: float, high: float) -> tuple[float, float]:
    """Constant and slope of the line through the values at two ends."""
    slope = float((values[1] - values[0]) / (high - low))
    return float(values[0] - slope * low), slope
