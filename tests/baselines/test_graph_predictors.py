from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines import Setup
from nasgoat.spaces import SearchSpace

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra neural)")

from nasgoat.baselines.graph_predictors import (  # noqa: E402
    Bonas,
    GcnPredictor,
    GraphNetworks,
    GraphTensors,
    split,
)

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
    assert len(values) == 3
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


def relu(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(x, 0))


@pytest.mark.parametrize("space", [nasbench101(), nasbench201()], ids=["nodes", "edges"])
def test_forward_pass_is_that_of_a_plain_loop(space: SearchSpace) -> None:
    graphs = space.sample(6, np.random.default_rng(0))
    tensors = GraphTensors.of(space, graphs)
    networks = GraphNetworks(tensors.labels.shape[2], members=2, width=7, layers=2, seed=1)
    predicted = networks.predict(tensors, block=4)
    for member in range(2):
        for i in range(6):
            both, X, share = (
                part[i].numpy().astype(float)
                for part in (tensors.adjacency, tensors.labels, tensors.share)
            )
            (A, B), V = both, X
            for weight in networks.convolutions:
                ahead, behind = weight[member].numpy()[:, :7], weight[member].numpy()[:, 7:]
                V = 0.5 * relu(A @ V @ ahead) + 0.5 * relu(B @ V @ behind)
            n = int((share > 0).sum())
            pooled = sum(V[v] for v in range(n)) / n
            head, bias = (part[member].numpy() for part in networks.head)
            hidden = relu(pooled @ head + bias[0])
            last, bias = (part[member].numpy() for part in networks.out)
            out = hidden @ last + bias[0]
            assert predicted[member, i] == pytest.approx(float(out[0]), abs=1e-5)  # float32


def test_rows_of_the_adjacency_sum_to_one_with_self_loops() -> None:
    tensors = GraphTensors.of(nasbench101(), nasbench101().sample(5, np.random.default_rng(0)))
    exists = tensors.share > 0
    for matrix in tensors.adjacency.unbind(dim=1):
        torch.testing.assert_close(matrix.sum(dim=2), exists.float())
        assert (torch.diagonal(matrix, dim1=1, dim2=2)[exists] > 0).all()


def test_networks_learn_a_share() -> None:
    space = nasbench201()
    graphs = space.sample(120, np.random.default_rng(0))
    labels = [list((graph.edge_labels or {}).values()) for graph in graphs]
    targets = np.array([found.count("nor_conv_3x3") / len(found) for found in labels])
    targets = (targets - targets.mean()) / targets.std()
    observed, new = split(GraphTensors.of(space, graphs), 80)
    networks = GraphNetworks(observed.labels.shape[2], members=2, width=24, seed=0)
    networks.fit(observed, targets[:80], epochs=60, batch=16, rate=5e-3)
    error = np.abs(networks.predict(new).mean(axis=0) - targets[80:]).mean()
    assert error < 0.4  # predicting the mean would give about 0.8


def test_same_seed_gives_the_same_networks() -> None:
    space = nasbench201()
    graphs = space.sample(20, np.random.default_rng(0))
    tensors = GraphTensors.of(space, graphs)
    found = []
    for _ in range(2):
        networks = GraphNetworks(tensors.labels.shape[2], members=2, width=8, seed=3)
        networks.fit(tensors, np.linspace(-1, 1, 20), epochs=3, batch=7, rate=1e-3)
        found.append(networks.predict(tensors))
    np.testing.assert_array_equal(found[0], found[1])


def test_networks_learn_a_class() -> None:
    space = nasbench201()
    graphs = space.sample(120, np.random.default_rng(0))
    many = np.array([len(graph.edges) >= 5 for graph in graphs])
    observed, new = split(GraphTensors.of(space, graphs), 80)
    networks = GraphNetworks(observed.labels.shape[2], width=24, seed=0)
    networks.fit(observed, many[:80].astype(float), 60, 16, 5e-3, loss="logistic")
    assert ((networks.predict(new)[0] > 0) == many[80:]).mean() > 0.85
