"""``nasgoat space``: look at a search space, its size and its costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import (
    KERNEL,
    AcquisitionName,
    BatchStrategy,
    Blocks,
    Json,
    Nodes,
    Preset,
    Seed,
    SpaceName,
    TimeLimit,
)
from nasgoat.cli.search import Proposing
from nasgoat.cli.terminal import note, print_json, show, show_graph
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.acquisition import Choice
    from nasgoat.bayesopt import Settings
    from nasgoat.spaces import SearchSpace

#: Numbers of graphs from which on only their power of ten is said: JSON readers refuse longer ones.
MOST_DIGITS = 10**1000

space_verbs = typer.Typer(help="Look at a search space.", no_args_is_help=True)


@space_verbs.command()
def check(
    space: SpaceName,
    preset: Preset = "default",
    kernel: Annotated[str | None, KERNEL] = None,
    acquisition: AcquisitionName = None,
    batch_strategy: BatchStrategy = None,
    time_limit: TimeLimit = None,
    blocks: Blocks = None,
    nodes: Nodes = None,
    json: Json = False,
) -> None:
    """Say what the space is, how large, and what each exact optimiser would cost in a search."""
    from nasgoat.acquisition import require_satisfiable
    from nasgoat.bayesopt.settings import LINEAR_INSTEAD

    found = _find_space(space, nodes)
    require_satisfiable(found)
    settings = Proposing(
        preset=preset,
        kernel=kernel,
        acquisition=acquisition,
        batch_strategy=batch_strategy,
        blocks=blocks,
    ).make_settings()
    settings = replace(settings, time_limit=time_limit or settings.time_limit)
    exact = settings
    if kernel is None:  # as a search would take it; one kernel for what each optimiser costs
        given = settings.kernel
        settings, exact = (
            settings.choose_kernel(found, "auto", chosen) for chosen in (True, False)
        )
        if settings.kernel == "linear" != given:
            note(LINEAR_INSTEAD)  # as a search says it, on standard error
    choice = _forecast(found, settings)
    listed = (choice if exact == settings else _forecast(found, exact)).list_exact()
    warning = choice.warn(settings.time_limit)
    if json:
        print_json(_document_check(found, choice, listed, warning))
    else:
        _show_check(space, found, choice, listed, warning)


def _forecast(space: SearchSpace, settings: Settings) -> Choice:
    from nasgoat.acquisition import choose

    form, features = settings.widest_kernel
    return choose(
        space,
        form,
        settings.questions,
        blocks=features,
        acquisition=settings.acquisition,
        time_limit=settings.time_limit,
    )


def _document_check(
    space: SearchSpace, choice: Choice, listed: list[dict[str, Any]], warning: str | None
) -> dict[str, Any]:
    number, exact = space.size()
    return {
        "space": space.to_dict(),
        "description": space.describe(),
        "count": number if exact else None,
        "at_most": number if number < MOST_DIGITS else None,
        "limits": [limit.to_dict() for limit in space.limits],
        "costs": {cost.name: cost.text for cost in space.costs},
        "optimizers": listed,
        "auto": {
            "optimizer": choice.name,
            "reason": choice.reason,
            "kernel": choice.kernel,
            "acquisition": choice.acquisition,
            "questions": choice.questions,
            "blocks": choice.blocks,
            "blocks_left_out": choice.left_out,
            "warning": warning,
        },
    }


def _show_check(
    name: str,
    space: SearchSpace,
    choice: Choice,
    listed: list[dict[str, Any]],
    warning: str | None,
) -> None:
    from nasgoat.acquisition.costs import shorten

    show(f"{name}: {space.with_limits(()).describe()}")
    for limit in space.limits:
        show(f"limit: {limit.text if limit.name == limit.text else f'{limit.name}: {limit.text}'}")
    for cost in space.costs:
        show(f"cost: {cost.name} = {cost.text}")
    number, exact = space.size()
    said = "isomorphic ones counted once" if exact else "an upper bound"
    show(f"graphs: {'' if exact else 'at most '}{shorten(number)} ({said})")
    show(f"forecast: {choice.terms}")
    for entry in listed:
        show(f"{entry['name']}: {entry['said']}")
    show(f"auto takes {choice.reason}")
    if warning:
        show(warning)


@space_verbs.command()
def describe(
    space: Annotated[
        str | None, typer.Argument(help="A preset or a TOML file; all presets.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the declaration of a space in TOML, or the list of presets."""
    from nasgoat.spaces import is_file_name, list_presets, read_preset_text, to_toml

    if space is None:
        names = {name: _find_space(name).describe() for name in list_presets()}
        print_json(names) if json else show("\n".join(f"{k}: {v}" for k, v in names.items()))
        return
    found = _find_space(space)
    if json:
        print_json({"space": found.to_dict(), "description": found.describe()})
        return
    show(f"# {space}: {found.describe()}")
    show((to_toml(found) if is_file_name(space) else read_preset_text(space)).rstrip())


@space_verbs.command()
def count(space: SpaceName, nodes: Nodes = None, json: Json = False) -> None:
    """Count the graphs of the space, isomorphic ones once; say so if it is only a bound."""
    from nasgoat.acquisition.costs import shorten

    number, exact = _find_space(space, nodes).size()
    if json:
        most = number if number < MOST_DIGITS else None
        bound: dict[str, Any] = {"count": None, "at_most": most}
        print_json({"count": number} if exact else bound)
        return
    show(str(number) if number < MOST_DIGITS else shorten(number))
    if not exact:
        note("this is an upper bound; the space is too large to be counted quickly")


@space_verbs.command()
def sample(
    space: SpaceName,
    number: Annotated[int, typer.Option("--count", "-n", help="How many graphs.")] = 3,
    nodes: Nodes = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw random graphs of the space."""
    import numpy as np

    found = _find_space(space, nodes)
    graphs = found.sample(number, np.random.default_rng(seed))
    if json:
        print_json({"graphs": [graph.to_dict() for graph in graphs]})
        return
    for graph in graphs:
        show_graph(graph, found.labels)
        show()


@space_verbs.command()
def draw(
    space: SpaceName,
    output: Annotated[Path, typer.Option(help="Picture to write (png, svg, pdf).")] = Path(
        "graph.png"
    ),
    graph: Annotated[str, typer.Option(help="The graph as JSON; a random one if empty.")] = "",
    nodes: Nodes = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw a graph of the space to a file."""
    import numpy as np

    from nasgoat.figures import save
    from nasgoat.graphs import LabeledGraph

    found = _find_space(space, nodes)
    if graph:
        chosen = LabeledGraph.from_json(graph)
        found.check(chosen)
    else:
        chosen = found.sample(1, np.random.default_rng(seed))[0]
    save(chosen, output, operations=found.labels)
    print_json({"graph": chosen.to_dict(), "file": str(output)}) if json else note(
        f"wrote {output}"
    )


@space_verbs.command()
def costs(
    space: SpaceName,
    fit: Annotated[
        Path | None,
        typer.Option(
            help="Fit a table to measured values: CSV with a column graph (JSON) or digits (one "
            "for each edge or layer: 0 for none, 1 for the first operation, and so on; a file of "
            "chains of one length may count from 0), and one of values."
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
    from nasgoat.spaces.measured_values import fit_cost, read_measured

    found = _find_space(space)
    if fit is None:
        if column or name or output:
            raise SettingError("column, name and output must come with --fit, got no file")
        known = {cost.name: cost.text for cost in found.costs}
        lines = "\n".join(f"{cost}: {text}" for cost, text in known.items())
        print_json({"costs": known}) if json else show(lines or "no costs are declared")
        return
    read = read_measured(found, fit, column)
    fitted = fit_cost(found, read.graphs, read.values, name or read.column, by)
    fitted = replace(fitted, left_out=read.left_out, first=read.first)
    if output is not None:
        write_whole(output, fitted.toml + "\n")
    if json:
        print_json({"cost": fitted.cost.name, "by": by, **fitted.to_dict()})
        return
    show(fitted.toml)
    note(fitted.describe())
    for warning in fitted.list_warnings():
        note(warning)
    if output is not None:
        note(f"written: {output}")


def _find_space(name: str, nodes: int | None = None) -> SearchSpace:
    from nasgoat.spaces import load_space

    return load_space(name, nodes)
