"""The acquisition of the compact formulation, in the space of kernel counts.

Notation
    z, w, Σ = R Rᵀ   counts, weights of the mean and posterior covariance on counts of size-n graphs
    q = Bᵀ (z - z̄)   and a: see :mod:`~nasgoat.formulations.variance_bound`

Linear kernel: μ = w·z, and (Acq-Opt), line 3, becomes the convex row σ² + ‖q‖² ≤ a.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.acquisition_rows import Acquisition
from nasgoat.formulations.counts import Counts
from nasgoat.formulations.kernel_encoding import count_indicators
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, linear_sum
from nasgoat.formulations.variance_bound import VarianceBound, single_counts, variance_bound
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import ExponentialPosterior, LinearPosterior
from nasgoat.surrogate.posterior import of_paper_kernel

Array = NDArray[np.float64]
Squares = dict[int, Terms]
_LARGEST_EXPONENT = 20.0  # exp of more is no bound that a linear program could use


def compact_posterior_rows(
    m: TaggedModel, counts: Counts, features: FeatureMap, acquisition: Acquisition
) -> Squares:
    """(Acq-Opt), lines 2 to 4, on counts, for either kernel; answers the squares of counts."""
    posterior = of_paper_kernel(acquisition.posterior).on_counts(features, m.n)
    if isinstance(posterior, LinearPosterior):
        return linear_posterior_rows(m, counts, posterior)
    exponential_posterior_rows(m, counts, posterior)
    return {}


def linear_posterior_rows(m: TaggedModel, counts: Counts, posterior: LinearPosterior) -> Squares:
    """(Acq-Opt), lines 2 and 3, for the linear kernel: μ = w·z and σ² + ‖q‖² ≤ a, (QCR).

    Returns:
        The squares of the counts, as terms of sums.
    """
    w = posterior.w
    constants = np.array([count.constant for count in counts.counts])
    largest = {j: float(count.upper) for j, count in enumerate(counts.counts) if count.terms}
    squares = count_variables(m, counts, largest)
    m.variable("mu", [()], pyo.Reals, lambda g: w @ g.counts)
    mean = linear_sum(((w[j], m.z[j]) for j in largest), float(w @ constants))
    m.rows("Acq_Opt", "mean", [((), m.mu == mean)])
    functionals = single_counts(len(counts.counts), largest, squares)
    bound = variance_bound(m.z, counts, posterior.covariance, functionals, constants)
    _projections(m, bound, np.array(list(largest.values())))
    m.variable(
        "sigma", [()], pyo.NonNegativeReals, lambda g: np.linalg.norm(posterior.R.T @ g.counts)
    )
    convex = m.sigma**2 + sum(x**2 for x in m.q.values())
    m.rows("Acq_Opt", "variance", [((), convex <= linear_sum(bound.affine, bound.constant))])
    m.variance, m.convex = bound, {"q", "(QCR)q", "(Acq_Opt)variance"}
    return squares


def count_variables(m: TaggedModel, counts: Counts, squared: Iterable[int]) -> dict[int, Terms]:
    """Variables z[j] of the counts that vary, and the squares z[j]² of those asked for.

    Returns:
        For each j in ``squared`` the terms of z[j]²: Σ c² Zc[j, c], or z[j] itself if it is 0 or 1.
    """
    varying = [j for j, count in enumerate(counts.counts) if count.terms]
    z = m.variable(
        "z",
        [(j,) for j in varying],
        pyo.NonNegativeReals,
        lambda g, j: g.counts[j],
        bounds=lambda _, j: (0, counts.counts[j].upper),
    )
    rows = [((j,), equate(counts.counts[j].terms, [(1.0, z[j])])) for j in varying]
    m.rows("k_g", "z", rows)
    many = [j for j in squared if counts.counts[j].terms and counts.counts[j].upper > 1]
    most = {(j,): counts.counts[j].upper for j in many}
    Zc = count_indicators(m, "k_g", "z", most, lambda g, j: g.counts[j], indicator="Zc")
    squares: dict[int, Terms] = {j: [(1.0, z[j])] for j in squared if counts.counts[j].terms}
    for j in many:
        squares[j] = [(float(c * c), Zc[j, c]) for c in range(1, most[j,] + 1)]
    return squares


def _projections(m: TaggedModel, bound: VarianceBound, upper: Array) -> None:
    """(QCR) q = Bᵀ (z - z̄)."""
    B, shift = bound.B, bound.B.T @ bound.centre
    keys = [(i,) for i in range(B.shape[1])]
    least = np.minimum(B, 0).T @ upper - shift
    most = np.maximum(B, 0).T @ upper - shift
    m.variable(
        "q",
        keys,
        pyo.Reals,
        lambda g, i: B[:, i] @ (g.counts[bound.free] - bound.centre),
        bounds=lambda _, i: (least[i], most[i]),
    )
    rows = [
        ((i,), m.q[i] == linear_sum(zip(B[:, i], bound.z, strict=True), float(-shift[i])))
        for (i,) in keys
    ]
    m.rows("QCR", "q", rows)


def exponential_posterior_rows(
    m: TaggedModel, counts: Counts, posterior: ExponentialPosterior
) -> None:
    """(Acq-Opt), lines 2 to 4, for the exponential kernel.

    K[i] = σ_k² exp(k_lin(x, X^i)) and K_xx ≤ σ_k² exp(k_lin(x, x)), both exponents linear in z and
    its indicators; v = L⁻¹ K, so that line 3 is σ² + ‖v‖² ≤ K_xx.
    """
    _kernel_rows(m, counts, posterior)
    keys = [(i,) for i in range(len(posterior.dual))]
    K = list(m.K.values())
    m.variable("mu", [()], pyo.Reals, lambda g: posterior.dual @ _kernel(posterior, g.counts))
    m.rows("Acq_Opt", "mean", [((), m.mu == linear_sum(zip(posterior.dual, K, strict=True)))])
    m.variable(
        "q", keys, pyo.Reals, lambda g, i: posterior.whitening[i] @ _kernel(posterior, g.counts)
    )
    whitened = [linear_sum(zip(posterior.whitening[i], K, strict=True)) for (i,) in keys]
    m.rows("Acq_Opt", "whitened", [((i,), m.q[i] == whitened[i]) for (i,) in keys])
    m.variable(
        "sigma", [()], pyo.NonNegativeReals, lambda g: posterior.mean_std(g.counts[None])[1][0]
    )
    convex = m.sigma**2 + sum(m.q[i] ** 2 for (i,) in keys)
    m.rows("Acq_Opt", "variance", [((), convex <= m.K_xx)])


def _kernel_rows(m: TaggedModel, counts: Counts, posterior: ExponentialPosterior) -> None:
    """K and K_xx by exp of exponents that are linear in z and its indicators."""
    constants = np.array([count.constant for count in counts.counts])
    free = [j for j, count in enumerate(counts.counts) if count.terms]
    squares = count_variables(m, counts, free)
    keys = [(i,) for i in range(len(posterior.dual))]
    # Counts of paths add up to at most n², and so do those of edges. Without bounds an LP may see
    # coefficients as large as exp of the whole box of z.
    pairs = float(m.n**2)
    largest = 2 * pairs * posterior.projections.max(axis=0, initial=0.0)
    own_largest = 2 * pairs**2 * float(posterior.squares.max(initial=0.0))
    m.variable(
        "K",
        keys,
        pyo.NonNegativeReals,
        lambda g, i: _kernel(posterior, g.counts)[i],
        bounds=lambda _, i: (0, _at_most(posterior.variance, largest[i])),
    )
    shift = constants @ posterior.projections
    exponents = [
        linear_sum(((posterior.projections[j, i], m.z[j]) for j in free), float(shift[i]))
        for (i,) in keys
    ]
    rows = [((i,), m.K[i] == posterior.variance * pyo.exp(exponents[i])) for (i,) in keys]
    m.rows("exponential", "K", rows)
    m.variable(
        "K_xx",
        [()],
        pyo.NonNegativeReals,
        lambda g: _self_kernel(posterior, g.counts),
        bounds=(0, _at_most(posterior.variance, own_largest)),
    )
    own = [(posterior.squares[j] * c2, x) for j in free for c2, x in squares[j]]
    exponent = linear_sum(own, float(posterior.squares @ constants**2))
    m.rows("exponential", "K_xx", [((), m.K_xx <= posterior.variance * pyo.exp(exponent))])


def _at_most(variance: float, exponent: float) -> float | None:
    """A kernel value as an upper bound, where it is small enough to be of use to an LP."""
    return float(variance * np.exp(exponent)) if exponent < _LARGEST_EXPONENT else None


def _kernel(posterior: ExponentialPosterior, counts: Any) -> Array:
    values: Array = posterior.variance * np.exp(counts @ posterior.projections)
    return values


def _self_kernel(posterior: ExponentialPosterior, counts: Any) -> float:
    return float(posterior.variance * np.exp(counts.astype(float) ** 2 @ posterior.squares))
