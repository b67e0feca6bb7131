"""``nasgoat space``, ``methods`` and ``data``: look at what there is to search, and with what."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import (
    KERNEL,
    AcquisitionName,
    BatchStrategy,
    Blocks,
    Json,
    Preset,
    Seed,
    SpaceName,
    TimeLimit,
)
from nasgoat.cli.search import Proposing
from nasgoat.cli.space_costs import costs
from nasgoat.cli.terminal import note, print_json, show, show_graph

if TYPE_CHECKING:
    from nasgoat.acquisition import Choice
    from nasgoat.spaces import SearchSpace

space_verbs = typer.Typer(help="Look at a search space.", no_args_is_help=True)
space_verbs.command()(costs)
data_verbs = typer.Typer(help="Benchmark tables: what is there, and import of official files.")


@space_verbs.command()
def check(
    space: SpaceName,
    preset: Preset = "default",
    kernel: Annotated[str | None, KERNEL] = None,
    acquisition: AcquisitionName = None,
    batch_strategy: BatchStrategy = None,
    time_limit: TimeLimit = None,
    blocks: Blocks = None,
    json: Json = False,
) -> None:
    """Say what the space is, how large, and what each exact optimiser would cost in a search."""
    from nasgoat.acquisition import choose, require_satisfiable

    found = _find_space(space)
    require_satisfiable(found)
    settings = Proposing(
        preset=preset,
        kernel=kernel,
        acquisition=acquisition,
        batch_strategy=batch_strategy,
        blocks=blocks,
    ).settings()
    settings = replace(settings, time_limit=time_limit or settings.time_limit)
    if kernel is None:  # as a search would take it
        settings = settings.suited(found, "auto")
    form, features = settings.widest_kernel
    choice = choose(
        found,
        form,
        settings.questions,
        blocks=features,
        acquisition=settings.acquisition,
    )
    warning = choice.warn(settings.time_limit)
    if json:
        print_json(_document_check(found, choice, warning))
    else:
        _show_check(space, found, choice, warning)


def _document_check(space: SearchSpace, choice: Choice, warning: str | None) -> dict[str, Any]:
    number, exact = space.size()
    return {
        "space": space.to_dict(),
        "description": space.describe(),
        "count": number if exact else None,
        "at_most": number,
        "limits": [limit.to_dict() for limit in space.limits],
        "costs": {cost.name: cost.text for cost in space.costs},
        "optimizers": choice.list_exact(),
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


def _show_check(name: str, space: SearchSpace, choice: Choice, warning: str | None) -> None:
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
    for entry in choice.list_exact():
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
    from nasgoat.spaces import is_file_name, preset_names, preset_text, to_toml

    if space is None:
        names = {name: _find_space(name).describe() for name in preset_names()}
        print_json(names) if json else show("\n".join(f"{k}: {v}" for k, v in names.items()))
        return
    found = _find_space(space)
    if json:
        print_json({"space": found.to_dict(), "description": found.describe()})
        return
    show(f"# {space}: {found.describe()}")
    show((to_toml(found) if is_file_name(space) else preset_text(space)).rstrip())


@space_verbs.command()
def count(space: SpaceName, json: Json = False) -> None:
    """Count the graphs of the space, isomorphic ones once; say so if it is only a bound."""
    number, exact = _find_space(space).size()
    if json:
        bound: dict[str, Any] = {"count": None, "at_most": number}
        print_json({"count": number} if exact else bound)
        return
    show(str(number))
    if not exact:
        note("this is an upper bound; the space is too large to be counted quickly")


@space_verbs.command()
def sample(
    space: SpaceName,
    number: Annotated[int, typer.Option("--count", "-n", help="How many graphs.")] = 3,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw random graphs of the space."""
    import numpy as np

    found = _find_space(space)
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
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw a graph of the space to a file."""
    import numpy as np

    from nasgoat.figures import save
    from nasgoat.graphs import LabeledGraph

    found = _find_space(space)
    if graph:
        chosen = LabeledGraph.from_json(graph)
        found.check(chosen)
    else:
        chosen = found.sample(1, np.random.default_rng(seed))[0]
    save(chosen, output, operations=found.labels)
    print_json({"graph": chosen.to_dict(), "file": str(output)}) if json else note(
        f"wrote {output}"
    )


def methods(json: Json = False) -> None:
    """List the search methods and whether the package that each needs is installed."""
    from nasgoat import search_methods

    known = search_methods.methods()
    if json:
        found = {
            name: {
                "summary": summary,
                "available": search_methods.available(name),
                "batch": search_methods.own_batch(name) if search_methods.available(name) else None,
            }
            for name, summary in known.items()
        }
        print_json({"methods": found})
        return
    for name, summary in known.items():
        missing = "" if search_methods.available(name) else f"  ({search_methods.remedy(name)})"
        print(f"{name:14s} {summary}{missing}")


@data_verbs.command("status")
def data_status(json: Json = False) -> None:
    """List the benchmark tables, where they come from and how to get what they lack."""
    from nasgoat.benchmarks import list_tables
    from nasgoat.benchmarks.table_files import data_folder

    tables = list_tables()
    if json:
        print_json({"folder": str(data_folder()), "tables": [asdict(table) for table in tables]})
        return
    print(f"tables are kept in {data_folder()} (NASGOAT_DATA)")
    for table in tables:
        print(f"{table.benchmark:8s} {table.source if table.available else 'not there'}")
        if table.lacks:
            print(f"{'':8s} lacks {table.lacks}")


@data_verbs.command("import")
def import_(
    table: Annotated[str, typer.Argument(help="nb101, nb201, hw201 or macro.")],
    source: Annotated[Path, typer.Argument(help="The official file or folder.")],
    json: Json = False,
) -> None:
    """Turn an official file into a compact table, once."""
    from nasgoat.benchmarks import import_table

    note(f"reading {source}")
    where = import_table(table, source)
    if json:
        print_json({"table": table, "source": str(source), "written": str(where)})
    else:
        print(f"written: {where}")


def _find_space(name: str) -> SearchSpace:
    from nasgoat.spaces import load_space

    return load_space(name)
