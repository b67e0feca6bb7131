"""BANANAS, and the dense networks of all baselines: small, many at once, hand-written gradients.

The networks of BANANAS, DNGO and BOHAMIANN have a few thousand weights and see batches of 10 to 32
rows. At that size the cost is calls, not arithmetic: plain NumPy over all ensemble members in one
array is several times faster than PyTorch (docs/decisions/0041-dense-networks-in-numpy.md).

Source of BANANAS: White et al., AAAI 2021.

Notation
    M  members, B  rows of a batch, P  weights of one member
    θ  (M, P)      weights, a row per member:  layer by layer W (in, out), then b (out)
    H_i (M, B, w)  output of layer i;  H_0 is the input;  the last layer is linear
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.baselines import Data, Graphs, Prediction, PredictorSearch
from nasgoat.baselines.encodings import encode_paths
from nasgoat.errors import UnknownNameError

Array = NDArray[np.floating]
ACTIVATIONS = ("relu", "tanh")


class DenseNetwork:
    """The shape of an ensemble of dense networks; weights are kept outside.

    Args:
        widths: Width of the input, of each hidden layer, and of the output.
        members: Number of networks.
        activation: ``"relu"`` or ``"tanh"``, of the hidden layers.

    Example:
        >>> network = DenseNetwork((3, 20, 1), members=5)
        >>> theta = network.draw_initial(np.random.default_rng(0))
        >>> theta.shape, network.predict(theta, np.ones((7, 3))).shape
        ((5, 101), (5, 7, 1))
    """

    def __init__(self, widths: Sequence[int], members: int = 1, activation: str = "relu") -> None:
        if activation not in ACTIVATIONS:
            raise UnknownNameError("activation", activation, ACTIVATIONS)
        self.widths = tuple(widths)
        self.members = members
        self.activation = activation
        self.shapes = list(pairwise(self.widths))
        self.size = sum((a + 1) * b for a, b in self.shapes)

    def draw_initial(self, rng: np.random.Generator) -> Array:
        """Weights uniform in ±√(6 / (in + out)) (Glorot), biases 0."""
        theta = np.zeros((self.members, self.size), dtype=np.float32)
        for weight, _ in self.view_layers(theta):
            bound = np.sqrt(6.0 / (weight.shape[1] + weight.shape[2]))
            weight[...] = rng.uniform(-bound, bound, weight.shape)
        return theta

    def view_layers(self, theta: Array) -> list[tuple[Array, Array]]:
        """Views (M, in, out) and (M, 1, out) of the weights and biases of each layer."""
        found, start = [], 0
        for a, b in self.shapes:
            middle, end = start + a * b, start + (a + 1) * b
            weight = theta[:, start:middle].reshape(self.members, a, b)
            found.append((weight, theta[:, middle:end].reshape(self.members, 1, b)))
            start = end
        return found

    def forward(self, layers: list[tuple[Array, Array]], rows: Array) -> list[Array]:
        """H_0, ..., H_L for rows of shape (B, in) or (M, B, in)."""
        outputs = [rows]
        for i, (weight, bias) in enumerate(layers):
            h = outputs[-1] @ weight
            h += bias
            if i < len(layers) - 1:
                if self.activation == "relu":
                    np.maximum(h, 0, out=h)
                else:
                    np.tanh(h, out=h)
            outputs.append(h)
        return outputs

    def backward(
        self,
        layers: list[tuple[Array, Array]],
        outputs: list[Array],
        slope: Array,
        gradient: list[tuple[Array, Array]],
    ) -> None:
        """Write ∂loss/∂θ into the views ``gradient``, from ∂loss/∂H_L of shape (M, B, out)."""
        for i in range(len(layers) - 1, -1, -1):
            if i < len(layers) - 1:
                h = outputs[i + 1]
                slope = slope * ((h > 0) if self.activation == "relu" else 1 - h * h)
            np.matmul(np.swapaxes(outputs[i], -1, -2), slope, out=gradient[i][0])
            np.add.reduce(slope, axis=1, keepdims=True, out=gradient[i][1])
            if i:
                slope = slope @ layers[i][0].swapaxes(1, 2)

    def predict(self, theta: Array, rows: NDArray[np.floating]) -> Array:
        """The output of every member for every row, shape (M, B, out)."""
        return self.forward(self.view_layers(theta), rows.astype(np.float32))[-1]


class Adam:
    """Adam on one array of weights (Kingma and Ba, ICLR 2015).

    Example:
        >>> theta = np.array([1.0], dtype=np.float32)
        >>> Adam(theta, rate=0.1).step(np.array([2.0], dtype=np.float32))
        >>> theta.round(3).tolist()
        [0.8999999761581421]
    """

    def __init__(
        self, theta: Array, rate: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.theta, self.rate, self.betas = theta, rate, betas
        self.first, self.second = np.zeros_like(theta), np.zeros_like(theta)
        self.steps = 0

    def step(self, gradient: Array) -> None:
        """Move the weights, in place."""
        self.steps += 1
        b1, b2 = self.betas
        self.first += (1 - b1) * (gradient - self.first)
        self.second += (1 - b2) * (gradient * gradient - self.second)
        scale = self.rate * np.sqrt(1 - b2**self.steps) / (1 - b1**self.steps)
        root = np.sqrt(self.second)
        root += 1e-8 * np.sqrt(1 - b2**self.steps)
        np.divide(self.first, root, out=root)
        root *= np.float32(scale)
        self.theta -= root


def train(
    network: DenseNetwork,
    rows: NDArray[np.floating],
    targets: NDArray[np.floating],
    rng: np.random.Generator,
    epochs: int,
    batch: int,
    rate: float,
    betas: tuple[float, float] = (0.9, 0.999),
    loss: str = "squared",
) -> Array:
    """Train every member on all rows, each with its own start and order.

    Args:
        network: The shape to train; one output.
        rows: Shape (N, in).
        targets: Shape (N,).
        rng: Source of randomness.
        epochs: Passes over the data.
        batch: Rows per step.
        rate: Adam's learning rate.
        betas: Adam's decay rates.
        loss: ``"squared"`` or ``"absolute"``; the mean over the batch.

    Returns:
        The trained weights θ.
    """
    X, y = rows.astype(np.float32), targets.astype(np.float32)
    theta = network.draw_initial(rng)
    layers = network.view_layers(theta)
    gradient = np.empty_like(theta)
    parts = network.view_layers(gradient)
    adam = Adam(theta, rate, betas)
    for _ in range(epochs):
        order = rng.random((network.members, len(X))).argsort(axis=1)
        for start in range(0, len(X), batch):
            chosen = order[:, start : start + batch]
            outputs = network.forward(layers, X[chosen])
            residual = outputs[-1] - y[chosen, None]
            slope = np.sign(residual) if loss == "absolute" else 2 * residual
            network.backward(layers, outputs, slope / np.float32(chosen.shape[1]), parts)
            adam.step(gradient)
    return theta


@dataclass(eq=False, repr=False, kw_only=True)
class Bananas(PredictorSearch):
    """Thompson sampling with five dense networks of ten layers on the path encoding.

    Args:
        setup: Space, initial design, seed and budget.
        members: Networks in the ensemble.
        layers: Hidden layers of each.
        width: Width of the hidden layers.
        epochs: Passes over the data.
    """

    members: int = 5
    layers: int = 10
    width: int = 20
    epochs: int = 150

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Mean and spread of the ensemble's predicted errors."""
        graphs, errors = data
        rows = encode_paths(self.space, [*graphs, *candidates])
        widths = (rows.shape[1], *[self.width] * self.layers, 1)
        network = DenseNetwork(widths, self.members)
        how: dict[str, Any] = {"batch": 32, "rate": 0.01, "betas": (0.9, 0.99), "loss": "absolute"}
        theta = train(network, rows[: len(graphs)], errors, rng, self.epochs, **how)
        predicted = network.predict(theta, rows[len(graphs) :])[:, :, 0].astype(float)
        return Prediction(predicted.mean(axis=0), predicted.std(axis=0), float(errors.min()))

    def score(self, prediction: Prediction, rng: np.random.Generator) -> NDArray[np.float64]:
        """Thompson sampling."""
        return prediction.draw(rng)
