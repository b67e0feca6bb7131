"""The comparison of methods: what it measures, and one run of it.

After every evaluation the search would return the cell of lowest error so far. A run keeps that
cell's error as it was observed, its mean error over all trainings (regret is measured on it) and
its test error. The test error never decides anything.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np

from nasgoat.acquisition import Status
from nasgoat.bayesopt import SearchResult, run
from nasgoat.benchmarks import Benchmark, benchmark, benchmark_names
from nasgoat.errors import DataError, SettingError
from nasgoat.experiments.compare_methods import MethodSpec, TimedAsker
from nasgoat.experiments.study import (
    Record,
    Run,
    check_least,
    check_names,
    run_id,
    versions,
)

SETTINGS = ("deterministic", "noisy")
REACHED = 1e-9  # percentage points: table values are compared with themselves
_NOISE_STREAM = 1  # keeps the draws of trainings apart from the methods' random numbers


@dataclass(frozen=True)
class CompareStudy:
    """Methods on benchmarks, over seeds.

    Args:
        benchmarks: Names of benchmarks.
        methods: The methods.
        settings: ``"deterministic"`` (the mean over trainings) and/or ``"noisy"`` (one at random).
        seeds: Seeds 0, 1, ...; all methods share the initial design of a seed.
        evaluations: Budget of a run.
        initial: Random graphs of it.

    Example:
        >>> study = CompareStudy(("nb201/cifar10",), (MethodSpec("random", "random"),), seeds=2)
        >>> [run.id for run in study.runs()]
        ['nb201-cifar10.deterministic.random.seed0', 'nb201-cifar10.deterministic.random.seed1']
    """

    benchmarks: Sequence[str]
    methods: Sequence[MethodSpec]
    settings: Sequence[str] = ("deterministic",)
    seeds: int = 20
    evaluations: int = 160
    initial: int = 10

    kind: ClassVar[str] = "compare"

    def __post_init__(self) -> None:
        check_names("benchmarks", self.benchmarks, benchmark_names())
        check_names("settings", self.settings, SETTINGS)
        counts = {"seeds": self.seeds, "evaluations": self.evaluations, "initial": self.initial}
        check_least(counts, 1)
        if self.evaluations < self.initial:
            raise SettingError(
                f"evaluations must be at least initial, {self.initial}, got {self.evaluations}"
            )

    def runs(self) -> list[Run]:
        """Seed by seed, so that whatever is done is the same for every method."""
        most = max([self.seeds, *(method.seeds or 0 for method in self.methods)])
        gone = set(self._left_out())
        return [
            self._run(name, setting, method, seed)
            for setting, seed, name, method in product(
                self.settings, range(most), self.benchmarks, self.methods
            )
            if seed < (method.seeds or self.seeds)
            and (name, setting) not in gone
            and not method.missing
        ]

    def left_out(self) -> list[str]:
        """Benchmarks without a table, methods without their package."""
        tables = [f"{n}, {s}: {why}" for (n, s), why in self._left_out().items()]
        packages = [f"{m.name}: not installed; {m.missing}" for m in self.methods if m.missing]
        return tables + packages

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        return {
            "benchmarks": list(self.benchmarks),
            "settings": list(self.settings),
            "seeds": self.seeds,
            "evaluations": self.evaluations,
            "initial": self.initial,
            "methods": [{**m.to_dict(), "seeds": m.seeds} for m in self.methods],
        }

    def _run(self, name: str, setting: str, method: MethodSpec, seed: int) -> Run:
        settings = {
            "benchmark": name,
            "noisy": setting == "noisy",
            "method": method.to_dict(),
            "seed": seed,
            "evaluations": self.evaluations,
            "initial": self.initial,
        }
        return Run(run_id(name, setting, method.name, f"seed{seed}"), settings)

    def _left_out(self) -> dict[tuple[str, str], str]:
        found = {}
        for name, setting in product(self.benchmarks, self.settings):
            try:
                _load_table(name, setting == "noisy")
            except (DataError, SettingError) as problem:
                found[name, setting] = str(problem)
        return found


def execute(settings: Mapping[str, Any]) -> list[Record]:
    """One run: its summary, then one line per evaluation."""
    spec, seed = MethodSpec(**settings["method"]), settings["seed"]
    table = _load_table(settings["benchmark"], settings["noisy"])
    evaluations, noisy = settings["evaluations"], settings["noisy"]
    rng = np.random.default_rng([seed, _NOISE_STREAM])
    begun, used = time.perf_counter(), time.process_time()
    initial = min(settings["initial"], evaluations)
    asker = TimedAsker(spec.make(table.space, initial, seed, evaluations, noisy))
    result = run(asker, lambda graph: table.query(graph, rng), evaluations, spec.batch_size)
    seconds = {
        "seconds": round(time.perf_counter() - begun, 3),
        "cpu_seconds": round(time.process_time() - used, 3),
        "seconds_per_iteration": round(asker.used / max(asker.asked, 1), 4),
    }
    lines = _list_evaluations(result, table, seed)
    summary = {
        **_summarise(lines, table, settings),
        "certified": _measure_certified(result),
        **seconds,
    }
    return [{**summary, "versions": versions()}, *lines]


@lru_cache(maxsize=2)
def _load_table(name: str, noisy: bool) -> Benchmark:
    return benchmark(name, noisy)


def _list_evaluations(result: SearchResult, table: Benchmark, seed: int) -> list[Record]:
    """One line per evaluation."""
    best = np.inf
    lines = []
    for evaluation in result.evaluations:
        best = min(best, evaluation.error)
        proposal = evaluation.proposal
        certificate = proposal.certificate
        lines.append(
            {
                "kind": "evaluation",
                "seed": seed,
                "number": evaluation.number,
                "iteration": evaluation.iteration,
                "graph": proposal.graph.to_dict(),
                "error": evaluation.error,
                "mean_error": table.mean_error(proposal.graph),
                "test_error": evaluation.metrics.get("test_error"),
                "best_error": best,
                "lcb": proposal.lcb,
                "mean": proposal.mean,
                "std": proposal.std,
                "status": str(certificate.status),
                "bound": certificate.bound,
                "gap": certificate.gap,
                "solve_seconds": certificate.seconds,
            }
        )
    return lines


def _summarise(lines: Sequence[Record], table: Benchmark, settings: Mapping[str, Any]) -> Record:
    best = [line for line in lines if line["error"] == line["best_error"]]
    # The first of equals is what a search returns.
    best = [line for i, line in enumerate(best) if not i or line["error"] < best[i - 1]["error"]]
    optimum = table.optimum
    reached = [line["number"] + 1 for line in best if line["mean_error"] - optimum < REACHED]
    last = best[-1]
    return {
        "benchmark": settings["benchmark"],
        "noisy": settings["noisy"],
        "method": settings["method"]["name"],
        "seed": settings["seed"],
        "evaluations": settings["evaluations"],
        "metric": table.metric,
        "optimum": round(optimum, 6),
        "steps": [[line["number"] + 1, *map(_round, _list_errors(line))] for line in best],
        "regret": max(round(last["mean_error"] - optimum, 6), 0.0),
        "test_error": _round(last["test_error"]),
        "reached": reached[0] if reached else None,
        "iterations": max(line["iteration"] for line in lines),
    }


def _list_errors(line: Record) -> tuple[float, float, float | None]:
    return line["error"], line["mean_error"], line["test_error"]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _measure_certified(result: SearchResult) -> float | None:
    """Share of the iterations whose proposals are all proven optimal; None without any proof."""
    by_iteration: dict[int, list[Status]] = {}
    for evaluation in result.evaluations:
        status = evaluation.proposal.certificate.status
        if status is not Status.INITIAL:
            by_iteration.setdefault(evaluation.iteration, []).append(status)
    proven = [all(s is Status.OPTIMAL for s in found) for found in by_iteration.values()]
    kinds = {status for found in by_iteration.values() for status in found}
    return None if kinds <= {Status.HEURISTIC} else sum(proven) / len(proven)
