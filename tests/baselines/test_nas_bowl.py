from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines import Setup
from nasgoat.baselines.fixed_kernel import compute_likelihood_terms
from nasgoat.baselines.nas_bowl import NasBowl
from nasgoat.kernels.histogram_kernels import compute_wl_gram, compute_wl_histograms


def told(method: NasBowl, count: int) -> NasBowl:
    for proposal in method.ask(count):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    return method


def test_half_of_the_pool_is_random_where_nodes_have_labels() -> None:
    method = told(NasBowl(Setup(nasbench101(), initial=5), pool=20), 5)
    assert len(method.ask(20)) == 20


def test_depth_has_the_largest_likelihood_or_as_published_the_largest_slip() -> None:
    cells = nasbench101().sample(12, np.random.default_rng(3))
    z = np.random.default_rng(3).standard_normal(12)
    grams = [
        compute_wl_gram(compute_wl_histograms(cells, depth), "intersection") for depth in (1, 2, 3)
    ]
    terms = np.array([compute_likelihood_terms(gram, z, 1e-3) for gram in grams])
    for as_published, loss in ((False, terms.sum(axis=1)), (True, terms[:, 0] - terms[:, 1])):
        method = NasBowl(Setup(nasbench101()), as_published=as_published)
        np.testing.assert_allclose(method._fit(cells, z)[0], grams[int(loss.argmin())])


def test_published_incumbent_is_the_observation_of_best_posterior_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reverse_means(
        K: np.ndarray, cross: np.ndarray, prior: np.ndarray, z: np.ndarray, noise: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean = np.zeros(len(prior))
        mean[: len(z)] = -z  # the worst observation has the best posterior mean
        return mean, np.ones(len(prior))

    monkeypatch.setattr("nasgoat.baselines.nas_bowl.predict", reverse_means)
    found = []
    for as_published in (False, True):
        method = told(NasBowl(Setup(nasbench201(), initial=8), as_published=as_published), 8)
        rng = np.random.default_rng(0)
        found.append(method.predict(method._data(), nasbench201().sample(3, rng), rng).incumbent)
    best, published = found
    assert best < 0 < published


@pytest.mark.parametrize("as_published", [False, True])
def test_noise_is_fitted_where_errors_are_noisy(as_published: bool) -> None:
    cells = nasbench201().sample(30, np.random.default_rng(0))
    z = np.random.default_rng(0).standard_normal(30)  # nothing but noise
    for noisy in (False, True):
        method = NasBowl(Setup(nasbench201(), noisy=noisy), as_published=as_published)
        noise = method._fit(cells, z)[1]
        if noisy:
            # Pure noise wants the largest variance; the flipped sign wants it too.
            assert noise == pytest.approx(1e-2, rel=1e-3)
        else:
            assert noise == 1e-3
