from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nasgoat.baselines.bayesian_linear import BayesianLinear, log_evidence


def problem(count: int = 30, width: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((count, width))
    return rows, rows @ rng.standard_normal(width) + 0.1 * rng.standard_normal(count)


def test_posterior_is_the_closed_form_of_the_joint_normal() -> None:
    rows, targets = problem()
    new = np.random.default_rng(1).standard_normal((6, 4))
    alpha, beta = 2.0, 25.0
    # y and y' are jointly normal with covariance ΦΦᵀ/α + I/β: condition one on the other.
    K = rows @ rows.T / alpha + np.eye(len(rows)) / beta
    k = new @ rows.T / alpha
    mean = k @ np.linalg.solve(K, targets)
    variance = np.diag(new @ new.T / alpha + np.eye(6) / beta - k @ np.linalg.solve(K, k.T))
    found_mean, found_std = BayesianLinear.given(rows, targets, alpha, beta).predict(new)
    np.testing.assert_allclose(found_mean, mean)
    np.testing.assert_allclose(found_std**2, variance)


@pytest.mark.parametrize("shape", [(30, 4), (3, 8)])
def test_evidence_is_the_normal_density(shape: tuple[int, int]) -> None:
    rows, targets = problem(*shape)
    alpha, beta = 0.7, 9.0
    K = rows @ rows.T / alpha + np.eye(len(rows)) / beta
    expected = multivariate_normal(np.zeros(len(rows)), K).logpdf(targets)
    assert log_evidence(rows, targets, alpha, beta) == pytest.approx(expected)


def test_fitted_precisions_beat_their_neighbours() -> None:
    rows, targets = problem()
    model = BayesianLinear.fit(rows, targets)
    best = log_evidence(rows, targets, model.alpha, model.beta)
    for factor in (0.5, 2.0):
        assert log_evidence(rows, targets, model.alpha * factor, model.beta) < best
        assert log_evidence(rows, targets, model.alpha, model.beta * factor) < best
    assert 1 / np.sqrt(model.beta) == pytest.approx(0.1, rel=0.4)  # the noise of the problem
