"""``nasgoat compare``, ``fronts``, ``kernels`` and ``scale``: experiments by file or by options."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import Dask, Json, Quiet, split_names, split_numbers, with_groups
from nasgoat.cli.stored_runs import RUNS
from nasgoat.cli.terminal import Interrupts, note, print_json, quote_command
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import Workers
    from nasgoat.experiments import FinishedRun, Tally
    from nasgoat.experiments.study import Experiment


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
        from nasgoat.experiments import start_local_processes

        if self.dask is not None and self.workers is not None:
            raise SettingError("a call must name --workers or --dask, got both")
        if self.dask is not None:
            from nasgoat.integrations.dask_cluster import connect_dask_workers

            return connect_dask_workers(self.dask, note)
        if self.workers is None or self.workers == 1:
            return Workers.serial()
        return start_local_processes(self.workers)


def _make_verb(kind: str, help_text: str) -> Callable[..., None]:
    """The verb that runs experiments of one kind, which a file declares."""

    def verb(
        file: Annotated[Path, typer.Argument(help="TOML file that declares the experiment.")],
        measuring: Measuring,
    ) -> None:
        from nasgoat.experiments.study import load_experiment

        run_experiment(load_experiment(file, kind), file.with_suffix(""), measuring)

    verb.__name__, verb.__doc__ = kind, help_text
    return with_groups(verb)


compare = _make_verb(
    "compare", "Compare methods: errors, evaluations to the optimum, seconds and certificates."
)
fronts = _make_verb(
    "fronts", "Compare methods on several objectives and under limits: hypervolume, fronts, waste."
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
                given[key] = split_numbers(key, given[key])
        if "methods" in given:
            given["methods"] = split_names(given["methods"])
        if "kernel" in given:
            given["kernels"] = split_names(given.pop("kernel"))
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
    from nasgoat.experiments.study import Experiment, ExperimentRun, find_study, load_experiment

    given = scaling.declaration()
    if file is None:
        study = find_study("scale")(**{"methods": ["branch", "scip/compact"], **given})
        experiment = Experiment("scale", "How the acquisition optimisers scale", "", study)
        # A folder for each set of options: the same call goes on with its own records.
        name = f"scale-{ExperimentRun('', given).fingerprint[:6]}" if given else "scale"
        run_experiment(experiment, RUNS / name, measuring)
        return
    if given:
        raise SettingError(
            f"a call must name a file or options, got both: {file} and {', '.join(given)}"
        )
    run_experiment(load_experiment(file, "scale"), file.with_suffix(""), measuring)


def run_experiment(experiment: Experiment, folder: Path, measuring: Measuring) -> None:
    """Do what is missing in the folder or in ``--out``, then write and print tables and figures."""
    from nasgoat.experiments import build_tables, read_experiment, write_results

    kept = measuring.out is None and _is_in_git(folder)
    if kept and not measuring.plot_only:
        raise SettingError(
            f"records that Git keeps must be named to be changed, got {folder}; "
            f"--plot-only shows them, --out {folder} goes on with them, another --out begins anew"
        )
    folder = measuring.out or folder
    tally, interrupts = None, Interrupts()
    if not measuring.plot_only:
        tally = _measure(experiment, folder, measuring, interrupts)
    written = write_results(folder, measuring.figures, RUNS / folder.name if kept else None)
    records = read_experiment(folder)
    if measuring.json:
        print_json(
            {
                "folder": str(folder),
                "done": tally and tally.done,
                "left": tally and tally.left,
                "failed": dict(tally.failed) if tally else {},
                "written": [str(path) for path in written],
                "records": list(records.runs),
            }
        )
    else:
        print("\n\n".join(table.markdown() for table in build_tables(records)))
    if not measuring.quiet:
        note("written: " + ", ".join(map(str, written)))
    if interrupts.requested and (tally is None or tally.left):
        raise typer.Exit(130)
    if tally is not None and tally.failed:
        raise typer.Exit(1)


def _is_in_git(folder: Path) -> bool:
    """Whether Git keeps files of a folder: they are somebody's results, not a place to work in."""
    git = shutil.which("git")
    if git is None or not folder.is_dir():
        return False
    listing = [git, "-C", str(folder), "ls-files", "."]
    return bool(subprocess.run(listing, capture_output=True).stdout)  # noqa: S603 a known program


def _measure(
    experiment: Experiment, folder: Path, measuring: Measuring, interrupts: Interrupts
) -> Tally:
    """Do the runs that are missing, and say what failed and what is left."""
    from nasgoat.experiments import Runner

    for line in experiment.study.list_left_out():
        note(f"left out: {line}")
    only = parse_only(measuring.only or [])
    workers = measuring.open_workers()
    try:
        with interrupts:
            runner = Runner(
                workers,
                on_finished=(lambda run: None) if measuring.quiet else show_run,
                stopping=interrupts.is_stopping,
                seconds=float("inf") if measuring.minutes is None else 60.0 * measuring.minutes,
            )
            tally = runner.measure(experiment, folder, quote_command(), only)
    finally:
        workers.close()
    for run, reason in tally.failed.items():
        note(f"{run} failed: {reason}")
    if tally.left and not measuring.quiet:
        note(f"{tally.left} runs are left; the same command goes on with them")
    return tally


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
        found.setdefault(key.strip(), []).extend(split_names(values))
    return found


def show_run(run: FinishedRun) -> None:
    """A line after each run, with an estimate of the time left."""
    from nasgoat.figures.wording import format_duration

    said = run.reason and f"failed: {run.reason}"
    if run.summary is not None:
        said = f"{run.summary.get('seconds', 0.0):.1f} s"
    left = "" if run.left is None else f", {format_duration(run.left)} left"
    note(f"[{run.done}/{run.total}] {run.run.id}: {said}{left}")
