"""What a search is about: a space, and how its graphs are evaluated."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.acquisition import require_satisfiable
from nasgoat.benchmarks import Benchmark
from nasgoat.benchmarks import benchmark as find_benchmark
from nasgoat.benchmarks.short_trainings import list_trainings
from nasgoat.cli.options import Evaluating
from nasgoat.cli.search import Target
from nasgoat.errors import SettingError
from nasgoat.evaluation import Evaluator, Fidelities, Fidelity, Isolated, Outcome
from nasgoat.evaluation.objectives import ERROR, FailureKind
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace, load_space

_DEFAULT_BENCHMARK = "nb201/cifar10"


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
        comparable: Whether the best of the table is what is sought: one error, without limits that
            the table does not have.
    """

    name: str
    space: SearchSpace
    evaluator: Evaluator
    objective: dict[str, Any]
    metric: str = "error"
    benchmark: Benchmark | None = None
    noisy: bool = False
    comparable: bool = True

    def keep_in(self, folder: Path) -> Task:
        """The same task, its objective told the folder of the run."""
        if not isinstance(self.evaluator, Isolated):
            return self
        share = replace(self.evaluator.share, folder=str(folder.absolute()))
        checkpoints = str((folder / "checkpoints").absolute())
        told = replace(self.evaluator, share=share, checkpoints=checkpoints)
        return replace(self, evaluator=told)

    def measure_regret(self, graph: LabeledGraph) -> float | None:
        """How much the mean error lies above the best of the table; None without such a one."""
        if self.benchmark is None or not self.comparable:
            return None
        return self.benchmark.mean_error(graph) - self.benchmark.optimum


@dataclass(frozen=True)
class TableEvaluator:
    """Looks a graph up in a benchmark's table; a noisy one draws by seed and number."""

    benchmark: Benchmark
    seed: int
    shorter: Mapping[float, Benchmark] = field(default_factory=dict)
    needed: tuple[str, ...] = ERROR

    def __call__(
        self, graph: LabeledGraph, number: int, fidelity: Fidelity | None = None
    ) -> Outcome:
        """The metrics in the table; a failure where it lacks one of a graph."""
        rng = np.random.default_rng([self.seed, 1, number])
        at = self.benchmark if fidelity is None else self.shorter[fidelity.value]
        found = at.query(graph, rng)
        if missing := [name for name in self.needed if name not in found]:
            reason = f"the table {at.name} must have {missing[0]} of the graph, got none"
            return Outcome.failed(FailureKind.VALUE, reason)
        return Outcome.of(found, self.needed)


def make_task(
    target: Target, evaluating: Evaluating, seed: int, fidelities: Fidelities | None = None
) -> Task:
    """The task that the options of ``nasgoat search`` describe."""
    if target.objective is None and target.command is None:
        return _make_table_task(target, evaluating, seed, fidelities)
    if target.benchmark is not None:
        raise SettingError("--benchmark must come without --objective and --command, got both")
    if target.noisy:
        message = "--noisy must come with a benchmark, got --objective or --command"
        raise SettingError(f"{message}; --repeats 8 evaluates promising graphs again")
    if target.space is None:
        raise SettingError("--objective and --command must come with --space, got none")
    space = load_space(target.space, target.nodes)
    require_satisfiable(space)
    objective = target.objective
    argv = _split(target.command) if target.command is not None else None
    memory = None if evaluating.memory_limit is None else evaluating.memory_limit * 2**20
    if memory is not None and not 0 < memory < float("inf"):
        given = f"{evaluating.memory_limit:g}"
        raise SettingError(f"--memory-limit must be a positive number of megabytes, got {given}")
    limits = (evaluating.timeout, memory, evaluating.retries)
    where = (evaluating.share, evaluating.fresh_process)
    isolated = Isolated(objective, argv, *limits, seed, *where)
    isolated.check()
    what = {"objective": objective} if objective else {"command": list(argv or ())}
    size = "" if target.nodes is None else f" {target.nodes}"
    name = f"{Path(target.space).stem}{size} {objective or (argv or ('command',))[0]}"
    return Task(name, space, isolated, what)


def _make_table_task(
    target: Target, evaluating: Evaluating, seed: int, fidelities: Fidelities | None
) -> Task:
    """The task of a benchmark, whose table answers at once."""
    # A table needs no process of its own, let alone a device.
    needless = {
        "--gpus": evaluating.gpus,
        "--threads-per-worker": evaluating.threads_per_worker,
        "--fresh-process": evaluating.fresh_process,
        "--timeout": evaluating.timeout is not None,
        "--memory-limit": evaluating.memory_limit is not None,
    }
    given = {"--space": target.space is not None, "--nodes": target.nodes is not None}
    for option, value in {**needless, **given}.items():
        if value:
            raise SettingError(f"{option} must come with --objective or --command, got neither")
    name = _DEFAULT_BENCHMARK if target.benchmark is None else target.benchmark
    table = find_benchmark(name, target.noisy)
    shorter = {}
    if fidelities is not None:
        shorter = list_trainings(table, [level.value for level in fidelities])
    return Task(
        name=table.name,
        space=table.space,
        evaluator=TableEvaluator(table, seed, shorter),
        objective={"benchmark": table.name, "noisy": target.noisy},
        metric=table.metric,
        benchmark=table,
        noisy=target.noisy,
    )


def _split(command: str) -> tuple[str, ...]:
    try:
        parts = tuple(shlex.split(command))
    except ValueError as problem:
        raise SettingError(f"--command must be quoted rightly, got {problem}") from None
    if not parts:
        raise SettingError("--command must name a program, got nothing")
    return parts
