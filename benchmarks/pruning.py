"""What pruned trials teach: the best error of a study by the epochs that it has spent.

``python benchmarks/pruning.py --seeds 2000:2010 --record FILE`` runs every sampler with every
pruner on tables of NAS-Bench-201, and goes on where FILE stops; ``--table FILE`` prints what it
holds of the seeds.

A trial reports its error after 12, 25, 50 and 100 epochs and ends after 200. The table has 12 and
200 epochs; in between the error is interpolated over the logarithm of the epochs. A pruned trial
has cost the epochs until its last report, and its cell is no result: the best error is that of full
trainings.

Samplers: ``goat``, with the kernel that suits the space, chosen by evidence once a trial was
pruned; ``exponential``, the same with the paper's kernel all along; ``deaf``, told of a pruned
trial only that it failed; ``tpe``, which chooses an operation for each edge. A cell that is not
connected, and so not in our space, costs TPE nothing. A cell that it tries again costs as much
again; the rows ``tpe, repeats free`` are what the same studies would have spent if somebody had
kept every result.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import Trial, TrialState

from nasgoat import GoatSampler, nasbench201, suggest_graph
from nasgoat.acquisition import Catalogue
from nasgoat.bayesopt import CurveOptimizer, Objectives, Settings
from nasgoat.bayesopt.curves import Curve
from nasgoat.benchmarks import NasBench201
from nasgoat.graphs import LabeledGraph

TABLES = ("cifar10", "cifar100", "imagenet16-120")
REPORTS = (12, 25, 50, 100)
EPOCHS = 200
BUDGETS = (2000, 4000, 6000)  # epochs: 10, 20 and 30 full trainings
SPACE = nasbench201()
OPERATIONS = 5


@cache
def read_curves(dataset: str) -> np.ndarray:
    """Errors after 12 and after 200 epochs, a row for each cell."""
    tables = [NasBench201(dataset, epochs=epochs) for epochs in (REPORTS[0], EPOCHS)]
    return np.stack([np.nanmean(table.errors, axis=1) for table in tables], axis=1)


@cache
def list_cells() -> Catalogue:
    """All cells of the space, listed once."""
    return Catalogue(SPACE)


@cache
def is_in_space(place: int) -> bool:
    """Whether a row of the table is a connected cell."""
    digits = [place // OPERATIONS**i % OPERATIONS for i in reversed(range(6))]
    return nasbench201(connected=False).from_digits(digits) in SPACE


def measure_error(dataset: str, place: int, epochs: int) -> float:
    """The error of a cell after so many epochs."""
    first, last = read_curves(dataset)[place]
    share = math.log(epochs / REPORTS[0]) / math.log(EPOCHS / REPORTS[0])
    return float(first + share * (last - first))


class DeafOptimizer(CurveOptimizer):
    """Learns nothing from what trainings report."""

    def tell_curve(self, graph: LabeledGraph, curve: Curve, error: float | None = None) -> None:
        """Learn the error at the end alone."""
        super().tell_curve(graph, {}, error)


class DeafSampler(GoatSampler):
    """Learns nothing from pruned trials."""

    def _make_fresh(self, objectives: Objectives) -> CurveOptimizer:
        return DeafOptimizer(SPACE, None, list_cells(), self.initial, self.seed)


def make_sampler(name: str, seed: int) -> BaseSampler:
    """A sampler by its name."""
    if name == "tpe":
        return TPESampler(seed=seed, multivariate=True)
    ours = DeafSampler if name == "deaf" else GoatSampler
    settings = Settings(kernel=name) if name == "exponential" else None
    return ours(SPACE, settings=settings, optimizer=list_cells(), seed=seed)


def suggest_place(trial: Trial, sampler: str) -> int:
    """The row of the cell that a trial trains."""
    if sampler != "tpe":
        digits = SPACE.digits(suggest_graph(trial, SPACE)).tolist()
    else:
        digits = [trial.suggest_categorical(f"edge{i}", range(OPERATIONS)) for i in range(6)]
    return int(np.array(digits) @ OPERATIONS ** np.arange(6)[::-1])


def make_pruner(name: str) -> BasePruner:
    """A pruner by its name."""
    if name == "hyperband":
        return HyperbandPruner(min_resource=REPORTS[0], max_resource=EPOCHS, reduction_factor=3)
    return MedianPruner() if name == "median" else NopPruner()


def run(dataset: str, sampler: str, pruner: str, seed: int) -> dict[str, object]:
    """One study: its best error within each budget, and how many trials were pruned."""
    study = optuna.create_study(
        sampler=make_sampler(sampler, seed),
        pruner=make_pruner(pruner),
        study_name=f"{dataset} {seed}",  # Hyperband draws brackets from it
    )
    spent, paid, full, seen = 0, 0, list[tuple[int, int, float]](), set[int]()
    while paid < BUDGETS[-1] and len(study.trials) < 1000:
        trial = study.ask()
        place = suggest_place(trial, sampler)
        if not is_in_space(place):
            study.tell(trial, state=TrialState.PRUNED)
            continue
        cost, pruned = EPOCHS, False
        for epochs in REPORTS:
            trial.report(measure_error(dataset, place, epochs), epochs)
            if trial.should_prune():
                cost, pruned = epochs, True
                break
        spent, paid = spent + cost, paid + cost * (place not in seen)
        seen.add(place)
        if pruned:
            study.tell(trial, state=TrialState.PRUNED)
            continue
        error = measure_error(dataset, place, EPOCHS)
        study.tell(trial, error)
        full.append((spent, paid, error))
    states = [trial.state for trial in study.trials]
    return {
        "best": [min((e for at, _, e in full if at <= most), default=None) for most in BUDGETS],
        "best_free": [
            min((e for _, at, e in full if at <= most), default=None) for most in BUDGETS
        ],
        "trials": len(states),
        "complete": states.count(TrialState.COMPLETE),
    }


def print_table(path: Path, seeds: range) -> None:
    """Mean best error within each budget, its standard error, and the trials of a study."""
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["seed"] not in seeds:
            continue
        found[record["dataset"], record["pruner"], record["sampler"]].append(record)
        if record["sampler"] == "tpe":
            free = {**record, "best": record["best_free"]}
            found[record["dataset"], record["pruner"], "tpe, repeats free"].append(free)
    heads = " | ".join(f"{budget:,} epochs" for budget in BUDGETS)
    print(f"| table | pruner | sampler | {heads} | trials | complete | seeds |")
    print("|---" * (6 + len(BUDGETS)) + "|")
    for (dataset, pruner, sampler), records in sorted(found.items()):
        best = np.array([record["best"] for record in records], dtype=float)
        spread = best.std(axis=0, ddof=1) / math.sqrt(len(best)) if len(best) > 1 else best[0] * 0
        shown = " | ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(best.mean(0), spread, strict=True))
        trials, complete = (np.mean([r[k] for r in records]) for k in ("trials", "complete"))
        print(
            f"| {dataset} | {pruner} | {sampler} | {shown} | {trials:.0f} | {complete:.0f} | "
            f"{len(records)} |"
        )


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="2000:2010")
    parser.add_argument("--record", type=Path, default=Path("experiments/pruning/runs.jsonl"))
    parser.add_argument("--datasets", default=",".join(TABLES))
    parser.add_argument("--samplers", default="goat,deaf,tpe")
    parser.add_argument("--pruners", default="none,median")
    parser.add_argument("--table", type=Path, help="Print the table of a file.")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    seeds = range(first, last)
    if options.table:
        print_table(options.table, seeds)
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options.record.parent.mkdir(parents=True, exist_ok=True)
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    names = ("dataset", "sampler", "pruner", "seed")
    done = {tuple(json.loads(line)[name] for name in names) for line in lines}
    for seed in seeds:
        for dataset in options.datasets.split(","):
            for sampler in options.samplers.split(","):
                for pruner in options.pruners.split(","):
                    key = (dataset, sampler, pruner, seed)
                    if key in done or (sampler == "deaf" and pruner == "none"):
                        continue
                    record = {**dict(zip(names, key, strict=True)), **run(*key)}
                    with options.record.open("a") as file:
                        file.write(json.dumps(record) + "\n")
    print_table(options.record, seeds)


if __name__ == "__main__":
    main()
