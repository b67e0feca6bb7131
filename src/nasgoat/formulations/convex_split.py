"""Quadratic convex reformulation: weights d with L Diag(d) Lᵀ - Σ convex on the graphs' directions.

Notation
    Σ (J, J)   posterior covariance of the weights of the counts that vary, positive semidefinite
    G z = h    equations of the space;  V an orthonormal basis of the null space of G
    L (J, K)   functionals whose squares are known; the first J of them are the counts: L = (I, ...)
    U = Lᵀ V;  S(d) = Uᵀ Diag(d) U - Vᵀ Σ V

The problem min cᵀd, S(d) ⪰ 0, d in a box, is solved by Newton steps on the barrier
cᵀd - τ log det S(d) - τ Σ log(d_j - low) - τ Σ log(high - d_j). The gradient of log det S(d) is
M_kk and its Hessian -M_ik² with M = U S⁻¹ Uᵀ. Every iterate is strictly feasible, and that is all
that exactness needs: a d that is not optimal only gives a looser bound. The box is there because
a count that the equations leave no freedom puts no limit on its d_j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, null_space

from nasgoat.errors import NasgoatError

Array = NDArray[np.float64]
_STEPS = 60
_SHRINK = 0.25  # of the barrier weight after each centring
_PRECISION = 1e-3  # relative distance to the optimal cᵀd at which the barrier stops
_LOW, _HIGH = -1.0, 12.0  # the box, in units of the largest eigenvalue of Σ
_MARGIN = 1e-9  # smallest eigenvalue of S, relative to the largest, that counts as convex


class ConvexityError(NasgoatError, RuntimeError):
    """No convex split was found; a fault of the numbers, never of the space."""


def directions(G: Array, columns: int) -> Array:
    """Orthonormal basis of the directions in which counts can change: the null space of G."""
    return null_space(G) if len(G) else np.eye(columns)


def convex_diagonal(covariance: Array, V: Array, c: Array, L: Array | None = None) -> Array:
    """A d that nearly minimises cᵀd subject to S(d) ⪰ 0.

    Example:
        >>> d = convex_diagonal(np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(2), np.ones(2))
        >>> d.round(1).tolist()
        [3.0, 3.0]
        >>> balanced = np.array([[1.0], [-1.0]]) / 2**0.5  # only z_1 - z_2 can change
        >>> d = convex_diagonal(np.ones((2, 2)), balanced, np.ones(2))
        >>> bool(abs(d.sum()) < 1e-2)
        True
    """
    size = len(covariance)
    U = V if L is None else L.T @ V
    if not V.shape[1]:
        return np.zeros(len(U))
    scale = max(float(np.linalg.eigvalsh(covariance)[-1]), 1e-300)
    target = V.T @ (covariance / scale) @ V
    d = np.concatenate([np.full(size, 2.0), np.zeros(len(U) - size)])
    weight = 1.0
    stop = _PRECISION * max(float(c.sum()), 1e-12) / V.shape[1]
    while weight > stop:
        d = _centred(d, U, target, c, weight)
        weight *= _SHRINK
    _check_convex(_split(d, U, target))
    return d * scale


def _centred(d: Array, U: Array, target: Array, c: Array, weight: float) -> Array:
    """Newton's method on the barrier, with steps that stay strictly feasible."""
    ridge = 1e-12 * np.eye(len(d))
    for _ in range(_STEPS):
        factor = cho_factor(_split(d, U, target), lower=True)
        M = U @ cho_solve(factor, U.T)
        below, above = 1 / (d - _LOW), 1 / (_HIGH - d)
        gradient = c / weight - M.diagonal() - below + above
        hessian = M * M + np.diag(below**2 + above**2)
        step = -np.linalg.solve(hessian + ridge * hessian.diagonal().max(), gradient)
        decrement = float(-gradient @ step)
        if decrement < 1e-3:
            break
        size = 1.0 if decrement < 0.25 else 1.0 / (1.0 + np.sqrt(decrement))
        while not _is_inside(d + size * step, U, target):
            size /= 2
        d = d + size * step
    return d


def _split(d: Array, U: Array, target: Array) -> Array:
    return (U.T * d) @ U - target


def _is_inside(d: Array, U: Array, target: Array) -> bool:
    if d.min() <= _LOW or d.max() >= _HIGH:
        return False
    try:
        np.linalg.cholesky(_split(d, U, target))
    except np.linalg.LinAlgError:
        return False
    return True


def _check_convex(S: Array) -> None:
    values = np.linalg.eigvalsh(S)
    if values[0] < -_MARGIN * max(values[-1], 1e-300):
        raise ConvexityError(f"L Diag(d) Lᵀ - Σ must be convex, got eigenvalue {values[0]:.3g}")
