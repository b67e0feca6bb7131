"""Train a cell for real, without a download: scikit-learn's digits, a second or two per cell.

    nasgoat search --space nb101 --objective examples.digits:train --workers 2 --evaluations 40

Works for node- and edge-labelled cells. Everything random is seeded: the same cell has the same
error in every run on the same machine.
"""

from __future__ import annotations

from functools import cache

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


def train(graph: LabeledGraph, seed: int = 0) -> dict[str, float]:
    """Train the network of a cell; validation and test error in percent."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = to_torch(graph, in_channels=1, channels=CHANNELS, cells=CELLS)
    images, classes = data()["train"]
    optimizer = torch.optim.SGD(
        network.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4
    )
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    network.train()
    for _ in range(EPOCHS):
        for places in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[places]), classes[places]).backward()
            optimizer.step()
            schedule.step()
    errors = {name: error(network, *data()[name]) for name in ("validation", "test")}
    parameters = sum(p.numel() for p in network.parameters())
    return {
        "error": errors["validation"],
        "test_error": errors["test"],
        "parameters": float(parameters),
    }


@torch.no_grad()
def error(network: nn.Module, images: Tensor, classes: Tensor) -> float:
    """Share of images, in percent, that the network gets wrong."""
    network.eval()
    return 100.0 * float((network(images).argmax(dim=1) != classes).float().mean())
