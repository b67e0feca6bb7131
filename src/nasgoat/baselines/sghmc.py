"""Stochastic gradient Hamiltonian Monte Carlo with adaptive scales.

Notation
    U(θ)   potential, -log p(θ, data);  Ũ = U / N its mean over the N data points
    ε      step size,  c  friction (share of the momentum lost in a step)
    V̂      running estimate of E[(∂Ũ/∂θ)²], adapted during burn-in only;  M⁻¹ = V̂^-½
    v      momentum:  v ← (1 - c) v - ε² M⁻¹ ∇Ũ + N(0, 2 c ε² M⁻¹ / N - ε⁴ / N²);  θ ← θ + v

The window τ of the running estimates follows from how noisy the gradients are. Source: Springenberg
et al., NeurIPS 2016, Section 4 and Appendix A, written for the mean potential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
_SMALL = 1e-16


def sghmc(
    gradient: Callable[[Array], Array],
    theta: Array,
    count: int,
    rng: np.random.Generator,
    steps: int,
    burn_in: int,
    keep_every: int,
    rate: float = 1e-2,
    friction: float = 0.05,
) -> Iterator[Array]:
    """Samples of θ after burn-in; the array is changed in place and samples are copies.

    Args:
        gradient: ∇Ũ at θ, possibly of a random batch.
        theta: Where to start.
        count: N, the number of data points.
        rng: Source of randomness.
        steps: Steps in all.
        burn_in: Steps in which scales are adapted and nothing is kept.
        keep_every: Steps from one sample to the next.
        rate: ε.
        friction: c.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> theta = np.zeros(1000)  # a thousand chains, one standard normal each
        >>> samples = list(sghmc(lambda t: t, theta, 1, rng, 3000, 1000, 50, rate=0.1))
        >>> abs(float(np.var(samples)) - 1.0) < 0.1
        True
    """
    tau, mean, square = (np.ones_like(theta) for _ in range(3))
    momentum = np.zeros_like(theta)
    scale, deviation = _scales(square, rate, friction, count)
    for step in range(steps):
        slope = gradient(theta)
        if step < burn_in:
            share = 1 / (tau + 1)
            tau += 1 - tau * (mean * mean / square)
            mean += share * (slope - mean)
            square += share * (slope * slope - square)
            scale, deviation = _scales(square, rate, friction, count)
        noise = rng.standard_normal(theta.shape, dtype=theta.dtype.type)
        momentum *= 1 - friction
        momentum -= scale * slope
        momentum += deviation * noise
        theta += momentum
        if step >= burn_in and (step - burn_in) % keep_every == 0:
            yield theta.copy()


def _scales(square: Array, rate: float, friction: float, count: int) -> tuple[Array, Array]:
    """ε² M⁻¹, and the standard deviation of the noise in the momentum."""
    scale = rate**2 / np.sqrt(square + _SMALL)
    variance = 2 * friction * scale / count - (rate**2 / count) ** 2
    return scale, np.sqrt(np.maximum(variance, _SMALL))
