"""One session of a search: its study, proposals, progress, result and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nasgoat.acquisition import Choice, choose, make_optimizer
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
from nasgoat.cli.options import Solving
from nasgoat.cli.output import ProgressTable, command_line, note
from nasgoat.cli.search_options import Evaluating, Output, Proposing, Target
from nasgoat.cli.search_task import Task, make_task
from nasgoat.cli.stored_runs import choose_folder
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.pictures import Painter
from nasgoat.search_methods import OURS, make_method, own_batch

_PICTURE_SECONDS = 20.0  # how long the end of a search waits for its last pictures


@dataclass
class Session:
    """One session of a search: from the state of its study to its end.

    Args:
        task: What is searched, and how graphs are evaluated.
        proposing: How graphs are proposed.
        solving: How the acquisition is minimised; a resumed search may have other limits.
        output: What is stored and shown.
        plan: Budget, batch size, asynchronous or not.
        settings: Those of our own method; None for another method.
        choice: The acquisition optimiser of our own method; None for another method.
        declaration: What must be the same when the search is resumed.
        study: The name of the study.
        folder: Where the run's files go.
        address: Where the study is stored.
    """

    task: Task
    proposing: Proposing
    solving: Solving
    output: Output
    plan: Plan
    settings: Settings | None
    choice: Choice | None
    declaration: dict[str, Any]
    study: str
    folder: Path
    address: StorageAddress

    def __post_init__(self) -> None:
        self._painter = Painter()

    def run(self, workers: Workers, stopping: Callable[[], bool]) -> SearchResult:
        """Search until done or asked to stop; what a dead session left behind comes first."""
        if not self.output.quiet:
            note(f"searching {self.task.name}: {self.task.space.describe()}")
        space = self.task.space
        with StudyLedger(self.address, self.study, space, self.declaration) as ledger:
            # Reads the whole study: a damaged one is refused before anything is written.
            driver = self._make_driver(ledger, workers, stopping)
            plan = {
                "evaluations": self.plan.evaluations,
                "command": command_line(),
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
            "method": self.proposing.method,
            "optimizer": self.choice and self.choice.to_dict(),
            "settings": self.settings and asdict(self.settings),
            "seed": self.proposing.seed,
            "report": str(self.folder),
        }

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

    def _make_driver(
        self, ledger: StudyLedger, workers: Workers, stopping: Callable[[], bool]
    ) -> Driver:
        def picture(ticket: Ticket) -> None:
            path = self.folder / "artifacts" / ledger.artifact(ticket.number)
            self._painter.paint(
                ticket.graph, path, f"{self.task.name}, evaluation {ticket.number + 1}"
            )

        asker, past = self._make_asker(), ledger.tickets()
        if self.output.pictures:
            for ticket in past:  # what an earlier session did not get to draw
                picture(ticket)
        proposed = picture if self.output.pictures else None
        events = Events(proposed=proposed)
        if not self.output.quiet:
            done = sum(ticket.finished for ticket in past)
            events = ProgressTable(self.plan.evaluations, done, self.task.regret).events(proposed)
        # Proposals are computed in a thread, so that signals are heard meanwhile.
        asks_in = ThreadPoolExecutor(1, "nasgoat-ask")
        return Driver(
            asker, self.task.evaluator, self.plan, ledger, workers, events, asks_in, stopping
        )

    def _make_asker(self) -> Asker:
        """The method; ours with the optimiser that was chosen when the session was opened."""
        space, budget = self.task.space, self.plan.evaluations
        options: dict[str, Any] = {}
        if self.settings is not None and self.choice is not None:
            progress = None if self.output.quiet else note
            effort = self.solving.effort()
            optimizer = make_optimizer(self.choice, space, progress, effort=effort)
            options = {"settings": self.settings, "optimizer": optimizer, "progress": progress}
        initial = min(self.proposing.initial, budget)
        method, seed = self.proposing.method, self.proposing.seed
        return make_method(method, space, initial, seed, budget, self.task.noisy, **options)


def open_session(
    target: Target, proposing: Proposing, solving: Solving, evaluating: Evaluating, output: Output
) -> Session:
    """A session from the options of ``nasgoat search``; wrong ones are told before it begins."""
    settings, choice = proposing.settings(), None
    solving.effort()
    batch = own_batch(proposing.method) if proposing.batch is None else proposing.batch
    plan = Plan(proposing.evaluations, batch, evaluating.asynchronous)
    task = make_task(target, evaluating, proposing.seed)
    ours = proposing.method == OURS
    if ours:
        choice = choose(task.space, settings.kernel, settings.questions, solving.optimizer)
    declaration = {
        "objective": task.objective,
        "direction": "minimize",
        "method": proposing.method,
        "settings": asdict(settings) if ours else None,
        "optimizer": solving.optimizer if ours else None,
        "initial": proposing.initial,
        "batch": None if plan.asynchronous else plan.batch,
        "asynchronous": plan.asynchronous,
        "seed": proposing.seed,
        "space": task.space.to_dict(),
    }
    declaration = json.loads(json.dumps(declaration))  # as it is read back from a study
    study = output.study or f"{task.slug}-seed{proposing.seed}"
    folder, address = choose_folder(
        output.report, output.storage, study, declaration, plan.evaluations
    )
    return Session(
        task=task,
        proposing=proposing,
        solving=solving,
        output=output,
        plan=plan,
        settings=settings if ours else None,
        choice=choice,
        declaration=declaration,
        study=study,
        folder=folder,
        address=address,
    )
