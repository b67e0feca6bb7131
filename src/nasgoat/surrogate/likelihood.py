"""The log marginal likelihood of the hyperparameters, and its gradient.

Notation
    G_b  (m, m)  Gram matrix of block b = g, n, e, ... of the feature rows; computed once per fit
    K            Σ_b w_b G_b with w = (α, β, γ, ...), or σ_k² exp of it
    C            K + noise · diag(share) + jitter · I = L Lᵀ
    a            C⁻¹ y

    log p(y) = -½ yᵀ a - Σ_i log L_ii - ½ m log 2π           (Rasmussen and Williams, Eq. 2.30)
    ∂ log p(y) / ∂ log θ_j = ½ tr((a aᵀ - C⁻¹) ∂C/∂ log θ_j)   (their Eq. 5.9)

scikit-learn's own function computes the same; this one weighs the noise of each observation and,
for the paper's kernels, reuses the block matrices, which makes a fit several times faster.

With ``priors``, the hyperparameters are those of largest posterior density instead: log w_b ~
N(-1, 1.5²) for the weight of each block, log σ_k² ~ N(0, 1.5²), log noise ~ N(-4, 1.5²). They are
weak (a factor of 20 either way costs two standard deviations), but a fit to few observations no
longer ends at its bounds for want of anything else.

A step costs O(m³). So that the time of a fit stays bounded, hyperparameters are fitted to at most
``MOST_FITTED`` observations, spread evenly over the targets (:func:`spread_evenly`); the posterior
then uses all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Kernel

from nasgoat.kernels import ShortestPathKernel

Array = NDArray[np.float64]
#: Observations that hyperparameters are fitted to; a few numbers do not need more.
MOST_FITTED = 500
NOISE_START = 1e-2  # where the search for the noise begins
NOISE_BOUNDS = (1e-4, 1.0)  # of the noise variance, in units of the standardised target
#: Mean of the logarithm of each hyperparameter, and the standard deviation of all of them.
PRIOR_MEANS = {"variance": 0.0, "noise": -4.0}
PRIOR_OF_WEIGHTS, PRIOR_SD = -1.0, 1.5
_AT_BOUND = 1e-6  # of the logarithm: the search stops at a bound exactly, up to rounding
_FAR = 1e12  # more than the negative logarithm of any likelihood worth looking at


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """log p(y | θ) as a function of log θ, for observations with noise · share on the diagonal.

    Args:
        kernel: Any of scikit-learn's kernels, with its starting values and bounds.
        rows: Feature rows of the observed graphs.
        targets: Their scaled targets y.
        share: For each observation 1 / (number of times it was made).
        jitter: Added to the diagonal.
        noise: A fixed noise variance, or None to fit it.
        priors: Whether :meth:`maximize` weighs the likelihood with priors on the logarithms of the
            hyperparameters.
    """

    kernel: Kernel
    rows: Array
    targets: Array
    share: Array
    jitter: float
    noise: float | None
    priors: bool = False

    @cached_property
    def names(self) -> list[str]:
        """The hyperparameters that are free, in the order of θ."""
        free = name_parameters(self.kernel)
        return free if self.noise is not None else [*free, "noise"]

    def __call__(self, log_theta: Array) -> tuple[float, Array]:
        """Log p(y | θ) and its gradient by log θ.

        Raises:
            numpy.linalg.LinAlgError: If the matrix is not positive definite.
        """
        noise = (np.exp(log_theta[-1]) if self.noise is None else self.noise) * self.share
        K, slopes = self.compute_gram(log_theta)
        L = cholesky(K + np.diag(noise + self.jitter), lower=True)
        a = cho_solve((L, True), self.targets)
        fit = -0.5 * self.targets @ a
        value = fit - np.log(np.diag(L)).sum() - 0.5 * len(a) * np.log(2 * np.pi)
        W = np.outer(a, a) - cho_solve((L, True), np.eye(len(a)))
        gradient = [0.5 * np.vdot(W, slope) for slope in slopes]
        if self.noise is None:
            gradient.append(0.5 * np.diag(W) @ noise)
        return float(value), np.array(gradient)

    def weigh(self, log_theta: Array) -> tuple[float, Array]:
        """The logarithm of the prior density, up to a constant, and its gradient; 0 without one."""
        if not self.priors:
            return 0.0, np.zeros_like(log_theta)
        away = (log_theta - self._prior_means) / PRIOR_SD
        return float(-0.5 * away @ away), -away / PRIOR_SD

    @cached_property
    def _prior_means(self) -> Array:
        return np.array([PRIOR_MEANS.get(name, PRIOR_OF_WEIGHTS) for name in self.names])

    def maximize(self, restarts: int, seed: int) -> tuple[Kernel, float]:
        """The best kernel and noise, from the start and from random points."""
        bounds = self.log_bounds()
        start = self.start()
        rng = np.random.default_rng(seed)
        random = rng.uniform(bounds[:, 0], bounds[:, 1], size=(restarts, len(start)))
        self(start)
        best = maximize_from(self, [start, *random], bounds)
        noise = float(np.exp(best[-1])) if self.noise is None else self.noise
        return self._make_kernel_at(best), noise

    def list_at_bounds(self, kernel: Kernel, noise: float) -> list[str]:
        """The free hyperparameters that lie at one of their bounds."""
        given = [] if self.noise is not None else [np.log(noise)]
        log_theta = np.append(np.asarray(kernel.theta, dtype=float), given)
        at = np.isclose(log_theta[:, None], self.log_bounds(), rtol=0, atol=_AT_BOUND).any(axis=1)
        return [name for name, there in zip(self.names, at, strict=True) if there]

    def start(self) -> Array:
        """Where the search begins: log θ of the kernel as it was given, or the means of priors."""
        if self.priors:
            return np.clip(self._prior_means, *self.log_bounds().T)
        free = np.asarray(self.kernel.theta, dtype=float)
        return free if self.noise is not None else np.append(free, np.log(NOISE_START))

    def log_bounds(self) -> Array:
        """Logarithms of the least and the largest value of each, shape (number, 2)."""
        free = np.asarray(self.kernel.bounds, dtype=float).reshape(-1, 2)
        return free if self.noise is not None else np.vstack([free, np.log(NOISE_BOUNDS)])

    def _make_kernel_at(self, log_theta: Array) -> Kernel:
        return self.kernel.clone_with_theta(log_theta[: len(self.kernel.theta)])

    def compute_gram(self, log_theta: Array) -> tuple[Array, Iterable[Array]]:
        """K and its derivatives by the logarithm of each free kernel parameter.

        The derivatives are gone through once: one may be in the place of the last.
        """
        K, slopes = self._make_kernel_at(log_theta)(self.rows, eval_gradient=True)
        return K, list(np.moveaxis(slopes, -1, 0))


class ShortestPathLikelihood(MarginalLikelihood):
    """The same for kernels of blocks, whose block matrices G_b are computed once."""

    @cached_property
    def _grams(self) -> dict[str, Array]:
        return dict(self.kernel.products(self.rows, self.rows))

    def compute_gram(self, log_theta: Array) -> tuple[Array, Iterable[Array]]:
        """The same from block matrices."""
        theta = dict(zip(self.names, np.exp(log_theta).tolist(), strict=True))
        K, slopes = self.kernel.combine_in_turn(self._grams, theta)
        return K, (slope for name, slope in slopes if name in self.names)


class Weighed(Protocol):
    """A likelihood and the density of a prior, both as logarithms with their gradients."""

    def __call__(self, theta: Array, /) -> tuple[float, Array]:
        """The logarithm of the likelihood."""

    def weigh(self, theta: Array, /) -> tuple[float, Array]:
        """The logarithm of the prior density, up to a constant."""


def maximize_from(likelihood: Weighed, starts: Sequence[Array], bounds: Array) -> Array:
    """Where likelihood and prior are largest together: the best of several searches."""

    def negate(log_theta: Array) -> tuple[float, Array]:
        # A wide step of the search may end where the exponential kernel overflows: it must turn
        # back from there, not give up. A singular matrix at the start is told to the caller.
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = likelihood(log_theta)
                prior, slope = likelihood.weigh(log_theta)
        except (np.linalg.LinAlgError, ValueError):
            return _FAR, np.zeros_like(log_theta)
        return -value - prior, -gradient - slope

    found = [minimize(negate, x, jac=True, method="L-BFGS-B", bounds=bounds) for x in starts]
    best: Array = min(found, key=lambda result: result.fun).x
    return best


def spread_evenly(targets: Array, most: int = MOST_FITTED) -> NDArray[np.intp]:
    """Places of at most this many targets, in their order: lowest, highest and evenly between.

    Example:
        >>> spread_evenly(np.array([3.0, 1.0, 5.0, 2.0, 4.0]), most=3).tolist()
        [0, 1, 2]
    """
    if len(targets) <= most:
        return np.arange(len(targets))
    ranks = np.linspace(0, len(targets) - 1, most).round().astype(int)
    return np.sort(np.argsort(targets, kind="stable")[ranks])


def spread_over_sources(targets: Array, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same for several sources: those of the target (place 0) first, then as many others."""
    if len(targets) <= MOST_FITTED:
        return np.arange(len(targets))
    own, other = np.flatnonzero(places == 0), np.flatnonzero(places != 0)
    own = own[spread_evenly(targets[own], MOST_FITTED // 2)]
    other = other[spread_evenly(targets[other], MOST_FITTED - len(own))]
    return np.sort(np.concatenate([own, other]))


def name_parameters(kernel: Kernel) -> list[str]:
    """A name for each entry of θ; those of a vector are numbered.

    Example:
        >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
        >>> name_parameters(ConstantKernel() * RBF([1.0, 2.0]))
        ['k1__constant_value', 'k2__length_scale_0', 'k2__length_scale_1']
    """
    names: list[str] = []
    for h in kernel.hyperparameters:
        if not h.fixed:
            several = h.n_elements > 1
            names += [f"{h.name}_{i}" for i in range(h.n_elements)] if several else [h.name]
    return names


def make_likelihood(
    kernel: Kernel,
    rows: Array,
    targets: Array,
    share: Array,
    jitter: float,
    noise: float | None,
    priors: bool = False,
) -> MarginalLikelihood:
    """The likelihood for a kernel; arguments as of ``MarginalLikelihood``.

    Priors are for our own kernels; the parameters of others may be of any scale.
    """
    if isinstance(kernel, ShortestPathKernel):
        return ShortestPathLikelihood(kernel, rows, targets, share, jitter, noise, priors)
    return MarginalLikelihood(kernel, rows, targets, share, jitter, noise)
