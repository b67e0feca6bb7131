"""``nasgoat search``: its options in groups, and what it does from start to end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nasgoat.cli.objectives import Seeking
from nasgoat.cli.options import (
    KERNEL,
    AcquisitionName,
    BatchStrategy,
    Blocks,
    Dask,
    Json,
    Preset,
    Quiet,
    Seed,
    Solving,
    Storage,
    split_names,
    with_groups,
)
from nasgoat.cli.sources import Learning
from nasgoat.cli.terminal import Interrupts, command_line, log_to_file, note, print_json
from nasgoat.errors import NasgoatError, SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import SearchResult, Settings, StopRule, Workers
    from nasgoat.evaluation import Share


@dataclass(frozen=True)
class Target:
    """What is searched."""

    benchmark: Annotated[
        str | None,
        typer.Option(
            help="nb201/cifar10 (the default), nb201/cifar100, nb201/imagenet16-120, with a device "
            "(+edgegpu, +raspi4, +edgetpu, +pixel3, +eyeriss, +fpga) or without; nb101, "
            "macro/cifar10, or "
            "nbgraph/ with cora, citeseer, pubmed, cs, physics, photo, computers, arxiv, proteins."
        ),
    ] = None
    noisy: Annotated[bool, typer.Option("--noisy", help="One training's value a query.")] = False
    space: Annotated[
        str | None, typer.Option(help="A TOML file, or a preset: nb101, darts, ...")
    ] = None
    objective: Annotated[
        str | None, typer.Option(help="module:function: takes the graph, returns its error.")
    ] = None
    command: Annotated[
        str | None, typer.Option(help="Graph as JSON on its standard input, error on its output.")
    ] = None


@dataclass(frozen=True)
class Proposing:
    """How graphs are proposed."""

    evaluations: Annotated[int, typer.Option(help="Graphs to evaluate in all.")] = 160
    method: Annotated[str, typer.Option(help="goat, or see nasgoat methods.")] = "goat"
    batch: Annotated[
        int | None,
        typer.Option(help="Graphs to propose at a time; 5 for goat, else what the method takes."),
    ] = None
    initial: Annotated[int, typer.Option(help="Random graphs to start with.")] = 10
    seed: Seed = 0
    preset: Preset = "default"
    kernel: Annotated[str | None, KERNEL] = None
    acquisition: AcquisitionName = None
    batch_strategy: BatchStrategy = None
    target: Annotated[str | None, typer.Option(help="rank, log or plain.")] = None
    repeats: Annotated[
        int | None, typer.Option(help="Evaluations of a promising graph; 1, or 8 with --noisy.")
    ] = None
    blocks: Blocks = None
    priors: Annotated[
        bool | None,
        typer.Option("--priors/--no-priors", help="Weak priors on the kernel's parameters."),
    ] = None

    stop_when: Annotated[
        str | None,
        typer.Option(help="End early: 'gain <= 0.3', when no other graph can be better by more."),
    ] = None
    patience: Annotated[int, typer.Option(help="Iterations that --stop-when must hold.")] = 2
    least_evaluations: Annotated[int, typer.Option(help="Evaluations before that.")] = 30

    def stop_rule(self) -> StopRule | None:
        """When to end before all evaluations are made."""
        from nasgoat.bayesopt import StopRule
        from nasgoat.search_methods import OURS

        if self.stop_when is None:
            return None
        if self.method != OURS:
            raise SettingError(f"--stop-when must come with the method goat, got {self.method}")
        return StopRule.parse(self.stop_when, self.patience, self.least_evaluations)

    def settings(self, noisy: bool = False) -> Settings:
        """The settings of our own method: those of the preset, with some of them changed."""
        from nasgoat.bayesopt import Settings

        names = ("kernel", "acquisition", "batch_strategy", "target", "repeats", "priors")
        changes = {name: getattr(self, name) for name in names}
        changes["blocks"] = None if self.blocks is None else tuple(split_names(self.blocks))
        given = {name: value for name, value in changes.items() if value is not None}
        return Settings.preset(self.preset, noisy, **given)


@dataclass(frozen=True)
class Evaluating:
    """How graphs are evaluated, and where."""

    workers: Annotated[
        int | None,
        typer.Option(help="Evaluations at a time, on this machine; 1, or as many as --gpus."),
    ] = None
    gpus: Annotated[
        str | None, typer.Option(help="How many GPUs, or which (0,1,2,3): each worker gets one.")
    ] = None
    threads_per_worker: Annotated[
        int | None, typer.Option(help="OMP_NUM_THREADS and its like in each worker; 1 by default.")
    ] = None
    fresh_process: Annotated[
        bool, typer.Option("--fresh-process", help="A new process for every evaluation.")
    ] = False
    dask: Dask = None
    dask_resources: Annotated[
        str | None, typer.Option(help="What an evaluation takes of Dask's resources: GPU=1.")
    ] = None
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="A freed worker gets the next graph at once.")
    ] = False
    timeout: Annotated[float | None, typer.Option(help="Seconds an evaluation may take.")] = None
    memory_limit: Annotated[
        float | None, typer.Option(help="Megabytes an evaluation may hold.")
    ] = None
    retries: Annotated[int, typer.Option(help="New starts after a worker died.")] = 1

    @property
    def share(self) -> Share:
        """What of the machine each worker gets."""
        from nasgoat.evaluation import Share, list_devices

        return Share(list_devices(self.gpus), self.threads_per_worker)

    def open_workers(self) -> Workers:
        """Whoever evaluates; to be closed."""
        from nasgoat.bayesopt import Workers

        if self.dask is None:
            if self.dask_resources is not None:
                raise SettingError("--dask-resources must come with --dask, got none")
            return Workers.local(self.count_workers())
        for option, value in (("--workers", self.workers), ("--gpus", self.gpus)):
            if value is not None:
                raise SettingError(f"{option} must be left out with --dask, got both")
        from nasgoat.integrations.dask_cluster import dask_workers, read_resources

        return dask_workers(self.dask, note, resources=read_resources(self.dask_resources))

    def count_workers(self) -> int:
        """How many evaluations run at a time on this machine."""
        return (len(self.share.devices) or 1) if self.workers is None else self.workers


@dataclass(frozen=True)
class Output:
    """What is stored and shown."""

    storage: Storage = None
    study: Annotated[str | None, typer.Option(help="Name of the study; resumed if there.")] = None
    report: Annotated[Path | None, typer.Option(help="Folder of the run.")] = None
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new run, NAME-2, beside the one that is there.")
    ] = False
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw every cell for the dashboard.")
    ] = True
    log_file: Annotated[Path | None, typer.Option(help="File to log to.")] = None
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
    session = Session(target, seeking, proposing, solving, evaluating, output, learning)
    workers = evaluating.open_workers()
    # The first Ctrl-C is heard to the very end, so that what was found is written and shown.
    with _say_how_to_resume(), Interrupts() as interrupts:
        allow_children()  # an earlier search of this process forbade them
        try:
            result = session.run(workers, interrupts.stopping)
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
        session.finish_pictures(interrupts.stopping)


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
            note(f"resume with: {command_line()}")
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
    else:
        return
    note(f"resume with: {command_line()}")
    raise typer.Exit(130 if result.stop is Stop.INTERRUPTED else 1)
