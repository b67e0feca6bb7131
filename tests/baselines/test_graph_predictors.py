from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nasgoat import nasbench201
from nasgoat.baselines import Setup

pytest.importorskip("torch", reason="PyTorch is not installed (extra neural)")

from nasgoat.baselines.graph_network import GraphNetworks, GraphTensors
from nasgoat.baselines.graph_predictors import Bonas, GcnPredictor

EVALUATIONS = 30


def predictor(as_published: bool) -> GcnPredictor:
    """A predictor that has seen every random graph of its budget."""
    setup = Setup(nasbench201(), initial=5, evaluations=EVALUATIONS)
    method = GcnPredictor(setup, epochs=20, width=16, as_published=as_published)
    for _ in range(EVALUATIONS - method.chosen):
        graph = method.ask(1)[0].graph
        method.tell(graph, float(nasbench201().digits(graph).sum()))
    return method


def test_share_of_the_budget_goes_to_predicted_graphs() -> None:
    assert GcnPredictor(Setup(nasbench201(), evaluations=160)).chosen == int(160 * 20 / 172)


def test_predicted_graphs_come_best_first() -> None:
    values = [proposal.certificate.value for proposal in predictor(False).ask(3)]
    assert all(
        low is not None and high is not None and low <= high for low, high in pairwise(values)
    )


def test_public_code_takes_the_first_candidates_whatever_is_predicted() -> None:
    method = predictor(True)
    asked = [proposal.graph for proposal in method.ask(3)]
    rng = np.random.default_rng([method.seed, 4])
    seen = {method.space.key(graph) for graph, _ in method.observations}
    candidates = method.space.sample(3, rng, seen)
    assert asked == candidates
    assert asked != [proposal.graph for proposal in predictor(False).ask(3)]


def test_regressor_learns_from_the_better_half_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[str, np.ndarray]] = []
    fit = GraphNetworks.fit

    def record(
        self: GraphNetworks, graphs: GraphTensors, targets: np.ndarray, *rest: Any, **more: Any
    ) -> None:
        trained.append((more["loss"], targets))
        fit(self, graphs, targets, *rest, **more)

    monkeypatch.setattr(GraphNetworks, "fit", record)
    predictor(False).ask(1)
    (regression, better), (classification, labels) = trained
    assert (regression, classification) == ("squared", "logistic")
    assert set(labels) == {0.0, 1.0} and labels.sum() == len(better) < len(labels)


def test_graphs_that_fail_the_first_stage_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    method = predictor(False)

    def predictions(*_: Any) -> tuple[np.ndarray, np.ndarray]:
        values = np.arange(50.0 * EVALUATIONS)[::-1]
        return values, values >= len(values) - 2  # the two worst by prediction pass

    monkeypatch.setattr(method, "_predict", predictions)
    values = [proposal.certificate.value for proposal in method.ask(3)]
    assert values == [50.0 * EVALUATIONS - 2, 50.0 * EVALUATIONS - 1, 0.0]


def told(method: Bonas) -> Bonas:
    for proposal in method.ask(method.initial):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    return method


def test_full_training_is_that_of_the_public_code(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[Any, ...]] = []

    def fit(self: GraphNetworks, graphs: Any, targets: Any, *training: Any) -> None:
        used.append((self.members, self.convolutions[-1].shape[1], self.dropout, *training))

    monkeypatch.setattr(GraphNetworks, "fit", fit)
    told(Bonas(Setup(nasbench201()), full=True)).ask(5)
    told(Bonas(Setup(nasbench201()))).ask(5)
    assert used == [(5, 144, 0.1, 300, 7, 1e-4), (5, 48, 0.1, 60, 32, 5e-3)]


@pytest.mark.slow
def test_full_training_proposes_new_graphs() -> None:
    method = told(Bonas(Setup(nasbench201(), initial=14), full=True))
    asked = [proposal.graph for proposal in method.ask(5)]
    assert len(set(asked)) == 5
    assert not {*asked} & {graph for graph, _ in method.observations}
