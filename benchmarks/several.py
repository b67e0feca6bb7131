"""Hypervolume of searches for two objectives, relative to that of the whole table's front.

    python benchmarks/several.py "nb201/cifar10+edgegpu: error, latency" --seeds 0 5
    python benchmarks/several.py --seeds 6000 6010 --functions hypervolume --out runs.jsonl

Without a problem those of experiments/fronts.toml are taken. Volumes are of (log error, other
value), up to the values that 80 % of all cells stay below. For each acquisition function and kernel
of the error: means over the seeds after 50, 100 and 160 evaluations, the share of the true front
found, and seconds of the processor; then what the second kernel has more than the first, paired.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat import Optimizer, Settings
from nasgoat.bayesopt.front import hypervolume
from nasgoat.experiments.fronts_problem import Arena, FrontProblem

POINTS = (50, 100, 160)
FUNCTIONS = ("hypervolume", "chebyshev", "epsilon")
KERNELS = ("exponential", "evidence")  # the default on NAS-Bench-201 last
FRONTS = Path(__file__).parents[1] / "experiments" / "fronts.toml"
Row = dict[str, Any]


def list_problems() -> list[str]:
    """The problems of the experiment that have two values."""
    texts: list[str] = tomllib.loads(FRONTS.read_text())["problems"]
    return [text for text in texts if len(FrontProblem.parse(text).names) > 1]


def search(arena: Arena, function: str, kernel: str, seed: int) -> list[float]:
    """Relative hypervolumes, share of the front, seconds."""
    settings = Settings(acquisition=function, kernel=kernel)
    names, failing = arena.problem.names, arena.failing_share > 0
    optimizer = Optimizer(
        arena.table.space, settings, seed=seed, minimise=names, learn_failures=failing
    )
    rng, told, failed = np.random.default_rng(0), list[NDArray[np.float64]](), 0
    found, start = list[float](), time.process_time()
    while (done := len(told) + failed) < POINTS[-1]:
        for proposal in optimizer.ask(5 if done else 10):
            metrics = arena.table.query(proposal.graph, rng)
            if arena.is_measured(metrics):
                told.append(arena.scale(metrics))
                optimizer.tell(proposal.graph, metrics)
            else:
                failed += 1
                optimizer.tell_failed(proposal.graph)
        if len(told) + failed in POINTS:
            found.append(hypervolume(told, arena.reference) / arena.volume)
    front = {tuple(point) for point in arena.front.tolist()}
    share = len(front & {tuple(point.tolist()) for point in told}) / len(front)
    return [*found, share, time.process_time() - start]


def measure(given: argparse.Namespace, known: list[Row]) -> Iterator[Row]:
    """The runs that are not known yet, seed by seed."""
    done = {(row["problem"], row["function"], row["kernel"], row["seed"]) for row in known}
    arenas: dict[str, Arena] = {}
    for seed in range(*given.seeds):
        for text in given.problems:
            for function in given.functions:
                for kernel in given.kernels:
                    if (text, function, kernel, seed) in done:
                        continue
                    arena = arenas.setdefault(text, arenas.get(text) or Arena(text))
                    run = [round(x, 6) for x in search(arena, function, kernel, seed)]
                    names = {"problem": text, "function": function, "kernel": kernel}
                    yield {**names, "seed": seed, "run": run}


def show(given: argparse.Namespace, rows: list[Row]) -> None:
    """The table, and what the second kernel has more than the first."""
    print("| problem | function | kernel | seeds | 50 | 100 | 160 | front found | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    found = {(r["problem"], r["function"], r["kernel"], r["seed"]): r["run"] for r in rows}
    for function in given.functions:
        apart = []
        for text in given.problems:
            for kernel in given.kernels:
                runs = [found.get((text, function, kernel, s)) for s in range(*given.seeds)]
                if known := [run for run in runs if run is not None]:
                    mean = np.mean(known, axis=0)
                    volumes = " | ".join(f"{value:.3f}" for value in mean[:3])
                    start = f"| {text} | `{function}` | {kernel} | {len(known)} | {volumes}"
                    print(f"{start} | {mean[3]:.0%} | {mean[4]:.1f} |")
            for seed in range(*given.seeds):
                asked = [(text, function, kernel, seed) for kernel in given.kernels[:2]]
                pair = [found[run] for run in asked if run in found]
                if len(pair) == 2:
                    apart.append(np.subtract(pair[1], pair[0])[:4])
        if len(apart) > 1:
            mean, error = np.mean(apart, axis=0), np.std(apart, axis=0) / np.sqrt(len(apart) - 1)
            told = [f"{m:+.4f} ± {e:.4f}" for m, e in zip(mean, error, strict=True)]
            print(f"\n`{function}`, {len(apart)} pairs of runs: {'; '.join(told)}")


def collect_rows(out: Path | None, measure: Callable[[list[Row]], Iterator[Row]]) -> list[Row]:
    """The rows of a file and those that are measured beyond them, which are added to it."""
    rows: list[Row] = []
    if out is not None and out.exists():
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in measure(rows):
        rows.append(row)
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def main() -> None:
    """Search, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=list_problems())
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 5), metavar=("FROM", "TO"))
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS)
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    parser.add_argument("--out", type=Path, help="runs are added to this file, and not repeated")
    given = parser.parse_args()
    rows = collect_rows(given.out, partial(measure, given))
    show(given, rows)


if __name__ == "__main__":
    main()
