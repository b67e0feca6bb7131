"""``nasgoat search``: its options in groups, and what it does from start to end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nasgoat.cli.objectives import Learning, Seeking
from nasgoat.cli.options import (
    KERNEL,
    AcquisitionName,
    BatchStrategy,
    Blocks,
    Evaluating,
    Json,
    Nodes,
    Preset,
    Quiet,
    Seed,
    Solving,
    Storage,
    option,
    split_names,
    with_groups,
)
from nasgoat.cli.terminal import Interrupts, log_to_file, note, print_json, quote_command
from nasgoat.errors import NasgoatError, SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import SearchResult, Settings, StopRule


@dataclass(frozen=True)
class Target:
    """What is searched."""

    benchmark: str | None = option(
        "nb201/cifar10 (the default), nb201/cifar100, nb201/imagenet16-120, with a device "
        "(+edgegpu, +raspi4, +edgetpu, +pixel3, +eyeriss, +fpga) or without; nb101, "
        "macro/cifar10, or "
        "nbgraph/ with cora, citeseer, pubmed, cs, physics, photo, computers, arxiv, proteins."
    )
    noisy: bool = option("One training's value a query.", False, "--noisy")
    space: str | None = option("A TOML file, or a preset: nb101, darts, ...")
    nodes: Nodes = None
    objective: str | None = option("module:function: takes the graph, returns its error.")
    command: str | None = option("Graph as JSON on its standard input, error on its output.")


@dataclass(frozen=True)
class Proposing:
    """How graphs are proposed."""

    evaluations: int = option("Graphs to evaluate in all.", 160)
    method: str = option("goat, or see nasgoat methods.", "goat")
    batch: int | None = option(
        "Graphs to propose at a time; 5 for goat, else what the method takes."
    )
    initial: int = option("Random graphs to start with.", 10)
    seed: Seed = 0
    preset: Preset = "default"
    kernel: Annotated[str | None, KERNEL] = None
    acquisition: AcquisitionName = None
    batch_strategy: BatchStrategy = None
    target: str | None = option("rank, log or plain.")
    repeats: int | None = option("Evaluations of a promising graph; 1, or 24 with --noisy.")
    blocks: Blocks = None
    priors: bool | None = option(
        "Weak priors on the kernel's parameters.", None, "--priors/--no-priors"
    )

    stop_when: str | None = option(
        "End early: 'gain <= 0.3', when no other graph can be better by more."
    )
    patience: int | None = option("Iterations that --stop-when must hold; 2.")
    least_evaluations: int | None = option("Evaluations before that; 30.")

    def make_stop_rule(self, learning: Learning) -> StopRule | None:
        """When to end before all evaluations are made."""
        from nasgoat.bayesopt import StopRule
        from nasgoat.search_methods import OURS

        given = {"--patience": self.patience, "--least-evaluations": self.least_evaluations}
        for name, value in given.items():
            if value is not None and self.stop_when is None:
                raise SettingError(f"{name} must come with --stop-when, got {value} alone")
            if value is not None and value < 1:
                raise SettingError(f"{name} must be at least 1, got {value}")
        if self.stop_when is None:
            return None
        if self.method != OURS:
            raise SettingError(f"--stop-when must come with the method goat, got {self.method}")
        counts = {"patience": self.patience, "least": self.least_evaluations}
        chosen = {name: value for name, value in counts.items() if value is not None}
        rule = StopRule.parse(self.stop_when, **chosen)
        if learning.fidelity is None and rule.least >= self.evaluations:
            self._say_too_late(rule.least)
        return rule

    def _say_too_late(self, least: int) -> None:
        """No search stops before its last evaluation: refused, or said of the default."""
        if self.least_evaluations is not None:
            raise SettingError(
                f"--least-evaluations must be below --evaluations {self.evaluations}, got {least}; "
                "the search could not end early"
            )
        note(
            f"--stop-when ends no search before {least} evaluations, and this one has "
            f"{self.evaluations}; --least-evaluations changes that"
        )

    def make_settings(self, noisy: bool = False) -> Settings:
        """The settings of our own method: those of the preset, with some of them changed."""
        from nasgoat.bayesopt import Settings

        names = ("kernel", "acquisition", "batch_strategy", "target", "repeats", "priors")
        changes = {name: getattr(self, name) for name in names}
        changes["blocks"] = None if self.blocks is None else tuple(split_names(self.blocks))
        given = {name: value for name, value in changes.items() if value is not None}
        return Settings.preset(self.preset, noisy, **given)


@dataclass(frozen=True)
class Output:
    """What is stored and shown."""

    storage: Storage = None
    study: str | None = option("Name of the study; resumed if there.")
    report: Path | None = option("Folder of the run.")
    new: bool = option("Begin a new run, NAME-2, beside the one that is there.", False, "--new")
    pictures: bool = option("Draw every cell for the dashboard.", True, "--pictures/--no-pictures")
    log_file: Path | None = option("File to log to.")
    quiet: Quiet = False
    json: Json = False


@with_groups
def search(
    target: Target,
    seeking: Seeking,
    proposing: Proposing,
    learning: Learning,
    solving: Solving,
    evaluating: Evaluating,
    output: Output,
) -> None:
    """Find the best graph in few evaluations and show it.

    The same call resumes a broken search, and shows a finished one without evaluating anything.
    """
    from nasgoat.cli.search_output import describe_result, show_result, write_files
    from nasgoat.cli.search_session import Session
    from nasgoat.evaluation import allow_children, kill_children

    if output.log_file is not None:
        log_to_file(output.log_file)
    session = Session(
        target, seeking, proposing, solving, evaluating=evaluating, output=output, learning=learning
    )
    workers = evaluating.open_workers()
    # The first Ctrl-C is heard to the very end, so that what was found is written and shown.
    with _say_how_to_resume(), Interrupts() as interrupts:
        allow_children()  # an earlier search of this process forbade them
        try:
            result = session.run(workers, interrupts.is_stopping)
        finally:
            kill_children(for_good=True)
            workers.close()
        document = describe_result(session, result)
        write_files(session, result, document)
        if output.json:
            print_json(document)
        else:
            show_result(session, result, document)
        _leave(result)
        session.finish_pictures(interrupts.is_stopping)


@contextlib.contextmanager
def _say_how_to_resume() -> Iterator[None]:
    """Whatever ends a search early says how to resume it."""
    try:
        yield
    except typer.Exit:  # it has been said
        raise
    except BaseException as problem:
        wrong_call = isinstance(problem, NasgoatError) and isinstance(problem, ValueError)
        if not wrong_call:
            note(f"resume with: {quote_command()}")
        raise


def _leave(result: SearchResult) -> None:
    """End the command with an error if the search ended before its budget."""
    from nasgoat.bayesopt import Stop

    if result.stop is Stop.INTERRUPTED:
        note(f"interrupted after {len(result.evaluations)} evaluations")
    elif result.stop is Stop.FAILING:
        if failure := result.failures[-1].failure:
            note(failure.traceback.rstrip() or failure.reason)
        note("stopped: the objective fails")
    elif result.converged is not None:
        note(f"stopped: {result.converged}")
        return
    else:
        return
    note(f"resume with: {quote_command()}")
    raise typer.Exit(130 if result.stop is Stop.INTERRUPTED else 1)
