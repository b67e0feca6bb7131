"""What shorter trainings and other data sets save: full trainings' worth until the best cell.

``python benchmarks/fidelity.py --seeds 2000:2020 --record FILE`` runs every method on tables with
trainings of several lengths (``fidelity_tables.py``), and goes on where FILE stops; ``--only``
takes some methods, ``--tables`` some tables. ``--table FILE`` prints what a file holds of the
seeds, and ``--figure FILE`` draws it: regret against cost.

A short training costs its epochs in proportion, and both are charged where a cell gets both. A run
that misses the best cell counts as 161; ``fidelities`` and ``smac`` give up after 100 full
trainings' worth, the others after 160. On NAS-Bench-101, where most runs miss it, all give up after
30, and regrets are what to compare.

Methods: ``fidelities`` (ours, all lengths), ``default`` (ours, full trainings only), ``full`` (the
same with the paper's kernel), ``halving`` (16 random cells at the lowest fidelity, the best one in
full, again and again), ``tpe-hyperband`` and ``tpe-halving`` (Optuna's TPE with its pruners),
``smac`` (its multi-fidelity facade, which is Hyperband too); a cell that comes again costs these
nothing.
Transfer, by 200 epochs only: ``from-SOURCE`` learns from an earlier search of 160 evaluations on
another data set, ``shuffled-SOURCE`` from the same with its errors shuffled, ``best-SOURCE`` tries
the source's best cells first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import optuna

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fidelity_methods import CAP, DATASETS, Steps, list_methods
from benchmarks.fidelity_tables import find_task

TABLES = (*DATASETS, "nb101")
TITLES = ("CIFAR-10", "CIFAR-100", "ImageNet16-120", "NAS-Bench-101")
LABELS = {
    "fidelities": "ours, all lengths",
    "default": "ours, full trainings only",
    "full": "full trainings only, the paper's kernel",
    "tpe-halving": "TPE, successive halving",
    "tpe-hyperband": "TPE, Hyperband",
    "smac": "SMAC, Hyperband",
    "halving": "best of 16 random short ones",
}
DRAWN = 60.0  # full trainings' worth
FOUND = 1e-9  # regret of the best cell, but for rounding
BUDGETS = (10, 20, 30, 60)
ENDS = {"nb101": 30.0}  # where searches end before DRAWN


def measure(steps: Steps, optimum: float) -> dict[str, Any]:
    """The cost until the best cell, or none; the regret at the end, and after each improvement."""
    best, curve = np.inf, []
    for cost, found in steps:
        if found < best:
            best = found
            curve.append([round(cost, 2), round(best - optimum, 3)])
        if best <= optimum + FOUND or cost >= CAP:
            break
    reached = best <= optimum + FOUND
    regret = 0.0 if reached else round(best - optimum, 3)
    return {"cost": curve[-1][0] if reached else None, "regret": regret, "curve": curve}


def read_records(path: Path, seeds: range) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Records of some seeds by method and table."""
    found = defaultdict(list)
    for record in map(json.loads, path.read_text().splitlines()):
        if record["seed"] in seeds:
            found[record["method"], record["dataset"]].append(record)
    return found


def follow(record: dict[str, Any], costs: np.ndarray) -> np.ndarray:
    """The regret of a run after each cost; nan before its first full training."""
    reached = np.array(record["curve"])
    place = np.searchsorted(reached[:, 0], costs, side="right") - 1
    return np.where(place < 0, np.nan, reached[np.maximum(place, 0), 1])


def print_table(path: Path, seeds: range) -> None:
    """Means, medians and how many runs reached the best cell, for each method and table."""
    found = read_records(path, seeds)
    print("| method | " + " | ".join(TABLES) + " |\n|---" + "|---" * len(TABLES) + "|")
    for method in dict.fromkeys(method for method, _ in found):
        cells = []
        for table in TABLES:
            records = found.get((method, table), [])
            costs = np.array([CAP + 1 if r["cost"] is None else r["cost"] for r in records])
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
    print("\nMean regret after " + ", ".join(map(str, BUDGETS)) + " full trainings' worth:")
    for (method, table), records in found.items():
        budgets = np.array([b for b in BUDGETS if b <= ENDS.get(table, DRAWN)], dtype=float)
        curves = [follow(r, budgets) for r in records if "curve" in r]
        if curves and method in LABELS:
            errors = np.std(curves, axis=0) / np.sqrt(max(len(curves) - 1, 1))
            means = zip(np.mean(curves, axis=0), errors, strict=True)
            shown = " / ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in means)
            print(f"{table}, {method}: {shown} ({len(curves)} runs)")
    print_pairs(found)


def print_pairs(found: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """What each kind of transfer costs, beside the same seeds without any."""
    costs = {
        (method, table, r["seed"]): CAP + 1 if r["cost"] is None else r["cost"]
        for (method, table), records in found.items()
        for r in records
    }
    for kind in ("from", "shuffled", "best"):
        pairs = [
            (cost, costs["full", table, seed])
            for (method, table, seed), cost in costs.items()
            if method.startswith(f"{kind}-") and ("full", table, seed) in costs
        ]
        if pairs:
            ours, alone = np.array(pairs).T
            error = (ours - alone).std(ddof=1) / np.sqrt(len(pairs))
            print(
                f"{kind}: {ours.mean():.1f} against {alone.mean():.1f} without, difference "
                f"{(ours - alone).mean():+.1f} ± {error:.1f} ({ours.mean() / alone.mean() - 1:+.0%}"
                f"; {len(pairs)} pairs)"
            )


def draw(path: Path, seeds: range, file: Path) -> None:
    """Mean regret against cost, a panel for each table."""
    found = read_records(path, seeds)
    tables = [table for table in TABLES if any(t == table for _, t in found)]
    figure, panels = plt.subplots(1, len(tables), figsize=(3.2 * len(tables), 3.4), squeeze=False)
    for axes, table in zip(panels[0], tables, strict=True):
        costs = np.linspace(0, ENDS.get(table, DRAWN), 601)
        for color, (method, label) in enumerate(LABELS.items()):
            curves = [follow(r, costs) for r in found.get((method, table), ()) if "curve" in r]
            if curves:
                mean = np.mean(curves, axis=0)
                axes.plot(costs, mean, color=f"C{color}", label=label, linewidth=1.6)
        axes.set(title=TITLES[TABLES.index(table)], xlabel="cost, full trainings", yscale="log")
        axes.set(ylim=(0.01, 10), xlim=(0, DRAWN))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("mean regret, percentage points")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(file, dpi=140)


def run_missing(options: argparse.Namespace, seeds: range) -> None:
    """Run what the record does not hold yet."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options.record.parent.mkdir(parents=True, exist_ok=True)
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    done = {(r["method"], r["dataset"], r["seed"]) for r in map(json.loads, lines)}
    chosen = [name for name in options.only.split(",") if name]
    for seed in seeds:
        for table in options.tables.split(","):
            for method, search in list_methods(table).items():
                wanted = not chosen or method in chosen or method.split("-")[0] in chosen
                if not wanted or (method, table, seed) in done:
                    continue
                result = measure(search(seed), find_task(table).optimum)
                record = {"method": method, "dataset": table, "seed": seed, **result}
                with options.record.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="2000:2020")
    parser.add_argument("--record", type=Path, default=Path("experiments/fidelity/runs.jsonl"))
    parser.add_argument("--only", default="", help="Methods, with commas.")
    parser.add_argument("--tables", default=",".join(TABLES), help="Tables, with commas.")
    parser.add_argument("--table", type=Path, help="Print the table of a file.")
    parser.add_argument("--figure", type=Path, help="Draw what --record holds.")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    seeds = range(first, last)
    if options.figure:
        draw(options.record, seeds, options.figure)
    elif options.table:
        print_table(options.table, seeds)
    else:
        run_missing(options, seeds)
        print_table(options.record, seeds)


if __name__ == "__main__":
    main()
