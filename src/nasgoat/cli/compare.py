"""``nasgoat compare``: methods against each other on benchmarks, over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nasgoat.cli.experiment import (
    Call,
    Dask,
    Figures,
    Json,
    Minutes,
    Only,
    Out,
    PlotOnly,
    Quiet,
    WorkersOption,
    run_experiment,
)


def compare(
    file: Annotated[Path, typer.Argument(help="TOML file that declares the experiment.")],
    out: Out = None,
    only: Only = None,
    workers: WorkersOption = None,
    dask: Dask = None,
    minutes: Minutes = None,
    plot_only: PlotOnly = False,
    figures: Figures = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods: errors, evaluations to the optimum, seconds and certificates."""
    from nasgoat.experiments.experiment_file import load_experiment

    experiment = load_experiment(file, "compare")
    folder = out or file.with_suffix("")
    call = Call(folder, only, workers, dask, minutes, plot_only, figures, json, quiet)
    run_experiment(experiment, call)
