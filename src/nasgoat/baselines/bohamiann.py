"""BOHAMIANN: a Bayesian neural network sampled by stochastic gradient Hamiltonian Monte Carlo.

Notation
    f_θ     dense network with two tanh layers;  s = log σ² a learnt log variance
    U       Σ_i [(y_i - f_θ(x_i))² / 2σ² + s / 2] + |θ|² / 2 + (s - log 10⁻³)² / 2

Source: Springenberg et al., NeurIPS 2016, adapted to architectures by naszilla.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nasgoat.baselines.dense_network import DenseNetwork
from nasgoat.baselines.dngo import EncodedSearch
from nasgoat.baselines.method import Setup
from nasgoat.baselines.sghmc import sghmc

Array = NDArray[np.float64]
_BATCH = 20
_PRIOR_LOG_VARIANCE = float(np.log(1e-3))


class Bohamiann(EncodedSearch):
    """Predicts with the mean and spread of sampled networks.

    Args:
        setup: Space, initial design, seed and budget.
        steps: Steps of the sampler in each fit, as many as in the public code.
        burn_in: How many of them are burn-in.
        keep_every: Steps from one kept network to the next.
        as_published: Keep the public code's slip; see :class:`~nasgoat.baselines.dngo`.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = Bohamiann(Setup(nasbench201(), initial=5), steps=200, burn_in=100)
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(5))
        5
    """

    def __init__(
        self,
        setup: Setup,
        *,
        steps: int = 10_000,
        burn_in: int = 1_000,
        keep_every: int = 50,
        as_published: bool = False,
    ) -> None:
        super().__init__(setup)
        self.steps, self.burn_in, self.keep_every = steps, burn_in, keep_every
        self.as_published = as_published

    def _predicted(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
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
