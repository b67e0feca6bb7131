"""What the verbs of experiments share: ``nasgoat kernels``, ``compare`` and ``scale``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.interrupts import Interrupts
from nasgoat.cli.output import command_line, note, print_json
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import Workers
    from nasgoat.experiments.experiment_file import Experiment
    from nasgoat.experiments.runner import Outcome, Progress
    from nasgoat.experiments.session import Session

Out = Annotated[
    Path | None, typer.Option(help="Folder of the records; beside the file by default.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(help="Do some runs only, e.g. method=random,goat-e; can be repeated."),
]
WorkersOption = Annotated[int | None, typer.Option(help="Local processes; 1 by default.")]
Dask = Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run on.")]
Minutes = Annotated[float | None, typer.Option(help="Begin no run after so many minutes.")]
PlotOnly = Annotated[
    bool, typer.Option("--plot-only", help="Run nothing; tables and figures from the records.")
]
Figures = Annotated[
    Path | None, typer.Option(help="Folder of the figures; that of the records by default.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


@dataclass(frozen=True)
class Call:
    """How the verb of an experiment was called."""

    out: Path
    only: list[str] | None = None
    workers: int | None = None
    dask: str | None = None
    minutes: float | None = None
    plot_only: bool = False
    figures: Path | None = None
    json: bool = False
    quiet: bool = False


def run_experiment(experiment: Experiment, call: Call) -> None:
    """Do what is missing, then write and print tables and figures."""
    from nasgoat.experiments import read_experiment, tables_of
    from nasgoat.experiments.session import Session

    session = Session(experiment, call.out, command_line())
    outcome, interrupts = None, Interrupts()
    if not call.plot_only:
        outcome = _measured(session, call, interrupts)
    written = session.show(call.figures)
    records = read_experiment(call.out)
    if call.json:
        print_json(_document(records.runs, outcome, written, call))
    else:
        print("\n\n".join(table.markdown() for table in tables_of(records)))
    if not call.quiet:
        note("written: " + ", ".join(map(str, written)))
    if interrupts.requested and (outcome is None or outcome.left):
        raise typer.Exit(130)
    if outcome is not None and outcome.failed:
        raise typer.Exit(1)


def _measured(session: Session, call: Call, interrupts: Interrupts) -> Outcome:
    for line in session.experiment.study.left_out():
        note(f"left out: {line}")
    workers = _workers(call)
    seconds = float("inf") if call.minutes is None else 60.0 * call.minutes
    try:
        with interrupts:
            outcome = session.run(
                workers,
                parse_only(call.only or []),
                (lambda progress: None) if call.quiet else show_progress,
                interrupts.stopping,
                seconds,
            )
    finally:
        workers.close()
    for run, reason in outcome.failed.items():
        note(f"{run} failed: {reason}")
    if outcome.left and not call.quiet:
        note(f"{outcome.left} runs are left; the same command goes on with them")
    return outcome


def _workers(call: Call) -> Workers:
    from nasgoat.bayesopt import Workers
    from nasgoat.experiments.runner import local_processes

    if call.dask is not None and call.workers is not None:
        raise SettingError("a call must name --workers or --dask, got both")
    if call.dask is not None:
        from nasgoat.integrations.dask_cluster import dask_workers

        return dask_workers(call.dask, note)
    if call.workers is None or call.workers == 1:
        return Workers.serial()
    return local_processes(call.workers)


def parse_only(texts: list[str]) -> dict[str, list[str]]:
    """Values by key.

    Example:
        >>> parse_only(["method=random,goat-e", "seed=0"])
        {'method': ['random', 'goat-e'], 'seed': ['0']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        key, sign, values = text.partition("=")
        if not sign or not key or not values:
            raise SettingError(f"only must be like method=random,goat-e, got {text!r}")
        found.setdefault(key.strip(), []).extend(v.strip() for v in values.split(","))
    return found


def show_progress(progress: Progress) -> None:
    """A line after each run, with an estimate of the time left."""
    said = progress.reason and f"failed: {progress.reason}"
    if progress.summary is not None:
        said = f"{progress.summary.get('seconds', 0.0):.1f} s"
    left = "" if progress.left is None else f", {duration(progress.left)} left"
    note(f"[{progress.done}/{progress.total}] {progress.run.id}: {said}{left}")


def duration(seconds: float) -> str:
    """Seconds for people.

    Example:
        >>> duration(5), duration(600), duration(7300)
        ('5 s', '10 min', '2.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _document(
    runs: Any, outcome: Outcome | None, written: list[Path], call: Call
) -> dict[str, Any]:
    return {
        "folder": str(call.out),
        "done": None if outcome is None else outcome.done,
        "left": None if outcome is None else outcome.left,
        "failed": {} if outcome is None else dict(outcome.failed),
        "written": [str(path) for path in written],
        "records": list(runs),
    }
