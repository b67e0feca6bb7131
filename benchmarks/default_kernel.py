"""How soon searches with several kernels find the best graph of every table, and by how much.

``python benchmarks/default_kernel.py --seeds 2000:2020 --keep FILE`` runs every kernel on every
table and seed, goes on where FILE stops, and prints for each table how many runs found the best
graph, after how many evaluations in the mean and the median (a miss counts as one more than the
budget), the regret at the end, and the difference to the first kernel on the same seeds with its
standard error. A run ends when it has found the best graph. On NAS-Bench-101, where the best cell
is ahead by less than the standard error of its own mean, the second best is counted too. Last come
seconds of the processor for a proposal, where FILE has them. ``evidence:branch`` and the like stand
for a kernel with another optimiser than the catalogue, ``exponential+3`` for one with three random
graphs of five while it has learnt nothing. ``--show`` prints what FILE holds and runs
nothing.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat import Optimizer, Settings
from nasgoat.acquisition import Catalogue
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.benchmarks.nasbench_graph import GRAPH_DATASETS

TABLES = (
    *("nb201/cifar10", "nb201/cifar100", "nb201/imagenet16-120", "macro/cifar10"),
    *(f"nbgraph/{dataset}" for dataset in GRAPH_DATASETS),
)
_SAME = 1e-9  # two means of the same trainings differ by rounding only
Records = dict[tuple[str, str], dict[int, dict[str, float]]]


def run(
    table: Benchmark, catalogue: Catalogue, kernel: str, seed: int, evaluations: int
) -> dict[str, float]:
    """Evaluations until the best graph and until the second best, regret and seconds."""
    form, _, name = kernel.partition(":")
    form, _, explore = form.partition("+")
    settings = Settings(kernel=form, explore=int(explore or 0))
    optimizer = Optimizer(table.space, settings, name or catalogue, 10, seed, None)
    errors: list[float] = []
    start = time.process_time()
    while len(errors) < evaluations and min(errors, default=np.inf) > table.optimum + _SAME:
        for proposal in optimizer.ask(5 if errors else 10):
            errors.append(table.mean_error(proposal.graph))
            optimizer.tell(proposal.graph, errors[-1])
    marks = {"best": table.optimum, "second": find_second(table)}
    reached = {name: _count_until(errors, mark, evaluations) for name, mark in marks.items()}
    seconds = (time.process_time() - start) / len(errors)
    return {**reached, "regret": max(min(errors) - table.optimum, 0.0), "seconds": seconds}


def find_second(table: Benchmark) -> float:
    """The second lowest error where it is told apart: on NAS-Bench-101; else the lowest."""
    if table.name != "nb101":
        return table.optimum
    accuracies: NDArray[Any] = table.accuracies  # type: ignore[attr-defined]
    return 100.0 * (1.0 - float(np.partition(np.nanmean(accuracies, axis=1, dtype=float), -2)[-2]))


def _count_until(errors: list[float], mark: float, evaluations: int) -> int:
    places = np.flatnonzero(np.array(errors) <= mark + _SAME)
    return int(places[0]) + 1 if len(places) else evaluations + 1


def compare(values: dict[int, float], base: dict[int, float]) -> str:
    """The mean difference on the seeds of both, with its standard error."""
    seeds = sorted(values.keys() & base.keys())
    differences = np.array([values[seed] - base[seed] for seed in seeds])
    if len(differences) < 2:
        return "–"
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3g} ± {error:.2g}"


def show(records: Records, tables: list[str], kernels: list[str], evaluations: int) -> None:
    """One line for each table and kernel."""
    print("| table | kernel | found | evaluations: mean (median) | paired | regret | paired | s |")
    print("|---|---|---|---|---|---|---|---|")
    marks = [("best", name) for name in tables] + [("second", name) for name in tables]
    for mark, name in marks:
        if mark == "second" and name != "nb101":
            continue
        base: dict[str, dict[int, float]] = {}
        for kernel in kernels:
            runs = records.get((name, kernel), {})
            if not runs:
                continue
            used = {seed: r[mark] for seed, r in runs.items()}
            regret = {seed: r["regret"] for seed, r in runs.items()}
            base = base or {"used": used, "regret": regret}
            found = sum(value <= evaluations for value in used.values())
            values = list(used.values())
            seconds = [r["seconds"] for r in runs.values() if "seconds" in r]
            print(
                f"| {name}{' (second best)' * (mark == 'second')} | {kernel} | "
                f"{found} of {len(runs)} | {np.mean(values):.1f} ({np.median(values):.0f}) | "
                f"{compare(used, base['used'])} | {np.mean(list(regret.values())):.3f} | "
                f"{compare(regret, base['regret'])} | "
                f"{f'{np.mean(seconds):.2g}' if seconds else '–'} |",
                flush=True,
            )


def read(path: Path | None) -> Records:
    """The runs that a file holds."""
    found: Records = defaultdict(dict)
    if path is not None and path.exists():
        for line in path.read_text().splitlines():
            record = json.loads(line)
            key = record.pop("table"), record.pop("kernel")
            found[key][record.pop("seed")] = record
    return found


def main() -> None:
    """Run what is missing, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--kernels", nargs="+", default=["exponential", "evidence"])
    parser.add_argument("--seeds", default="0:20", help="first:last")
    parser.add_argument("--evaluations", type=int, default=160)
    parser.add_argument("--keep", type=Path, help="JSON lines, one a run; runs there are reused")
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    records = read(given.keep)
    first, last = map(int, given.seeds.split(":"))
    for name in () if given.show else given.tables:
        table = benchmark(name)
        catalogue = Catalogue(table.space)
        for seed in range(first, last):
            for kernel in given.kernels:
                if seed in records[name, kernel]:
                    continue
                record = run(table, catalogue, kernel, seed, given.evaluations)
                records[name, kernel][seed] = record
                if given.keep:
                    with given.keep.open("a") as file:
                        said = {"table": name, "kernel": kernel, "seed": seed, **record}
                        file.write(json.dumps(said) + "\n")
    show(records, list(given.tables), given.kernels, given.evaluations)


if __name__ == "__main__":
    main()
