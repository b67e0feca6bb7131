"""What a search is about: a benchmark's table, a Python function or a command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.acquisition.satisfiable import require_satisfiable
from nasgoat.benchmarks import Benchmark
from nasgoat.benchmarks import benchmark as find_benchmark
from nasgoat.cli.run_folder import slug
from nasgoat.errors import SettingError
from nasgoat.evaluation import Evaluator, Isolated, Outcome
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace, find_space

_DEFAULT_BENCHMARK = "nb201/cifar10"


@dataclass(frozen=True)
class Limits:
    """What one evaluation may take."""

    timeout: float | None = None
    memory_megabytes: float | None = None
    retries: int = 1


@dataclass(frozen=True)
class Task:
    """A space and how its graphs are evaluated.

    Args:
        name: For people and file names.
        space: The space to search.
        evaluator: Evaluates a graph.
        objective: What must be the same when the search is resumed.
        metric: What ``error`` means.
        benchmark: The benchmark, if it is one.
        noisy: Whether each evaluation is one training's value.
    """

    name: str
    space: SearchSpace
    evaluator: Evaluator
    objective: dict[str, Any]
    metric: str = "error"
    benchmark: Benchmark | None = None
    noisy: bool = False

    @property
    def slug(self) -> str:
        """The name as part of a path: letters, digits and dashes alone."""
        return slug(self.name)

    def regret(self, graph: LabeledGraph) -> float | None:
        """How much the mean error lies above the best of the table; None without a table."""
        if self.benchmark is None:
            return None
        return self.benchmark.mean_error(graph) - self.benchmark.optimum


@dataclass(frozen=True)
class TableEvaluator:
    """Looks a graph up in a benchmark's table; a noisy one draws by seed and number."""

    benchmark: Benchmark
    seed: int

    def __call__(self, graph: LabeledGraph, number: int) -> Outcome:
        """The metrics in the table."""
        rng = np.random.default_rng([self.seed, 1, number])
        return Outcome.of(self.benchmark.query(graph, rng))


def make_task(
    benchmark: str | None,
    noisy: bool,
    space: str | None,
    objective: str | None,
    command: str | None,
    limits: Limits,
    seed: int,
) -> Task:
    """The task that the options of ``nasgoat search`` describe."""
    if objective is None and command is None:
        if space is not None:
            raise SettingError("--space must come with --objective or --command, got neither")
        table = find_benchmark(benchmark or _DEFAULT_BENCHMARK, noisy)
        declared = {"benchmark": table.name, "noisy": noisy}
        evaluator = TableEvaluator(table, seed)
        return Task(table.name, table.space, evaluator, declared, table.metric, table, noisy)
    if benchmark is not None or noisy:
        raise SettingError("--benchmark must come without --objective and --command, got both")
    if space is None:
        raise SettingError("--objective and --command must come with --space, got none")
    found = find_space(space)
    require_satisfiable(found)
    argv = _split(command) if command is not None else None
    memory = None if limits.memory_megabytes is None else limits.memory_megabytes * 2**20
    isolated = Isolated(objective, argv, limits.timeout, memory, limits.retries, seed)
    isolated.check()
    what = {"objective": objective} if objective else {"command": list(argv or ())}
    name = f"{Path(space).stem} {objective or (argv or ('command',))[0]}"
    return Task(name, found, isolated, what)


def _split(command: str) -> tuple[str, ...]:
    try:
        parts = tuple(shlex.split(command))
    except ValueError as problem:
        raise SettingError(f"--command must be quoted rightly, got {problem}") from None
    if not parts:
        raise SettingError("--command must name a program, got nothing")
    return parts
