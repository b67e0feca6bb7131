"""Functions drawn from a posterior, for Thompson sampling.

Notation (as in :mod:`~nasgoat.surrogate.posterior`)
    u = Λ^½ x   so that k_lin(x, x') = u·u'
    N  (m,)     noise variances of the observations
    M           number of frequencies, FREQUENCIES

Linear kernel: w + R ξ with ξ ~ N(0, I) are weights of the posterior, and a draw is their product
with x, exactly.

Exponential kernel, by pathwise conditioning (Wilson et al., Efficiently sampling functions from
Gaussian process posteriors, 2020): a draw f of the prior becomes one of the posterior by

    f(x) + k(x) · K⁻¹ (y - f(X) - ε),   ε ~ N(0, N).

exp(u·u') = exp(‖u‖²/2) exp(‖u'‖²/2) exp(-‖u - u'‖²/2), and the last factor is the mean of cosines
at frequencies ω ~ N(0, I) (Rahimi and Recht, 2007). So f(x) = σ exp(‖u‖²/2) / √M times the sum of
r_m cos(ω_m·u - φ_m), with r_m of the Rayleigh distribution and φ_m uniform. Every draw has
frequencies of its own: mean and covariance of draws are then exactly those of the posterior,
whatever M; M decides how near the distribution of a draw is to the normal one. The normalised
kernel lacks the factors exp(‖u‖²/2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SettingError
from nasgoat.kernels import FORMS, FeatureMap, Sizes
from nasgoat.surrogate.posterior import (
    Array,
    ExponentialPosterior,
    KernelPosterior,
    LinearPosterior,
    NormalisedPosterior,
    Posterior,
)

FREQUENCIES = 512
_BLOCK = 2048  # rows at a time
#: Kernels whose posterior can be drawn from.
DRAWN = FORMS


@dataclass(frozen=True, eq=False)
class DrawnFunction:
    """A draw under the exponential or the normalised kernel, as a posterior without deviation.

    With q(x) = ‖u‖²/2, kernel values are σ² exp(φ_i Λ x - c q(x) - o_i): c and o_i are 0 for the
    exponential kernel, 1 and q(φ_i) for the normalised one.

    Args:
        projections, squares, variance: As in :class:`ExponentialPosterior`.
        power: c.
        offsets: o, shape (m,).
        dual: K⁻¹ (y - f(X) - ε).
        frequencies: Λ^½ ω, shape (d, M).
        phases: φ, shape (M,).
        weights: σ r / √M, shape (M,).
    """

    projections: Array
    squares: Array
    variance: float
    power: float
    offsets: Array
    dual: Array
    frequencies: Array
    phases: Array
    weights: Array

    def mean_std(self, rows: NDArray[np.number]) -> tuple[Array, Array]:
        """The value of each row, and zeros."""
        values = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            x = rows[part].astype(float)
            q = 0.5 * (np.square(x) @ self.squares)
            k = self.variance * np.exp(
                x @ self.projections - self.power * q[:, None] - self.offsets
            )
            values[part] = self.draw_prior(x) + k @ self.dual
        return values, np.zeros(len(rows))

    def draw_prior(self, x: Array) -> Array:
        """f, the part of the prior."""
        angles = x @ self.frequencies
        angles -= self.phases
        waves: Array = np.cos(angles, out=angles) @ self.weights
        return waves * np.exp((1 - self.power) * 0.5 * (np.square(x) @ self.squares))

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> DrawnFunction:
        """The same function of integer counts of graphs with n nodes."""
        return replace(
            self,
            projections=features.fold(self.projections, n),
            squares=features.fold(self.squares, n, power=2),
            frequencies=features.fold(self.frequencies, n),
        )


@singledispatch
def draw_from(posterior: Posterior, noise: Array, rng: np.random.Generator) -> Posterior:
    """A function drawn from a posterior, as a posterior without deviation.

    Args:
        posterior: Whose draw it is.
        noise: Noise variances of the observations, or their covariance matrix.
        rng: Source of randomness.

    Raises:
        SettingError: For kernels that there is no way to draw from.

    Example:
        >>> posterior = LinearPosterior(np.zeros(2), np.eye(2))
        >>> drawn = draw_from(posterior, np.ones(1), np.random.default_rng(0))
        >>> drawn.mean_std(np.eye(2))[1].tolist()
        [0.0, 0.0]
    """
    raise SettingError(
        f"the kernel must be {' or '.join(DRAWN)} for Thompson sampling, got another one; take "
        "the acquisition lcb or ei"
    )


@draw_from.register
def _(posterior: LinearPosterior, noise: Array, rng: np.random.Generator) -> LinearPosterior:
    R = posterior.R
    weights = posterior.w + R @ rng.standard_normal(R.shape[1])
    return LinearPosterior(weights, np.zeros((len(weights), 1)))


@draw_from.register
def _(posterior: ExponentialPosterior, noise: Array, rng: np.random.Generator) -> DrawnFunction:
    return _condition(posterior, 0.0, np.zeros(len(noise)), noise, rng)


@draw_from.register
def _(posterior: NormalisedPosterior, noise: Array, rng: np.random.Generator) -> DrawnFunction:
    return _condition(posterior, 1.0, posterior.offsets, noise, rng)


def _condition(
    posterior: ExponentialPosterior | NormalisedPosterior,
    power: float,
    offsets: Array,
    noise: Array,
    rng: np.random.Generator,
) -> DrawnFunction:
    """Draw from the prior, and add what the observations say about the draw."""
    squares = posterior.squares
    omega = rng.standard_normal((len(squares), FREQUENCIES))
    prior = DrawnFunction(
        projections=posterior.projections,
        squares=squares,
        variance=posterior.variance,
        power=power,
        offsets=offsets,
        dual=np.zeros_like(posterior.dual),
        frequencies=np.sqrt(squares)[:, None] * omega,
        phases=2 * np.pi * rng.random(FREQUENCIES),
        weights=np.sqrt(posterior.variance / FREQUENCIES) * rng.rayleigh(size=FREQUENCIES),
    )
    rows = (posterior.projections / squares[:, None]).T
    white = rng.standard_normal(len(noise))
    coloured = np.sqrt(noise) * white if noise.ndim == 1 else np.linalg.cholesky(noise) @ white
    seen = prior.draw_prior(rows) + coloured
    whitening = posterior.whitening
    return replace(prior, dual=posterior.dual - whitening.T @ (whitening @ seen))


@singledispatch
def drop_mean(posterior: Posterior) -> Posterior:
    """The same posterior with all means 0.

    Example:
        >>> flat = drop_mean(LinearPosterior(np.ones(2), np.eye(2)))
        >>> [part.tolist() for part in flat.mean_std(np.eye(2))]
        [[0.0, 0.0], [1.0, 1.0]]
    """
    raise SettingError(f"the posterior must be that of a Gaussian process, got {posterior!r}")


@drop_mean.register
def _(posterior: LinearPosterior) -> LinearPosterior:
    return replace(posterior, w=np.zeros_like(posterior.w))


@drop_mean.register(ExponentialPosterior)
@drop_mean.register(NormalisedPosterior)
@drop_mean.register(KernelPosterior)
def _(posterior: ExponentialPosterior | NormalisedPosterior | KernelPosterior) -> Posterior:
    return replace(posterior, dual=np.zeros_like(posterior.dual))
