"""Choose the block of each layer of a small language model, under budgets that this machine sets.

A character model of six layers reads the help pages that come with every Python. Each layer is
attention, linear attention, a convolution, a wide or narrow feed-forward block, or nothing; the
first must look at other characters, the last must not be left out. First measure what each block
takes at its layer, then search under these limits:

    python -m examples.transformer_stack stack.toml
    nasgoat search --space stack.toml --objective examples.transformer_stack:train \
        --evaluations 30 --report report

Variables of the environment change what is trained: ``STACK_STEPS`` (steps of the optimiser, 100)
and ``STACK_LAYERS`` (for a small try).
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pydoc_data import topics
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from nasgoat import ChainSpace, LabeledGraph, load_space

WIDTH = 48
HEADS = 4
LENGTH = 48  # characters that a prediction may look at
BATCH = 16
LEARNING_RATE = 1e-2
VALIDATED = 128  # pieces of text
REPEATS = 15  # of a measurement; the shortest counts
SHARE = 0.5  # of what the costliest stack takes: the budget of time and of parameters


class Attention(nn.Module):
    """Softmax attention to the characters before."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.join = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """What each place takes from those before it."""
        q, k, v = self.project(x).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        return self.join(self.mix(q, k, v).transpose(1, 2).flatten(2))

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Values by the similarity of their keys, (batch, heads, length, width)."""
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class LinearAttention(Attention):
    """Attention whose time grows with the length, not with its square: sums of k ⊗ v."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Values by products of positive features, summed over all places before."""
        q, k = functional.elu(q) + 1.0, functional.elu(k) + 1.0
        memory = torch.einsum("bhtd,bhte->bhtde", k, v).cumsum(dim=2)
        total = (q * k.cumsum(dim=2)).sum(dim=3, keepdim=True)
        return torch.einsum("bhtd,bhtde->bhte", q, memory) / total


class Convolution(nn.Module):
    """A depthwise convolution over the last characters, then a mixture of channels."""

    def __init__(self, size: int = 7) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(WIDTH, WIDTH, size, groups=WIDTH, padding=size - 1)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """No place sees those behind it."""
        seen = self.depthwise(x.transpose(1, 2))[..., : x.shape[1]]
        return self.mix(functional.gelu(seen.transpose(1, 2)))


def feed_forward(factor: int) -> nn.Sequential:
    """Two layers for each place alone."""
    return nn.Sequential(
        nn.Linear(WIDTH, factor * WIDTH), nn.GELU(), nn.Linear(factor * WIDTH, WIDTH)
    )


BLOCKS: dict[str, Callable[[], nn.Module]] = {
    "attention": Attention,
    "linear_attention": LinearAttention,
    "convolution": Convolution,
    "wide": lambda: feed_forward(4),
    "narrow": lambda: feed_forward(1),
    "identity": nn.Identity,
}


class Layer(nn.Module):
    """A block on normalised values, added to what comes in."""

    def __init__(self, block: str) -> None:
        super().__init__()
        self.skipped = block == "identity"
        self.norm = nn.Identity() if self.skipped else nn.LayerNorm(WIDTH)
        self.block = BLOCKS[block]()

    def forward(self, x: Tensor) -> Tensor:
        """The values after this layer."""
        return x if self.skipped else x + self.block(self.norm(x))


class CharacterModel(nn.Module):
    """Predicts each character from those before it."""

    def __init__(self, blocks: list[str], characters: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(characters, WIDTH)
        self.place = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.layers = nn.ModuleList(Layer(block) for block in blocks)
        self.read = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters))

    def forward(self, text: Tensor) -> Tensor:
        """Logits of the next character at every place."""
        x = self.embed(text) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.read(x)


@cache
def load_text() -> tuple[dict[str, Tensor], int]:
    """Python's help topics as codes of characters, 80 % to train, 10 % each to judge; how many."""
    text = "\n".join(topics.topics[name] for name in sorted(topics.topics))
    kept = sorted(set(text) & {chr(code) for code in (10, *range(32, 127))})
    code = {character: i for i, character in enumerate(kept)}
    codes = torch.tensor([code[character] for character in text if character in code])
    first, second = int(0.8 * len(codes)), int(0.9 * len(codes))
    parts = {"train": codes[:first], "validation": codes[first:second], "test": codes[second:]}
    return parts, len(kept)


def cut_text(text: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Pieces of text from these places on, and the character that follows each of theirs."""
    places = starts[:, None] + torch.arange(LENGTH)
    return text[places], text[places + 1]


def train(graph: LabeledGraph, seed: int = 0) -> dict[str, float]:
    """Train the model of a chain; bits for each character of text that it has not seen."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    text, characters = load_text()
    model = CharacterModel(read_blocks(graph), characters)
    steps = int(os.environ.get("STACK_STEPS", "100"))
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, max(steps, 2))
    for _ in range(steps):
        starts = torch.randint(len(text["train"]) - LENGTH - 1, (BATCH,))
        loss = measure_loss(model, *cut_text(text["train"], starts))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {
        "error": judge(model, text["validation"]),
        "test_error": judge(model, text["test"]),
        "parameters": float(sum(p.numel() for p in model.parameters())),
    }


def read_blocks(graph: LabeledGraph) -> list[str]:
    """The blocks of a chain, layer by layer."""
    labels = graph.edge_labels or {}
    return [labels[edge] for edge in sorted(labels)]


def measure_loss(model: nn.Module, given: Tensor, wanted: Tensor) -> Tensor:
    """Mean loss for each character, in nats."""
    return functional.cross_entropy(model(given).flatten(0, 1), wanted.flatten())


@torch.no_grad()
def judge(model: nn.Module, text: Tensor) -> float:
    """Bits for each character, on pieces spread evenly over a text."""
    model.eval()
    starts = torch.linspace(0, len(text) - LENGTH - 2, VALIDATED).long()
    return float(measure_loss(model, *cut_text(text, starts))) / math.log(2)


@torch.no_grad()
def measure_latency(layers: int) -> dict[str, list[float]]:
    """Microseconds that each block takes for one piece of text, at each layer."""
    torch.set_num_threads(1)
    text, characters = load_text()
    given, _ = cut_text(text["test"], torch.zeros(1, dtype=torch.long))
    found: dict[str, list[float]] = {}
    for block in BLOCKS:
        model = CharacterModel([block] * layers, characters).eval()
        taken = [math.inf] * layers
        for _ in range(REPEATS + 1):  # the first one warms up
            x = model.embed(given) + model.place
            for i, layer in enumerate(model.layers):
                before = time.process_time_ns()
                for _ in range(20):
                    out = layer(x)
                taken[i] = min(taken[i], (time.process_time_ns() - before) / 20_000)
                x = out
        found[block] = [0.0 if block == "identity" else round(t, 1) for t in taken]
    return found


def write_space(path: Path, layers: int) -> ChainSpace:
    """Measure the blocks, and declare the stacks within half of what the costliest takes."""
    latency = measure_latency(layers)
    sizes = {b: sum(p.numel() for p in Layer(b).parameters()) for b in BLOCKS}
    slowest = sum(max(times) for times in zip(*latency.values(), strict=True))
    budgets = {"latency": SHARE * slowest, "parameters": SHARE * layers * max(sizes.values())}
    blocks = list(BLOCKS)
    lines = [
        "[space]", 'kind = "chain"', f"layers = {layers}", f"ops = {blocks}",
        "[space.layer_ops]",
        f"0 = {blocks[:3]}", f"{layers - 1} = {blocks[:-1]}",
        "[limits]", *(f'{name} = "sum({name}) <= {most:.1f}"' for name, most in budgets.items()),
        "[costs.latency]", *(f"{block} = {times}" for block, times in latency.items()),
        "[costs.parameters]", *(f"{block} = {size}" for block, size in sizes.items()),
    ]  # fmt: skip
    path.write_text("\n".join(lines).replace("'", '"') + "\n")
    return cast(ChainSpace, load_space(path))


def main() -> None:
    """Write the space, with what the blocks take on this machine."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    space = write_space(file, int(os.environ.get("STACK_LAYERS", "6")))
    print(file.read_text())
    print(f"{space.count():,} of {space.with_limits(()).count():,} stacks are within the limits")


if __name__ == "__main__":
    main()
