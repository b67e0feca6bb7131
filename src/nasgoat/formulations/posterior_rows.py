"""(Acq-Opt): posterior mean, posterior variance and the lower confidence bound as rows.

Notation
    X, y, t - 1     observed graphs, their scaled targets, how many there are
    K_XX = L Lᵀ     Gram matrix of the data plus the noise (docs/decisions/0012-noise-in-k-xx.md)
    K[i], K_xx      k(x, X^i), k(x, x) for the graph x that is looked for
    z, w, Σ = R Rᵀ  counts of x, weights of the mean and posterior covariance on counts
    q = Bᵀ (z - z̄)  and a: see :mod:`~nasgoat.formulations.variance_bound`

The paper's formulation has K and K_xx whatever the kernel. The compact one stays in the space of
counts: with the linear kernel μ = w·z, and line 3 becomes the convex row σ² + ‖q‖² ≤ a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from nasgoat.formulations import kernel_encoding as kernel_terms
from nasgoat.formulations.counts import Counts
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, sum_linearly
from nasgoat.formulations.variance_bound import bound_variance, list_single_counts, project_counts
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import ExponentialPosterior, GraphGP, LinearPosterior
from nasgoat.surrogate.posterior import (
    KernelPosterior,
    NormalisedPosterior,
    Posterior,
    require_known_form,
)

Array = NDArray[np.float64]
Squares = dict[int, Terms]  # by count: the terms of its square
_LARGEST_EXPONENT = 20.0  # exp of more is no bound that a linear program could use


class AcquisitionTerms(Protocol):
    """What a formulation needs of the acquisition function: √β_t, the posterior, the surrogate."""

    @property
    def sqrt_beta(self) -> float:
        """√β_t, the weight of the standard deviation."""
        ...

    @property
    def posterior(self) -> Posterior:
        """Mean and standard deviation as functions of feature rows."""
        ...

    @property
    def gp(self) -> GraphGP:
        """The fitted Gaussian process."""
        ...

    @property
    def features(self) -> FeatureMap:
        """The kernel features."""
        ...


class KernelValues(NamedTuple):
    """k_lin(x, X^i) for all i, and k_lin(x, x): as expressions, as numbers, or their bounds."""

    products: Sequence[Any]
    square: Any


def set_lcb_objective(m: TaggedModel, sqrt_beta: float) -> None:
    """(Acq-Opt), line 1: min μ - √β σ."""
    mean, std = m.find_meaning("mu"), m.find_meaning("sigma")
    m.add_variable("lcb", [()], pyo.Reals, lambda g: float(mean(g) - sqrt_beta * std(g)))
    m.add_rows("Acq_Opt", "lcb", [((), m.lcb == m.mu - sqrt_beta * m.sigma)])
    m.minimize(m.lcb)


def add_posterior_mean_row(m: TaggedModel, mean: Any, posterior: Posterior) -> None:
    """(Acq-Opt), line 2: μ = K_xX K_XX⁻¹ y, or what that is on counts."""
    m.add_variable("mu", [()], pyo.Reals, lambda g: posterior.mean_std(g.counts[None])[0][0])
    m.add_rows("Acq_Opt", "mean", [((), m.mu == mean)])


def add_posterior_variance_row(
    m: TaggedModel, explained: Sequence[Any], prior: Any, posterior: Posterior
) -> None:
    """(Acq-Opt), line 3: σ² + K_xX K_XX⁻¹ K_Xx ≤ K_xx, or what that is on counts."""

    def deviation(g: Any) -> float:
        return float(posterior.mean_std(g.counts[None])[1][0])

    m.add_variable("sigma", [()], pyo.NonNegativeReals, deviation)
    m.add_rows("Acq_Opt", "variance", [((), sum(explained, start=m.sigma**2) <= prior)])


def add_kernel_rows(
    m: TaggedModel,
    linear: KernelValues,
    variance: float | None,
    measure: Callable[[Any], KernelValues],
    most: KernelValues | None = None,
) -> None:
    """(Acq-Opt), line 4: K[i] = k(x, X^i) and K_xx = k(x, x), by (linear) or (exponential).

    (linear): k = k_lin.  (exponential): k = σ_k² exp(k_lin); for the normalised kernel what
    :func:`_normalise` makes of k_lin.

    Args:
        m: The model.
        linear: The expressions of k_lin.
        variance: σ_k²; None for the linear kernel.
        measure: The values of k_lin on a graph.
        most: Upper bounds of k_lin; K_xx then need only be at most k(x, x).
    """

    def apply(value: Any, exp: Any = np.exp) -> Any:
        return value if variance is None else variance * exp(value)

    def limit(value: float) -> tuple[float, float | None]:
        return 0, float(apply(value)) if value < _LARGEST_EXPONENT else None

    tag = "linear" if variance is None else "exponential"
    keys = [(i,) for i in range(len(linear.products))]
    largest = most or KernelValues([np.inf] * len(keys), np.inf)
    K = m.add_variable(
        "K",
        keys,
        pyo.NonNegativeReals,
        lambda g, i: apply(measure(g).products[i]),
        bounds=lambda _, i: limit(largest.products[i]),
    )
    K_xx = m.add_variable(
        "K_xx",
        [()],
        pyo.NonNegativeReals,
        lambda g: apply(measure(g).square),
        bounds=limit(largest.square),
    )
    m.add_rows(tag, "K", [(i, K[i] == apply(linear.products[i[0]], pyo.exp)) for i in keys])
    square = apply(linear.square, pyo.exp)
    m.add_rows(tag, "K_xx", [((), K_xx == square if most is None else K_xx <= square)])


def add_paper_posterior_rows(
    m: TaggedModel, features: FeatureMap, acquisition: AcquisitionTerms
) -> None:
    """(Acq-Opt), lines 2 to 4, by Appendix B; values too, so that a wrong number is noticed."""
    require_known_form(acquisition.posterior)
    fitted, kernel = acquisition.gp.gpr_, acquisition.gp.gpr_.kernel_
    weights: Array = kernel.weights()
    weighted: Array = fitted.X_train_ * weights
    expressions = KernelValues(
        [kernel_terms.express_linear_kernel(m, features, row) for row in weighted],
        kernel_terms.express_linear_kernel_with_itself(m, features, weights),
    )
    variance = None if kernel.form == "linear" else float(kernel.variance)
    offsets = 0.5 * (fitted.X_train_**2 @ weights) if kernel.form == "normalised" else None

    def linear(g: Any) -> KernelValues:
        return _normalise(KernelValues(weighted @ g.row, weights @ g.row**2), offsets)

    add_kernel_rows(m, _normalise(expressions, offsets), variance, linear)
    K, dual = list(m.K.values()), np.asarray(fitted.alpha_, dtype=float).ravel()
    stated = KernelPosterior(kernel, fitted.X_train_, dual, fitted.L_).fold_to_counts(features, m.n)
    add_posterior_mean_row(m, sum_linearly(zip(dual, K, strict=True)), stated)
    t = range(len(K))
    inverse = cho_solve((fitted.L_, True), np.eye(len(K)))
    squares = sum(float(inverse[i, i]) * K[i] ** 2 for i in t)
    products = sum(2 * float(inverse[i, j]) * K[i] * K[j] for i in t for j in t[i + 1 :])
    add_posterior_variance_row(m, [squares, products], m.K_xx, stated)


def _normalise(linear: KernelValues, offsets: Array | None) -> KernelValues:
    """-½ ‖x - X^i‖² = k_lin(x, X^i) - ½ k_lin(x, x) - offsets[i], and 0; k_lin without offsets."""
    if offsets is None:
        return linear
    products = [p - 0.5 * linear.square - o for p, o in zip(linear.products, offsets, strict=True)]
    return KernelValues(products, 0.0)


def add_compact_posterior_rows(
    m: TaggedModel, counts: Counts, features: FeatureMap, acquisition: AcquisitionTerms
) -> Squares:
    """(Acq-Opt), lines 2 to 4, on counts, for any kernel of ours; answers the squares of counts."""
    posterior = require_known_form(acquisition.posterior).fold_to_counts(features, m.n)
    if isinstance(posterior, LinearPosterior):
        return add_linear_posterior_rows(m, counts, posterior)
    return add_exponential_posterior_rows(m, counts, posterior)


def add_linear_posterior_rows(
    m: TaggedModel, counts: Counts, posterior: LinearPosterior
) -> Squares:
    """(Acq-Opt), lines 2 and 3, for the linear kernel: μ = w·z and σ² + ‖q‖² ≤ a, (QCR)."""
    w, constants = posterior.w, counts.constants
    squares = count_variables(m, counts)
    largest = {j: float(counts.counts[j].upper) for j in squares}

    mean = sum_linearly(((w[j], m.z[j]) for j in largest), float(w @ constants))
    add_posterior_mean_row(m, mean, posterior)
    functionals = list_single_counts(len(counts.counts), largest, squares)
    bound = bound_variance(m.z, counts, posterior.covariance, functionals, constants)
    project_counts(m, bound, np.array(list(largest.values())))
    prior = sum_linearly(bound.affine, bound.constant)
    add_posterior_variance_row(m, [sum(x**2 for x in m.q.values())], prior, posterior)
    m.variance, m.convex = bound, {"q", "(QCR)q", "(Acq_Opt)variance"}
    return squares


def count_variables(m: TaggedModel, counts: Counts) -> Squares:
    """z[j] for the counts that vary; answers z[j]² = Σ c² Zc[j, c], or z[j] if that is 0 or 1."""
    upper = {(j,): count.upper for j, count in enumerate(counts.counts) if count.terms}
    z = m.add_variable(
        "z",
        upper,
        pyo.NonNegativeReals,
        lambda g, j: g.counts[j],
        bounds=lambda _, j: (0, upper[j,]),
    )
    m.add_rows("k_g", "z", [(k, equate(counts.counts[k[0]].terms, [(1.0, z[k])])) for k in upper])
    most = {key: largest for key, largest in upper.items() if largest > 1}
    Zc = kernel_terms.count_indicators(
        m, "k_g", "z", most, lambda g, j: g.counts[j], indicator="Zc"
    )
    squares: Squares = {j: [(1.0, z[j])] for (j,) in upper}
    for (j,), largest in most.items():
        squares[j] = [(float(c * c), Zc[j, c]) for c in range(1, largest + 1)]
    return squares


def add_exponential_posterior_rows(
    m: TaggedModel, counts: Counts, posterior: ExponentialPosterior | NormalisedPosterior
) -> Squares:
    """(Acq-Opt), lines 2 to 4, for the exponential and the normalised kernel.

    K[i] = σ_k² exp(k_lin(x, X^i)) and K_xx ≤ σ_k² exp(k_lin(x, x)), both exponents linear in z and
    its indicators; q = L⁻¹ K, so that line 3 is σ² + ‖q‖² ≤ K_xx. The exponents of the normalised
    kernel are sums of these two, at most 0, and K_xx ≤ σ_k².
    """
    offsets = posterior.offsets if isinstance(posterior, NormalisedPosterior) else None
    squares, constants = count_variables(m, counts), counts.constants
    shift = constants @ posterior.projections
    own = [(posterior.squares[j] * c2, x) for j, terms in squares.items() for c2, x in terms]
    exponents = KernelValues(
        [
            sum_linearly(((column[j], m.z[j]) for j in squares), float(constant))
            for column, constant in zip(posterior.projections.T, shift, strict=True)
        ],
        sum_linearly(own, float(posterior.squares @ constants**2)),
    )

    def linear(g: Any) -> KernelValues:
        products = g.counts @ posterior.projections
        return _normalise(KernelValues(products, g.counts**2.0 @ posterior.squares), offsets)

    most = _bound_exponents(posterior, float(m.n**2), counts.paper)
    add_kernel_rows(m, _normalise(exponents, offsets), posterior.variance, linear, most)
    K = list(m.K.values())
    add_posterior_mean_row(m, sum_linearly(zip(posterior.dual, K, strict=True)), posterior)
    whitening = posterior.whitening
    q = m.add_variable(
        "q",
        [(i,) for i in range(len(K))],
        pyo.Reals,
        lambda g, i: posterior.variance * (whitening[i] @ np.exp(linear(g).products)),
    )
    whitened = [sum_linearly(zip(row, K, strict=True)) for row in whitening]
    m.add_rows("Acq_Opt", "whitened", [((i,), q[i] == value) for i, value in enumerate(whitened)])
    add_posterior_variance_row(m, [sum(x**2 for x in q.values())], m.K_xx, posterior)
    return {}


def _bound_exponents(
    posterior: ExponentialPosterior | NormalisedPosterior, pairs: float, width: int
) -> KernelValues:
    """Upper bounds of the exponents of K and K_xx.

    Counts of paths add up to at most n², and so do those of edges; the codes of other blocks, from
    column ``width`` on, are 0 or 1. Without bounds a linear program may see coefficients as large
    as exp of the whole box of z. Those of the normalised kernel are at most 0.
    """
    if isinstance(posterior, NormalisedPosterior):
        return KernelValues([0.0] * len(posterior.dual), 0.0)
    largest = 2 * pairs * posterior.projections[:width].max(axis=0, initial=0.0)
    largest += np.maximum(posterior.projections[width:], 0.0).sum(axis=0)
    square = 2 * pairs**2 * float(posterior.squares[:width].max(initial=0.0))
    return KernelValues(largest, square + float(posterior.squares[width:].sum()))
