"""``nasgoat space``: look at a search space."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import KERNEL, BatchStrategy, Json, Preset, Seed, TimeLimit
from nasgoat.cli.output import note, print_json, show
from nasgoat.cli.search_options import Proposing

if TYPE_CHECKING:
    from nasgoat.spaces import SearchSpace

app = typer.Typer(help="Look at a search space.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="A TOML file, or a preset: nb101, nb201, darts, molecules, ...")
]


@app.command()
def check(
    space: Name,
    preset: Preset = "default",
    kernel: Annotated[str | None, KERNEL] = None,
    batch_strategy: BatchStrategy = None,
    time_limit: TimeLimit = 1800.0,
    json: Json = False,
) -> None:
    """Say what the space is, how large, and what each exact optimiser would cost in a search."""
    from nasgoat.acquisition import choose, require_satisfiable
    from nasgoat.acquisition.costs import shorten

    found = _space(space)
    require_satisfiable(found)
    number, exact = found.size()
    settings = Proposing(preset=preset, kernel=kernel, batch_strategy=batch_strategy).settings()
    choice = choose(found, settings.kernel, settings.questions)
    warning = choice.warn(time_limit)
    optimizers = choice.list_exact()
    if json:
        print_json(
            {
                "space": found.to_dict(),
                "description": found.describe(),
                "count": number if exact else None,
                "at_most": number,
                "limits": [limit.to_dict() for limit in found.limits],
                "optimizers": optimizers,
                "auto": {
                    "optimizer": choice.name,
                    "reason": choice.reason,
                    "kernel": choice.kernel,
                    "questions": choice.questions,
                    "warning": warning,
                },
            }
        )
        return
    show(f"{space}: {found.with_limits(()).describe()}")
    for limit in found.limits:
        show(f"limit: {limit.text if limit.name == limit.text else f'{limit.name}: {limit.text}'}")
    said = "isomorphic ones counted once" if exact else "an upper bound"
    show(f"graphs: {'' if exact else 'at most '}{shorten(number)} ({said})")
    show(f"forecast: {choice.terms}")
    for entry in optimizers:
        show(f"{entry['name']}: {entry['said']}")
    show(f"auto takes {choice.reason}")
    if warning:
        show(warning)


@app.command()
def describe(
    space: Annotated[
        str | None, typer.Argument(help="A preset or a TOML file; all presets.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the declaration of a space in TOML, or the list of presets."""
    from nasgoat.spaces import preset_names, to_toml
    from nasgoat.spaces.presets import is_file_name, preset_text

    if space is None:
        names = {name: _space(name).describe() for name in preset_names()}
        print_json(names) if json else show("\n".join(f"{k}: {v}" for k, v in names.items()))
        return
    found = _space(space)
    if json:
        print_json({"space": found.to_dict(), "description": found.describe()})
        return
    show(f"# {space}: {found.describe()}")
    show((to_toml(found) if is_file_name(space) else preset_text(space)).rstrip())


@app.command()
def count(space: Name, json: Json = False) -> None:
    """Count the graphs of the space, isomorphic ones once; say so if it is only a bound."""
    number, exact = _space(space).size()
    if json:
        bound: dict[str, Any] = {"count": None, "at_most": number}
        print_json({"count": number} if exact else bound)
        return
    show(str(number))
    if not exact:
        note("this is an upper bound; the space is too large to be counted quickly")


@app.command()
def sample(
    space: Name,
    number: Annotated[int, typer.Option("--count", "-n", help="How many graphs.")] = 3,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw random graphs of the space."""
    import numpy as np

    from nasgoat.figures import ladder

    graphs = _space(space).sample(number, np.random.default_rng(seed))
    if json:
        print_json({"graphs": [graph.to_dict() for graph in graphs]})
        return
    for graph in graphs:
        show(ladder(graph), end="\n\n")


@app.command()
def draw(
    space: Name,
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

    found = _space(space)
    if graph:
        chosen = LabeledGraph.from_json(graph)
        found.check(chosen)
    else:
        chosen = found.sample(1, np.random.default_rng(seed))[0]
    save(chosen, output)
    print_json({"graph": chosen.to_dict(), "file": str(output)}) if json else note(
        f"wrote {output}"
    )


def _space(name: str) -> SearchSpace:
    from nasgoat.spaces import find_space

    return find_space(name)
