from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines.nas_bowl import NasBowl, expected_improvement, likelihood_terms


def test_likelihood_terms_are_those_of_the_normal_density() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    K, z = root @ root.T, rng.standard_normal(5)
    fit, log_det = likelihood_terms(K, z, noise=0.1)
    density = multivariate_normal(np.zeros(5), K + 0.1 * np.eye(5)).logpdf(z)
    assert fit + log_det == pytest.approx(-2 * density - 5 * np.log(2 * np.pi))


def test_expected_improvement_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.3, 0.7, size=1_000_000)
    exact = expected_improvement(0.1, np.array([0.3]), np.array([0.7]))[0]
    # a million draws: standard error below 0.0004
    assert exact == pytest.approx(np.maximum(0.1 - draws, 0).mean(), abs=2e-3)


def test_no_uncertainty_and_no_gain_is_worth_nothing() -> None:
    assert expected_improvement(0.0, np.array([1.0]), np.array([0.0]))[0] == 0.0


@pytest.mark.parametrize("options", [{"noisy": True}, {"as_published": True}])
def test_options_change_no_promise(options: dict[str, bool]) -> None:
    method = NasBowl(nasbench201(), initial=8, **options)  # type: ignore[arg-type]
    for proposal in method.ask(8):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    assert len(method.ask(5)) == 5


def test_half_of_the_pool_is_random_where_nodes_have_labels() -> None:
    method = NasBowl(nasbench101(), initial=5, pool=20)
    for proposal in method.ask(5):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    assert len(method.ask(20)) == 20
