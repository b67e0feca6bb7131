from __future__ import annotations

import numpy as np
import pytest

from nasgoat.baselines.dense_network import DenseNetwork, train
from nasgoat.errors import UnknownNameError


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gradient_is_that_of_finite_differences(activation: str) -> None:
    rng = np.random.default_rng(0)
    network = DenseNetwork((4, 6, 5, 2), members=3, activation=activation)
    theta = network.draw_initial(rng).astype(np.float64)
    theta += 0.1 * rng.standard_normal(theta.shape)
    rows, weights = rng.standard_normal((3, 7, 4)), rng.standard_normal((3, 7, 2))

    def loss(at: np.ndarray) -> float:
        return float((network.forward(network.view_layers(at), rows)[-1] * weights).sum())

    gradient = np.empty_like(theta)
    layers = network.view_layers(theta)
    network.backward(layers, network.forward(layers, rows), weights, network.view_layers(gradient))
    step = 1e-6
    for member, place in [(0, 0), (1, 10), (2, 30), (0, 40), (1, 60), (2, network.size - 1)]:
        moved = theta.copy()
        moved[member, place] += step
        slope = (loss(moved) - loss(theta)) / step
        # forward differences of a smooth function: error of the order of the step
        assert gradient[member, place] == pytest.approx(slope, abs=1e-4)


def test_a_network_learns_a_plane() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 3))
    targets = rows @ np.array([1.0, -2.0, 0.5])
    network = DenseNetwork((3, 20, 1), members=2)
    theta = train(network, rows, targets, rng, epochs=100, batch=32, rate=0.01)
    error = network.predict(theta, rows)[:, :, 0] - targets
    assert np.abs(error).mean() < 0.1  # the targets' mean size is 1.8


def test_members_start_differently() -> None:
    theta = DenseNetwork((3, 4, 1), members=2).draw_initial(np.random.default_rng(0))
    assert (theta[0] != theta[1]).any()


def test_unknown_activation_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="activation"):
        DenseNetwork((1, 1), activation="sine")
