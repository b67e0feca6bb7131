from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench201
from nasgoat.baselines.method import (
    Data,
    Graphs,
    Prediction,
    PredictorSearch,
    Setup,
    bound_values,
    draw_deviations,
    draw_values,
    expected_improvement,
    improvement_values,
)

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


def test_acquisitions_by_hand() -> None:
    assert bound_values(PREDICTION).tolist() == [-0.5, -1.0, -1.25]
    gains = expected_improvement(-0.5, PREDICTION.mean, PREDICTION.std)
    assert improvement_values(PREDICTION).tolist() == (-gains).tolist()


def test_thompson_sampling_draws_about_the_means_and_the_slip_about_zero() -> None:
    rng = np.random.default_rng(0)
    for draw, centre in ((draw_values, PREDICTION.mean), (draw_deviations, np.zeros(3))):
        draws = np.array([draw(PREDICTION, rng) for _ in range(4000)])
        # 4,000 draws: standard errors of 1.6 percent of the deviation, and of 1.1 percent
        np.testing.assert_allclose(draws.mean(axis=0), centre, atol=0.3)
        np.testing.assert_allclose(draws.std(axis=0), PREDICTION.std, rtol=0.05)


def test_expected_improvement_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.3, 0.7, size=1_000_000)
    exact = expected_improvement(0.1, np.array([0.3]), np.array([0.7]))[0]
    # a million draws: standard error below 0.0004
    assert exact == pytest.approx(np.maximum(0.1 - draws, 0).mean(), abs=2e-3)


def test_no_uncertainty_and_no_gain_is_worth_nothing() -> None:
    assert expected_improvement(0.0, np.array([1.0]), np.array([0.0]))[0] == 0.0
