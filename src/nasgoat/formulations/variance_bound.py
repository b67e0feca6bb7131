"""Concave upper bounds of the posterior variance, over all cells or over a part of them.

Notation
    z, z̄, V    counts that vary, a solution of G z = h, an orthonormal basis of the null space of G
    c          counts that are constant;  Σ the posterior covariance of all of them
    ℓ_k        functionals whose squares (ℓ_k·z)² are linear in indicators: each z_j, totals of them
    Λ          Σ_k d_k ℓ_k ℓ_kᵀ, with Vᵀ(Λ - Σ)V ⪰ 0
    a          Σ_k d_k (ℓ_k·z)² + terms linear in z + a constant

At every cell σ² = a - ‖Bᵀ(z - z̄)‖² with B Bᵀ = VVᵀ(Λ - Σ)VVᵀ. The right-hand side is concave in
z and a, so its tangents are linear rows that hold for every cell:

    σ ≤ (a - 2 (B q)·(z - z̄) + q·q) / (2θ) + θ/2   for every q and every θ > 0,

by ‖x‖² ≥ 2 q·x - q·q and √x ≤ x/(2θ) + θ/2.

The weights d (a quadratic convex reformulation) nearly solve

    min cᵀd   subject to   S(d) = Uᵀ Diag(d) U - Vᵀ Σ V ⪰ 0,   U = Lᵀ V,   d in a box,

where the columns of L are the ℓ_k, the first of them the counts themselves. Newton steps on the
barrier cᵀd - τ log det S(d) - τ Σ log(d_j - low) - τ Σ log(high - d_j) do it; the gradient of
log det S(d) is M_kk and its Hessian -M_ik² with M = U S⁻¹ Uᵀ. Every iterate is strictly feasible,
and that is all that exactness needs: a d that is not optimal only gives a looser bound. The box is
there because a count that the equations leave no freedom puts no limit on its d_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, null_space

from nasgoat.errors import NasgoatError
from nasgoat.formulations.counts import Counts
from nasgoat.formulations.tagged_model import TaggedModel, Terms, sum_linearly

Array = NDArray[np.float64]
_NEGLIGIBLE = 1e-12  # eigenvalues of the split below this, relative to the largest, add no row
_SMALLEST = 1e-2  # of a standard deviation: steeper tangents make poor rows
_STEPS = 60
_SHRINK = 0.25  # of the barrier weight after each centring
_PRECISION = 1e-3  # relative distance to the optimal cᵀd at which the barrier stops
_LOW, _HIGH = -1.0, 12.0  # the box, in units of the largest eigenvalue of Σ
_MARGIN = 1e-9  # smallest eigenvalue of S, relative to the largest, that counts as convex


class Functional(NamedTuple):
    """ℓ·z over all counts, the largest value it takes, and its square in indicators."""

    weights: Array
    largest: float
    square: Terms


class VarianceTangent(NamedTuple):
    """σ ≤ slope · a + slopes · z + constant."""

    slope: float
    slopes: Array
    constant: float


@dataclass(frozen=True, eq=False)
class VarianceBound:
    """σ² ≤ a - ‖Bᵀ(z - z̄)‖².

    Args:
        free: Indices of the counts z.
        z: Their variables.
        B: Factor of the convex part, shape (counts, rank).
        centre: z̄.
        affine: Terms of a.
        constant: The rest of a.
    """

    free: NDArray[np.int_]
    z: list[Any]
    B: Array
    centre: Array
    affine: Terms
    constant: float

    def find_tangent(self, z: Array, affine: float) -> VarianceTangent:
        """The tangent at a point.

        Example:
            >>> import numpy as np
            >>> one = np.ones((1, 1))
            >>> bound = VarianceBound(np.array([0]), [None], one, np.zeros(1), [], 0.0)
            >>> bound.find_tangent(np.array([3.0]), 25.0)  # σ² ≤ a - z², so σ = 4 there
            VarianceTangent(slope=0.125, slopes=array([-0.75]), constant=3.125)
        """
        q = self.B.T @ (z - self.centre)
        squared = float(q @ q)
        theta = max(float(np.sqrt(max(affine - squared, 0.0))), _SMALLEST)
        normal = 2 * (self.B @ q)
        constant = (normal @ self.centre + squared) / (2 * theta) + theta / 2
        return VarianceTangent(1 / (2 * theta), -normal / (2 * theta), float(constant))


def bound_variance(
    z: Any, counts: Counts, covariance: Array, functionals: Sequence[Functional], constants: Array
) -> VarianceBound:
    """The bound whose weights d are best for the functionals.

    Args:
        z: Variables of the counts that vary.
        counts: The counts, their largest values, and their equations.
        covariance: Σ over all counts.
        functionals: At least one for each count that varies; others are constant.
        constants: The value of each count that is constant, 0 for the others.
    """
    L = np.array([functional.weights for functional in functionals])
    varies = np.abs(L).sum(axis=0) > 0
    free = np.flatnonzero(varies)
    L = L[:, free].T
    G, h = counts.make_matrix()
    equations = G[:, free]
    centre = np.linalg.pinv(equations) @ (h - G @ constants)
    V = find_directions(equations[np.abs(equations).sum(axis=1) > 0], len(free))
    inner = covariance[np.ix_(free, free)]
    largest = np.array([functional.largest for functional in functionals])
    d = find_convex_diagonal(inner, V, largest**2 / 4, L)
    split = (L * d) @ L.T - inner
    slope = 2 * (V @ (V.T @ (split @ centre)))
    cross = 2 * covariance[free] @ constants - slope
    constant = constants @ covariance @ constants + slope @ centre - centre @ split @ centre
    variables = [z[j] for j in free.tolist()]
    affine: Terms = [(float(c), x) for c, x in zip(cross, variables, strict=True)]
    for weight, functional in zip(d, functionals, strict=True):
        affine += [(float(weight) * c2, x) for c2, x in functional.square]
    B = _factorise(V, V.T @ split @ V)
    return VarianceBound(
        free=free, z=variables, B=B, centre=centre, affine=affine, constant=float(constant)
    )


def project_counts(m: TaggedModel, bound: VarianceBound, upper: Array) -> None:
    """(QCR): q = Bᵀ (z - z̄), where no count exceeds ``upper``."""
    B, shift = bound.B, bound.B.T @ bound.centre
    least = np.minimum(B, 0).T @ upper - shift
    most = np.maximum(B, 0).T @ upper - shift
    q = m.add_variable(
        "q",
        [(i,) for i in range(B.shape[1])],
        pyo.Reals,
        lambda g, i: B[:, i] @ (g.counts[bound.free] - bound.centre),
        bounds=lambda _, i: (least[i], most[i]),
    )
    values = [
        sum_linearly(zip(b, bound.z, strict=True), float(-s))
        for b, s in zip(B.T, shift, strict=True)
    ]
    m.add_rows("QCR", "q", [((i,), q[i] == value) for i, value in enumerate(values)])


def list_single_counts(
    size: int, largest: dict[int, float], squares: dict[int, Terms]
) -> list[Functional]:
    """One functional for each count that varies."""
    unit = np.eye(size)
    return [Functional(unit[j], most, squares[j]) for j, most in largest.items()]


def _factorise(V: Array, S: Array) -> Array:
    values, vectors = np.linalg.eigh(S)
    kept = values > _NEGLIGIBLE * max(float(values.max(initial=0.0)), 1e-300)
    B: Array = V @ (vectors[:, kept] * np.sqrt(values[kept]))
    return B


class ConvexityError(NasgoatError, RuntimeError):
    """No convex split was found; a fault of the numbers, never of the space."""


def find_directions(G: Array, columns: int) -> Array:
    """Orthonormal basis of the directions in which counts can change: the null space of G."""
    return null_space(G) if len(G) else np.eye(columns)


def find_convex_diagonal(covariance: Array, V: Array, c: Array, L: Array | None = None) -> Array:
    """A d that nearly minimises cᵀd subject to S(d) ⪰ 0.

    Example:
        >>> d = find_convex_diagonal(np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(2), np.ones(2))
        >>> d.round(1).tolist()
        [3.0, 3.0]
        >>> balanced = np.array([[1.0], [-1.0]]) / 2**0.5  # only z_1 - z_2 can change
        >>> d = find_convex_diagonal(np.ones((2, 2)), balanced, np.ones(2))
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
        d = _find_centre(d, U, target, c, weight)
        weight *= _SHRINK
    _check_convex(_take_convex_part(d, U, target))
    return d * scale


def _find_centre(d: Array, U: Array, target: Array, c: Array, weight: float) -> Array:
    """Newton's method on the barrier, with steps that stay strictly feasible."""
    ridge = 1e-12 * np.eye(len(d))
    for _ in range(_STEPS):
        factor = cho_factor(_take_convex_part(d, U, target), lower=True)
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


def _take_convex_part(d: Array, U: Array, target: Array) -> Array:
    return (U.T * d) @ U - target


def _is_inside(d: Array, U: Array, target: Array) -> bool:
    if d.min() <= _LOW or d.max() >= _HIGH:
        return False
    try:
        np.linalg.cholesky(_take_convex_part(d, U, target))
    except np.linalg.LinAlgError:
        return False
    return True


def _check_convex(S: Array) -> None:
    values = np.linalg.eigvalsh(S)
    if values[0] < -_MARGIN * max(values[-1], 1e-300):
        raise ConvexityError(f"L Diag(d) Lᵀ - Σ must be convex, got eigenvalue {values[0]:.3g}")
