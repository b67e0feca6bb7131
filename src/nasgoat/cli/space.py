"""``nasgoat space``: look at a search space."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nasgoat.cli.output import note, print_json

if TYPE_CHECKING:
    from nasgoat.spaces import SearchSpace

app = typer.Typer(help="Look at a search space.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A preset: nb101, nb201, nb201-all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Seed = Annotated[int, typer.Option(help="Seed of the random draws.")]


@app.command()
def check(space: Name, json: Json = False) -> None:
    """Say what the space is, how large, and which exact optimisers apply."""
    from nasgoat.acquisition import choose, optimizer_names

    found = _space(space)
    choice = choose(found)
    document = {
        "space": found.to_dict(),
        "description": found.describe(),
        "count": found.count(),
        "optimizers": optimizer_names(),
        "auto": {"optimizer": choice.name, "reason": choice.reason},
    }
    if json:
        print_json(document)
        return
    print(f"{space}: {found.describe()}")
    print(f"graphs: {found.count():,} (isomorphic ones counted once)")
    print(f"optimisers: {', '.join(optimizer_names())}")
    print(f"auto takes {choice.reason}")


@app.command()
def count(space: Name, json: Json = False) -> None:
    """Count the graphs of the space, isomorphic ones once."""
    total = _space(space).count()
    print_json({"count": total}) if json else print(total)


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
        print(ladder(graph), end="\n\n")


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
    from nasgoat.spaces import preset

    return preset(name)
