"""DNGO and BOHAMIANN: Bayesian neural networks on the adjacency encoding.

DNGO (Snoek et al., ICML 2015) is Bayesian linear regression on the last hidden layer of a network;
notation of Bishop, Pattern Recognition and Machine Learning, 3.5:
    Φ  (N, D)  basis rows,  y (N,) targets,  Φ = U diag(s) Vᵀ
    α          precision of the weights, w ~ N(0, I / α)
    β          precision of the noise,   y ~ N(Φ w, I / β)
    m, S       posterior mean and covariance of w:  S⁻¹ = α I + β ΦᵀΦ,  m = β S Φᵀ y
    log p(y) = log N(y; 0, ΦΦᵀ / α + I / β)

BOHAMIANN (Springenberg et al., NeurIPS 2016, Section 4 and Appendix A, for the mean potential)
samples whole networks by stochastic gradient Hamiltonian Monte Carlo:
    f_θ     dense network with two tanh layers;  s = log σ² a learnt log variance
    U       potential Σ_i [(y_i - f_θ(x_i))² / 2σ² + s / 2] + |θ|² / 2 + (s - log 10⁻³)² / 2;
            Ũ = U / N its mean over the N data points
    ε       step size,  c  friction (share of the momentum lost in a step)
    V̂       running estimate of E[(∂Ũ/∂θ)²], adapted during burn-in only;  M⁻¹ = V̂^-½
    v       momentum:  v ← (1 - c) v - ε² M⁻¹ ∇Ũ + N(0, 2 c ε² M⁻¹ / N - ε⁴ / N²);  θ ← θ + v
The window τ of the running estimates follows from how noisy the gradients are. naszilla adapted
both methods to architectures.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nasgoat.baselines import Data, Graphs, Prediction, PredictorSearch, standardize
from nasgoat.baselines.dense_network import DenseNetwork, train
from nasgoat.baselines.encodings import standardize_adjacency

Array = NDArray[np.float64]
Weights = NDArray[np.floating]
_LOG_BOUNDS = (-10.0, 12.0)  # of log α and log β: beyond, nothing changes any more
_BATCH = 20
_PRIOR_LOG_VARIANCE = float(np.log(1e-3))
_SMALL = 1e-16


@dataclass(eq=False, repr=False, kw_only=True)
class AdjacencySearch(PredictorSearch):
    """A predictor on the adjacency encoding; encoding and errors are standardised.

    Args:
        setup: Space, initial design, seed and budget.
        as_published: Rank candidates by draws from N(0, σ), without the means, as the public code
            does because an argument is in the wrong place.
    """

    as_published: bool = False

    @abstractmethod
    def predict_rows(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of the target at new rows."""

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Mean and standard deviation of the standardised error."""
        rows, new = standardize_adjacency(self.space, data.graphs, candidates)
        targets, _, _ = standardize(data.errors)
        mean, std = self.predict_rows(rows, targets, new, rng)
        return Prediction(mean, std, float(targets.min()))

    def score(self, prediction: Prediction, rng: np.random.Generator) -> Array:
        """Half a deviation below the mean, or as in the public code."""
        if self.as_published:
            return rng.normal(0.0, prediction.std)
        return super().score(prediction, rng)


@dataclass(eq=False, repr=False, kw_only=True)
class Dngo(AdjacencySearch):
    """Bayesian linear regression on the last hidden layer of a network with three tanh layers.

    Args:
        setup: Space, initial design, seed and budget.
        epochs: Passes over the data.
        as_published: See :class:`AdjacencySearch`.
    """

    epochs: int = 500

    def predict_rows(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """The posterior at new rows, noise included."""
        network = DenseNetwork((rows.shape[1], 50, 50, 50, 1), activation="tanh")
        theta = train(network, rows, targets, rng, self.epochs, batch=10, rate=0.01)
        layers = network.view_layers(theta)
        basis, new_basis = (
            network.forward(layers, part.astype(np.float32))[-2][0].astype(float)
            for part in (rows, new)
        )
        return predict_linear(basis, targets, new_basis, *find_likeliest_precisions(basis, targets))


@dataclass(eq=False, repr=False, kw_only=True)
class Bohamiann(AdjacencySearch):
    """Predicts with the mean and spread of sampled networks.

    Args:
        setup: Space, initial design, seed and budget.
        steps: Steps of the sampler in each fit, as many as in the public code.
        burn_in: How many of them are burn-in.
        keep_every: Steps from one kept network to the next.
        as_published: See :class:`AdjacencySearch`.
    """

    steps: int = 10_000
    burn_in: int = 1_000
    keep_every: int = 50

    def predict_rows(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Mean and spread of what the sampled networks predict."""
        network = DenseNetwork((rows.shape[1], 50, 50, 1), activation="tanh")
        theta = np.append(network.draw_initial(rng)[0], np.float32(_PRIOR_LOG_VARIANCE))
        slope = make_mean_gradient(network, rows, targets, rng)
        samples = sample_by_sghmc(
            slope, theta, len(rows), rng, self.steps, self.burn_in, self.keep_every
        )
        predicted = np.array([network.predict(s[None, :-1], new)[0, :, 0] for s in samples])
        return predicted.mean(axis=0).astype(float), predicted.std(axis=0).astype(float)


def predict_linear(
    rows: Array, targets: Array, new: Array, alpha: float, beta: float
) -> tuple[Array, Array]:
    """Mean and standard deviation, noise included, of the targets at new basis rows.

    Example:
        >>> rows = np.array([[1.0], [2.0], [3.0]])
        >>> predict_linear(rows, rows[:, 0], np.array([[4.0]]), 1e-9, 1e9)[0].round(3).tolist()
        [4.0]
    """
    S = np.asarray(np.linalg.inv(alpha * np.eye(rows.shape[1]) + beta * rows.T @ rows), dtype=float)
    m = beta * S @ (rows.T @ targets)
    variance = np.einsum("ij,jk,ik->i", new, S, new) + 1 / beta
    return new @ m, np.sqrt(np.maximum(variance, 0.0))


def find_likeliest_precisions(rows: Array, targets: Array) -> tuple[float, float]:
    """The α and β of largest marginal likelihood."""
    evidence = log_evidence(rows, targets)
    found = minimize(
        lambda logs: -evidence(*np.exp(logs)),
        x0=np.array([0.0, 4.0]),
        method="L-BFGS-B",
        bounds=[_LOG_BOUNDS, _LOG_BOUNDS],
    )
    alpha, beta = np.exp(found.x).tolist()
    return alpha, beta


def log_evidence(rows: Array, targets: Array) -> Callable[[float, float], float]:
    """Log p(y) as a function of α and β."""
    U, s, _ = np.linalg.svd(rows, full_matrices=False)
    projected, total, count = U.T @ targets, float(targets @ targets), len(targets)

    def evidence(alpha: float, beta: float) -> float:
        # In the basis U the covariance of y is s² / α + 1 / β on the diagonal, and 1 / β elsewhere.
        variances = s**2 / alpha + 1 / beta
        fit = (projected**2 / variances).sum() + beta * max(total - (projected**2).sum(), 0.0)
        log_det = np.log(variances).sum() - (count - len(s)) * np.log(beta)
        return float(-0.5 * (fit + log_det + count * np.log(2 * np.pi)))

    return evidence


def make_mean_gradient(
    network: DenseNetwork, rows: Weights, targets: Weights, rng: np.random.Generator
) -> Callable[[Weights], Weights]:
    """∇(U / N) as a function of (θ, s), each time on a random batch.

    The array that it returns is written over at the next call.
    """
    X, y = rows.astype(np.float32), targets.astype(np.float32)[:, None]
    count, size = len(X), min(_BATCH, len(X))
    slope = np.empty(network.size + 1, dtype=np.float32)
    parts = network.view_layers(slope[None, :-1])

    def gradient(theta: Weights) -> Weights:
        chosen = rng.integers(count, size=size) if size < count else slice(None)
        layers = network.view_layers(theta[None, :-1])
        outputs = network.forward(layers, X[chosen])
        residual = outputs[-1] - y[chosen]
        precision = np.exp(-theta[-1])
        network.backward(layers, outputs, residual * (precision / size), parts)
        slope[:-1] += theta[:-1] / count
        misfit = 0.5 - 0.5 * precision * np.vdot(residual, residual) / size
        slope[-1] = misfit + (theta[-1] - _PRIOR_LOG_VARIANCE) / count
        return slope

    return gradient


def sample_by_sghmc(
    gradient: Callable[[Weights], Weights],
    theta: Weights,
    count: int,
    rng: np.random.Generator,
    steps: int,
    burn_in: int,
    keep_every: int,
    rate: float = 1e-2,
    friction: float = 0.05,
) -> Iterator[Weights]:
    """Samples of θ after burn-in; the array is changed in place and samples are copies.

    ``gradient`` is ∇Ũ, possibly of a random batch, ``count`` N, ``rate`` ε, ``friction`` c. Scales
    are adapted in the first ``burn_in`` of all ``steps``; of the others every ``keep_every``-th is
    a sample.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> theta = np.zeros(1000)  # a thousand chains, one standard normal each
        >>> samples = list(sample_by_sghmc(lambda t: t, theta, 1, rng, 3000, 1000, 50, rate=0.1))
        >>> abs(float(np.var(samples)) - 1.0) < 0.1
        True
    """
    tau, mean, square = (np.ones_like(theta) for _ in range(3))
    momentum = np.zeros_like(theta)
    scale, deviation = _scale(square, rate, friction, count)
    for step in range(steps):
        slope = gradient(theta)
        if step < burn_in:
            share = 1 / (tau + 1)
            tau += 1 - tau * (mean * mean / square)
            mean += share * (slope - mean)
            square += share * (slope * slope - square)
            scale, deviation = _scale(square, rate, friction, count)
        noise = rng.standard_normal(theta.shape, dtype=theta.dtype.type)
        momentum *= 1 - friction
        momentum -= scale * slope
        momentum += deviation * noise
        theta += momentum
        if step >= burn_in and (step - burn_in) % keep_every == 0:
            yield theta.copy()


def _scale(square: Weights, rate: float, friction: float, count: int) -> tuple[Weights, Weights]:
    """ε² M⁻¹, and the standard deviation of the noise in the momentum."""
    scale = rate**2 / np.sqrt(square + _SMALL)
    variance = 2 * friction * scale / count - (rate**2 / count) ** 2
    return scale, np.sqrt(np.maximum(variance, _SMALL))
