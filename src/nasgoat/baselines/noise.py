"""The noise of a Gaussian process with a fixed kernel, chosen by marginal likelihood.

Notation
    K      kernel matrix of the observed graphs,  z  their standardised targets
    ν      noise variance

    -2 log p(z) = zᵀ (K + ν I)⁻¹ z + log det (K + ν I) + const
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize_scalar

Array = NDArray[np.float64]


def likelihood_terms(K: Array, z: Array, noise: float) -> tuple[float, float]:
    """zᵀ (K + ν I)⁻¹ z and log det (K + ν I): their sum is -2 log p(z) + const.

    Example:
        >>> fit, log_det = likelihood_terms(np.eye(2), np.array([1.0, 1.0]), noise=1.0)
        >>> round(fit, 6), round(log_det, 6)
        (1.0, 1.386294)
    """
    L = cholesky(K + noise * np.eye(len(K)), lower=True)
    half = solve_triangular(L, z, lower=True)
    return float(half @ half), float(2 * np.log(np.diag(L)).sum())


def likeliest_noise(loss: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """The noise variance of smallest loss between two bounds, sought on the log scale.

    Example:
        >>> z = np.array([2.0, -2.0])
        >>> round(likeliest_noise(lambda v: sum(likelihood_terms(np.eye(2), z, v)), (0.1, 10)), 3)
        3.0
    """
    low, high = np.log(bounds)
    found = minimize_scalar(
        lambda log: loss(float(np.exp(log))), bounds=(low, high), method="bounded"
    )
    return float(np.exp(found.x))
