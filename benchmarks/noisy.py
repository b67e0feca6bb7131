"""What a search under noise recommends: its regret on the mean over trainings, by kernel.

``python benchmarks/noisy.py --seeds 4000:4020`` searches with repeats, each query one training at
random, and prints the mean regret of the recommended cell with its standard error, the least regret
of any cell that was evaluated, and in how many runs that best one was never repeated, so that it
could not be told from a lucky one. The kernel ``paths`` is the exponential one with all blocks of
paths, ``lengths`` among them, and priors (docs/decisions/0139-lengths-of-paths.md). A cell's
repeats are drawn from the two or three trainings that the table has of it, which flatters them.
``--added 0.4`` takes the mean errors instead, with normal noise of that standard deviation added,
which serves tables of a single number and flatters nobody.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace

import numpy as np

from nasgoat import Optimizer, Settings
from nasgoat.acquisition import Catalogue
from nasgoat.bayesopt.recommendation import recommend
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.kernels import PAPER_BLOCKS

TABLES = ("nb201/cifar10", "nb201/cifar100", "nb201/imagenet16-120")
PATH_BLOCKS = (*PAPER_BLOCKS, "operations", "shape", "longest", "lengths")
_STREAM = 1  # keeps the noise apart from the random numbers of the search


def run(
    table: Benchmark, catalogue: Catalogue, kernel: str, seed: int, added: float
) -> tuple[float, float, bool]:
    """After 160 evaluations: the regret of the recommended cell, the least of any evaluated.

    The last says whether the cell of least regret was evaluated only once.
    """
    settings = Settings.preset("default", noisy=True)
    if kernel == "paths":
        settings = replace(settings, blocks=PATH_BLOCKS, priors=True)
    else:
        settings = replace(settings, kernel=kernel)
    optimizer = Optimizer(table.space, settings, catalogue, 10, seed, None)
    rng = np.random.default_rng([seed, _STREAM])
    regrets: dict[bytes, float] = {}
    keys: list[bytes] = []
    errors: list[float] = []
    while len(errors) < 160:
        for proposal in optimizer.ask(5 if errors else 10):
            keys.append(table.space.key(proposal.graph))
            mean = table.mean_error(proposal.graph)
            drawn = (
                mean + rng.normal(0.0, added)
                if added
                else table.query(proposal.graph, rng)["error"]
            )
            errors.append(float(drawn))
            regrets[keys[-1]] = mean - table.optimum
            optimizer.tell(proposal.graph, errors[-1])
    best = min(regrets, key=regrets.__getitem__)
    return regrets[keys[recommend(keys, errors).place]], regrets[best], keys.count(best) == 1


def main() -> None:
    """Run every table and kernel, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--kernels", nargs="+", default=["exponential", "evidence"])
    parser.add_argument("--seeds", default="0:20", help="first:last")
    parser.add_argument("--added", type=float, default=0.0, help="noise on the mean errors")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    seeds = range(*map(int, given.seeds.split(":")))
    print("| table | kernel | regret of the recommended | least evaluated | never repeated |")
    print("|---|---|---|---|---|")
    for name in given.tables:
        table = benchmark(name, noisy=not given.added)
        catalogue = Catalogue(table.space)
        for kernel in given.kernels:
            runs = [run(table, catalogue, kernel, seed, given.added) for seed in seeds]
            regrets, least, once = np.transpose(runs)
            error = regrets.std(ddof=1) / np.sqrt(len(regrets))
            found = f"{regrets.mean():.3f} ± {error:.3f} | {least.mean():.3f} | {once.sum():.0f}"
            print(f"| {name} | {kernel} | {found} |", flush=True)


if __name__ == "__main__":
    main()
