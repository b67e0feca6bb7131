"""``nasgoat scale``: seconds, gap and model size against the number of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.experiments.scale_study import ScaleStudy

RUNS = Path("runs")


def scale(
    file: Annotated[
        Path | None, typer.Argument(help="TOML file that declares the study; or use the options.")
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Numbers of nodes, e.g. 5,6,7.")] = None,
    observations: Annotated[str | None, typer.Option(help="Numbers of observations.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Optimisers' names, with a formulation for a MIP: branch,scip/compact,scip/paper; "
            "scip/compact/independent takes nothing from branch and bound."
        ),
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="linear, exponential, or both.")] = None,
    top: Annotated[int | None, typer.Option(help="How many best graphs.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of the problems.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most for a solve.")] = None,
    gap: Annotated[float | None, typer.Option(help="Relative gap that counts as optimal.")] = None,
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
    """Measure how optimisers scale: n nodes, at most n + 2 edges, three operations."""
    from nasgoat.experiments.experiment_file import Experiment, load_experiment

    given: dict[str, Any] = {
        "methods": methods and _names(methods),
        "nodes": nodes and _numbers("nodes", nodes),
        "observations": observations and _numbers("observations", observations),
        "kernels": kernel and _names(kernel),
        "top": top,
        "seeds": seeds and _numbers("seeds", seeds),
        "time_limit": time_limit,
        "gap": gap,
    }
    given = {key: value for key, value in given.items() if value is not None}
    if file is not None:
        if given:
            raise SettingError(
                f"a call must name a file or options, got both: {file} and {', '.join(given)}"
            )
        experiment = load_experiment(file, "scale")
    else:
        study = _study(given)
        experiment = Experiment("scale", "How the acquisition optimisers scale", "", study)
    folder = out or (file.with_suffix("") if file else RUNS / _folder_name(given))
    call = Call(folder, only, workers, dask, minutes, plot_only, figures, json, quiet)
    run_experiment(experiment, call)


def _study(given: dict[str, Any]) -> ScaleStudy:
    from nasgoat.experiments.scale_study import ScaleStudy

    return ScaleStudy(**{"methods": ["branch", "scip/compact"], **given})


def _folder_name(given: dict[str, Any]) -> str:
    """A folder for each set of options, so that the same call goes on with its own records."""
    from nasgoat.experiments.study import Run

    return f"scale-{Run('', given).fingerprint[:6]}" if given else "scale"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{name} must be numbers like 5,6,7, got {text!r}") from None
