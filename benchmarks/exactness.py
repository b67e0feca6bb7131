"""What proving the best proposal is worth under tight limits: the same questions to heuristics.

    python benchmarks/exactness.py --seeds 0:3 --out questions.jsonl
    python benchmarks/exactness.py --table questions.jsonl

Searches of NAS-Bench-101's space (mean test error of the table) run under limits that 10 %, 1 % and
0.1 % of its 423,624 cells keep, proposals proven best by branch and bound. At some evaluations the
question of the search (surrogate, bound and excluded cells) also goes to

    mutation 200, mutation 10000   the best of a pool of mutations of the observed cells
    local search                   descents over neighbours, six from the best of 100 random cells
                                   and one from a mutation of the best, all of it five times

and the whole space is scored, so that the truth comes by another way. For each: the share of
questions where the optimum is missed, the shortfall of the value in units of the target's standard
deviation, how many allowed cells are better than the answer, and processor seconds.

Limits: "budget" is one cost, random positive prices of operations and edges, at most its quantile;
"joint" is three such costs with prices of either sign, all at most the same quantile.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat import Optimizer, Settings, nasbench101
from nasgoat.acquisition import (
    Acquisition,
    Catalogue,
    KnownCost,
    Mutation,
    Pool,
    draw_mutations,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.local_search import descend
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

SHARES = (0.1, 0.01, 0.001)
KINDS = {"budget": 1, "joint": 3}
ASKED_AT = (10, 40)  # evaluations before the question, unless told otherwise
RESTARTS = 5  # of the local search, each of six descents
SAME = 1e-7  # values closer than this are the same optimum
OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")
METHODS = ("branch and bound", "mutation 200", "mutation 10000", "local search")


@dataclass
class Truth:
    """Every cell of the space, scored."""

    catalogue: Catalogue
    allowed: NDArray[np.bool_]

    def score(self, function: Acquisition, exclude: Collection[bytes]) -> Verdict:
        """What is true of a question: the observed cells are those that are excluded."""
        values = function.gather(self.catalogue.measure)
        space, places = self.catalogue.space, np.flatnonzero(self.allowed)
        nearest = places[np.argsort(values[places], kind="stable")[: len(exclude) + 1]]
        optimum = next(
            float(values[i])
            for i in nearest.tolist()
            if space.key(self.catalogue.graph(i)) not in exclude
        )
        return Verdict(optimum, values[places], function.score(function.gp.graphs_))


@dataclass
class Verdict:
    """The optimum of a question, and the values of all allowed cells and of the observed ones."""

    optimum: float
    allowed: NDArray[np.float64]
    observed: NDArray[np.float64]

    def count_better(self, value: float) -> int:
        """How many cells that may be proposed are better than a value."""
        return int((self.allowed < value - SAME).sum() - (self.observed < value - SAME).sum())


def draw_limits(
    catalogue: Catalogue, kind: str, share: float, seed: int
) -> tuple[SearchSpace, NDArray[np.bool_], list[str]]:
    """The space under random limits that about a share of its cells keep."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), int(1 / share)])
    space, costs, texts, measured = catalogue.space, {}, [], []
    for i in range(KINDS[kind]):
        prices = rng.uniform(0.2, 2.0, 4) * (1 if kind == "budget" else rng.choice([-1, 1], 4))
        costs[f"cost{i}"] = dict(zip(OPERATIONS, prices[:3].round(3).tolist(), strict=True))
        texts.append(f"sum(cost{i}) + {prices[3].round(3)}*edges".replace("+ -", "- "))
        measured.append(catalogue.measure(KnownCost.of(space, texts[-1], costs))[0])
    values = np.stack(measured)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        bounds = np.quantile(values, middle, axis=1)
        kept = (values <= bounds[:, None] + 1e-9).all(axis=0).mean()
        low, high = (middle, high) if kept < share else (low, middle)
    bounds = np.quantile(values, high, axis=1) + 1e-6
    limits = [f"{text} <= {bound!r}" for text, bound in zip(texts, bounds.tolist(), strict=True)]
    allowed: NDArray[np.bool_] = np.asarray((values <= bounds[:, None]).all(axis=0))
    return space.constrain(*limits, costs=costs), allowed, limits


def search_locally(
    space: SearchSpace, function: Acquisition, exclude: Collection[bytes], seed: int
) -> float:
    """The best value of descents over neighbours, with restarts."""
    best, rng = KBest(space, function, 1, exclude), np.random.default_rng(seed)
    for _ in range(RESTARTS):
        descend(best, rng, seconds=1e9)
    return best.found[0].value if best.found else float("inf")


class FullPool(Mutation):
    """Mutations of the observed cells, as many of each as fill the pool."""

    def _candidates(
        self,
        acquisition: Acquisition,
        exclude: set[bytes],
        rng: np.random.Generator,
        deadline: float,
    ) -> list[LabeledGraph]:
        parents = acquisition.list_observed()
        each = max(self.per_parent, 2 * self.size // len(parents))
        terms = each, self.size, deadline
        return draw_mutations(self.space, parents, exclude, rng, *terms)[: self.size]


@dataclass
class Judge:
    """Answers a search by branch and bound, and asks the others the same at some evaluations."""

    search: BranchAndBound
    truth: Truth
    seed: int
    methods: Collection[str] = METHODS
    said: list[dict[str, Any]] = field(default_factory=list)
    due: bool = False
    name: str = "branch"
    blocks: tuple[str, ...] = ("paths", "nodes", "edges")

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The proven answer; what the others would have said is kept."""
        start = time.process_time()
        pool = self.search.optimize(acquisition, k, exclude)
        seconds = time.process_time() - start
        if self.due:
            self.due = False
            self._compare(acquisition, exclude, pool, seconds)
        return pool

    def _compare(
        self, function: Acquisition, exclude: Collection[bytes], pool: Pool, seconds: float
    ) -> None:
        space, truth = self.search.space, self.truth.score(function, exclude)
        answers = {METHODS[0]: (_value(pool), seconds)}
        for size in (200, 10000):
            if f"mutation {size}" not in self.methods:
                continue
            start = time.process_time()
            found = FullPool(space, size=size, seed=self.seed).optimize(function, 1, exclude)
            answers[f"mutation {size}"] = _value(found), time.process_time() - start
        start = time.process_time()
        value = search_locally(space, function, exclude, self.seed)
        answers["local search"] = value, time.process_time() - start
        self.said += [
            {
                "method": method,
                "missed": value > truth.optimum + SAME,
                "shortfall": round(max(value - truth.optimum, 0.0), 9),
                "better": truth.count_better(value),
                "seconds": round(spent, 4),
                "proven": method != METHODS[0] or pool[0].certificate.certified,
            }
            for method, (value, spent) in answers.items()
        ]


def _value(pool: Pool) -> float:
    return float(pool[0].lcb) if len(pool) and pool[0].lcb is not None else float("inf")


def ask(
    catalogue: Catalogue,
    table: Benchmark,
    kernel: str,
    limits: tuple[str, float],
    seed: int,
    given: argparse.Namespace,
) -> Iterator[dict[str, Any]]:
    """What every method says in one search under random limits."""
    kind, share = limits
    space, allowed, _ = draw_limits(catalogue, kind, share, seed)
    rng = np.random.default_rng(seed)
    judge = Judge(
        BranchAndBound(space, None, threads=1), Truth(catalogue, allowed), seed, given.methods
    )
    judge.search.load_code(kernel != "linear")
    judge.search.prepare(kernel != "linear")
    optimizer = Optimizer(space, Settings(kernel=kernel), judge, seed=seed, progress=None)
    for done in range(max(given.asked_at) + 1):
        judge.due = done in given.asked_at
        (proposal,) = optimizer.ask(1)
        optimizer.tell(proposal.graph, table.query(proposal.graph, rng)["error"])
        for row in judge.said:
            yield {
                "kernel": kernel,
                "kind": kind,
                "share": share,
                "cells": int(allowed.sum()),
                "seed": seed,
                "evaluations": done,
                **row,
            }
        judge.said.clear()


def show_table(rows: list[dict[str, Any]]) -> None:
    """The table of docs/fronts.md: each method under each kernel, kind of limit and share."""
    print("| kernel | limits | share | method | missed | shortfall | better | processor s |")
    print("|---|---|---|---|---|---|---|---|")
    groups: dict[tuple[str, str, float, int], list[dict[str, Any]]] = {}
    for row in rows:
        place = METHODS.index(row["method"])
        groups.setdefault((row["kernel"], row["kind"], -row["share"], place), []).append(row)
    for (kernel, kind, share, place), own in sorted(groups.items()):
        missed = [row for row in own if row["missed"]]
        lost = f"{fmean(row['shortfall'] for row in missed):.3f}" if missed else "–"
        better = f"{np.median([row['better'] for row in missed]):.0f}" if missed else "–"
        seconds = fmean(row["seconds"] for row in own)
        print(
            f"| {kernel} | {kind} | {-100 * share:g} % | {METHODS[place]} | "
            f"{len(missed)} of {len(own)} | {lost} | {better} | {seconds:.2f} |"
        )


def main() -> None:
    """Ask, or show what was said."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:2", help="such as 0:3")
    parser.add_argument("--kernels", nargs="+", default=["linear", "exponential"])
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    parser.add_argument("--asked-at", nargs="+", type=int, default=ASKED_AT)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--out", type=Path, default=Path("exactness.jsonl"))
    parser.add_argument("--table", type=Path, help="only show what a file has")
    given = parser.parse_args()
    if given.table is None:
        run(given)
    read = (given.table or given.out).read_text().splitlines()
    show_table([json.loads(line) for line in read])


def run(given: argparse.Namespace) -> None:
    """Go on where a file ends: a search that it has whole is not made again."""
    done = set()
    if given.out.exists():
        rows = [json.loads(line) for line in given.out.read_text().splitlines()]
        done = {(r["kernel"], r["kind"], r["share"], r["seed"]) for r in rows}
    catalogue, table = Catalogue(nasbench101()), benchmark("nb101")
    first, last = map(int, given.seeds.split(":"))
    for seed in range(first, last):
        for share in given.shares:
            for kind in KINDS:
                for kernel in given.kernels:
                    if (kernel, kind, share, seed) in done:
                        continue
                    said = list(ask(catalogue, table, kernel, (kind, share), seed, given))
                    with given.out.open("a") as file:
                        file.writelines(json.dumps(row) + "\n" for row in said)


if __name__ == "__main__":
    main()
