from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.spaces import SearchSpace

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra neural)")

from nasgoat.baselines.graph_network import GraphNetworks, GraphTensors, split  # noqa: E402


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
