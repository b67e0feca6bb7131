"""``nasgoat methods`` and ``data``: what there is to search with, and tables to search in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from nasgoat.cli.options import Json
from nasgoat.cli.terminal import note, print_json

data_verbs = typer.Typer(help="Benchmark tables: what is there, and import of official files.")


def methods(json: Json = False) -> None:
    """List the search methods and whether the package that each needs is installed."""
    from nasgoat import search_methods

    known = search_methods.methods()
    here = {name: search_methods.is_available(name) for name in known}
    if json:
        found = {
            name: {
                "summary": summary,
                "available": here[name],
                "batch": search_methods.find_own_batch(name) if here[name] else None,
            }
            for name, summary in known.items()
        }
        print_json({"methods": found})
        return
    for name, summary in known.items():
        missing = "" if here[name] else f"  ({search_methods.find_remedy(name)})"
        print(f"{name:14s} {summary}{missing}")


@data_verbs.command("status")
def data_status(json: Json = False) -> None:
    """List the benchmark tables, where they come from and how to get what they lack."""
    from nasgoat.benchmarks import list_tables
    from nasgoat.benchmarks.table_files import find_data_folder

    tables = list_tables()
    if json:
        listed = [{**asdict(table), "names": table.names} for table in tables]
        print_json({"folder": str(find_data_folder()), "tables": listed})
        return
    print(f"tables are kept in {find_data_folder()} (NASGOAT_DATA)")
    for table in tables:
        print(f"{table.benchmark:8s} {table.source if table.available else 'not there'}")
        names = f"for {', '.join(table.names)}"
        print(fill(names, 100, initial_indent=" " * 9, subsequent_indent=" " * 13))
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

    if source.exists():
        note(f"reading {source}")
    where = import_table(table, source)
    if json:
        print_json({"table": table, "source": str(source), "written": str(where)})
    else:
        print(f"written: {where}")
