"""``nasgoat compare``, ``kernels`` and ``scale``: experiments, from a file or from options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import Dask, Json, Quiet, with_groups
from nasgoat.cli.output import command_line, note, print_json
from nasgoat.cli.process import Interrupts
from nasgoat.cli.stored_runs import RUNS
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import Workers
    from nasgoat.experiments.experiment_file import Experiment
    from nasgoat.experiments.runner import Outcome, Progress


@dataclass(frozen=True)
class Measuring:
    """What is measured, where, and what is shown of it."""

    out: Annotated[
        Path | None, typer.Option(help="Folder of the records; beside the file by default.")
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(help="Do some runs only, e.g. method=random,goat-e; can be repeated."),
    ] = None
    workers: Annotated[int | None, typer.Option(help="Local processes; 1 by default.")] = None
    dask: Dask = None
    minutes: Annotated[float | None, typer.Option(help="Begin no run after so many minutes.")] = (
        None
    )
    plot_only: Annotated[
        bool, typer.Option("--plot-only", help="Run nothing; tables and figures from the records.")
    ] = False
    figures: Annotated[
        Path | None, typer.Option(help="Folder of the figures; that of the records by default.")
    ] = None
    json: Json = False
    quiet: Quiet = False

    def open_workers(self) -> Workers:
        """Whoever does the runs; to be closed."""
        from nasgoat.bayesopt import Workers
        from nasgoat.experiments.runner import local_processes

        if self.dask is not None and self.workers is not None:
            raise SettingError("a call must name --workers or --dask, got both")
        if self.dask is not None:
            from nasgoat.integrations.dask_cluster import dask_workers

            return dask_workers(self.dask, note)
        if self.workers is None or self.workers == 1:
            return Workers.serial()
        return local_processes(self.workers)


def _make_verb(kind: str, help_text: str) -> Callable[..., None]:
    """The verb that runs experiments of one kind, which a file declares."""

    def verb(
        file: Annotated[Path, typer.Argument(help="TOML file that declares the experiment.")],
        measuring: Measuring,
    ) -> None:
        from nasgoat.experiments.experiment_file import load_experiment

        run_experiment(load_experiment(file, kind), file.with_suffix(""), measuring)

    verb.__name__, verb.__doc__ = kind, help_text
    return with_groups(verb)


compare = _make_verb(
    "compare", "Compare methods: errors, evaluations to the optimum, seconds and certificates."
)
kernels = _make_verb(
    "kernels",
    "Compare graph kernels: RMSE, MNLL and rank correlation beside the numbers of the paper.",
)


@dataclass(frozen=True)
class Scaling:
    """What is measured where no file says it."""

    nodes: Annotated[str | None, typer.Option(help="Numbers of nodes, e.g. 5,6,7.")] = None
    observations: Annotated[str | None, typer.Option(help="Numbers of observations.")] = None
    methods: Annotated[
        str | None,
        typer.Option(
            help="Optimisers' names, with a formulation for a MIP: branch,scip/compact,scip/paper; "
            "scip/compact/independent takes nothing from branch and bound."
        ),
    ] = None
    kernel: Annotated[str | None, typer.Option(help="linear, exponential, or both.")] = None
    top: Annotated[int | None, typer.Option(help="How many best graphs.")] = None
    seeds: Annotated[str | None, typer.Option(help="Seeds of the problems.")] = None
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most for a solve.")] = None
    gap: Annotated[float | None, typer.Option(help="Relative gap that counts as optimal.")] = None

    def declaration(self) -> dict[str, Any]:
        """What was given, as the keys of a file."""
        given = {key: value for key, value in asdict(self).items() if value is not None}
        for key in ("nodes", "observations", "seeds"):
            if key in given:
                given[key] = _split_numbers(key, given[key])
        if "methods" in given:
            given["methods"] = _split_names(given["methods"])
        if "kernel" in given:
            given["kernels"] = _split_names(given.pop("kernel"))
        return given


@with_groups
def scale(
    file: Annotated[
        Path | None, typer.Argument(help="TOML file that declares the study; or use the options.")
    ] = None,
    *,
    scaling: Scaling,
    measuring: Measuring,
) -> None:
    """Measure how optimisers scale: n nodes, at most n + 2 edges, three operations."""
    from nasgoat.experiments.experiment_file import Experiment, load_experiment
    from nasgoat.experiments.scale_study import ScaleStudy
    from nasgoat.experiments.study import Run

    given = scaling.declaration()
    if file is None:
        study = ScaleStudy(**{"methods": ["branch", "scip/compact"], **given})
        experiment = Experiment("scale", "How the acquisition optimisers scale", "", study)
        # A folder for each set of options: the same call goes on with its own records.
        name = f"scale-{Run('', given).fingerprint[:6]}" if given else "scale"
        run_experiment(experiment, RUNS / name, measuring)
        return
    if given:
        raise SettingError(
            f"a call must name a file or options, got both: {file} and {', '.join(given)}"
        )
    run_experiment(load_experiment(file, "scale"), file.with_suffix(""), measuring)


def run_experiment(experiment: Experiment, folder: Path, measuring: Measuring) -> None:
    """Do what is missing, then write and print tables and figures.

    Args:
        experiment: What to measure.
        folder: Where its records are, unless an option says otherwise.
        measuring: The options.
    """
    from nasgoat.experiments import read_experiment, tables_of
    from nasgoat.experiments.session import Session

    folder = measuring.out or folder
    session = Session(experiment, folder, command_line())
    outcome, interrupts = None, Interrupts()
    if not measuring.plot_only:
        outcome = _measure(session, measuring, interrupts)
    written = session.show(measuring.figures)
    records = read_experiment(folder)
    if measuring.json:
        print_json(
            {
                "folder": str(folder),
                "done": outcome and outcome.done,
                "left": outcome and outcome.left,
                "failed": dict(outcome.failed) if outcome else {},
                "written": [str(path) for path in written],
                "records": list(records.runs),
            }
        )
    else:
        print("\n\n".join(table.markdown() for table in tables_of(records)))
    if not measuring.quiet:
        note("written: " + ", ".join(map(str, written)))
    if interrupts.requested and (outcome is None or outcome.left):
        raise typer.Exit(130)
    if outcome is not None and outcome.failed:
        raise typer.Exit(1)


def _measure(session: Any, measuring: Measuring, interrupts: Interrupts) -> Outcome:
    """Do the runs that are missing, and say what failed and what is left."""
    for line in session.experiment.study.left_out():
        note(f"left out: {line}")
    workers = measuring.open_workers()
    seconds = float("inf") if measuring.minutes is None else 60.0 * measuring.minutes
    try:
        with interrupts:
            outcome: Outcome = session.run(
                workers,
                parse_only(measuring.only or []),
                (lambda progress: None) if measuring.quiet else show_progress,
                interrupts.stopping,
                seconds,
            )
    finally:
        workers.close()
    for run, reason in outcome.failed.items():
        note(f"{run} failed: {reason}")
    if outcome.left and not measuring.quiet:
        note(f"{outcome.left} runs are left; the same command goes on with them")
    return outcome


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
        found.setdefault(key.strip(), []).extend(_split_names(values))
    return found


def show_progress(progress: Progress) -> None:
    """A line after each run, with an estimate of the time left."""
    said = progress.reason and f"failed: {progress.reason}"
    if progress.summary is not None:
        said = f"{progress.summary.get('seconds', 0.0):.1f} s"
    left = "" if progress.left is None else f", {format_duration(progress.left)} left"
    note(f"[{progress.done}/{progress.total}] {progress.run.id}: {said}{left}")


def format_duration(seconds: float) -> str:
    """Seconds for people.

    Example:
        >>> format_duration(5), format_duration(600), format_duration(7300)
        ('5 s', '10 min', '2.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _split_numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{name} must be numbers like 5,6,7, got {text!r}") from None
