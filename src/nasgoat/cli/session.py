"""One session of a search: its study, workers, signals, progress, result and files."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nasgoat.acquisition import Effort, chosen_optimizer, make_optimizer
from nasgoat.atomic_file import write_whole
from nasgoat.bayesopt import (
    Asker,
    Driver,
    Events,
    Plan,
    SearchResult,
    Settings,
    Ticket,
    Workers,
)
from nasgoat.cli.output import note
from nasgoat.cli.progress import Progress
from nasgoat.cli.tasks import Task
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.pictures import Painter
from nasgoat.search_methods import OURS, make_method

logger = logging.getLogger(__name__)

_PICTURE_SECONDS = 20.0  # how long the end of a search waits for its last pictures


@dataclass(frozen=True)
class Call:
    """How a search was called, apart from its task.

    Args:
        method: Name of the search method; "goat" is ours.
        settings: Kernel, target, batch strategy of ours.
        optimizer: Name of the acquisition optimiser.
        effort: Its limits; a resumed search may have others.
        plan: Budget, batch size, asynchronous or not.
        initial: Size of the initial design.
        seed: Seed of everything random.
        quiet: No progress.
        pictures: Draw every cell.
        command: The command line, without passwords.
    """

    method: str
    settings: Settings
    optimizer: str
    effort: Effort
    plan: Plan
    initial: int
    seed: int
    quiet: bool
    pictures: bool
    command: str

    def declaration(self, task: Task) -> dict[str, Any]:
        """What must be the same when the search is resumed."""
        document = {
            "objective": task.objective,
            "direction": "minimize",
            "method": self.method,
            "settings": asdict(self.settings) if self.method == OURS else None,
            "optimizer": self.optimizer if self.method == OURS else None,
            "initial": self.initial,
            "batch": None if self.plan.asynchronous else self.plan.batch,
            "asynchronous": self.plan.asynchronous,
            "seed": self.seed,
            "space": task.space.to_dict(),
        }
        plain: dict[str, Any] = json.loads(json.dumps(document))
        return plain


@dataclass
class Session:
    """One session of a search: from the state of its study to its end."""

    task: Task
    call: Call
    address: StorageAddress
    study: str
    folder: Path

    def __post_init__(self) -> None:
        self._painter = Painter()

    def run(self, workers: Workers, stopping: Callable[[], bool]) -> SearchResult:
        """Search until done or asked to stop; what a dead session left behind comes first."""
        if not self.call.quiet:
            note(f"searching {self.task.name}: {self.task.space.describe()}")
        declaration = self.call.declaration(self.task)
        with StudyLedger(self.address, self.study, self.task.space, declaration) as ledger:
            # Reads the whole study: a damaged one is refused before anything is written.
            driver = self._driver(ledger, workers, stopping)
            plan = {
                "evaluations": self.call.plan.evaluations,
                "command": self.call.command,
                "version": version("nasgoat"),
            }
            ledger.note(plan)
            return driver.run()

    def finish_pictures(self, stopping: Callable[[], bool]) -> None:
        """Wait a while, until asked to stop, for the pictures that are still to be drawn."""
        self._painter.close(_PICTURE_SECONDS, stopping)

    def document(self, result: SearchResult) -> dict[str, Any]:
        """The JSON document of the command line's contract."""
        best = result.best if result.evaluations else None
        benchmark = self.task.benchmark
        return {
            "best": best
            and {
                "graph": best.graph.to_dict(),
                "error": best.error,
                "test_error": best.metrics.get("test_error"),
            },
            "regret": best and self.task.regret(best.graph),
            "evaluations": len(result.evaluations),
            "failed": len(result.failures),
            "seconds": result.seconds,
            "certified": result.certified,
            "stop": str(result.stop),
            "study": self.study,
            "storage": str(self.address),
            "benchmark": benchmark and benchmark.name,
            "objective": self.task.objective,
            "metric": self.task.metric,
            "optimum": benchmark and benchmark.optimum,
            "evaluation_of_best": best and best.number + 1,
            "method": self.call.method,
            "optimizer": self._optimizer(),
            "settings": asdict(self.call.settings) if self.call.method == OURS else None,
            "seed": self.call.seed,
            "report": str(self.folder),
        }

    def _optimizer(self) -> dict[str, str] | None:
        """Which acquisition optimiser was taken, and why."""
        if self.call.method != OURS:
            return None
        settings = self.call.settings
        choice = chosen_optimizer(
            self.call.optimizer, self.task.space, settings.kernel, settings.questions
        )
        return asdict(choice)

    def write(self, result: SearchResult, document: dict[str, Any]) -> None:
        """Write the picture and result.json; one that fails never fails the search."""
        history = [evaluation.to_dict() for evaluation in result.evaluations]
        failures = [
            {"number": t.number, "graph": t.graph.to_dict(), **t.outcome.failure.to_dict()}
            for t in result.failures
            if t.outcome and t.outcome.failure
        ]
        hyperparameters = [dict(values) for values in result.hyperparameters]
        whole = {
            **document,
            "hyperparameters": hyperparameters,
            "history": history,
            "failures": failures,
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_picture(result)
            # The last of a run's files: where it is, a run is over, and not resumed.
            write_whole(self.folder / "result.json", json.dumps(whole, indent=1))
        except OSError as problem:
            note(f"the report could not be written: {problem.strerror}")

    def _write_picture(self, result: SearchResult) -> None:
        from nasgoat.figures import save

        if not result.evaluations:
            return
        try:
            title = f"{self.task.name}: {self.task.metric} {result.best.error:.3f}"
            save(result.best.graph, self.folder / "best.png", title)
        except Exception as problem:
            note(f"the picture could not be drawn: {problem}")

    def _driver(
        self, ledger: StudyLedger, workers: Workers, stopping: Callable[[], bool]
    ) -> Driver:
        call = self.call

        def picture(ticket: Ticket) -> None:
            path = self.folder / "artifacts" / ledger.artifact(ticket.number)
            self._painter.paint(
                ticket.graph, path, f"{self.task.name}, evaluation {ticket.number + 1}"
            )

        asker, past = self._asker(), ledger.tickets()
        if call.pictures:
            for ticket in past:  # what an earlier session did not get to draw
                picture(ticket)
        proposed = picture if call.pictures else None
        events = Events(proposed=proposed)
        if not call.quiet:
            done = sum(ticket.finished for ticket in past)
            events = Progress(call.plan.evaluations, done, self.task.regret).events(proposed)
        # Proposals are computed in a thread, so that signals are heard meanwhile.
        asks_in = ThreadPoolExecutor(1, "nasgoat-ask")
        return Driver(
            asker, self.task.evaluator, call.plan, ledger, workers, events, asks_in, stopping
        )

    def _asker(self) -> Asker:
        call = self.call
        options: dict[str, Any] = {}
        if call.method == OURS:
            settings, progress = call.settings, None if call.quiet else note
            optimizer = make_optimizer(
                call.optimizer, self.task.space, progress,
                settings.kernel, settings.questions, call.effort,
            )  # fmt: skip
            options = {"settings": settings, "optimizer": optimizer, "progress": progress}
        budget = call.plan.evaluations
        initial = min(call.initial, budget)
        return make_method(
            call.method, self.task.space, initial, call.seed, budget, self.task.noisy, **options
        )
