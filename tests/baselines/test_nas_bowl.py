from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines.method import Setup
from nasgoat.baselines.nas_bowl import NasBowl, expected_improvement
from nasgoat.baselines.noise import likelihood_terms
from nasgoat.kernels.weisfeiler_lehman import wl_gram, wl_histograms


def told(method: NasBowl, count: int) -> NasBowl:
    for proposal in method.ask(count):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    return method


def test_expected_improvement_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.3, 0.7, size=1_000_000)
    exact = expected_improvement(0.1, np.array([0.3]), np.array([0.7]))[0]
    # a million draws: standard error below 0.0004
    assert exact == pytest.approx(np.maximum(0.1 - draws, 0).mean(), abs=2e-3)


def test_no_uncertainty_and_no_gain_is_worth_nothing() -> None:
    assert expected_improvement(0.0, np.array([1.0]), np.array([0.0]))[0] == 0.0


def test_half_of_the_pool_is_random_where_nodes_have_labels() -> None:
    method = told(NasBowl(Setup(nasbench101(), initial=5), pool=20), 5)
    assert len(method.ask(20)) == 20


def test_depth_has_the_largest_likelihood_or_as_published_the_largest_slip() -> None:
    cells = nasbench101().sample(12, np.random.default_rng(3))
    z = np.random.default_rng(3).standard_normal(12)
    grams = [wl_gram(wl_histograms(cells, depth), "intersection") for depth in (1, 2, 3)]
    terms = np.array([likelihood_terms(gram, z, 1e-3) for gram in grams])
    for as_published, loss in ((False, terms.sum(axis=1)), (True, terms[:, 0] - terms[:, 1])):
        method = NasBowl(Setup(nasbench101()), as_published=as_published)
        np.testing.assert_allclose(method._fitted(cells, z)[0], grams[int(loss.argmin())])


def test_published_incumbent_is_the_observation_of_best_posterior_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[float] = []

    def record(incumbent: float, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
        used.append(incumbent)
        return expected_improvement(incumbent, mean, std)

    def reversed_means(gram: np.ndarray, z: np.ndarray, noise: float) -> tuple[np.ndarray, ...]:
        mean = np.zeros(len(gram))
        mean[: len(z)] = -z  # the worst observation has the best posterior mean
        return mean, np.ones(len(gram))

    monkeypatch.setattr("nasgoat.baselines.nas_bowl.expected_improvement", record)
    monkeypatch.setattr("nasgoat.baselines.nas_bowl._posterior", reversed_means)
    for as_published in (False, True):
        setup = Setup(nasbench201(), initial=8)
        told(NasBowl(setup, as_published=as_published), 8).ask(1)
    best, published = used
    assert best < 0 < published


@pytest.mark.parametrize("as_published", [False, True])
def test_noise_is_fitted_where_errors_are_noisy(as_published: bool) -> None:
    cells = nasbench201().sample(30, np.random.default_rng(0))
    z = np.random.default_rng(0).standard_normal(30)  # nothing but noise
    for noisy in (False, True):
        method = NasBowl(Setup(nasbench201(), noisy=noisy), as_published=as_published)
        noise = method._fitted(cells, z)[1]
        if noisy:
            # Pure noise wants the largest variance; the flipped sign wants it too.
            assert noise == pytest.approx(1e-2, rel=1e-3)
        else:
            assert noise == 1e-3
