"""The fitted Gaussian process as plain arrays: what scoring and formulations need of it.

Notation
    x  (d,)    a feature row; X (B, d) several
    Φ  (m, d)  rows of the observed graphs,  Λ = diag(weights of the columns in k_lin)
    K  (m, m)  Gram matrix of Φ plus noise on its diagonal, K = L Lᵀ
    a  (m,)    K⁻¹ y

Linear kernel: with w = Λ Φᵀ a and Σ = Λ - Λ Φᵀ K⁻¹ Φ Λ, the mean is w·x and the variance xᵀ Σ x.
By Woodbury Σ = R Rᵀ with R = Λ^½ B^-ᵀ and B Bᵀ = I + Λ^½ Φᵀ N⁻¹ Φ Λ^½ (N the noise), so the
standard deviation is ‖Rᵀ x‖: never the root of a difference. With far more features than graphs
another root is quicker: R = Λ^½ (I - V diag(1 - 1/√(1 + s²)) Vᵀ), where N^-½ Φ Λ^½ is U diag(s) Vᵀ.
With tens of thousands of features R itself would not fit in memory: the posterior is then a
function of the products with the observed rows, and can be scored but not bounded.

Exponential kernel: k(x) = σ² exp(Φ Λ x), mean k·a, variance σ² exp(xᵀ Λ x) - ‖L⁻¹ k‖².

Normalised kernel: with q(x) = ½ xᵀ Λ x, k_i(x) = σ² exp(φ_i Λ x - q(x) - q(φ_i)), mean k·a,
variance σ² - ‖L⁻¹ k‖².
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular, svd
from scipy.linalg.blas import dtrmm
from sklearn.gaussian_process.kernels import Kernel

from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap, ShortestPathKernel, Sizes

Array = NDArray[np.float64]
#: Features up to which a posterior under the linear kernel has its root R.
WIDEST = 4_000
_WIDE = 1_000  # features from which on the root comes from singular vectors
_BLOCK = 2048  # rows scored at a time: the block and its products stay in the cache


class Posterior(Protocol):
    """Mean and standard deviation of the latent function as functions of feature rows."""

    def mean_std(self, rows: NDArray[np.number]) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each row."""
        ...

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> Posterior:
        """The same posterior as a function of integer counts of graphs with n nodes."""
        ...


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """Posterior under the linear kernel: mean w·x, standard deviation ‖Rᵀ x‖."""

    w: Array
    R: Array

    def __repr__(self) -> str:
        return f"<LinearPosterior: {len(self.w)} features>"

    @property
    def covariance(self) -> Array:
        """Σ, the posterior covariance of the weights."""
        return self.R @ self.R.T

    def mean_std(self, rows: NDArray[np.number]) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each row."""
        both = np.column_stack([self.w, self.R])
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            product = rows[part].astype(float) @ both
            mean[part] = product[:, 0]
            std[part] = np.sqrt(np.einsum("ij,ij->i", product[:, 1:], product[:, 1:]))
        return mean, std

    def restrict_to_cell(self, features: FeatureMap, name: str) -> LinearPosterior:
        """What one cell adds to mean and vector, as a function of its own feature rows."""
        _, own = features.restrict_to_cell(name)
        return LinearPosterior(self.w[own], self.R[own])

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> LinearPosterior:
        """The same posterior as a function of integer counts of graphs with n nodes."""
        return LinearPosterior(features.fold(self.w, n), features.fold(self.R, n))


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Posterior under a function of k_lin.

    Args:
        projections: Λ Φᵀ, shape (d, m): k_lin(x, X) = x · projections.
        squares: Shape (d,): k_lin(x, x) = x² · squares.
        variance: σ_k².
        dual: K⁻¹ y.
        whitening: L⁻¹, lower triangular.
    """

    projections: Array
    squares: Array
    variance: float
    dual: Array
    whitening: Array

    def __repr__(self) -> str:
        sizes = f"{len(self.dual)} graphs, {len(self.squares)} features"
        return f"<{type(self).__name__}: {sizes}>"

    def mean_std(self, rows: NDArray[np.number]) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each row."""
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        whitening = np.asfortranarray(self.whitening)
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            k, prior = self._compare(rows[part].astype(float))
            mean[part] = k @ self.dual
            # ‖L⁻¹ k‖² of each row of k, which is overwritten; L⁻¹ is triangular: half of a product.
            white = dtrmm(1.0, whitening, k.T, lower=1, overwrite_b=1)
            std[part] = np.sqrt(np.maximum(prior - np.einsum("ij,ij->j", white, white), 0.0))
        return mean, std

    def _compare(self, x: Array) -> tuple[Array, Array | float]:
        """Kernel vectors of rows with the observed ones, and prior variances; x is overwritten."""
        raise NotImplementedError

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> Self:
        """The same posterior as a function of integer counts of graphs with n nodes."""
        projections = features.fold(self.projections, n)
        return replace(self, projections=projections, squares=features.fold(self.squares, n, 2))


class ExponentialPosterior(_Whitened):
    """Posterior under the exponential kernel."""

    def _compare(self, x: Array) -> tuple[Array, Array | float]:
        k = x @ self.projections
        np.exp(k, out=k)
        k *= self.variance
        return k, self.variance * np.exp(np.square(x, out=x) @ self.squares)


@dataclass(frozen=True, eq=False, repr=False)
class NormalisedPosterior(_Whitened):
    """Posterior under the normalised kernel, whose prior variance is the same for every graph.

    Args:
        offsets: q(φ_i) of the observed rows, shape (m,).
    """

    offsets: Array

    def _compare(self, x: Array) -> tuple[Array, Array | float]:
        k = x @ self.projections
        k -= 0.5 * (np.square(x, out=x) @ self.squares)[:, None]
        k -= self.offsets
        np.exp(np.minimum(k, 0.0, out=k), out=k)
        k *= self.variance
        return k, self.variance


@dataclass(frozen=True, eq=False)
class KernelPosterior:
    """Posterior under any kernel on feature rows.

    Args:
        kernel: The kernel with its fitted values.
        rows: Φ, rows of the observed graphs.
        dual: K⁻¹ y.
        factor: L.
        source: For each row column the count column that it scales; None if rows are given.
        scale: The factors.
    """

    kernel: Kernel
    rows: Array
    dual: Array
    factor: Array
    source: NDArray[np.intp] | None = None
    scale: Array | None = None

    def __repr__(self) -> str:
        return f"<KernelPosterior: {len(self.dual)} graphs, kernel {self.kernel}>"

    def mean_std(self, rows: NDArray[np.number]) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each row."""
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            x = rows[part].astype(float)
            x = x if self.source is None else x[:, self.source] * self.scale
            k = self.kernel(x, self.rows)
            white = solve_triangular(self.factor, k.T, lower=True)
            explained = np.einsum("ij,ij->j", white, white)
            mean[part] = k @ self.dual
            std[part] = np.sqrt(np.maximum(self.kernel.diag(x) - explained, 0.0))
        return mean, std

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> KernelPosterior:
        """The same posterior as a function of integer counts of graphs with n nodes."""
        return replace(self, source=features.source, scale=features.scale(n))


def make_posterior(
    kernel: Kernel, rows: Array, noise: Array, targets: Array
) -> LinearPosterior | ExponentialPosterior | NormalisedPosterior | KernelPosterior:
    """The posterior of fixed hyperparameters given rows, targets and noise.

    Noise is a variance for each row, shape (m,), or a covariance matrix, shape (m, m).
    """
    too_wide = getattr(kernel, "form", None) == "linear" and rows.shape[1] > WIDEST
    if not isinstance(kernel, ShortestPathKernel) or too_wide:
        L = cholesky(kernel(rows) + spread_noise(noise), lower=True)
        return KernelPosterior(kernel, rows, cho_solve((L, True), targets), L)
    weights = kernel.weights()
    if kernel.form == "linear":
        half = np.sqrt(weights)
        if noise.ndim == 2:  # white noise again, once rows and targets are multiplied by N^-½
            factor = cholesky(noise, lower=True)
            rows = solve_triangular(factor, rows, lower=True)
            targets = solve_triangular(factor, targets, lower=True)
            noise = np.ones(len(rows))
        scaled = (rows * half) / np.sqrt(noise)[:, None]
        R = half[:, None] * _find_root(scaled)
        return LinearPosterior(R @ (R.T @ (rows.T @ (targets / noise))), R)
    L = cholesky(kernel(rows) + spread_noise(noise), lower=True)
    whitening = solve_triangular(L, np.eye(len(rows)), lower=True)
    dual = whitening.T @ (whitening @ targets)
    projections, variance = weights[:, None] * rows.T, float(kernel.variance)
    if kernel.form == "normalised":
        offsets = 0.5 * (rows**2 @ weights)
        return NormalisedPosterior(projections, weights, variance, dual, whitening, offsets)
    return ExponentialPosterior(projections, weights, variance, dual, whitening)


def _find_root(scaled: Array) -> Array:
    """A root of (I + SᵀS)⁻¹, given S of shape (m, d)."""
    graphs, width = scaled.shape
    if width <= max(_WIDE, graphs):
        B = cholesky(np.eye(width) + scaled.T @ scaled, lower=True)
        return np.asarray(solve_triangular(B, np.eye(width), lower=True).T)
    _, s, vectors = svd(scaled, full_matrices=False)
    shrunk = (1.0 - 1.0 / np.sqrt(1.0 + s**2))[:, None] * vectors
    return np.asarray(np.eye(width) - vectors.T @ shrunk)


def spread_noise(noise: Array) -> Array:
    """Noise as a covariance matrix, given as one or as the variance of each observation."""
    return np.diag(noise) if noise.ndim == 1 else noise


def is_too_wide(posterior: Posterior) -> bool:
    """Whether the kernel is linear, with more features than can be bounded."""
    kernel = posterior.kernel if isinstance(posterior, KernelPosterior) else None
    return isinstance(kernel, ShortestPathKernel) and kernel.form == "linear"


def require_known_form(
    posterior: Posterior,
) -> LinearPosterior | ExponentialPosterior | NormalisedPosterior:
    """The posterior, if its kernel has one of our forms: those that programs are written for.

    Raises:
        SettingError: If it is another kernel, which only the catalogue is exact for.
    """
    if isinstance(posterior, LinearPosterior | ExponentialPosterior | NormalisedPosterior):
        return posterior
    raise SettingError(
        "the kernel must be linear, exponential or normalised, the first with at most "
        f"{WIDEST:,} features, for branch and bound and for the MIP, got another one; use the "
        "catalogue or mutation"
    )
