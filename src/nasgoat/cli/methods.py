"""``nasgoat methods``: what ``nasgoat search --method`` can be."""

from __future__ import annotations

from typing import Annotated

import typer

from nasgoat.cli.output import print_json


def methods(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
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
