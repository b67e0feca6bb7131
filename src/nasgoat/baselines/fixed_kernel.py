"""Gaussian processes whose kernel is fixed: posterior, likelihood, and the likeliest noise.

Notation
    K          kernel matrix of the m observed graphs,  z  their standardised errors
    ν          noise variance

    -2 log p(z) = zᵀ (K + ν I)⁻¹ z + log det (K + ν I) + const
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import minimize_scalar

from nasgoat.errors import SurrogateError

Array = NDArray[np.float64]
_JITTERS = tuple(10.0**power for power in range(-10, -2))  # distinct graphs can be at distance 0


def predict(
    K: Array, cross: Array, prior: Array | float, z: Array, noise: float
) -> tuple[Array, Array]:
    """Mean and standard deviation at q graphs.

    Args:
        K: Kernel matrix of the observed graphs, shape (m, m).
        cross: Kernel between observed graphs and the q graphs, shape (m, q).
        prior: Prior variance of each of the q graphs, or of all of them.
        z: Targets of the observed graphs, shape (m,).
        noise: ν.

    Example:
        >>> mean, std = predict(np.eye(1), np.array([[1.0, 0.0]]), 1.0, np.array([2.0]), 1e-10)
        >>> mean.round(3).tolist(), std.round(3).tolist()
        ([2.0, 0.0], [0.0, 1.0])
    """
    L = _factorise(K + noise * np.eye(len(K)))
    half = solve_triangular(L, cross, lower=True)
    mean = half.T @ solve_triangular(L, z, lower=True)
    variance = prior - np.einsum("ij,ij->j", half, half)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def _factorise(K: Array) -> Array:
    """The Cholesky factor of K, with as little added to the diagonal as makes it exist."""
    for jitter in (0.0, *_JITTERS):
        try:
            factor: Array = cholesky(K + jitter * np.eye(len(K)), lower=True)
        except LinAlgError:
            continue
        return factor
    raise SurrogateError("the kernel matrix must be positive definite, got a singular one")


def compute_likelihood_terms(K: Array, z: Array, noise: float) -> tuple[float, float]:
    """zᵀ (K + ν I)⁻¹ z and log det (K + ν I): their sum is -2 log p(z) + const.

    Example:
        >>> fit, log_det = compute_likelihood_terms(np.eye(2), np.array([1.0, 1.0]), noise=1.0)
        >>> round(fit, 6), round(log_det, 6)
        (1.0, 1.386294)
    """
    L = cholesky(K + noise * np.eye(len(K)), lower=True)
    half = solve_triangular(L, z, lower=True)
    return float(half @ half), float(2 * np.log(np.diag(L)).sum())


def find_likeliest_noise(loss: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """The noise variance of smallest loss between two bounds, sought on the log scale.

    Example:
        >>> z = np.array([2.0, -2.0])
        >>> loss = lambda noise: sum(compute_likelihood_terms(np.eye(2), z, noise))
        >>> round(find_likeliest_noise(loss, (0.1, 10)), 3)
        3.0
    """
    low, high = np.log(bounds)
    found = minimize_scalar(
        lambda log: loss(float(np.exp(log))), bounds=(low, high), method="bounded"
    )
    return float(np.exp(found.x))
