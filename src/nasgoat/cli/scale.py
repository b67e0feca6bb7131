"""``nasgoat scale``: seconds, gap and model size against the number of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nasgoat.cli.output import note, print_json
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.experiments.scale import ScaleRecord


def scale(
    nodes: Annotated[str, typer.Option(help="Numbers of nodes, e.g. 5,6,7.")] = "5,6,7",
    observations: Annotated[str, typer.Option(help="Numbers of observations.")] = "50",
    methods: Annotated[
        str, typer.Option(help="scip/compact, scip/paper, gurobi/compact, or optimisers' names.")
    ] = "branch,scip/compact",
    kernel: Annotated[str, typer.Option(help="linear or exponential.")] = "linear",
    top: Annotated[int, typer.Option(help="How many best graphs.")] = 5,
    seeds: Annotated[str, typer.Option(help="Seeds of the problems.")] = "0",
    time_limit: Annotated[float, typer.Option(help="Seconds at most for each solve.")] = 600.0,
    gap: Annotated[float, typer.Option(help="Relative gap that counts as optimal.")] = 1e-4,
    figure: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg, .pdf.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure how optimisers scale: n nodes, at most n + 2 edges, three operations."""
    from nasgoat.experiments.scale import ScaleStudy
    from nasgoat.solvers import Limits

    study = ScaleStudy(
        methods=[name.strip() for name in methods.split(",")],
        nodes=_numbers("nodes", nodes),
        observations=_numbers("observations", observations),
        kernel=kernel,
        top=top,
        seeds=_numbers("seeds", seeds),
        limits=Limits(seconds=time_limit, gap=gap),
    )
    records = list(study.run(note))
    if figure is not None:
        from nasgoat.figures.scaling import scaling_figure

        scaling_figure([record.to_dict() for record in records]).savefig(figure)
    if json:
        print_json({"records": [record.to_dict() for record in records]})
    else:
        _print(records)


def _numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{name} must be numbers like 5,6,7, got {text!r}") from None


def _print(records: list[ScaleRecord]) -> None:
    print(
        "method          n    t  status      seconds     cpu   build      gap  variables rows  tree"
    )
    for r in records:
        gap = "-" if r.gap is None else f"{r.gap:.1e}"
        build = "-" if r.build_seconds is None else f"{r.build_seconds:.2f}"
        sizes = [("-" if x is None else str(x)) for x in (r.variables, r.constraints, r.tree_nodes)]
        print(
            f"{r.method:14s} {r.nodes:2d} {r.observations:4d}  {r.status:9s} {r.seconds:9.2f} "
            f"{r.cpu_seconds:7.2f} "
            f"{build:>7s} {gap:>8s} {sizes[0]:>10s} {sizes[1]:>5s} {sizes[2]:>6s}"
        )
