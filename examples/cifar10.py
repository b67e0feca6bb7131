"""Train a cell in NAS-Bench-201's skeleton on CIFAR-10: an objective to start from.

    nasgoat search --space nb201 --objective examples.cifar10:train --gpus 0,1,2,3

What it shows: the device of the worker's slot, mixed precision, a cosine schedule, and a checkpoint
after each epoch in the run's folder, from which a training that was cut off goes on.

Variables of the environment change what is trained:

    CIFAR10_DATA    folder of torchvision's CIFAR-10, downloaded if it is empty (``data``); or
                    ``tiny``, 320 images that are made here, for a try on the CPU
    CIFAR10_EPOCHS  epochs (200; 2 of the tiny images)
    CIFAR10_CELLS   cells in each of the three stages (5; 1 for the tiny images)

Without torchvision the images are the tiny ones, and a line says so. One cell without a search:

    python -m examples.cifar10 --data tiny
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from nasgoat import LabeledGraph, nasbench201
from nasgoat.export import to_torch

CHANNELS = 16  # in the first stage; doubled in each further one
BATCH = 256
LEARNING_RATE = 0.1
TINY = "tiny"


@dataclass(frozen=True)
class Recipe:
    """What is trained, and for how long."""

    data: str
    epochs: int
    cells: int

    @classmethod
    def read(cls) -> Recipe:
        """The recipe that the environment asks for."""
        data = os.environ.get("CIFAR10_DATA", "data")
        if data != TINY and find_spec("torchvision") is None:
            print("torchvision is not installed: training on tiny images", file=sys.stderr)
            data = TINY
        epochs, cells = (2, 1) if data == TINY else (200, 5)
        return cls(
            data,
            int(os.environ.get("CIFAR10_EPOCHS", epochs)),
            int(os.environ.get("CIFAR10_CELLS", cells)),
        )


def find_device() -> torch.device:
    """The device of this worker's slot; ``--gpus`` leaves one GPU visible, which is ``cuda:0``."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    name = os.environ.get("NASGOAT_DEVICE", "cpu")  # such as mps or xpu:1
    return torch.device("cpu" if name.isdigit() else name)


@cache
def load_images(data: str) -> dict[str, tuple[Tensor, Tensor]]:
    """Images, scaled to mean 0 and deviation 1, and classes, to train, to validate and to test."""
    if data == TINY:
        parts = make_tiny_images()
    else:
        from torchvision.datasets import CIFAR10

        known, unseen = (CIFAR10(data, train=train, download=True) for train in (True, False))
        places = np.random.default_rng(0).permutation(50_000)  # the same halves in every run
        classes = np.asarray(known.targets)
        parts = {
            "train": (known.data[places[:25_000]], classes[places[:25_000]]),
            "validation": (known.data[places[25_000:]], classes[places[25_000:]]),
            "test": (unseen.data, np.asarray(unseen.targets)),
        }
    mean, deviation = (f(parts["train"][0], axis=(0, 1, 2)) for f in (np.mean, np.std))
    return {
        name: (
            torch.tensor((images - mean) / deviation, dtype=torch.float32).permute(0, 3, 1, 2),
            torch.tensor(classes),
        )
        for name, (images, classes) in parts.items()
    }


def make_tiny_images() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Noisy stripes of 8 by 8 pixels whose colour and direction are the class."""
    rng, parts = np.random.default_rng(0), {}
    wave = np.sin(np.arange(8) * np.pi / 2)
    for name, count in (("train", 192), ("validation", 64), ("test", 64)):
        classes = rng.integers(6, size=count)
        images = rng.normal(128, 40, (count, 8, 8, 3))
        for image, number in zip(images, classes, strict=True):
            image[..., number % 3] += 40 * (wave[:, None] if number < 3 else wave[None, :])
        parts[name] = (images, classes)
    return parts


def convolve(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    """NAS-Bench-201's order: ReLU, convolution, batch normalisation."""
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(nn.ReLU(), convolution, nn.BatchNorm2d(outputs))


class Reduction(nn.Module):
    """The residual block between two stages: half the size, twice the channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.long = nn.Sequential(convolve(channels, wide, 3, 2), convolve(wide, wide, 3))
        self.short = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(channels, wide, 1, bias=False))

    def forward(self, images: Tensor) -> Tensor:
        """Both ways, added."""
        return self.long(images) + self.short(images)


def build_network(graph: LabeledGraph, cells: int) -> nn.Sequential:
    """NAS-Bench-201's skeleton: a stem, three stages of cells, reductions between, a classifier."""
    operations = {
        "nor_conv_1x1": lambda channels: convolve(channels, channels, 1),
        "nor_conv_3x3": lambda channels: convolve(channels, channels, 3),
    }
    channels = CHANNELS
    layers = [nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)]
    for stage in range(3):
        if stage > 0:
            layers.append(Reduction(channels))
            channels *= 2
        layers += [  # behind a stem of two layers comes the cell alone
            list(to_torch(graph, channels=channels, cells=1, operations=operations).children())[2]
            for _ in range(cells)
        ]
    layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(channels, 10))


class Training:
    """A network on its way through its epochs, kept in a file after each of them."""

    def __init__(self, graph: LabeledGraph, recipe: Recipe, seed: int) -> None:
        torch.manual_seed(seed)
        self.recipe, self.device, self.epoch = recipe, find_device(), 0
        self.network = build_network(graph, recipe.cells).to(self.device)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), LEARNING_RATE, 0.9, weight_decay=5e-4, nesterov=True
        )
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, recipe.epochs)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.device.type == "cuda")
        said = f"{graph.to_json()} {recipe} {seed}"
        folder = Path(os.environ.get("NASGOAT_FOLDER", "runs")) / "checkpoints"
        self.path = folder / f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.pt"
        self.resume()

    def parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        """All that has a state."""
        names = ("network", "optimizer", "schedule", "scaler")
        return {name: getattr(self, name) for name in names}

    def resume(self) -> None:
        """Go on where the training of this cell stopped, if it was begun in this run."""
        if self.path.exists():
            kept = torch.load(self.path, map_location=self.device, weights_only=True)
            for name, part in self.parts().items():
                part.load_state_dict(kept[name])
            self.epoch = kept["epoch"]
            torch.set_rng_state(kept["random"].cpu())

    def keep(self) -> None:
        """Write the checkpoint; a training that is cut off meanwhile leaves the one before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}")
        states = {name: part.state_dict() for name, part in self.parts().items()}
        torch.save({**states, "epoch": self.epoch, "random": torch.get_rng_state()}, partial)
        partial.replace(self.path)

    def autocast(self) -> torch.autocast:
        """Mixed precision on a GPU: half the bits where they suffice.

        Not on the CPU: some virtual machines claim instructions for it that end the process.
        """
        return torch.autocast(self.device.type, enabled=self.device.type == "cuda")

    def train_epoch(self) -> None:
        """Every image once, shifted and mirrored at random."""
        images, classes = load_images(self.recipe.data)["train"]
        self.network.train()
        for places in torch.randperm(len(images)).split(BATCH if len(images) > 1000 else 32):
            batch, wanted = augment(images[places]).to(self.device), classes[places].to(self.device)
            self.optimizer.zero_grad()
            with self.autocast():
                loss = nn.functional.cross_entropy(self.network(batch), wanted)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.schedule.step()
        self.epoch += 1

    @torch.no_grad()
    def measure_error(self, part: str) -> float:
        """Share of images, in percent, that the network gets wrong."""
        self.network.eval()
        wrong, (images, classes) = 0, load_images(self.recipe.data)[part]
        for batch, wanted in zip(images.split(1000), classes.split(1000), strict=True):
            with self.autocast():
                found = self.network(batch.to(self.device)).argmax(dim=1).cpu()
            wrong += int((found != wanted).sum())
        return 100.0 * wrong / len(images)


def augment(images: Tensor) -> Tensor:
    """The images, mirrored by chance and shifted by up to an eighth of their size."""
    size = images.shape[-1]
    most = size // 8
    padded = nn.functional.pad(images, (most,) * 4)
    shifts = torch.randint(2 * most + 1, (len(images), 2)).tolist()
    moved = torch.stack(
        [image[:, y : y + size, x : x + size] for image, (y, x) in zip(padded, shifts, strict=True)]
    )
    mirrored = torch.rand(len(images)) < 0.5
    return torch.where(mirrored[:, None, None, None], moved.flip(-1), moved)


def train(graph: LabeledGraph, seed: int = 0) -> dict[str, float | str]:
    """Train the network of a cell; validation and test error in percent."""
    training = Training(graph, Recipe.read(), seed)
    begun = training.epoch
    while training.epoch < training.recipe.epochs:
        training.train_epoch()
        training.keep()
    return {
        "error": training.measure_error("validation"),
        "test_error": training.measure_error("test"),
        "parameters": float(sum(p.numel() for p in training.network.parameters())),
        "epochs_of_this_call": float(training.epoch - begun),
        "data": training.recipe.data,
        "device": str(training.device),
    }


def main() -> None:
    """Train one random cell and print what comes of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", help="a folder, or tiny")
    parser.add_argument("--epochs")
    given = parser.parse_args()
    for name, value in vars(given).items():
        if value is not None:
            os.environ[f"CIFAR10_{name.upper()}"] = value
    print(train(nasbench201().sample(1, np.random.default_rng(0))[0]))


if __name__ == "__main__":
    main()
