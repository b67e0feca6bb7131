"""Dense networks in NumPy against PyTorch, in one run: python benchmarks/networks.py.

Both train the same shapes on the same made-up rows, all ensemble members at once. PyTorch has what
made it faster in trials: one batched product with its bias per layer, and the fused Adam.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - after the number of threads is set
import torch  # noqa: E402

from nasgoat.baselines.dense_network import DenseNetwork, train  # noqa: E402

ROWS = 80
REPEATS = 3


@dataclass(frozen=True)
class Shape:
    """A network and how it is trained."""

    name: str
    widths: tuple[int, ...]
    members: int
    activation: str
    batch: int
    loss: str
    epochs: int

    @property
    def steps(self) -> int:
        """Steps of one training."""
        return self.epochs * -(-ROWS // self.batch)


SHAPES = (
    Shape("DNGO: 3 × 50 tanh, batches of 10", (6, 50, 50, 50, 1), 1, "tanh", 10, "squared", 100),
    Shape(
        "BANANAS: 5 of 10 × 20 ReLU, batches of 32",
        (30, *[20] * 10, 1), 5, "relu", 32, "absolute", 150,
    ),
)  # fmt: skip


def with_numpy(shape: Shape, rows: np.ndarray, targets: np.ndarray) -> None:
    network = DenseNetwork(shape.widths, shape.members, shape.activation)
    rng = np.random.default_rng(0)
    train(network, rows, targets, rng, shape.epochs, shape.batch, 0.01, loss=shape.loss)


def with_torch(shape: Shape, rows: np.ndarray, targets: np.ndarray) -> None:
    rng = torch.Generator().manual_seed(0)
    layers = []
    for a, b in pairwise(shape.widths):
        bound = float(np.sqrt(6 / (a + b)))
        weight = (2 * torch.rand((shape.members, a, b), generator=rng) - 1) * bound
        layers.append(
            (weight.requires_grad_(), torch.zeros((shape.members, 1, b)).requires_grad_())
        )
    adam = torch.optim.Adam([part for layer in layers for part in layer], lr=0.01, fused=True)
    X, y = (torch.from_numpy(part.astype(np.float32)) for part in (rows, targets))
    activate = torch.relu if shape.activation == "relu" else torch.tanh
    for _ in range(shape.epochs):
        order = torch.rand((shape.members, len(X)), generator=rng).argsort(dim=1)
        for start in range(0, len(X), shape.batch):
            chosen = order[:, start : start + shape.batch]
            h = X[chosen]
            for i, (weight, bias) in enumerate(layers):
                h = torch.baddbmm(bias, h, weight)
                h = activate(h) if i < len(layers) - 1 else h
            residual = h[..., 0] - y[chosen]
            loss = residual.abs() if shape.loss == "absolute" else residual * residual
            adam.zero_grad()
            loss.mean(dim=1).sum().backward()
            adam.step()


def milliseconds(way: Callable[..., None], shape: Shape) -> float:
    """Least processor time of a step, in milliseconds."""
    rng = np.random.default_rng(0)
    rows, targets = rng.standard_normal((ROWS, shape.widths[0])), rng.standard_normal(ROWS)
    way(shape, rows, targets)  # the first time compiles and imports
    least = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        way(shape, rows, targets)
        least = min(least, time.process_time() - start)
    return 1e3 * least / shape.steps


def main() -> None:
    torch.set_num_threads(1)
    print("| network | NumPy | PyTorch | ratio |")
    print("|---|---|---|---|")
    for shape in SHAPES:
        ours, theirs = milliseconds(with_numpy, shape), milliseconds(with_torch, shape)
        print(f"| {shape.name} | {ours:.2f} ms | {theirs:.2f} ms | {theirs / ours:.1f} |")


if __name__ == "__main__":
    main()
