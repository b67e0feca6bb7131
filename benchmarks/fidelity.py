"""What shorter trainings and other data sets save: full trainings' worth until the best cell.

``python benchmarks/fidelity.py --seeds 1000:1020 --record FILE`` runs every method on the tables of
NAS-Bench-201 with 12 and 200 epochs, and goes on where FILE stops; ``--only`` takes some of them.
``--table FILE`` prints what a file holds. A training of 12 epochs costs 0.06 of one of 200; both
are charged where a cell gets both. A run that misses the best cell counts as 161; ``fidelities``
gives up after 100, the others after 160.

Methods: ``fidelities`` (ours, 12 and 200 epochs), ``full`` (ours, 200 epochs only), ``halving`` (16
random cells at 12 epochs, the best one at 200, again and again), ``tpe-hyperband`` and
``tpe-halving`` (Optuna's TPE with its pruners; a cell that comes again costs nothing). Transfer, by
200 epochs only: ``from-SOURCE`` learns from an earlier search of 160 evaluations on another data
set, ``shuffled-SOURCE`` from the same with its errors shuffled, ``best-SOURCE`` tries the source's
best cells first.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from nasgoat import Optimizer, nasbench201
from nasgoat.acquisition import Catalogue
from nasgoat.bayesopt import FidelityOptimizer
from nasgoat.benchmarks import NasBench201
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import Source

CAP = 160.0
GIVE_UP = 100.0  # of ours with fidelities: a run that spends that much is a miss
SHORT = 0.06
TABLES = ("cifar10", "cifar100", "imagenet16-120")
PAIRS = [(source, target) for target in TABLES for source in TABLES if source != target]
SPACE = nasbench201()

#: The cost so far, and the error of a full training that it has just paid for.
Steps = Iterator[tuple[float, float]]


@cache
def read(dataset: str, epochs: int) -> NasBench201:
    """A table, read once."""
    return NasBench201(dataset, epochs=epochs)


@cache
def catalogue() -> Catalogue:
    """All cells, listed once."""
    return Catalogue(SPACE)


def error(dataset: str, graph: LabeledGraph, epochs: int = 200) -> float:
    """The mean error of a cell after so many epochs."""
    return read(dataset, epochs).mean_error(graph)


def search_fidelities(dataset: str, seed: int) -> Steps:
    """Ours with 12 and 200 epochs."""
    asker = FidelityOptimizer(
        SPACE, "epochs=12,200", GIVE_UP, optimizer=catalogue(), seed=seed, progress=None
    )
    cost = 0.0
    while proposals := asker.ask(10 if cost == 0 else 5):
        for proposal in proposals:
            at = proposal.fidelity or asker.fidelities[-1]
            cost += at.cost
            found = error(dataset, proposal.graph, int(at.value))
            asker.tell(proposal.graph, found, at)
            if at.full:
                yield cost, found


def search_full(dataset: str, seed: int, transfer: tuple[Source, ...] = ()) -> Steps:
    """Ours with full trainings only."""
    asker = Optimizer(SPACE, optimizer=catalogue(), seed=seed, progress=None, transfer=transfer)
    cost = 0.0
    while cost < CAP:
        for proposal in asker.ask(10 if cost == 0 else 5):
            cost += 1
            found = error(dataset, proposal.graph)
            asker.tell(proposal.graph, found)
            yield cost, found


def search_halving(dataset: str, seed: int) -> Steps:
    """Random cells at 12 epochs, the best of each 16 at 200."""
    rng, cost, seen = np.random.default_rng(seed), 0.0, set[bytes]()
    while cost < CAP:
        cells = SPACE.sample(16, rng, seen)
        seen |= {SPACE.key(cell) for cell in cells}
        best = min(cells, key=lambda cell: error(dataset, cell, 12))
        cost += 1 + SHORT * len(cells)
        yield cost, error(dataset, best)


def search_tpe(dataset: str, seed: int, pruner: optuna.pruners.BasePruner) -> Steps:
    """Optuna's TPE on one operation for each edge, pruned after 12 epochs."""
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True), pruner=pruner
    )
    short, full = read(dataset, 12), read(dataset, 200)
    paid: dict[tuple[int, int], float] = {}
    cost = 0.0

    def train(place: int, epochs: int) -> float:
        nonlocal cost
        table = short if epochs == 12 else full
        if (place, epochs) not in paid:
            cost += SHORT if epochs == 12 else 1.0
            paid[place, epochs] = float(np.nanmean(table.errors[place]))
        return paid[place, epochs]

    for _ in range(4000):
        if cost >= CAP:
            return
        trial = study.ask()
        digits = [trial.suggest_categorical(f"edge{i}", range(5)) for i in range(6)]
        place = int(np.array(digits) @ 5 ** np.arange(6)[::-1])
        trial.report(train(place, 12), 12)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        found = train(place, 200)
        study.tell(trial, found)
        yield cost, found


@cache
def search_before(dataset: str, seed: int) -> tuple[list[LabeledGraph], list[float]]:
    """What an earlier search of 160 evaluations on a data set has seen."""
    asker = Optimizer(SPACE, optimizer=catalogue(), seed=seed + 5000, progress=None)
    while len(asker.observations) < 160:
        for proposal in asker.ask(10 if not asker.observations else 5):
            asker.tell(proposal.graph, error(dataset, proposal.graph))
    graphs, errors = zip(*asker.observations, strict=True)
    return list(graphs), list(errors)


def search_transferred(dataset: str, seed: int, source: str, how: str) -> Steps:
    """Ours with another data set's run to learn from, or what is best there."""
    graphs, errors = search_before(source, seed)
    if how == "best":
        for place, i in enumerate(np.argsort(errors), start=1):
            yield place, error(dataset, graphs[i])
        return
    if how == "shuffled":
        errors = np.random.default_rng(seed).permutation(errors).tolist()
    yield from search_full(dataset, seed, (Source(source, graphs, errors),))


def list_methods(dataset: str) -> dict[str, Callable[[int], Steps]]:
    """Every method on a table, by name."""
    hyperband = optuna.pruners.HyperbandPruner(12, 200, reduction_factor=4)
    halving = optuna.pruners.SuccessiveHalvingPruner(12, reduction_factor=4)
    methods: dict[str, Callable[[int], Steps]] = {
        "fidelities": lambda seed: search_fidelities(dataset, seed),
        "full": lambda seed: search_full(dataset, seed),
        "halving": lambda seed: search_halving(dataset, seed),
        "tpe-hyperband": lambda seed: search_tpe(dataset, seed, hyperband),
        "tpe-halving": lambda seed: search_tpe(dataset, seed, halving),
    }
    for source, target in PAIRS:
        if target == dataset:
            for how in ("from", "shuffled", "best"):
                methods[f"{how}-{source}"] = lambda seed, source=source, how=how: (  # type: ignore[misc]
                    search_transferred(dataset, seed, source, how)
                )
    return methods


def measure(steps: Steps, optimum: float) -> dict[str, Any]:
    """The cost until the best cell, or none, and the regret at the end."""
    best = np.inf
    for cost, found in steps:
        best = min(best, found)
        if best <= optimum + 1e-9:
            return {"cost": round(cost, 2), "regret": 0.0}
        if cost >= CAP:
            break
    return {"cost": None, "regret": round(best - optimum, 3)}


def print_table(path: Path) -> None:
    """Means, medians and how many runs reached the best cell, for each method and data set."""
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        cost = CAP + 1 if record["cost"] is None else record["cost"]
        found[record["method"], record["dataset"]].append(cost)
    print("| method | " + " | ".join(TABLES) + " |\n|---" + "|---" * len(TABLES) + "|")
    for method in dict.fromkeys(method for method, _ in found):
        cells = []
        for dataset in TABLES:
            costs = np.array(found.get((method, dataset), []))
            if len(costs) == 0:
                cells.append("–")
                continue
            deviation = costs.std(ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else 0.0
            reached = int((costs <= CAP).sum())
            cells.append(
                f"{costs.mean():.1f} ± {deviation:.1f} ({np.median(costs):.1f}; "
                f"{reached} of {len(costs)})"
            )
        print(f"| {method} | " + " | ".join(cells) + " |")


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1000:1020")
    parser.add_argument("--record", type=Path, default=Path("experiments/fidelity/runs.jsonl"))
    parser.add_argument("--only", default="", help="Methods, with commas.")
    parser.add_argument("--table", type=Path, help="Print the table of a file.")
    options = parser.parse_args()
    if options.table:
        print_table(options.table)
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    first, last = map(int, options.seeds.split(":"))
    options.record.parent.mkdir(parents=True, exist_ok=True)
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    done = {(r["method"], r["dataset"], r["seed"]) for r in map(json.loads, lines)}
    for seed in range(first, last):
        for dataset in TABLES:
            for method, search in list_methods(dataset).items():
                wanted = not options.only or method.split("-")[0] in options.only.split(",")
                if not wanted or (method, dataset, seed) in done:
                    continue
                result = measure(search(seed), read(dataset, 200).optimum)
                record = {"method": method, "dataset": dataset, "seed": seed, **result}
                with options.record.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    print_table(options.record)


if __name__ == "__main__":
    main()
