"""(Acq-Opt): posterior mean and variance and the lower confidence bound, literally.

Notation
    X, y, t - 1    observed graphs, their scaled targets, how many there are
    K_XX = L Lᵀ    Gram matrix of the data plus the noise (docs/decisions/0012-noise-in-k-xx.md)
    K[i], K_xx     k(x, X^i), k(x, x) for the graph x that is looked for
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from nasgoat.formulations.kernel_encoding import linear_kernel_with, linear_kernel_with_itself
from nasgoat.formulations.tagged_model import TaggedModel, linear_sum
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import GraphGP, Posterior
from nasgoat.surrogate.posterior import of_paper_kernel

Array = NDArray[np.float64]


class Acquisition(Protocol):
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


@dataclass(frozen=True, eq=False)
class Data:
    """The fitted Gaussian process as the paper writes it.

    Args:
        rows: Feature rows of X, shape (t - 1, columns).
        dual: K_XX⁻¹ y.
        factor: L, lower triangular.
        weights: α, β or γ for each column.
        variance: σ_k², or None for the linear kernel.
    """

    rows: Array
    dual: Array
    factor: Array
    weights: Array
    variance: float | None

    @classmethod
    def of(cls, gp: GraphGP) -> Data:
        """Read it off a fitted surrogate."""
        of_paper_kernel(gp.posterior_)
        fitted = gp.gpr_
        kernel = fitted.kernel_
        variance = float(kernel.variance) if kernel.form == "exponential" else None
        dual = np.asarray(fitted.alpha_, dtype=float).ravel()
        return cls(fitted.X_train_, dual, fitted.L_, kernel.weights(), variance)

    def kernel(self, linear: Array | float) -> Any:
        """(linear) or (exponential): the kernel value from that of k_lin."""
        return linear if self.variance is None else self.variance * np.exp(linear)


def posterior_rows(m: TaggedModel, features: FeatureMap, acquisition: Acquisition) -> None:
    """(Acq-Opt), lines 2 to 4, for the paper's kernel variables."""
    data = Data.of(acquisition.gp)
    kernel_rows(m, features, data)
    posterior_mean_rows(m, data)
    posterior_variance_rows(m, data)


def kernel_rows(m: TaggedModel, features: FeatureMap, data: Data) -> None:
    """(Acq-Opt), line 4: K[i] = k(x, X^i), and K_xx = k(x, x)."""
    keys = [(i,) for i in range(len(data.rows))]
    weighted = data.rows * data.weights

    def against(g: Any, i: int) -> float:
        return float(data.kernel(weighted[i] @ g.row))

    m.variable("K", keys, pyo.NonNegativeReals, against)
    m.variable(
        "K_xx",
        [()],
        pyo.NonNegativeReals,
        lambda g: data.kernel(float(data.weights @ g.row**2)),
    )
    products = [linear_kernel_with(m, features, row) for row in weighted]
    square = linear_kernel_with_itself(m, features, data.weights)
    tag = "linear" if data.variance is None else "exponential"
    m.rows(tag, "K", [((i,), m.K[i] == _kernel(data, products[i])) for (i,) in keys])
    m.rows(tag, "K_xx", [((), m.K_xx == _kernel(data, square))])


def _kernel(data: Data, linear: Any) -> Any:
    return linear if data.variance is None else data.variance * pyo.exp(linear)


def posterior_mean_rows(m: TaggedModel, data: Data) -> None:
    """(Acq-Opt), line 2: μ = K_xX K_XX⁻¹ y."""
    m.variable("mu", [()], pyo.Reals, lambda g: _posterior(data, g.row)[0])
    m.rows("Acq_Opt", "mean", [((), m.mu == linear_sum(zip(data.dual, m.K.values(), strict=True)))])


def posterior_variance_rows(m: TaggedModel, data: Data) -> None:
    """(Acq-Opt), line 3: σ² ≤ K_xx - K_xX K_XX⁻¹ K_Xx."""
    m.variable("sigma", [()], pyo.NonNegativeReals, lambda g: _posterior(data, g.row)[1])
    inverse = cho_solve((data.factor, True), np.eye(len(data.rows)))
    K = list(m.K.values())
    t = len(K)
    squares = sum(float(inverse[i, i]) * K[i] ** 2 for i in range(t))
    products = sum(
        2 * float(inverse[i, j]) * K[i] * K[j] for i in range(t) for j in range(i + 1, t)
    )
    m.rows("Acq_Opt", "variance", [((), m.sigma**2 + squares + products <= m.K_xx)])


def lcb_objective(m: TaggedModel, sqrt_beta: float) -> None:
    """(Acq-Opt), line 1: min μ - √β σ."""
    bound = m.mu - sqrt_beta * m.sigma

    def meaning(g: Any) -> float:
        mean, std = (m.meaning("mu")(g), m.meaning("sigma")(g))
        return float(mean - sqrt_beta * std)

    m.variable("lcb", [()], pyo.Reals, meaning)
    m.rows("Acq_Opt", "lcb", [((), m.lcb == bound)])
    m.minimize(m.lcb)


def _posterior(data: Data, row: Array) -> tuple[float, float]:
    K = data.kernel((data.rows * data.weights) @ row)
    K_xx = data.kernel(float(data.weights @ row**2))
    variance = K_xx - K @ cho_solve((data.factor, True), K)
    return float(K @ data.dual), float(np.sqrt(max(variance, 0.0)))
