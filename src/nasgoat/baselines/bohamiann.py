"""BOHAMIANN: a Bayesian neural network sampled by stochastic gradient Hamiltonian Monte Carlo.

Notation
    f_θ     dense network with two tanh layers;  s = log σ² a learnt log variance
    U       potential Σ_i [(y_i - f_θ(x_i))² / 2σ² + s / 2] + |θ|² / 2 + (s - log 10⁻³)² / 2;
            Ũ = U / N its mean over the N data points
    ε       step size,  c  friction (share of the momentum lost in a step)
    V̂       running estimate of E[(∂Ũ/∂θ)²], adapted during burn-in only;  M⁻¹ = V̂^-½
    v       momentum:  v ← (1 - c) v - ε² M⁻¹ ∇Ũ + N(0, 2 c ε² M⁻¹ / N - ε⁴ / N²);  θ ← θ + v

The window τ of the running estimates follows from how noisy the gradients are. Source:
Springenberg et al., NeurIPS 2016, Section 4 and Appendix A, written for the mean potential and
adapted to architectures by naszilla.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.baselines.dense_network import DenseNetwork
from nasgoat.baselines.dense_predictors import AdjacencySearch

Array = NDArray[np.floating]
_BATCH = 20
_PRIOR_LOG_VARIANCE = float(np.log(1e-3))
_SMALL = 1e-16


@dataclass(eq=False, repr=False, kw_only=True)
class Bohamiann(AdjacencySearch):
    """Predicts with the mean and spread of sampled networks.

    Args:
        setup: Space, initial design, seed and budget.
        steps: Steps of the sampler in each fit, as many as in the public code.
        burn_in: How many of them are burn-in.
        keep_every: Steps from one kept network to the next.
        as_published: See :class:`~nasgoat.baselines.dense_predictors.AdjacencySearch`.
    """

    steps: int = 10_000
    burn_in: int = 1_000
    keep_every: int = 50

    def predict_rows(
        self,
        rows: NDArray[np.float64],
        targets: NDArray[np.float64],
        new: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and spread of what the sampled networks predict."""
        network = DenseNetwork((rows.shape[1], 50, 50, 1), activation="tanh")
        theta = np.append(network.initial(rng)[0], np.float32(_PRIOR_LOG_VARIANCE))
        slope = mean_gradient(network, rows, targets, rng)
        samples = sghmc(slope, theta, len(rows), rng, self.steps, self.burn_in, self.keep_every)
        predicted = np.array([network.predict(s[None, :-1], new)[0, :, 0] for s in samples])
        return predicted.mean(axis=0).astype(float), predicted.std(axis=0).astype(float)


def mean_gradient(
    network: DenseNetwork,
    rows: Array,
    targets: Array,
    rng: np.random.Generator,
    batch: int = _BATCH,
) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
    """∇(U / N) as a function of (θ, s), each time on a random batch.

    The array that it returns is written over at the next call.
    """
    X, y = rows.astype(np.float32), targets.astype(np.float32)[:, None]
    count, size = len(X), min(batch, len(X))
    slope = np.empty(network.size + 1, dtype=np.float32)
    parts = network.layers(slope[None, :-1])

    def gradient(theta: NDArray[np.floating]) -> NDArray[np.floating]:
        chosen = rng.integers(count, size=size) if size < count else slice(None)
        layers = network.layers(theta[None, :-1])
        outputs = network.forward(layers, X[chosen])
        residual = outputs[-1] - y[chosen]
        precision = np.exp(-theta[-1])
        network.backward(layers, outputs, residual * (precision / size), parts)
        slope[:-1] += theta[:-1] / count
        misfit = 0.5 - 0.5 * precision * np.vdot(residual, residual) / size
        slope[-1] = misfit + (theta[-1] - _PRIOR_LOG_VARIANCE) / count
        return slope

    return gradient


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
