from __future__ import annotations

import numpy as np
import pytest

from nasgoat.baselines.bohamiann import mean_gradient, sghmc
from nasgoat.baselines.dense_network import DenseNetwork


def test_samples_of_a_gaussian_have_its_mean_and_variance() -> None:
    # 400 independent chains for each of two normal posteriors: N(3, 1/4) and N(-1, 4).
    means, deviations = np.array([3.0, -1.0]), np.array([0.5, 2.0])
    centre, scale = np.repeat(means, 400), np.repeat(deviations, 400)
    rng = np.random.default_rng(0)
    samples = np.array(
        list(
            sghmc(
                lambda theta: (theta - centre) / scale**2,
                np.zeros(800),
                count=1,
                rng=rng,
                steps=6000,
                burn_in=3000,
                keep_every=300,
                rate=0.1,
            )
        )
    ).reshape(-1, 2, 400)
    # 4,000 samples, nearly independent: the standard errors are below 2 and 3 percent; the step's
    # own bias is of the order of the rate
    np.testing.assert_allclose(samples.mean(axis=(0, 2)), means, atol=0.15)
    np.testing.assert_allclose(samples.std(axis=(0, 2)), deviations, rtol=0.1)


def test_noise_follows_the_number_of_data_points() -> None:
    # N copies of the same observation: the posterior's variance is 1 / N.
    count = 25
    rng = np.random.default_rng(0)
    samples = sghmc(lambda theta: theta, np.zeros(500), count, rng, 4000, 2000, 200, rate=0.1)
    assert np.std(list(samples)) == pytest.approx(1 / np.sqrt(count), rel=0.1)


def test_gradient_of_the_network_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    rows, targets = rng.standard_normal((9, 3)), rng.standard_normal(9)
    network = DenseNetwork((3, 5, 4, 1), activation="tanh")
    theta = np.append(network.initial(rng)[0].astype(float), -1.0)

    def potential(at: np.ndarray) -> float:
        residual = network.forward(network.layers(at[None, :-1]), rows)[-1][0, :, 0] - targets
        fit = (residual**2 / (2 * np.exp(at[-1])) + at[-1] / 2).sum()
        prior = (at[:-1] ** 2).sum() / 2 + (at[-1] - np.log(1e-3)) ** 2 / 2
        return float(fit + prior) / len(rows)

    slope = mean_gradient(network, rows, targets, rng)(theta)
    for place in (0, 7, 20, 40, network.size - 1, network.size):
        moved = theta.copy()
        moved[place] += 1e-6
        expected = (potential(moved) - potential(theta)) / 1e-6
        assert slope[place] == pytest.approx(expected, abs=1e-4)  # data are rounded to float32
