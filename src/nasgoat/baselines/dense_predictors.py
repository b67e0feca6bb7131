"""BANANAS and DNGO: predictors with dense networks on vectors that encode the graphs.

BANANAS: White et al., AAAI 2021. DNGO: Snoek et al., ICML 2015, adapted to architectures by
naszilla.

Notation, of Bayesian linear regression (Bishop, Pattern Recognition and Machine Learning, 3.5)
    Φ  (N, D)  basis rows,  y (N,) targets,  Φ = U diag(s) Vᵀ
    α          precision of the weights, w ~ N(0, I / α)
    β          precision of the noise,   y ~ N(Φ w, I / β)
    m, S       posterior mean and covariance of w:  S⁻¹ = α I + β ΦᵀΦ,  m = β S Φᵀ y

    log p(y) = log N(y; 0, ΦΦᵀ / α + I / β)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nasgoat.baselines.dense_network import DenseNetwork, train
from nasgoat.baselines.encodings import path_encoding, standardized_adjacency
from nasgoat.baselines.method import (
    Data,
    Graphs,
    Prediction,
    PredictorSearch,
    bound_values,
    draw_deviations,
    draw_values,
    standardize,
)

Array = NDArray[np.float64]
_LOG_BOUNDS = (-10.0, 12.0)  # of log α and log β: beyond, nothing changes any more


@dataclass(eq=False, repr=False, kw_only=True)
class Bananas(PredictorSearch):
    """Thompson sampling with five dense networks of ten layers on the path encoding.

    Args:
        setup: Space, initial design, seed and budget.
        members: Networks in the ensemble.
        layers: Hidden layers of each.
        width: Width of the hidden layers.
        epochs: Passes over the data.
    """

    members: int = 5
    layers: int = 10
    width: int = 20
    epochs: int = 150

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Mean and spread of the ensemble's predicted errors."""
        graphs, errors = data
        rows = path_encoding(self.space, [*graphs, *candidates])
        widths = (rows.shape[1], *[self.width] * self.layers, 1)
        network = DenseNetwork(widths, self.members)
        theta = train(
            network,
            rows[: len(graphs)],
            errors,
            rng,
            self.epochs,
            batch=32,
            rate=0.01,
            betas=(0.9, 0.99),
            loss="absolute",
        )
        predicted = network.predict(theta, rows[len(graphs) :])[:, :, 0].astype(float)
        return Prediction(predicted.mean(axis=0), predicted.std(axis=0), float(errors.min()))

    def score(self, prediction: Prediction, rng: np.random.Generator) -> Array:
        """Thompson sampling."""
        return draw_values(prediction, rng)


@dataclass(eq=False, repr=False, kw_only=True)
class AdjacencySearch(PredictorSearch):
    """A predictor on the adjacency encoding; encoding and errors are standardised.

    Args:
        setup: Space, initial design, seed and budget.
        as_published: Rank candidates as the public code does by mistake, see
            :func:`~nasgoat.baselines.method.draw_deviations`.
    """

    as_published: bool = False

    @abstractmethod
    def predict_rows(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of the target at new rows."""

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Mean and standard deviation of the standardised error."""
        rows, new = standardized_adjacency(self.space, data.graphs, candidates)
        targets, _, _ = standardize(data.errors)
        mean, std = self.predict_rows(rows, targets, new, rng)
        return Prediction(mean, std, float(targets.min()))

    def score(self, prediction: Prediction, rng: np.random.Generator) -> Array:
        """Half a deviation below the mean, or as in the public code."""
        return draw_deviations(prediction, rng) if self.as_published else bound_values(prediction)


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
        layers = network.layers(theta)
        basis = [
            network.forward(layers, part.astype(np.float32))[-2][0].astype(float)
            for part in (rows, new)
        ]
        return BayesianLinear.fit(basis[0], targets).predict(basis[1])


@dataclass(frozen=True, eq=False)
class BayesianLinear:
    """The posterior of the weights.

    Example:
        >>> rows = np.array([[1.0], [2.0], [3.0]])
        >>> model = BayesianLinear.given(rows, np.array([1.0, 2.0, 3.0]), alpha=1e-9, beta=1e9)
        >>> model.predict(np.array([[4.0]]))[0].round(3).tolist()
        [4.0]
    """

    mean: Array
    covariance: Array
    alpha: float
    beta: float

    @classmethod
    def given(cls, rows: Array, targets: Array, alpha: float, beta: float) -> BayesianLinear:
        """The posterior at fixed precisions."""
        precision = alpha * np.eye(rows.shape[1]) + beta * rows.T @ rows
        covariance = np.asarray(np.linalg.inv(precision), dtype=float)
        return cls(beta * covariance @ (rows.T @ targets), covariance, alpha, beta)

    @classmethod
    def fit(cls, rows: Array, targets: Array) -> BayesianLinear:
        """The posterior at the precisions of largest marginal likelihood."""
        U, s, _ = np.linalg.svd(rows, full_matrices=False)
        parts = (s**2, U.T @ targets, float(targets @ targets), len(targets))
        found = minimize(
            lambda logs: -_log_evidence(parts, *np.exp(logs)),
            x0=np.array([0.0, 4.0]),
            method="L-BFGS-B",
            bounds=[_LOG_BOUNDS, _LOG_BOUNDS],
        )
        return cls.given(rows, targets, *np.exp(found.x).tolist())

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of new targets, noise included."""
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance, rows) + 1 / self.beta
        return rows @ self.mean, np.sqrt(np.maximum(variance, 0.0))


def log_evidence(rows: Array, targets: Array, alpha: float, beta: float) -> float:
    """Log p(y) at fixed precisions."""
    U, s, _ = np.linalg.svd(rows, full_matrices=False)
    return _log_evidence((s**2, U.T @ targets, float(targets @ targets), len(targets)), alpha, beta)


def _log_evidence(parts: tuple[Array, Array, float, int], alpha: float, beta: float) -> float:
    # In the basis U the covariance of y is s² / α + 1 / β on the diagonal, and 1 / β elsewhere.
    squares, projected, total, count = parts
    variances = squares / alpha + 1 / beta
    fit = (projected**2 / variances).sum() + beta * max(total - (projected**2).sum(), 0.0)
    log_det = np.log(variances).sum() - (count - len(squares)) * np.log(beta)
    return float(-0.5 * (fit + log_det + count * np.log(2 * np.pi)))
