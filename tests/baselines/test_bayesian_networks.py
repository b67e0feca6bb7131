from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nasgoat import nasbench201
from nasgoat.baselines import Data, Graphs, Prediction, Setup
from nasgoat.baselines.bayesian_networks import (
    Bohamiann,
    Dngo,
    find_likeliest_precisions,
    log_evidence,
    make_mean_gradient,
    predict_linear,
    sample_by_sghmc,
)
from nasgoat.baselines.dense_network import DenseNetwork

Surrogates = type[Dngo] | type[Bohamiann]


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
    found_mean, found_std = predict_linear(rows, targets, new, alpha, beta)
    np.testing.assert_allclose(found_mean, mean)
    np.testing.assert_allclose(found_std**2, variance)


@pytest.mark.parametrize("shape", [(30, 4), (3, 8)])
def test_evidence_is_the_normal_density(shape: tuple[int, int]) -> None:
    rows, targets = problem(*shape)
    alpha, beta = 0.7, 9.0
    K = rows @ rows.T / alpha + np.eye(len(rows)) / beta
    expected = multivariate_normal(np.zeros(len(rows)), K).logpdf(targets)
    assert log_evidence(rows, targets)(alpha, beta) == pytest.approx(expected)


def test_fitted_precisions_beat_their_neighbours() -> None:
    rows, targets = problem()
    alpha, beta = find_likeliest_precisions(rows, targets)
    evidence = log_evidence(rows, targets)
    for factor in (0.5, 2.0):
        assert evidence(alpha * factor, beta) < evidence(alpha, beta)
        assert evidence(alpha, beta * factor) < evidence(alpha, beta)
    assert 1 / np.sqrt(beta) == pytest.approx(0.1, rel=0.4)  # the noise of the problem


def asked(
    kind: Surrogates, as_published: bool, slope: float, monkeypatch: pytest.MonkeyPatch
) -> list[float]:
    """Values, by a made-up surrogate, of the graphs that are proposed."""

    def predict(self: Dngo, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        sums = np.array([float(nasbench201().digits(graph).sum()) for graph in candidates])
        return Prediction(slope * sums, np.ones(len(sums)), incumbent=0.0)

    monkeypatch.setattr(kind, "predict", predict)
    method = kind(Setup(nasbench201(), initial=5), as_published=as_published)
    for proposal in method.ask(5):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    values = [proposal.certificate.value for proposal in method.ask(3)]
    return [value for value in values if value is not None]


@pytest.mark.parametrize("kind", [Dngo, Bohamiann])
def test_lowest_mean_less_half_a_deviation_is_proposed(
    kind: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = asked(kind, False, 1.0, monkeypatch)
    down = asked(kind, False, -1.0, monkeypatch)
    assert up == sorted(up) and down == sorted(down)
    assert len(up) == len(down) == 3
    assert up[0] > 0 > down[0]


@pytest.mark.parametrize("kind", [Dngo, Bohamiann])
def test_public_code_takes_no_notice_of_the_means(
    kind: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(kind, True, 1.0, monkeypatch) == asked(kind, True, -1.0, monkeypatch)


def test_surrogate_finds_the_direction_of_a_linear_error() -> None:
    space = nasbench201()
    rng = np.random.default_rng(0)
    cells = space.sample(80, rng)
    errors = np.array([space.digits(cell) @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] for cell in cells])
    for method in (Dngo(Setup(space)), Bohamiann(Setup(space), steps=3_000)):
        found = method.predict(Data(cells[:60], errors[:60]), cells[60:], rng)
        assert np.corrcoef(found.mean, errors[60:])[0, 1] > 0.9
        assert (found.std > 0).all()


def test_samples_of_a_gaussian_have_its_mean_and_variance() -> None:
    # 400 independent chains for each of two normal posteriors: N(3, 1/4) and N(-1, 4).
    means, deviations = np.array([3.0, -1.0]), np.array([0.5, 2.0])
    centre, scale = np.repeat(means, 400), np.repeat(deviations, 400)
    rng = np.random.default_rng(0)
    samples = np.array(
        list(
            sample_by_sghmc(
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
    samples = sample_by_sghmc(
        lambda theta: theta, np.zeros(500), count, rng, 4000, 2000, 200, rate=0.1
    )
    assert np.std(list(samples)) == pytest.approx(1 / np.sqrt(count), rel=0.1)


def test_gradient_of_the_network_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    rows, targets = rng.standard_normal((9, 3)), rng.standard_normal(9)
    network = DenseNetwork((3, 5, 4, 1), activation="tanh")
    theta = np.append(network.draw_initial(rng)[0].astype(float), -1.0)

    def potential(at: np.ndarray) -> float:
        residual = network.forward(network.view_layers(at[None, :-1]), rows)[-1][0, :, 0] - targets
        fit = (residual**2 / (2 * np.exp(at[-1])) + at[-1] / 2).sum()
        prior = (at[:-1] ** 2).sum() / 2 + (at[-1] - np.log(1e-3)) ** 2 / 2
        return float(fit + prior) / len(rows)

    slope = make_mean_gradient(network, rows, targets, rng)(theta)
    for place in (0, 7, 20, 40, network.size - 1, network.size):
        moved = theta.copy()
        moved[place] += 1e-6
        expected = (potential(moved) - potential(theta)) / 1e-6
        assert slope[place] == pytest.approx(expected, abs=1e-4)  # data are rounded to float32
