"""Hypervolume of searches for two objectives, relative to that of the whole table's front.

    python benchmarks/several.py nb201/cifar10+edgegpu nb201/cifar10+pixel3 --seeds 0 5

Volumes are of (log error, latency), up to the values that 80 % of all cells stay below. For each
acquisition function: means over the seeds after 50, 100 and 160 evaluations, the share of the true
front found, and seconds of the processor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from nasgoat import Optimizer, Settings
from nasgoat.bayesopt.front import find_nondominated, hypervolume
from nasgoat.benchmarks import Benchmark, benchmark

POINTS = (50, 100, 160)
FUNCTIONS = ("hypervolume", "chebyshev", "epsilon")


def list_values(table: Benchmark) -> dict[bytes, tuple[float, float]]:
    """Logarithm of the error and latency of every cell, by its key."""
    rng, found = np.random.default_rng(0), {}
    for batch in table.space.enumerate():
        for i in range(len(batch)):
            metrics = table.query(batch[i], rng)
            found[table.space.key(batch[i])] = float(np.log(metrics["error"])), metrics["latency"]
    return found


def search(
    table: Benchmark, values: dict[bytes, tuple[float, float]], function: str, seed: int
) -> list[float]:
    """Relative hypervolumes, share of the front, seconds."""
    every = np.array(list(values.values()))
    corner = np.quantile(every, 0.8, axis=0).tolist()
    front = {tuple(every[i]) for i in find_nondominated(every)}
    whole = hypervolume(every, corner)
    settings = Settings(acquisition=function)
    optimizer = Optimizer(table.space, settings, "catalogue", seed=seed, minimise=["e", "latency"])
    told: list[tuple[float, float]] = []
    found, start = [], time.process_time()
    while len(told) < POINTS[-1]:
        for proposal in optimizer.ask(5 if told else 10):
            told.append(values[table.space.key(proposal.graph)])
            error, latency = float(np.exp(told[-1][0])), told[-1][1]
            optimizer.tell(proposal.graph, {"e": error, "latency": latency})
        if len(told) in POINTS:
            found.append(hypervolume(told, corner) / whole)
    return [*found, len(front & set(told)) / len(front), time.process_time() - start]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="+")
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 5), metavar=("FROM", "TO"))
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS)
    given = parser.parse_args()
    print("| benchmark | function | 50 | 100 | 160 | front found | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in given.benchmarks:
        table = benchmark(name)
        values = list_values(table)
        for function in given.functions:
            runs = [search(table, values, function, seed) for seed in range(*given.seeds)]
            mean = np.mean(runs, axis=0)
            volumes = " | ".join(f"{value:.3f}" for value in mean[:3])
            print(
                f"| {name} | `{function}` | {volumes} | {mean[3]:.0%} | {mean[4]:.1f} |", flush=True
            )


if __name__ == "__main__":
    main()
