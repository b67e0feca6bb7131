"""Evaluations that measured limits waste, for several widths of the limited value's lower bound.

    python benchmarks/measured_limits.py --shares 1 0.5 0.2 0 --seeds 0:10

A proposal keeps a measured limit if the lower bound of the limited value does, whose √β is a share
of that of the proposal (docs/decisions/0117-bounds-of-measured-limits.md). For each problem (see
``nasgoat fronts``) and share: runs that reach the constrained optimum, evaluations to it in the
median, and evaluations after the random ones that break the limit, mean over the seeds.
"""

from __future__ import annotations

import argparse
from statistics import fmean

from nasgoat.bayesopt import several_objectives
from nasgoat.experiments.compare_tables import count_evaluations_to_optimum
from nasgoat.experiments.fronts_study import FrontsStudy

PROBLEMS = (
    "nb201/cifar10+edgegpu: error; latency <= 20 %",
    "nb201/imagenet16-120+edgegpu: error; latency <= 20 %",
)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", nargs="+", type=float, default=[1.0, 0.5, 0.2, 0.0])
    parser.add_argument("--seeds", default="0:10", help="such as 0:10")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--evaluations", type=int, default=160)
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    print("| problem | share of √β | at the optimum | evaluations to it | infeasible |")
    print("|---|---|---|---|---|")
    for problem in given.problems:
        for share in given.shares:
            several_objectives._LIMIT_SHARE = share
            told = {"problem": problem, "method": "goat", "initial": 10}
            told |= {"evaluations": given.evaluations}
            runs = [FrontsStudy.execute({**told, "seed": seed})[0] for seed in seeds]
            reached = sum(run["reached"] is not None for run in runs)
            when, wasted = count_evaluations_to_optimum(runs), fmean(run["wasted"] for run in runs)
            row = f"{reached} of {len(runs)} | {when:.0f} | {wasted:.1f}"
            print(f"| {problem} | {share:g} | {row} |", flush=True)


if __name__ == "__main__":
    main()
