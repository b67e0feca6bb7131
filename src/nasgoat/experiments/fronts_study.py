"""Fronts and limits: what several methods find of a known table, and one run of it.

Notation
    HV    hypervolume of (log error, other values), reference at the 80 % quantiles of the space,
          relative to that of the true front
    share of the distinct points of the true front that were evaluated
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from nasgoat.baselines.several_objectives import (
    FRONT_METHODS,
    SEVERAL_METHODS,
    SeveralMethod,
    find_several_method,
)
from nasgoat.bayesopt import Optimizer, Settings
from nasgoat.bayesopt.front import measure_progress
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.errors import UnknownNameError
from nasgoat.experiments.fronts_problem import (
    CONSTRAINED,
    KERNEL_ENDINGS,
    OURS,
    Arena,
    FrontProblem,
)
from nasgoat.experiments.study import ANY_NAMES, ExperimentRun, Key, Record, Study, count_from
from nasgoat.graphs import LabeledGraph

#: Baselines that draw and move within a space, and so keep its limits.
WITHIN_SPACE = ("random", "local-search")
_BATCH = 5
_ROUND = 6


def _check_problems(key: str, texts: Sequence[str]) -> None:
    for text in texts:
        FrontProblem.parse(text)


def _check_methods(key: str, names: Sequence[str]) -> None:
    known = (*OURS, CONSTRAINED, *SEVERAL_METHODS, *FRONT_METHODS)
    for name in names:
        if name not in known:
            raise UnknownNameError(key, name, known)


@lru_cache(maxsize=16)  # runs go through all problems, seed by seed
def _load_arena(text: str) -> Arena:
    return Arena(text)


@dataclass(frozen=True)
class FrontsStudy(Study):
    """Methods on problems of several objectives or under limits, over seeds.

    Args:
        problems: Texts; see :mod:`~nasgoat.experiments.fronts_problem`.
        methods: ``"hypervolume"``, ``"chebyshev"`` and ``"epsilon"`` are ours for several values
            under the exponential kernel, ``"hypervolume-e"`` with one that the evidence chooses,
            ``"hypervolume-t"`` with kernels together, ``"goat"`` for one under limits; the others
            are baselines, of which ``"qnehvi"`` needs BoTorch and is left out without it.
        seeds: How many seeds.
        first_seed: The first of them.
        evaluations: Budget of a run.
        initial: Random graphs of it, the same for every method.

    Example:
        >>> study = FrontsStudy(["nb201/cifar10: error, latency"], ["hypervolume", "goat"], 1)
        >>> [run.id for run in study.runs()]
        ['nb201-cifar10.error-latency.hypervolume.seed0']
    """

    problems: Annotated[Sequence[str], Key(ANY_NAMES.value, _check_problems)]
    methods: Annotated[Sequence[str], Key(ANY_NAMES.value, _check_methods)]
    seeds: Annotated[int, count_from(1)] = 10
    first_seed: Annotated[int, count_from(0)] = 0
    evaluations: Annotated[int, count_from(1)] = 160
    initial: Annotated[int, count_from(1)] = 10

    kind: ClassVar[str] = "fronts"

    def runs(self) -> list[ExperimentRun]:
        """Seed by seed, so that whatever is done is the same for every method."""
        gone = self._find_missing(((text,) for text in self.problems), _load_table)
        absent = self._find_absent_methods()
        found = []
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            for text in self.problems:
                problem = FrontProblem.parse(text)
                several = len(problem.names) > 1
                own = (*OURS, *FRONT_METHODS) if several else (CONSTRAINED,)
                found += [
                    self._run(text, problem, method, seed)
                    for method in self.methods
                    if (text,) not in gone and method in (*own, *SEVERAL_METHODS)
                    if (method,) not in absent
                ]
        return found

    def _run(self, text: str, problem: FrontProblem, method: str, seed: int) -> ExperimentRun:
        settings = {
            "problem": text,
            "method": method,
            "seed": seed,
            "evaluations": self.evaluations,
            "initial": self.initial,
        }
        limits = "-".join(f"{name}{share:g}" for name, share in problem.limits)
        what = "-".join(problem.names) + (f"-{limits}" if limits else "")
        return ExperimentRun.from_parts(
            problem.benchmark, what, method, f"seed{seed}", settings=settings
        )

    def list_left_out(self) -> list[str]:
        """Problems without a table, methods without their package."""
        gone = self._find_missing(((text,) for text in self.problems), _load_table)
        missing = {**gone, **self._find_absent_methods()}
        return [f"{what}: {why}" for (what,), why in missing.items()]

    def _find_absent_methods(self) -> dict[tuple[Any, ...], str]:
        optional = ((method,) for method in self.methods if method in FRONT_METHODS)
        return self._find_missing(optional, find_several_method)

    @staticmethod
    def execute(settings: Mapping[str, Any]) -> list[Record]:
        """One run: its summary alone."""
        arena = _load_arena(settings["problem"])
        begun, used = time.perf_counter(), time.process_time()
        rows = list(_search(arena, settings))
        seconds = {
            "seconds": round(time.perf_counter() - begun, 3),
            "cpu_seconds": round(time.process_time() - used, 3),
        }
        told = {key: settings[key] for key in ("problem", "method", "seed", "evaluations")}
        return [told | _summarise(arena, rows, settings["initial"]) | seconds]


def _load_table(text: str) -> Benchmark:
    return benchmark(FrontProblem.parse(text).benchmark)


def _search(arena: Arena, settings: Mapping[str, Any]) -> Iterator[Mapping[str, float]]:
    """The metrics of every evaluation of a run, in order."""
    method, seed, left = settings["method"], settings["seed"], settings["evaluations"]
    rng = np.random.default_rng(0)  # tables answer means
    space, names, initial = arena.table.space, arena.problem.names, settings["initial"]
    if method not in (*OURS, CONSTRAINED):
        limits = [partial(_measure_excess, name, bound) for name, bound in arena.bounds.items()]
        if method in WITHIN_SPACE:
            space = arena.limit_space()
        asker = find_several_method(method)(space, names, limits, initial, seed)
        yield from _drive(asker, arena, left)
        return
    ending = next((end for end in KERNEL_ENDINGS if method.endswith(end)), "")
    function = "lcb" if method == CONSTRAINED else method.removesuffix(ending)
    chosen = Settings(acquisition=function, kernel=KERNEL_ENDINGS.get(ending, "exponential"))
    limits_said = arena.list_limits()
    optimizer = Optimizer(
        space,
        chosen,
        "auto",
        initial,
        seed,
        None,
        minimise=list(names),
        limits=limits_said,
        learn_failures=arena.failing_share > 0,
    )
    while left > 0:
        asked = optimizer.ask(min(_BATCH, left))
        if not asked:
            return
        for proposal in asked:
            metrics = arena.table.query(proposal.graph, rng)
            plain = optimizer.objectives.plain  # every limit is one of the space
            if arena.is_measured(metrics):
                optimizer.tell(proposal.graph, metrics["error"] if plain else metrics)
            else:
                optimizer.tell_failed(proposal.graph)
            yield metrics
        left -= len(asked)


def _measure_excess(name: str, bound: float, metrics: Mapping[str, float]) -> float:
    return metrics[name] - bound


def _drive(asker: SeveralMethod, arena: Arena, evaluations: int) -> Iterator[Mapping[str, float]]:
    rng = np.random.default_rng(0)
    for _ in range(evaluations):
        graph: LabeledGraph | None = asker.ask()
        if graph is None:
            return
        metrics = arena.table.query(graph, rng)
        if arena.is_measured(metrics):
            asker.tell(graph, metrics)
        else:
            asker.tell_failed(graph)
        yield metrics


def _summarise(arena: Arena, rows: Sequence[Mapping[str, float]], initial: int) -> Record:
    """What a run found; steps are [evaluation, relative hypervolume, share of the front].

    Evaluations that failed, beyond the random ones at the start, are counted.
    """
    if len(arena.problem.names) == 1:
        return _summarise_limited(arena, rows, initial)
    measured = [i for i, row in enumerate(rows) if arena.is_measured(row)]
    points = np.array([arena.scale(rows[i]) for i in measured])
    volumes = np.array(measure_progress(points, arena.reference)) / arena.volume
    wanted = {tuple(point) for point in arena.front.tolist()}
    found, steps = set[tuple[float, ...]](), list[list[float]]()
    for place, point, volume in zip(measured, map(tuple, points.tolist()), volumes, strict=True):
        found |= {point} & wanted
        step = [round(float(volume), _ROUND), round(len(found) / len(wanted), _ROUND)]
        if not steps or steps[-1][1:] != step:
            steps.append([place + 1, *step])
    failed = sum(not arena.is_measured(row) for row in rows[initial:])
    return {"front": len(wanted), "steps": steps, "failed": failed}


def _summarise_limited(arena: Arena, rows: Sequence[Mapping[str, float]], initial: int) -> Record:
    """Steps are [evaluation, lowest error that keeps every limit]."""
    name, best, steps = arena.problem.names[0], np.inf, list[list[float]]()
    reached = None
    for i, row in enumerate(rows):
        if not arena.is_measured(row):
            continue
        if arena.keeps(row, known=True) and arena.keeps(row, known=False) and row[name] < best:
            best = row[name]
            steps.append([i + 1, round(best, _ROUND)])
            if best <= arena.optimum:
                reached = i + 1
    own = [row for row in rows[initial:] if arena.is_measured(row)]
    return {
        "feasible": round(arena.feasible_share, _ROUND),
        "optimum": round(arena.optimum, _ROUND),
        "steps": steps,
        "reached": reached,
        "broken_known": sum(not arena.keeps(row, known=True) for row in own),
        "wasted": sum(not arena.keeps(row, known=False) for row in own),
    }
