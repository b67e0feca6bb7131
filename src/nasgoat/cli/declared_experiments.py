"""``nasgoat compare`` and ``nasgoat kernels``: experiments that a TOML file declares."""

from __future__ import annotations

from collections.abc import Callable
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


def _verb(kind: str, help_text: str) -> Callable[..., None]:
    """The command that runs experiments of one kind."""

    def run(
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
        from nasgoat.experiments.experiment_file import load_experiment

        experiment = load_experiment(file, kind)
        folder = out or file.with_suffix("")
        call = Call(folder, only, workers, dask, minutes, plot_only, figures, json, quiet)
        run_experiment(experiment, call)

    run.__doc__ = help_text
    return run


compare = _verb(
    "compare", "Compare methods: errors, evaluations to the optimum, seconds and certificates."
)
kernels = _verb(
    "kernels",
    "Compare graph kernels: RMSE, MNLL and rank correlation beside the numbers of the paper.",
)
