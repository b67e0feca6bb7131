from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nasgoat.baselines.fixed_kernel import compute_likelihood_terms, find_likeliest_noise, predict


def test_likelihood_terms_are_those_of_the_normal_density() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    K, z = root @ root.T, rng.standard_normal(5)
    fit, log_det = compute_likelihood_terms(K, z, noise=0.1)
    density = multivariate_normal(np.zeros(5), K + 0.1 * np.eye(5)).logpdf(z)
    assert fit + log_det == pytest.approx(-2 * density - 5 * np.log(2 * np.pi))


def test_known_noise_is_recovered() -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(400))
    K = np.exp(-np.abs(x[:, None] - x[None]) / 0.5)
    z = np.linalg.cholesky(K + 0.09 * np.eye(400)) @ rng.standard_normal(400)
    noise = find_likeliest_noise(lambda v: sum(compute_likelihood_terms(K, z, v)), (1e-5, 1.0))
    assert noise == pytest.approx(0.09, rel=0.2)  # 400 observations: a standard error of 8 %


def test_bounds_hold() -> None:
    z = np.array([5.0, -5.0])
    noise = find_likeliest_noise(
        lambda v: sum(compute_likelihood_terms(np.eye(2), z, v)), (1e-3, 0.5)
    )
    assert noise == pytest.approx(0.5, rel=1e-3)


def test_a_singular_kernel_matrix_is_no_trouble() -> None:
    ones = np.ones((2, 2))  # two graphs at distance 0
    mean, std = predict(ones, np.ones((2, 1)), 1.0, np.array([1.0, 1.0]), noise=0.0)
    np.testing.assert_allclose(mean, [1.0], atol=1e-6)  # as exact as the jitter is small
    assert std[0] < 1e-3
