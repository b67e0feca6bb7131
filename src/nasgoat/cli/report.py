"""``nasgoat report``: a search or an experiment as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.output import note, print_json

if TYPE_CHECKING:
    from nasgoat.integrations import StorageAddress

_FILE = "report.html"


def report(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run or an experiment; the latest run.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(envvar="NASGOAT_STORAGE", help="SQLite file or PostgreSQL URL of the study."),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Name of the study.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a search or an experiment as one HTML file that opens anywhere, without a network."""
    from nasgoat.report import write_report

    experiment = None if run is None else _experiment_folder(run)
    found = _search(run, storage, study) if experiment is None else _experiment(experiment)
    html, facts, wanted = found
    path = output or wanted
    write_report(html, path)
    if json:
        print_json({"report": str(path), "bytes": len(html.encode()), **facts})
    else:
        note(f"wrote {path}")


def _experiment_folder(run: Path) -> Path | None:
    """The folder of an experiment, named itself or by its TOML file; None if it is none."""
    from nasgoat.errors import ReportError
    from nasgoat.experiments import is_experiment

    folder = run.with_suffix("") if run.suffix == ".toml" else run
    if is_experiment(folder):
        return folder
    if run.suffix == ".toml":
        raise ReportError(
            f"the experiment {run} must have records in {folder}, got none; run it first, or name "
            "the folder that its --out named"
        )
    return None


def _experiment(folder: Path) -> tuple[str, dict[str, Any], Path]:
    """The report of an experiment, what it is about, and where it goes unless somebody says."""
    from nasgoat.experiments import read_experiment
    from nasgoat.report import experiment_page

    records = read_experiment(folder)
    facts = {"kind": records.kind, "name": records.name, "runs": len(records.runs)}
    return experiment_page(records), facts, folder / _FILE


def _search(
    run: Path | None, storage: str | None, study: str | None
) -> tuple[str, dict[str, Any], Path]:
    """The report of a search, what it is about, and where it goes unless somebody says."""
    from nasgoat.cli.run_folder import run_address
    from nasgoat.cli.secrets import restored
    from nasgoat.integrations import StorageAddress
    from nasgoat.integrations.stored_search import read_stored_search
    from nasgoat.report import SearchRun, search_page

    if storage and run is None:
        address, folder = StorageAddress.of(restored(storage)), None
    else:
        address = run_address(run, "nasgoat report FOLDER")
        folder = address.path.parent
    name = study or _only_study(address)
    found = SearchRun(read_stored_search(address, name), folder)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:80]
    wanted = folder / _FILE if folder else Path(f"{slug or 'search'}-report.html")
    facts = {
        "kind": "search",
        "study": name,
        "storage": str(address),
        "state": found.state,
        "evaluations": len(found.done),
        "failed": len(found.failed),
    }
    return search_page(found), facts, wanted


def _only_study(address: StorageAddress) -> str:
    from nasgoat.errors import StudyError
    from nasgoat.integrations.stored_search import list_studies

    names = list_studies(address)
    if not names:
        raise StudyError(f"the storage {address} must hold a search, got none")
    if len(names) > 1:
        shown = ", ".join(sorted(names)[:10])
        raise StudyError(f"--study must be given, got none; the storage holds {shown}")
    return names[0]
