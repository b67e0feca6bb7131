"""Stacks of blocks under a latency and a parameter budget: nasgoat, local search, random.

Every method trains the same number of stacks of ``examples/transformer_stack.py`` in the space that
is measured and written once (``stack.toml`` in the folder), one call after another, all with the
same seed of training. Each trained stack is kept, so that a run that was cut off goes on, and no
stack is trained twice. It prints the best bits for each character of the validation text after so
many trainings, the test text of the stack chosen by it, and how many trainings each method needs to
reach what the last of the methods ends with.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import cast

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.transformer_stack import train, write_space

from nasgoat import ChainSpace, LabeledGraph, load_space, run
from nasgoat.search_methods import make_method

METHODS = ("goat", "local-search", "random")
Trained = dict[str, dict[str, float]]


class Trainer:
    """Trains a stack, or reads what came out before."""

    def __init__(self, folder: Path, space: ChainSpace) -> None:
        self.path, self.space = folder / "trained.jsonl", space
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.known: Trained = {line["stack"]: line["metrics"] for line in map(json.loads, lines)}

    def __call__(self, graph: LabeledGraph) -> dict[str, float]:
        """What training a stack gives."""
        stack = " ".join(self.space.operations(graph))
        if stack not in self.known:
            self.known[stack] = train(graph)
            with self.path.open("a") as file:
                file.write(json.dumps({"stack": stack, "metrics": self.known[stack]}) + "\n")
        return self.known[stack]


def run_seed(trainer: Trainer, method: str, seed: int, evaluations: int, initial: int) -> Trained:
    """The metrics of every stack that a method trained, in turn."""
    asker = make_method(method, trainer.space, initial, seed, evaluations)
    result = run(asker, trainer, evaluations=evaluations, batch=5 if method == "goat" else 1)
    return {
        " ".join(trainer.space.operations(e.graph)): dict(e.metrics) for e in result.evaluations
    }


def show(runs: dict[tuple[str, int], Trained], evaluations: int) -> None:
    """The table of all methods."""
    curves = {
        key: np.minimum.accumulate([metrics["error"] for metrics in found.values()])
        for key, found in runs.items()
    }
    seeds = sorted({seed for _, seed in runs})
    shown = [t for t in (10, 20) if t < evaluations] + [evaluations]
    print(f"{len(seeds)} seeds; bits for each character, mean over seeds (standard error)")
    print(f"{'':14}" + "".join(f"{f'after {t}':>16}" for t in shown) + f"{'test':>16}")
    for method in METHODS:
        own = np.array([curves[method, seed] for seed in seeds])
        best = [min(runs[method, seed].values(), key=lambda m: m["error"]) for seed in seeds]
        columns = [own[:, t - 1] for t in shown]
        columns.append(np.array([metrics["test_error"] for metrics in best]))
        said = [f"{c.mean():.3f} ({c.std(ddof=1) / np.sqrt(len(c)):.3f})" for c in columns]
        print(f"{method:14}" + "".join(f"{text:>16}" for text in said))
    for other in METHODS[1:]:
        pairs = [(curves["goat", s], curves[other, s][-1]) for s in seeds]
        reached = [int(np.argmax(own <= end)) + 1 for own, end in pairs if own[-1] <= end]
        text = f"{np.mean(reached):.1f} trainings on average" if reached else "no training"
        print(
            f"goat reaches the end of {other} in {len(reached)} of {len(seeds)} seeds, after {text}"
        )


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:5", help="first:last, the last not included")
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--initial", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("runs/transformer-stack"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "stack.toml"
    space = load_space(file) if file.exists() else write_space(file, 6)
    trainer = Trainer(options.folder, cast(ChainSpace, space))
    seeds = range(*map(int, options.seeds.split(":")))
    runs = {
        (method, seed): run_seed(trainer, method, seed, options.evaluations, options.initial)
        for seed in seeds
        for method in METHODS
    }
    show(runs, options.evaluations)


if __name__ == "__main__":
    main()
