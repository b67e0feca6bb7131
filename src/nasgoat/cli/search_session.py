"""One session of a search: what is searched, and the way from its study's state to its end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.acquisition import Choice, choose, make_optimizer, require_satisfiable
from nasgoat.bayesopt import Asker, Driver, Events, Plan, SearchResult, Settings, Ticket, Workers
from nasgoat.benchmarks import Benchmark
from nasgoat.benchmarks import benchmark as find_benchmark
from nasgoat.cli.options import Solving, make_slug
from nasgoat.cli.search import Evaluating, Output, Proposing, Target
from nasgoat.cli.search_output import Painter, ProgressTable
from nasgoat.cli.stored_runs import choose_run
from nasgoat.cli.terminal import command_line, note
from nasgoat.errors import SettingError
from nasgoat.evaluation import Evaluator, Isolated, Outcome
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations import StudyLedger
from nasgoat.progress import say_if_slow
from nasgoat.search_methods import OURS, make_method, own_batch
from nasgoat.spaces import SearchSpace, load_space

_DEFAULT_BENCHMARK = "nb201/cifar10"
_PICTURE_SECONDS = 20.0  # how long the end of a search waits for its last pictures


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

    def kept_in(self, folder: Path) -> Task:
        """The same task, its objective told the folder of the run."""
        if not isinstance(self.evaluator, Isolated):
            return self
        share = replace(self.evaluator.share, folder=str(folder.absolute()))
        return replace(self, evaluator=replace(self.evaluator, share=share))

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


class Session:
    """One session of a search, by the options of ``nasgoat search``; wrong ones are refused here.

    Attributes:
        task: What is searched, and how graphs are evaluated.
        plan: Budget, batch size, asynchronous or not.
        settings: Those of our own method; None for another method.
        choice: The acquisition optimiser of our own method; None for another method.
        declaration: What must be the same when the search is resumed.
        study: The name of the study.
        folder: Where the run's files go.
        address: Where the study is stored.
    """

    def __init__(
        self,
        target: Target,
        proposing: Proposing,
        solving: Solving,
        evaluating: Evaluating,
        output: Output,
    ) -> None:
        settings, ours = proposing.settings(target.noisy), proposing.method == OURS
        self.proposing, self._output = proposing, output
        self._effort = solving.effort(settings.time_limit)
        batch = own_batch(proposing.method) if proposing.batch is None else proposing.batch
        stop = proposing.stop_rule()
        self.plan = Plan(proposing.evaluations, batch, evaluating.asynchronous, stop)
        settings = replace(settings, time_limit=self._effort.time_limit)
        with say_if_slow(None if output.quiet else note, "getting the space and objective ready"):
            self.task = make_task(target, evaluating, proposing.seed)
        self.settings: Settings | None = settings if ours else None
        self.choice: Choice | None = None
        if ours:
            kernel, blocks = settings.widest_kernel
            self.choice = choose(
                self.task.space,
                kernel,
                settings.questions,
                solving.optimizer,
                blocks,
                settings.acquisition,
            )
        declaration = {
            "objective": self.task.objective,
            "direction": "minimize",
            "method": proposing.method,
            "settings": settings.declare() if ours else None,
            "optimizer": solving.optimizer if ours else None,
            "initial": proposing.initial,
            "batch": None if self.plan.asynchronous else batch,
            "asynchronous": self.plan.asynchronous,
            "seed": proposing.seed,
            "space": self.task.space.to_dict(),
        }
        self.declaration = json.loads(json.dumps(declaration))  # as it is read back from a study
        name = output.study or f"{make_slug(self.task.name)}-seed{proposing.seed}"
        run = choose_run(output.report, output.storage, name, self.declaration, output.new)
        self.study, self.folder, self.address = run.study, run.folder, run.address
        self.task = self.task.kept_in(self.folder)
        self._painter = Painter(self.task.space.labels)

    def run(self, workers: Workers, stopping: Callable[[], bool]) -> SearchResult:
        """Search until done or asked to stop; what a dead session left behind comes first."""
        space = self.task.space
        if not self._output.quiet:
            note(f"searching {self.task.name}: {space.describe()}")
            if isinstance(self.task.evaluator, Isolated):
                note(self.task.evaluator.describe(workers.slots()))
        asker, evaluator, plan = self._make_asker(), self.task.evaluator, self.plan
        with StudyLedger(self.address, self.study, space, self.declaration) as ledger:
            # Reads the whole study: a damaged one is refused before anything is written.
            events = self._make_events(ledger)
            # Proposals are computed in a thread, so that signals are heard meanwhile.
            asks_in = ThreadPoolExecutor(1, "nasgoat-ask")
            driver = Driver(asker, evaluator, plan, ledger, workers, events, asks_in, stopping)
            call = {"command": command_line(), "version": version("nasgoat")}
            ledger.note({"evaluations": plan.evaluations, **call})
            return driver.run()

    def finish_pictures(self, stopping: Callable[[], bool]) -> None:
        """Wait a while, until asked to stop, for the pictures that are still to be drawn."""
        self._painter.close(_PICTURE_SECONDS, stopping)

    def _make_events(self, ledger: StudyLedger) -> Events:
        """What the driver tells of: pictures to draw, and progress to show."""

        def draw(ticket: Ticket) -> None:
            path = self.folder / "artifacts" / ledger.artifact(ticket.number)
            title = f"{self.task.name}, evaluation {ticket.number + 1}"
            self._painter.paint(ticket.graph, path, title)

        past = ledger.tickets()
        if self._output.pictures:
            for ticket in past:  # what an earlier session did not get to draw
                draw(ticket)
        proposed = draw if self._output.pictures else None
        if self._output.quiet:
            return Events(proposed=proposed)
        done = sum(ticket.finished for ticket in past)
        if done >= self.plan.evaluations:
            note(f"finished before: {done} evaluations in {self.folder}; --new begins another run")
            return Events(proposed=proposed)
        return ProgressTable(self.plan.evaluations, done, self.task.regret).events(proposed)

    def _make_asker(self) -> Asker:
        """The method; ours with the optimiser that was chosen when the session was opened."""
        space, budget = self.task.space, self.plan.evaluations
        options: dict[str, Any] = {}
        if self.choice is not None:
            progress = None if self._output.quiet else note
            optimizer = make_optimizer(self.choice, space, progress, effort=self._effort)
            options = {"settings": self.settings, "optimizer": optimizer, "progress": progress}
            # Without a rule to stop, what is left to gain is measured only where that is cheap.
            if self.plan.stop is not None or optimizer.name == "catalogue":
                options["gain_margin"] = self.plan.stop.gain if self.plan.stop else 0.0
        initial = min(self.proposing.initial, budget)
        method, seed = self.proposing.method, self.proposing.seed
        return make_method(method, space, initial, seed, budget, self.task.noisy, **options)


def make_task(target: Target, evaluating: Evaluating, seed: int) -> Task:
    """The task that the options of ``nasgoat search`` describe."""
    if target.objective is None and target.command is None:
        return _make_table_task(target, evaluating, seed)
    if target.benchmark is not None or target.noisy:
        raise SettingError("--benchmark must come without --objective and --command, got both")
    if target.space is None:
        raise SettingError("--objective and --command must come with --space, got none")
    space = load_space(target.space)
    require_satisfiable(space)
    objective = target.objective
    argv = _split(target.command) if target.command is not None else None
    memory = None if evaluating.memory_limit is None else evaluating.memory_limit * 2**20
    limits = (evaluating.timeout, memory, evaluating.retries)
    where = (evaluating.share, evaluating.fresh_process)
    isolated = Isolated(objective, argv, *limits, seed, *where)
    isolated.check()
    what = {"objective": objective} if objective else {"command": list(argv or ())}
    name = f"{Path(target.space).stem} {objective or (argv or ('command',))[0]}"
    return Task(name, space, isolated, what)


def _make_table_task(target: Target, evaluating: Evaluating, seed: int) -> Task:
    # A table needs no process of its own, let alone a device.
    needless = {
        "--gpus": evaluating.gpus,
        "--threads-per-worker": evaluating.threads_per_worker,
        "--fresh-process": evaluating.fresh_process,
    }
    for option, value in {**needless, "--space": target.space is not None}.items():
        if value:
            raise SettingError(f"{option} must come with --objective or --command, got neither")
    table = find_benchmark(target.benchmark or _DEFAULT_BENCHMARK, target.noisy)
    return Task(
        name=table.name,
        space=table.space,
        evaluator=TableEvaluator(table, seed),
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
