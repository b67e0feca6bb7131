"""One session of a search: the way from its study's state to its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from nasgoat.acquisition import Choice, choose, make_optimizer
from nasgoat.bayesopt import (
    Asker,
    Driver,
    Events,
    FidelityOptimizer,
    Plan,
    SearchResult,
    Settings,
    Ticket,
    Workers,
)
from nasgoat.bayesopt.known_results import count_graphs, declare_known
from nasgoat.bayesopt.settings import LINEAR_INSTEAD, check_function
from nasgoat.bayesopt.transfer import declare_sources
from nasgoat.cli.objectives import Learning, Seeking
from nasgoat.cli.options import Evaluating, Solving, make_slug
from nasgoat.cli.search import Output, Proposing, Target
from nasgoat.cli.search_output import FrontTable, Painter, ProgressTable
from nasgoat.cli.search_task import make_task
from nasgoat.cli.stored_runs import choose_run
from nasgoat.cli.terminal import note, quote_command
from nasgoat.errors import SettingError
from nasgoat.evaluation import Isolated
from nasgoat.integrations import StudyLedger
from nasgoat.progress import say_if_slow
from nasgoat.search_methods import OURS, find_own_batch, make_method

_PICTURE_SECONDS = 20.0  # how long the end of a search waits for its last pictures


class Session:
    """One session of a search, by the options of ``nasgoat search``; wrong ones are refused here.

    Attributes:
        task: What is searched, and how graphs are evaluated.
        objectives: What is minimised, and which measured limits must hold.
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
        seeking: Seeking,
        proposing: Proposing,
        solving: Solving,
        evaluating: Evaluating,
        output: Output,
        learning: Learning,
    ) -> None:
        settings, ours = proposing.make_settings(target.noisy), proposing.method == OURS
        self.proposing, self._output, self.seeking = proposing, output, seeking
        self._effort = solving.make_effort(settings.time_limit)
        batch = find_own_batch(proposing.method) if proposing.batch is None else proposing.batch
        stop = proposing.make_stop_rule(learning)
        levels = learning.read_fidelities(proposing.method)
        learning.refuse(len(seeking.minimise or ()) > 1)  # before any table is read
        self.plan = Plan(proposing.evaluations, batch, evaluating.asynchronous, stop, levels)
        settings = replace(settings, time_limit=self._effort.time_limit)
        with say_if_slow(None if output.quiet else note, "getting the space and objective ready"):
            task = make_task(target, evaluating, proposing.seed, levels)
            self.task, self.objectives = seeking.apply(task)
        seeking.refuse(self.objectives, proposing)
        learning.refuse(not self.objectives.plain)
        self.transfer = learning.read_sources(self.task.space)
        self.known = learning.read_known_results(self.task.space, self.objectives)
        self.settings: Settings | None = None
        self.choice: Choice | None = None
        if ours:
            self.settings = self._suit(settings, solving.optimizer)
            self.choice = self._choose(self.settings, solving.optimizer)
            if stop is not None:
                self._require_bound(self.choice)
        # As it is read back from a study.
        self.declaration = json.loads(json.dumps(self._declare(solving.optimizer)))
        name = output.study or f"{make_slug(self.task.name)}-seed{proposing.seed}"
        run = choose_run(output.report, output.storage, name, self.declaration, output.new)
        self.study, self.folder, self.address = run.study, run.folder, run.address
        self.task = self.task.keep_in(self.folder)
        self._painter = Painter(self.task.space.labels)

    def _suit(self, settings: Settings, optimizer: str) -> Settings:
        """The settings as the space, the objectives and the optimiser need them."""
        space = self.task.space
        if self.objectives.several and (asked := self.proposing.acquisition) is not None:
            check_function(asked, self.objectives)  # lcb stands for a default that nobody asked for
        if self.proposing.kernel is None:
            given = settings
            alone = self.objectives.plain and not self.transfer
            sourced = self.plan.fidelities is not None
            pair = self.objectives.pair and settings.repeats == 1  # not measured under noise
            terms = sourced or alone, sourced, pair
            settings = settings.choose_kernel(space, optimizer, *terms)
            if settings.kernel == "linear" != given.kernel and not self._output.quiet:
                note(LINEAR_INSTEAD)
        return settings.adapt_to(self.objectives, space, optimizer)

    def _choose(self, settings: Settings, optimizer: str) -> Choice:
        """The acquisition optimiser of our own method, chosen once for the whole session."""
        space = self.task.space
        kernel, blocks = settings.find_kernel(space, optimizer)
        asked = settings.questions, optimizer, blocks, settings.acquisition
        return choose(space, kernel, *asked, settings.time_limit)

    def _require_bound(self, choice: Choice) -> None:
        """Without a bound there is no gain to stop at: refused, or said where ``auto`` chose."""
        if choice.proves:
            return
        if choice.asked_for:
            raise SettingError(
                f"--stop-when must come with an optimizer that proves a bound, got {choice.name}; "
                "leave it to auto"
            )
        note(f"--stop-when can't end this search early: {choice.name} proves no bound")

    def _declare(self, optimizer: str) -> dict[str, Any]:
        """What must be the same when the search is resumed."""
        settings = self.settings
        return {
            "objective": self.task.objective,
            "direction": "minimize",
            "method": self.proposing.method,
            "settings": settings.declare() if settings else None,
            "optimizer": optimizer if settings else None,
            "initial": self.proposing.initial,
            "batch": None if self.plan.asynchronous else self.plan.batch,
            "asynchronous": self.plan.asynchronous,
            "seed": self.proposing.seed,
            "space": self.task.space.to_dict(),
            **self.objectives.declare(),
            **declare_sources(self.plan.fidelities, self.transfer),
            **declare_known(self.known),
        }

    def run(self, workers: Workers, stopping: Callable[[], bool]) -> SearchResult:
        """Search until done or asked to stop; what a dead session left behind comes first."""
        space = self.task.space
        if not self._output.quiet:
            note(f"searching {self.task.name}: {space.describe()}")
            if isinstance(self.task.evaluator, Isolated):
                note(self.task.evaluator.describe(workers.slots()))
        asker = self._make_asker()
        with StudyLedger(self.address, self.study, space, self.declaration) as ledger:
            # Reads the whole study: a damaged one is refused before anything is written.
            events = self._make_events(ledger)
            # Proposals are computed in a thread, so that signals are heard meanwhile.
            asks_in = ThreadPoolExecutor(1, "nasgoat-ask")
            driver = Driver(
                asker=asker,
                evaluator=self.task.evaluator,
                plan=self.plan,
                ledger=ledger,
                workers=workers,
                events=events,
                asks_in=asks_in,
                stopping=stopping,
            )
            call = {"command": quote_command(), "version": version("nasgoat")}
            ledger.note({"evaluations": self.plan.evaluations, **call})
            return replace(driver.run(), known=self.known)

    def finish_pictures(self, stopping: Callable[[], bool]) -> None:
        """Wait a while, until asked to stop, for the pictures that are still to be drawn."""
        self._painter.close(_PICTURE_SECONDS, stopping)

    def _make_events(self, ledger: StudyLedger) -> Events:
        """What the driver tells of: pictures to draw, and progress to show."""

        def draw(ticket: Ticket) -> None:
            path = self.folder / "artifacts" / ledger.find_artifact(ticket.number)
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
        if self.plan.count_left([ticket for ticket in past if ticket.finished]) <= 0:
            note(f"finished before: {done} evaluations in {self.folder}; --new begins another run")
            return Events(proposed=proposed)
        if not self.objectives.plain:
            return FrontTable(self.plan.evaluations, done, self.objectives).make_events(proposed)
        table = ProgressTable(self.plan.evaluations, done, self.task.measure_regret)
        return table.make_events(proposed)

    def _make_asker(self) -> Asker:
        """The method; ours with the optimiser that was chosen when the session was opened."""
        space = self.task.space
        options: dict[str, Any] = {}
        if self.choice is not None:
            progress = None if self._output.quiet else note
            optimizer = make_optimizer(self.choice, space, progress, effort=self._effort)
            options = {"settings": self.settings, "optimizer": optimizer, "progress": progress}
            options["known"] = self.known
            if not self.objectives.plain:
                options["minimise"] = self.objectives
                return self._make_method(options)
            options["transfer"] = self.transfer
            # Without a rule to stop, what is left to gain is measured only where that is cheap.
            if self.plan.stop is not None or optimizer.name == "catalogue":
                options["gain_margin"] = self.plan.stop.gain if self.plan.stop else 0.0
        return self._make_method(options)

    def _make_method(self, options: dict[str, Any]) -> Asker:
        space, budget = self.task.space, self.plan.evaluations
        method, seed = self.proposing.method, self.proposing.seed
        if (levels := self.plan.fidelities) is not None:
            initial = self.proposing.initial
            return FidelityOptimizer(space, levels, budget, initial=initial, seed=seed, **options)
        before = count_graphs(self.known, space)
        initial = min(self.proposing.initial, budget + before)
        if self.choice is not None:
            return make_method(method, space, initial, seed, budget, self.task.noisy, **options)
        # Other methods are told; each graph stands for one of their random ones as well.
        initial = max(initial - before, 1)
        asker = make_method(method, space, initial, seed, budget, self.task.noisy)
        for result in self.known:
            asker.tell(result.graph, result.error)
        return asker
