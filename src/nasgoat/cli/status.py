"""``nasgoat status``: how a stored search stands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.output import print_json, show

if TYPE_CHECKING:
    from nasgoat.integrations.stored_search import StudyStatus


def status(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run; the latest in runs/ if left out.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(envvar="NASGOAT_STORAGE", help="SQLite file or PostgreSQL URL of the study."),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Name of the study; all if left out.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say how a search stands: what is done, what runs, the best so far, how to resume."""
    from nasgoat.cli.run_folder import run_address
    from nasgoat.cli.secrets import restored
    from nasgoat.errors import StudyError
    from nasgoat.integrations import StorageAddress
    from nasgoat.integrations.stored_search import list_studies, read_status

    address = (
        StorageAddress.of(restored(storage))
        if storage and run is None
        else run_address(run, "nasgoat status FOLDER")
    )
    names = [study] if study else list_studies(address)
    if not names:
        raise StudyError(f"the storage {address} must hold a search, got none")
    found = [read_status(address, name) for name in names]
    if json:
        print_json({"studies": [_document(status) for status in found]})
        return
    for status in found:
        _print(status)


def _document(status: StudyStatus) -> dict[str, Any]:
    return {**asdict(status), "finished": status.finished}


def _print(status: StudyStatus) -> None:
    from nasgoat.figures import ladder
    from nasgoat.graphs import LabeledGraph

    state = "running" if status.running else "finished" if status.finished else "stopped"
    show(f"{status.study}: {state}")
    show(f"  storage      {status.storage}")
    show(f"  evaluations  {status.complete} of {status.budget or '?'}", end="")
    show(f", {status.failed} failed" if status.failed else "", end="")
    show(f", {status.open} open" if status.open else "")
    if status.best is not None:
        show(f"  best         {status.best['error']:.4g}, evaluation {status.best['number'] + 1}\n")
        show(ladder(LabeledGraph.from_json(status.best["graph"])), end="\n\n")
    if state == "stopped" and status.command:
        show(f"  resume with  {status.command}")
