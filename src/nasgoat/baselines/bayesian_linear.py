"""Bayesian linear regression with its two precisions chosen by marginal likelihood.

Notation
    Φ  (N, D)  basis rows,  y (N,) targets,  Φ = U diag(s) Vᵀ
    α          precision of the weights, w ~ N(0, I / α)
    β          precision of the noise,   y ~ N(Φ w, I / β)
    m, S       posterior mean and covariance of w:  S⁻¹ = α I + β ΦᵀΦ,  m = β S Φᵀ y

    log p(y) = log N(y; 0, ΦΦᵀ / α + I / β)

Source: Bishop, Pattern Recognition and Machine Learning, Section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
_LOG_BOUNDS = (-10.0, 12.0)  # of log α and log β: beyond, nothing changes any more


@dataclass(frozen=True, eq=False)
class BayesianLinear:
    """The posterior of the weights.

    Example:
        >>> rows = np.array([[1.0], [2.0], [3.0]])
        >>> model = BayesianLinear.given(rows, np.array([1.0, 2.0, 3.0]), alpha=1e-9, beta=1e9)
        >>> model.predict(np.array([[4.0]]))[0].round(3).tolist()
        [4.0]
    """

    mean: Array
    covariance: Array
    alpha: float
    beta: float

    @classmethod
    def given(cls, rows: Array, targets: Array, alpha: float, beta: float) -> BayesianLinear:
        """The posterior at fixed precisions."""
        precision = alpha * np.eye(rows.shape[1]) + beta * rows.T @ rows
        covariance = np.asarray(np.linalg.inv(precision), dtype=float)
        return cls(beta * covariance @ (rows.T @ targets), covariance, alpha, beta)

    @classmethod
    def fit(cls, rows: Array, targets: Array) -> BayesianLinear:
        """The posterior at the precisions of largest marginal likelihood."""
        U, s, _ = np.linalg.svd(rows, full_matrices=False)
        parts = (s**2, U.T @ targets, float(targets @ targets), len(targets))
        found = minimize(
            lambda logs: -_log_evidence(parts, *np.exp(logs)),
            x0=np.array([0.0, 4.0]),
            method="L-BFGS-B",
            bounds=[_LOG_BOUNDS, _LOG_BOUNDS],
        )
        return cls.given(rows, targets, *np.exp(found.x).tolist())

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of new targets, noise included."""
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance, rows) + 1 / self.beta
        return rows @ self.mean, np.sqrt(np.maximum(variance, 0.0))


def log_evidence(rows: Array, targets: Array, alpha: float, beta: float) -> float:
    """Log p(y) at fixed precisions."""
    U, s, _ = np.linalg.svd(rows, full_matrices=False)
    return _log_evidence((s**2, U.T @ targets, float(targets @ targets), len(targets)), alpha, beta)


def _log_evidence(parts: tuple[Array, Array, float, int], alpha: float, beta: float) -> float:
    # In the basis U the covariance of y is s² / α + 1 / β on the diagonal, and 1 / β elsewhere.
    squares, projected, total, count = parts
    variances = squares / alpha + 1 / beta
    fit = (projected**2 / variances).sum() + beta * max(total - (projected**2).sum(), 0.0)
    log_det = np.log(variances).sum() - (count - len(squares)) * np.log(beta)
    return float(-0.5 * (fit + log_det + count * np.log(2 * np.pi)))
