"""Where a search would stop because little is left to gain, and whether it was right to.

After each batch what is left to gain is measured, and so is the bound of Optuna's own terminator on
the same trials, until both would have stopped at the smallest ε or the evaluations are used up. A
stop is right if the true regret there is within ε. ``--keep FILE`` holds every step; runs there are
not repeated, and with ``--show`` they are all that counts. Seeds come one after the other, each
with every table, so that what was cut off is balanced. Optuna's bound takes most of the time:
``--bounds gain`` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.terminator import RegretBoundEvaluator

from nasgoat import Optimizer
from nasgoat.acquisition import Catalogue
from nasgoat.bayesopt import Gain, StopRule
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.benchmarks.nasbench_graph import GRAPH_DATASETS
from nasgoat.integrations import GraphParameters

TABLES = (
    *("nb201/cifar10", "nb201/cifar100", "nb201/imagenet16-120", "macro/cifar10", "nb101"),
    *(f"nbgraph/{dataset}" for dataset in GRAPH_DATASETS),
)
SHARES = (0.02, 0.05, 0.1)  # ε as a share of the optimum
BOUNDS = ("gain", "optuna")
Steps = list[dict[str, Any]]
Judged = tuple[float, str]  # a share and a bound


def run(
    table: Benchmark, catalogue: Catalogue, seed: int, evaluations: int, bounds: Sequence[str]
) -> list[dict[str, Any]]:
    """One search: after each batch the regret so far, and the bounds on what is left.

    A bound that has led to a stop at the smallest ε is not asked for again.
    """
    asker = Optimizer(table.space, optimizer=catalogue, seed=seed, progress=None, gain_margin=0.0)
    rng, done = np.random.default_rng(seed), 0
    found: list[dict[str, Any]] = []
    parameters = GraphParameters(table.space)
    trials: list[optuna.trial.FrozenTrial] = []
    rule = StopRule(min(SHARES) * table.optimum)
    while done < evaluations and not all(find_stop(found, rule, bound) for bound in bounds):
        proposals = asker.ask(10 if not done else 5)
        if asker.gain is not None:
            best = min(error for _, error in asker.observations)
            asked = "optuna" in bounds and not find_stop(found, rule, "optuna")
            found.append(
                {
                    "evaluations": done,
                    "regret": max(best - table.optimum, 0.0),
                    "gain": asker.gain.bound,
                    "optuna": _ask_optuna(trials) if asked else None,
                }
            )
        for proposal in proposals:
            error = table.query(proposal.graph, rng)["error"]
            asker.tell(proposal.graph, error)
            trials.append(_make_trial(parameters, proposal.graph, error))
        done += len(proposals)
    return found


def _make_trial(parameters: GraphParameters, graph: Any, error: float) -> optuna.trial.FrozenTrial:
    return optuna.trial.create_trial(
        params=parameters.encode(graph), distributions=parameters.distributions, value=error
    )


def _ask_optuna(trials: list[optuna.trial.FrozenTrial]) -> float:
    for number, trial in enumerate(trials):
        trial.number = number
    direction = optuna.study.StudyDirection.MINIMIZE
    return float(RegretBoundEvaluator(seed=0).evaluate(trials, direction))


def find_stop(steps: list[dict[str, Any]], rule: StopRule, bound: str) -> dict[str, Any] | None:
    """The first step at which a rule is met by a bound; None if it never is."""
    for i, step in enumerate(steps):
        gains = [Gain(other[bound]) for other in steps[: i + 1]]
        if rule.is_met(gains, step["evaluations"]):
            return step
    return None


def show(
    name: str, optimum: float, runs: list[Steps], evaluations: int, bounds: Sequence[str]
) -> dict[Judged, Tally]:
    """Print for each ε and bound: runs that stop, evaluations, and stops within ε; count them."""
    counted: dict[Judged, Tally] = {}
    for share in SHARES:
        epsilon = share * optimum
        for bound in bounds:
            stops = [find_stop(steps, StopRule(epsilon), bound) for steps in runs]
            ended = [stop for stop in stops if stop]
            used = [s["evaluations"] if s else evaluations for s in stops]
            right = sum(stop["regret"] <= epsilon for stop in ended)
            tally = counted[share, bound] = Tally(len(runs), len(ended), right, sum(used))
            print(f"| {name} | {epsilon:.2f} | {bound} | {tally} |", flush=True)
    return counted


@dataclass(frozen=True)
class Tally:
    """Runs, those that stopped, those that were right to, and the evaluations of all."""

    runs: int = 0
    ended: int = 0
    right: int = 0
    used: int = 0

    def __add__(self, other: Tally) -> Tally:
        sums = (a + b for a, b in zip(astuple(self), astuple(other), strict=True))
        return Tally(*sums)

    def __str__(self) -> str:
        says = f"{self.right} of {self.ended}" if self.ended else "–"
        return f"{self.ended} of {self.runs} | {self.used / self.runs:.0f} | {says}"


def main() -> None:
    """Run what is missing, then print each table, and all of them together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--seeds", default="0:20", help="first:last")
    parser.add_argument("--evaluations", type=int, default=160)
    parser.add_argument("--bounds", nargs="+", choices=BOUNDS, default=BOUNDS)
    parser.add_argument("--keep", type=Path, help="JSON lines of every step; runs there are reused")
    parser.add_argument("--show", action="store_true", help="run nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # Optuna's terminator is experimental
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seeds = range(*map(int, options.seeds.split(":")))
    kept = _read(options.keep)
    tables = {name: benchmark(name) for name in options.tables}
    catalogues: dict[str, Catalogue] = {}
    for seed in () if options.show else seeds:
        for name, table in tables.items():
            if (name, seed) not in kept:
                if name not in catalogues:
                    catalogues[name] = Catalogue(table.space)
                terms = options.evaluations, options.bounds
                kept[name, seed] = run(table, catalogues[name], seed, *terms)
                _write(options.keep, name, seed, kept[name, seed])
    print("| table | ε | bound | runs that stop | evaluations (mean) | within ε |")
    print("|---|---|---|---|---|---|")
    total: dict[Judged, Tally] = defaultdict(Tally)
    for name, table in tables.items():
        if runs := [kept[name, seed] for seed in seeds if (name, seed) in kept]:
            terms = options.evaluations, options.bounds
            for judged, tally in show(name, table.optimum, runs, *terms).items():
                total[judged] += tally
    for (share, bound), tally in total.items():
        print(f"| all | {share:.0%} | {bound} | {tally} |")


def _read(path: Path | None) -> dict[tuple[str, int], list[dict[str, Any]]]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        found[line.pop("table"), line.pop("seed")].append(line)
    return dict(found)


def _write(path: Path | None, name: str, seed: int, steps: list[dict[str, Any]]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.writelines(json.dumps({"table": name, "seed": seed, **s}) + "\n" for s in steps)


if __name__ == "__main__":
    main()
