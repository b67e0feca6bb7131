"""Train a cell for real, without a download: scikit-learn's digits, a second or two per cell.

    nasgoat search --space nb101 --objective examples.digits:train --workers 2 --evaluations 40

Works for node- and edge-labelled cells. Everything random is seeded: the same cell has the same
error in every run on the same machine. With trainings of several lengths a longer one goes on where
a shorter one has stopped:

    nasgoat search --space nb101 --objective examples.digits:train --fidelity epochs=5,20,80
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import cos, pi
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from nasgoat import LabeledGraph
from nasgoat.export import to_torch

EPOCHS = 8
BATCH = 64
CHANNELS = 4
CELLS = 3
LEARNING_RATE = 0.01
DECAY = 5  # epochs


@cache
def data() -> dict[str, tuple[Tensor, Tensor]]:
    """The 1,797 digits (8 by 8 pixels), 60 % to train, 20 % to validate, 20 % to test."""
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 16.0, dtype=torch.float32)
    classes = torch.tensor(digits.target)
    rest, test = train_test_split(
        np.arange(len(classes)), test_size=0.2, random_state=0, stratify=classes
    )
    training, validation = train_test_split(
        rest, test_size=0.25, random_state=0, stratify=classes[rest]
    )
    parts = {"train": training, "validation": validation, "test": test}
    return {name: (images[places], classes[places]) for name, places in parts.items()}


def train(
    graph: LabeledGraph,
    epochs: int = EPOCHS,
    checkpoint: str | Path | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Train the network of a cell; validation and test error in percent.

    Args:
        graph: The cell.
        epochs: How long.
        checkpoint: A folder of this cell: a training goes on where the last one of fewer epochs has
            stopped, and so ends where one without a stop would.
        seed: Of weights and of the order of the images.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = to_torch(graph, in_channels=1, channels=CHANNELS, cells=CELLS)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4
    )
    kept = None if checkpoint is None else Path(checkpoint) / f"seed{seed}.pt"
    done = 0 if kept is None else load(kept, network, optimizer, epochs)
    rate = anneal(epochs) if kept is None else decay
    run_epochs(network, optimizer, range(done, epochs), rate)
    if kept is not None and done < epochs:
        save(kept, network, optimizer, epochs)
    errors = {name: error(network, *data()[name]) for name in ("validation", "test")}
    parameters = sum(p.numel() for p in network.parameters())
    return {
        "error": errors["validation"],
        "test_error": errors["test"],
        "parameters": float(parameters),
    }


def run_epochs(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    epochs: range,
    rate: Callable[[float], float],
) -> None:
    """Train through some epochs; ``rate`` gives the learning rate after so many of them."""
    images, classes = data()["train"]
    steps = -(-len(images) // BATCH)
    network.train()
    for epoch in epochs:
        for step, places in enumerate(torch.randperm(len(images)).split(BATCH)):
            for group in optimizer.param_groups:
                group["lr"] = rate(epoch + step / steps)
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[places]), classes[places]).backward()
            optimizer.step()


def anneal(epochs: int) -> Callable[[float], float]:
    """A learning rate that falls to nothing along a cosine."""
    return lambda done: LEARNING_RATE * (1 + cos(pi * done / epochs)) / 2


def decay(done: float) -> float:
    """A learning rate that does not ask when a training ends, so that it can go on."""
    return LEARNING_RATE / (1 + done / DECAY) ** 0.5


def save(path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, epochs: int) -> None:
    """Keep a training: it is there as a whole or not at all."""
    state = {
        "epochs": epochs,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(state, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def load(path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, epochs: int) -> int:
    """Take up a training that was kept, if it is not too long; how many epochs it has had."""
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    if state["epochs"] > epochs:
        return 0
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    return int(state["epochs"])


@torch.no_grad()
def error(network: nn.Module, images: Tensor, classes: Tensor) -> float:
    """Share of images, in percent, that the network gets wrong."""
    network.eval()
    return 100.0 * float((network(images).argmax(dim=1) != classes).float().mean())
