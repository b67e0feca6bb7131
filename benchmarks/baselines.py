"""How much processor time each method takes, and how close to the optimum it comes.

    python benchmarks/baselines.py [--methods random,evolution] [--seeds 3] [--evaluations 160]

Prints one line per method: mean regret of the best cell on the benchmark and
processor seconds of a run (one thread), which other work on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from nasgoat import benchmark, make_method, run
from nasgoat.baselines import available, methods, own_batch
from nasgoat.benchmarks import Benchmark


def one_run(name: str, table: Benchmark, seed: int, evaluations: int) -> tuple[float, float]:
    """Regret of the best cell found, and the processor seconds it took."""
    rng = np.random.default_rng(seed)
    start = time.process_time()
    method = make_method(name, table.space, seed=seed, evaluations=evaluations)
    result = run(method, lambda graph: table.query(graph, rng), evaluations, own_batch(name))
    seconds = time.process_time() - start
    return table.mean_error(result.best.graph) - table.optimum, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(methods()))
    parser.add_argument("--benchmark", default="nb201/cifar10")
    parser.add_argument("--noisy", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--evaluations", type=int, default=160)
    arguments = parser.parse_args()
    table = benchmark(arguments.benchmark, arguments.noisy)
    print(f"{arguments.benchmark}, {arguments.evaluations} evaluations, {arguments.seeds} seeds")
    print(f"{'method':14s} {'mean regret':>11s} {'median':>8s} {'seconds':>8s}")
    for name in arguments.methods.split(","):
        if not available(name):
            print(f"{name:14s} not installed")
            continue
        seeds = range(arguments.seeds)
        runs = [one_run(name, table, seed, arguments.evaluations) for seed in seeds]
        regrets, seconds = np.array(runs).T
        print(
            f"{name:14s} {regrets.mean():11.3f} {np.median(regrets):8.3f} {seconds.mean():8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
