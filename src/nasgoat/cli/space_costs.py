"""``nasgoat space costs``: the costs that a space knows, and tables fitted to measured values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nasgoat.cli.options import Json, SpaceName
from nasgoat.cli.terminal import note, print_json, show
from nasgoat.errors import SettingError


def costs(
    space: SpaceName,
    fit: Annotated[
        Path | None,
        typer.Option(
            help="Fit a table to measured values: CSV with a column graph (JSON) or digits, and "
            "one of values."
        ),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of values.")] = None,
    name: Annotated[
        str | None, typer.Option(help="What the cost is called; as the column by default.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="operation, or place: an operation costs by edge or layer.")
    ] = "operation",
    output: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    json: Json = False,
) -> None:
    """Show what the space knows of its costs, or fit a table of costs to measured values."""
    from nasgoat.safe_files import write_whole
    from nasgoat.spaces import load_space
    from nasgoat.spaces.cost_fit import fit_cost
    from nasgoat.spaces.measured_file import read_measured

    found = load_space(space)
    if fit is None:
        if column or name or output:
            raise SettingError("column, name and output must come with --fit, got no file")
        known = {cost.name: cost.text for cost in found.costs}
        lines = "\n".join(f"{cost}: {text}" for cost, text in known.items())
        print_json({"costs": known}) if json else show(lines or "no costs are declared")
        return
    graphs, values, chosen, left_out = read_measured(found, fit, column)
    fitted = replace(fit_cost(found, graphs, values, name or chosen, by), left_out=left_out)
    if output is not None:
        write_whole(output, fitted.toml + "\n")
    if json:
        print_json(
            {
                "cost": fitted.cost.name,
                "by": by,
                "graphs": fitted.graphs,
                "left_out": fitted.left_out,
                "r_squared": fitted.r_squared,
                "largest_error": fitted.largest_error,
                "mean_error": fitted.mean_error,
                "text": fitted.cost.text,
                "toml": fitted.toml,
            }
        )
        return
    show(fitted.toml)
    outside = f"; {left_out} rows are not in the space" if left_out else ""
    note(
        f"fitted to {fitted.graphs} graphs{outside}: R² {fitted.r_squared:.3f}, largest error "
        f"{fitted.largest_error:.4g}, mean error {fitted.mean_error:.4g}"
    )
    if output is not None:
        note(f"written: {output}")
