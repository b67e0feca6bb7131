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
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from nasgoat.acquisition import Status
from nasgoat.bayesopt import SearchResult, run
from nasgoat.bayesopt.recommendation import recommend
from nasgoat.benchmarks import Benchmark, benchmark, list_benchmarks
from nasgoat.errors import SettingError
from nasgoat.experiments.methods import MethodSpec, TimedAsker, read_method
from nasgoat.experiments.study import (
    ANY_NAMES,
    ExperimentRun,
    Record,
    Study,
    count_from,
    expect_names,
)
from nasgoat.toml_reader import TABLE, TomlDocument

SETTINGS = ("deterministic", "noisy")
REACHED = 1e-9  # percentage points: table values are compared with themselves
_NOISE_STREAM = 1  # keeps the draws of trainings apart from the methods' random numbers


@dataclass(frozen=True)
class CompareStudy(Study):
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

    benchmarks: Annotated[Sequence[str], expect_names(list_benchmarks())]
    methods: Annotated[Sequence[MethodSpec], ANY_NAMES]
    settings: Annotated[Sequence[str], expect_names(SETTINGS)] = ("deterministic",)
    seeds: Annotated[int, count_from(1)] = 20
    evaluations: Annotated[int, count_from(1)] = 160
    initial: Annotated[int, count_from(1)] = 10

    kind: ClassVar[str] = "compare"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evaluations < self.initial:
            raise SettingError(
                f"evaluations must be at least initial, {self.initial}, got {self.evaluations}"
            )

    @classmethod
    def read(cls, document: TomlDocument) -> Self:
        """The comparison that a file declares, each method by name or by its own table."""
        content = cls._read_keys(document, method=TABLE)
        tables = content.pop("method", {})
        if "methods" in content:
            content["methods"] = [read_method(document, m, tables) for m in content["methods"]]
        return document.build(cls, (), content)

    def runs(self) -> list[ExperimentRun]:
        """Seed by seed, so that whatever is done is the same for every method."""
        most = max([self.seeds, *(method.seeds or 0 for method in self.methods)])
        gone = self._find_missing_tables()
        return [
            self._run(name, setting, method, seed)
            for setting, seed, name, method in product(
                self.settings, range(most), self.benchmarks, self.methods
            )
            if seed < (method.seeds or self.seeds)
            and (name, setting == "noisy") not in gone
            and not method.missing
        ]

    def list_left_out(self) -> list[str]:
        """Benchmarks without a table, methods without their package."""
        gone = self._find_missing_tables().items()
        tables = [f"{name}, {SETTINGS[noisy]}: {why}" for (name, noisy), why in gone]
        packages = [f"{m.name}: not installed; {m.missing}" for m in self.methods if m.missing]
        return tables + packages

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        declared = super().declaration()
        del declared["methods"]
        return {**declared, "methods": [{**m.to_dict(), "seeds": m.seeds} for m in self.methods]}

    def _run(self, name: str, setting: str, method: MethodSpec, seed: int) -> ExperimentRun:
        settings = {
            "benchmark": name,
            "noisy": setting == "noisy",
            "method": method.to_dict(),
            "seed": seed,
            "evaluations": self.evaluations,
            "initial": self.initial,
        }
        return ExperimentRun.from_parts(
            name, setting, method.name, f"seed{seed}", settings=settings
        )

    def _find_missing_tables(self) -> dict[tuple[Any, ...], str]:
        noisy = [setting == "noisy" for setting in self.settings]
        return self._find_missing(product(self.benchmarks, noisy), _load_table)

    @staticmethod
    def execute(settings: Mapping[str, Any]) -> list[Record]:
        """One run: its summary, then one line per evaluation."""
        spec, seed = MethodSpec(**settings["method"]), settings["seed"]
        evaluations, noisy = settings["evaluations"], settings["noisy"]
        table = _load_table(settings["benchmark"], noisy)
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
        certified = {"certified": _measure_certified(result)}
        return [_summarise(lines, table, settings) | certified | seconds, *lines]


@lru_cache(maxsize=2)
def _load_table(name: str, noisy: bool) -> Benchmark:
    return benchmark(name, noisy)


def _list_evaluations(result: SearchResult, table: Benchmark, seed: int) -> list[Record]:
    """One line per evaluation, with what would be recommended after it."""
    graphs = [evaluation.graph for evaluation in result.evaluations]
    errors = [evaluation.error for evaluation in result.evaluations]
    lines: list[Record] = []
    for i, evaluation in enumerate(result.evaluations):
        best = recommend(graphs[: i + 1], errors[: i + 1])
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
                "best_error": best.error,
                "recommended": best.place,
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
    """What is kept of a run besides its lines: how errors fell, and the final regret."""
    optimum, steps, shown = table.optimum, [], None
    reached = None
    for line in lines:
        best = lines[line["recommended"]]
        errors = (line["best_error"], best["mean_error"], best["test_error"])
        if errors != shown:
            steps.append([line["number"] + 1, *map(_round, errors)])
            shown = errors
        if reached is None and best["mean_error"] - optimum < REACHED:
            reached = line["number"] + 1
    last = lines[lines[-1]["recommended"]]
    return {
        "benchmark": settings["benchmark"],
        "noisy": settings["noisy"],
        "method": settings["method"]["name"],
        "seed": settings["seed"],
        "evaluations": settings["evaluations"],
        "metric": table.metric,
        "optimum": round(optimum, 6),
        "steps": steps,
        "regret": max(round(last["mean_error"] - optimum, 6), 0.0),
        "test_error": _round(last["test_error"]),
        "reached": reached,
        "iterations": max(line["iteration"] for line in lines),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _measure_certified(result: SearchResult) -> float | None:
    """Share of the iterations whose proposals are all proven optimal; None without any proof."""
    by_iteration: dict[int, list[Status]] = {}
    for evaluation in result.evaluations:
        status = evaluation.proposal.certificate.status
        if status.optimized:
            by_iteration.setdefault(evaluation.iteration, []).append(status)
    proven = [all(s is Status.OPTIMAL for s in found) for found in by_iteration.values()]
    kinds = {status for found in by_iteration.values() for status in found}
    return None if kinds <= {Status.HEURISTIC} else sum(proven) / len(proven)
