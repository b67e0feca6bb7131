from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nasgoat import nasbench201
from nasgoat.baselines import Data, Graphs, Prediction, PredictorSearch, Setup
from nasgoat.baselines.bayesian_networks import Dngo

PREDICTION = Prediction(np.array([0.0, 1.0, -1.0]), np.array([1.0, 4.0, 0.5]), incumbent=-0.5)


class FewestEdges(PredictorSearch):
    """Predicts the number of edges, with certainty."""

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        edges = np.array([float(len(graph.edges)) for graph in candidates])
        return Prediction(edges, np.zeros(len(edges)), float(data.errors.min()))


def test_candidates_of_lowest_value_are_proposed_lowest_first() -> None:
    method = FewestEdges(Setup(nasbench201(), initial=5))
    for proposal in method.ask(5):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    proposals = method.ask(20)
    edges = [len(proposal.graph.edges) for proposal in proposals]
    assert [proposal.certificate.value for proposal in proposals] == edges == sorted(edges)


def improvement(incumbent: float, mean: float, std: float) -> float:
    """The expected improvement of a single candidate."""
    found = Prediction(np.array([mean]), np.array([std]), incumbent).expected_improvement()
    return float(found[0])


def test_the_lower_bound_by_hand() -> None:
    assert PREDICTION.lower_bound().tolist() == [-0.5, -1.0, -1.25]


def test_thompson_sampling_draws_about_the_means_and_the_slip_about_zero() -> None:
    rng = np.random.default_rng(0)
    published = Dngo(Setup(nasbench201()), as_published=True)
    slip = partial(published.score, PREDICTION)
    for draw, centre in ((PREDICTION.draw, PREDICTION.mean), (slip, np.zeros(3))):
        draws = np.array([draw(rng) for _ in range(4000)])
        # 4,000 draws: standard errors of 1.6 percent of the deviation, and of 1.1 percent
        np.testing.assert_allclose(draws.mean(axis=0), centre, atol=0.3)
        np.testing.assert_allclose(draws.std(axis=0), PREDICTION.std, rtol=0.05)


def test_expected_improvement_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.3, 0.7, size=1_000_000)
    exact = improvement(0.1, mean=0.3, std=0.7)
    # a million draws: standard error below 0.0004
    assert exact == pytest.approx(np.maximum(0.1 - draws, 0).mean(), abs=2e-3)


def test_no_uncertainty_and_no_gain_is_worth_nothing() -> None:
    assert improvement(0.0, mean=1.0, std=0.0) == 0.0
