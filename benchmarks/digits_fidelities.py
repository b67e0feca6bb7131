"""Real trainings of several lengths: validation error against epochs, with and without short ones.

``python benchmarks/digits_fidelities.py --seeds 2000:2010`` trains cells of at most five nodes on
scikit-learn's digits (``examples/digits.py``) for 5, 20 or 80 epochs, and goes on where
``--record`` stops; ``--figure FILE`` draws what it holds.

An epoch counts once: a training of 20 epochs that goes on from one of 5 costs 15. A search ends
with the training that reaches ``BUDGET`` epochs. ``fidelities`` has 5, 20 and 80 epochs and begins
with ten random cells at 5; ``full`` has 80 epochs only and begins with three. What counts is the
lowest validation error after 80 epochs, of both.

The same cell has the same errors in every run, so it is trained once: ``--trainings`` keeps them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.digits import train

from nasgoat import LabeledGraph, NodeLabeledSpace, Optimizer
from nasgoat.bayesopt import FidelityOptimizer

LENGTHS = (5, 20, 80)
BUDGET = 400  # epochs
SHOWN = (80, 160, 240, 320, 400)
SPACE = NodeLabeledSpace(nodes=(2, 5), max_edges=9, ops=["conv3x3", "conv1x1", "maxpool3x3"])

#: Epochs that were trained so far, length of the last training, its validation and test error.
Step = tuple[int, int, float, float]


class Trainings:
    """Trainings that were made, in a folder: errors of each cell and length, and checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def train(self, graph: LabeledGraph, epochs: int) -> tuple[float, float]:
        """Validation and test error of a cell after so many epochs."""
        folder = self.folder / hashlib.sha256(SPACE.key(graph)).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        kept = folder / f"{epochs}.json"
        if not kept.exists():
            for length in LENGTHS[: LENGTHS.index(epochs) + 1]:  # those on the way are kept too
                if not (folder / f"{length}.json").exists():
                    found = train(graph, length, folder)
                    errors = [found["error"], found["test_error"]]
                    (folder / f"{length}.json").write_text(json.dumps(errors))
        error, test_error = json.loads(kept.read_text())
        return error, test_error


def search_fidelities(trainings: Trainings, seed: int) -> Iterator[Step]:
    """Ours with trainings of several lengths."""
    asker = FidelityOptimizer(SPACE, {"epochs": list(LENGTHS)}, seed=seed, progress=None)
    had: dict[bytes, int] = defaultdict(int)
    spent = 0
    while True:
        for proposal in asker.ask(10 if spent == 0 else 1):
            at = proposal.fidelity or asker.fidelities[-1]
            epochs, key = int(at.value), SPACE.key(proposal.graph)
            spent, had[key] = spent + epochs - had[key], epochs
            error, test_error = trainings.train(proposal.graph, epochs)
            asker.tell(proposal.graph, error, at)
            yield spent, epochs, error, test_error


def search_full(trainings: Trainings, seed: int) -> Iterator[Step]:
    """Ours with full trainings only."""
    asker = Optimizer(SPACE, initial=3, seed=seed, progress=None)
    spent, epochs = 0, LENGTHS[-1]
    while True:
        for proposal in asker.ask(3 if spent == 0 else 1):
            spent += epochs
            error, test_error = trainings.train(proposal.graph, epochs)
            asker.tell(proposal.graph, error)
            yield spent, epochs, error, test_error


METHODS = {"fidelities": search_fidelities, "full": search_full}


def run(method: str, trainings: Trainings, seed: int) -> list[Step]:
    """The steps of a search until its epochs are spent."""
    steps: list[Step] = []
    for step in METHODS[method](trainings, seed):
        if step[0] > BUDGET:
            break
        steps.append(step)
        if step[0] == BUDGET:
            break
    return steps


def read_curves(path: Path) -> dict[str, np.ndarray]:
    """The lowest validation error after each number of epochs, a row for each seed."""
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        curve = np.full(BUDGET + 1, np.nan)
        for spent, epochs, error, _ in record["steps"]:
            if epochs == LENGTHS[-1]:
                curve[spent:] = np.fmin(curve[spent:], error)
        found[record["method"]].append(curve)
    return {method: np.stack(curves) for method, curves in found.items()}


def print_table(path: Path) -> None:
    """Mean lowest validation error after some numbers of epochs, and how the methods compare."""
    curves = read_curves(path)
    print("| | " + " | ".join(f"{epochs} epochs" for epochs in SHOWN) + " | seeds |")
    print("|---" * (len(SHOWN) + 2) + "|")
    for method, rows in curves.items():
        cells = []
        for epochs in SHOWN:
            at = rows[:, epochs]
            spread = at.std(ddof=1) / np.sqrt(len(at)) if len(at) > 1 else 0.0
            cells.append("–" if np.isnan(at).any() else f"{at.mean():.2f} ± {spread:.2f}")
        print(f"| {method} | " + " | ".join(cells) + f" | {len(rows)} |")


def draw(path: Path, file: Path) -> None:
    """Validation error against epochs: the mean of all seeds and one standard error."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    labels = {"fidelities": "5, 20 and 80 epochs", "full": "80 epochs only"}
    for (method, rows), color in zip(read_curves(path).items(), ("C0", "C1"), strict=True):
        known = ~np.isnan(rows).any(axis=0)
        epochs = np.flatnonzero(known)
        mean = rows[:, known].mean(axis=0)
        spread = rows[:, known].std(axis=0, ddof=1) / np.sqrt(len(rows))
        axes.step(epochs, mean, where="post", color=color, label=labels[method])
        axes.fill_between(epochs, mean - spread, mean + spread, step="post", alpha=0.2, color=color)
    axes.set(xlabel="epochs trained in all", ylabel="lowest validation error after 80 epochs, %")
    axes.set(yscale="log")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=160)


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="2000:2010")
    parser.add_argument("--record", type=Path, default=Path("experiments/digits/runs.jsonl"))
    parser.add_argument("--trainings", type=Path, default=Path("runs/digits-fidelities"))
    parser.add_argument("--only", default=",".join(METHODS), help="Methods, with commas.")
    parser.add_argument("--figure", type=Path, help="Draw what the record holds.")
    options = parser.parse_args()
    if options.figure:
        draw(options.record, options.figure)
        print_table(options.record)
        return
    options.record.parent.mkdir(parents=True, exist_ok=True)
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    done = {(record["method"], record["seed"]) for record in map(json.loads, lines)}
    first, last = map(int, options.seeds.split(":"))
    trainings = Trainings(options.trainings)
    for seed in range(first, last):
        for method in options.only.split(","):
            if (method, seed) not in done:
                record = {"method": method, "seed": seed, "steps": run(method, trainings, seed)}
                with options.record.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    print_table(options.record)


if __name__ == "__main__":
    main()
