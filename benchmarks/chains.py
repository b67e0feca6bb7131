"""Long chains under limits that differ by layer: certificates of branch and bound, cheap moves.

Prints a row for each size and number of observations, with the gap after a time limit, and what a
random, a mutated and a neighbouring chain cost. With ``--cells`` it prints the same rows for
DARTS's normal and reduction cell at once, which are searched in the same way.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from nasgoat import Cells, ChainSpace, SearchSpace, darts
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch import BranchAndBound

SIZES = ((8, 3), (12, 6), (20, 9), (32, 6))
SHARE = 0.3  # of random chains that satisfy one of the two limits
DRAWN = 200  # chains, to measure what one takes


def make_space(layers: int, labels: int, seed: int = 0) -> ChainSpace:
    """Chains with random costs by layer under two limits."""
    ops = [f"op{i}" for i in range(labels)]
    rng = np.random.default_rng(seed)
    tables = {name: rng.uniform(0.5, 5.0, (labels, layers)).round(2) for name in ("time", "size")}
    drawn = rng.integers(labels, size=(2000, layers))
    texts = []
    for name, table in tables.items():
        totals = table[drawn, np.arange(layers)].sum(axis=1)
        texts.append(f"sum({name}) <= {np.quantile(totals, SHARE):.2f}")
    costs = {name: dict(zip(ops, table.tolist(), strict=True)) for name, table in tables.items()}
    return ChainSpace(layers, ops).constrain(*texts, costs=costs)


def measure_search(
    space: SearchSpace, name: str, observations: int, seed: int, limit: float
) -> str:
    """One row of the table."""
    problem = random_problem(space, observations, seed=seed)
    branch = BranchAndBound(space, None, limit, threads=1)
    branch.load_code()
    clock, processor = time.perf_counter(), time.process_time()
    pool = branch.optimize(problem.acquisition, 5, problem.observed)
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    found = pool.certificate
    size = f"{name} | {observations} | {seed}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = f"{found.status} | {100 * (found.gap or 0.0):.1f} % | {branch.nodes_:,}"
    return f"| {size} | {processor:.2f} | {clock:.1f} | {said} | {peak:.0f} |"


def measure_moves(space: ChainSpace) -> str:
    """Milliseconds of the processor of a random chain, a mutation and all neighbours."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    chains = space.sample(DRAWN, rng)
    drawn = time.process_time()
    for chain in chains:
        space.mutate(chain, rng)
    mutated = time.process_time()
    near = sum(len(space.neighbours(chain)) for chain in chains[:20])
    found = time.process_time()
    each = [(drawn - start) / DRAWN, (mutated - drawn) / DRAWN, (found - mutated) / max(near, 1)]
    size = f"{space.lengths[-1]} x {len(space.ops)}"
    return f"| {size} | {' | '.join(f'{1000 * seconds:.2f}' for seconds in each)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a search")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--cells", action="store_true", help="DARTS's two cells instead of chains")
    parser.add_argument("--observations", type=int, nargs="+", default=[50, 150])
    parser.add_argument("--moves", action="store_true", help="the second table alone")
    given = parser.parse_args()
    spaces = [make_space(*size) for size in SIZES]
    named: dict[str, SearchSpace] = {
        f"{space.lengths[-1]} x {len(space.ops)}": space for space in spaces
    }
    if given.cells:
        named = {"DARTS, both cells": Cells(normal=darts(), reduction=darts())}
    if not given.moves:
        print("| layers x ops | t | seed | processor s | clock s | status | gap | nodes | MB |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name, space in named.items():
            for observations in given.observations:
                for seed in given.seeds:
                    print(measure_search(space, name, observations, seed, given.limit), flush=True)
        print()
    if given.cells:
        return
    print("| layers x ops | random, ms | mutation, ms | neighbour, ms |")
    print("|---|---|---|---|")
    for space in spaces:
        print(measure_moves(space), flush=True)


if __name__ == "__main__":
    main()
