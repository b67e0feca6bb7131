"""Runs that are stored: where they are, ``nasgoat status`` and ``nasgoat report``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.objectives import Choose, describe_evaluation, write_metrics
from nasgoat.cli.options import Json, Storage, make_slug
from nasgoat.cli.terminal import note, print_json, restore_password, show, show_graph
from nasgoat.errors import NasgoatError, ReportError, SettingError, StudyError

if TYPE_CHECKING:
    from nasgoat.integrations import StorageAddress
    from nasgoat.integrations.study_status import StudyStatus

STUDY_FILE = "study.db"
RUNS = Path("runs")
RunOrExperiment = Annotated[
    Path | None, typer.Argument(help="Folder of a run or an experiment; the latest run.")
]
_REPORT_FILE = "report.html"


@dataclass(frozen=True)
class StoredRun:
    """Where a search is kept.

    Args:
        study: The name of its study.
        folder: Where its files go.
        address: Where its study is stored.
    """

    study: str
    folder: Path
    address: StorageAddress


def choose_run(
    report: Path | None, storage: str | None, study: str, declaration: dict[str, Any], new: bool
) -> StoredRun:
    """The run that a call goes on with: the latest of those it began before, or a new one.

    Runs of one name are NAME, NAME-2, NAME-3, ...: studies in a storage that the call names, else
    folders. A finished run is gone on with too, and shown without another evaluation, unless a new
    one is asked for. A name that the call gives is never passed over because it holds another
    search: the study's ledger refuses that and says what differs.
    """
    from nasgoat.integrations import StorageAddress
    from nasgoat.integrations.stored_search import list_studies, read_status

    if report is not None:
        _check_folder(report)
    address = None if storage is None else StorageAddress.of(restore_password(storage))
    new_file = address is not None and address.is_file and not address.path.exists()
    held = [] if address is None or new_file else list_studies(address)
    chosen, number = None, 1
    while True:
        run = _make_run(report, address, study, number)
        stored = run.study in held if address else run.address.path.exists()
        if not stored and (address or not (run.folder / "result.json").exists()):
            return run if new or chosen is None else chosen
        if stored and not new:
            if read_status(run.address, run.study).declaration == declaration:
                chosen = run
            elif number == 1 and (report or address):
                return run
        number += 1


def _make_run(
    report: Path | None, address: StorageAddress | None, study: str, number: int
) -> StoredRun:
    """The run of a name and a number, which only those after the first show."""
    from nasgoat.integrations import StorageAddress

    end = "" if number == 1 else f"-{number}"
    if address is not None:
        return StoredRun(study + end, report or RUNS / make_slug(study + end), address)
    first = RUNS / make_slug(study) if report is None else report
    if not first.name:  # "." has none, by which the runs after it could be called
        first = first.resolve()
    folder = first.with_name(first.name + end)
    return StoredRun(study, folder, StorageAddress.of(folder / STUDY_FILE))


def _check_folder(folder: Path) -> None:
    """Raise :class:`SettingError` unless a folder is there or may be made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise SettingError(f"--report must be a folder, got the file {there}")
    if not folder.resolve().name:
        raise SettingError(f"--report must be a folder with a name, got {folder}")


def status(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run; the latest in runs/ if left out.")
    ] = None,
    storage: Storage = None,
    study: Annotated[str | None, typer.Option(help="Name of the study; all if left out.")] = None,
    choose: Choose = None,
    json: Json = False,
) -> None:
    """Say how a search stands: what is done, what runs, the best so far, how to resume."""
    from nasgoat.integrations.stored_search import read_status

    address, _ = _find_study(run, storage, "status")
    found = [read_status(address, name) for name in ([study] if study else _list_studies(address))]
    chosen = [_choose(address, each.study, choose) if choose else {} for each in found]
    if json:
        stand = [{**_describe(each), **more} for each, more in zip(found, chosen, strict=True)]
        print_json({"studies": stand})
        return
    for each, more in zip(found, chosen, strict=True):
        _show_status(each, more.get("chosen"), choose or ())


def _describe(status: StudyStatus) -> dict[str, Any]:
    """How a study stands, as JSON has it; a front only where there can be one."""
    found = {**asdict(status), "finished": status.finished}
    if status.front is None:
        del found["front"]
    return found


def _choose(address: StorageAddress, study: str, limits: list[str]) -> dict[str, Any]:
    """The best of a stored search under limits that it was not told."""
    from nasgoat.bayesopt import Evaluation, Objectives
    from nasgoat.bayesopt.front import choose
    from nasgoat.integrations.stored_search import read_stored_search

    stored = read_stored_search(address, study)
    done = [Evaluation.of(ticket) for ticket in stored.tickets if ticket.metrics]
    objectives = Objectives.declared(stored.status.declaration, stored.space)
    place = choose(objectives, [e.metrics for e in done], limits)
    return {"chosen": describe_evaluation(done[place])}


def report(
    run: RunOrExperiment = None,
    storage: Storage = None,
    study: Annotated[str | None, typer.Option(help="Name of the study.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None,
    json: Json = False,
) -> None:
    """Write a search or an experiment as one HTML file that opens anywhere, without a network."""
    from nasgoat.report import write_report

    experiment = None if run is None else _find_experiment(run)
    if experiment is None:
        html, facts, default = _report_search(run, storage, study)
    else:
        html, facts, default = _report_experiment(experiment)
    path = output or default
    write_report(html, path)
    if json:
        print_json({"report": str(path), "bytes": len(html.encode()), **facts})
    else:
        note(f"wrote {path}")


def _find_study(
    run: Path | None, storage: str | None, verb: str
) -> tuple[StorageAddress, Path | None]:
    """The address of a study and the folder of its run; None where a storage alone is named.

    Without a run, a storage or the latest run in ``runs/`` is meant; ``verb`` is for the message.
    """
    from nasgoat.integrations import StorageAddress

    if storage and run is None:
        return StorageAddress.of(restore_password(storage)), None
    if run is None:
        files = sorted(RUNS.glob(f"*/{STUDY_FILE}"), key=lambda path: path.stat().st_mtime)
        if not files:
            raise StudyError(f"a run must be given, got none in {RUNS}/; nasgoat {verb} FOLDER")
        path = files[-1]
    elif run.is_dir() and not (run / STUDY_FILE).exists():
        raise StudyError(
            f"the folder {run} must hold a {STUDY_FILE}, got none; name a study in another storage "
            "by --storage and --study alone"
        )
    else:
        path = run / STUDY_FILE if run.is_dir() or not run.suffix else run
    address = StorageAddress.of(path)
    return address, address.path.parent


def _list_studies(address: StorageAddress) -> list[str]:
    """The names of the studies in a storage, at least one."""
    from nasgoat.integrations.stored_search import list_studies

    names = list_studies(address)
    if not names:
        raise StudyError(f"the storage {address} must hold a search, got none")
    return names


def _list_labels(status: StudyStatus) -> tuple[str, ...]:
    """The labels of the study's space; none if it is of a plugin that is not loaded."""
    from nasgoat.spaces import read_declared_space

    try:
        return read_declared_space(status.declaration["space"]).labels
    except (NasgoatError, LookupError, TypeError):
        return ()


def _show_status(
    status: StudyStatus, chosen: dict[str, Any] | None = None, limits: Sequence[str] = ()
) -> None:
    from nasgoat.graphs import LabeledGraph

    state = "running" if status.running else "finished" if status.finished else "stopped"
    if status.converged and not status.running:
        state = f"converged, {status.converged}"
    show(f"{status.study}: {state}")
    show(f"  storage      {status.storage}")
    of = f" of {status.budget or '?'}" if status.cost is None else ""
    show(f"  evaluations  {status.complete}{of}", end="")
    show(f", {status.failed} failed" if status.failed else "", end="")
    show(f", {status.open} open" if status.open else "")
    if status.cost is not None:
        show(f"  cost         {status.cost:.4g} of {status.budget or '?'} full evaluations")
    for use in status.sources:
        show(f"  source       {use.describe()}")
    if status.best is not None:
        show(f"  best         {_describe_best(status)}\n")
        show_graph(LabeledGraph.from_json(status.best["graph"]), _list_labels(status))
        show()
    for each in status.front or ():
        values = {name: each["metrics"][name] for name in status.declaration["minimise"]}
        show(f"  front        {write_metrics(values)}, evaluation {each['number'] + 1}")
    if chosen is not None:
        found = f"{write_metrics(chosen['metrics'])}, evaluation {chosen['evaluation']}"
        show(f"  best under {' and '.join(limits)}: {found}\n")
        show_graph(LabeledGraph.from_json(chosen["graph"]), _list_labels(status))
        show()
    if state == "stopped" and status.command:
        show(f"  resume with  {status.command}")


def _describe_best(status: StudyStatus) -> str:
    """The error of the recommended evaluation; where some were repeated, with its uncertainty.

    Of several objectives or under measured limits, what is minimised first and which limits even
    the best breaks.
    """
    from nasgoat.bayesopt import Objectives
    from nasgoat.figures.wording import format_count

    best = status.best or {}
    said = f"{best['error']:.4g}"
    if best.get("uncertainty") is not None:
        times = format_count(best["evaluations"], "evaluation")
        said = f"{best['error']:.3f} ± {best['uncertainty']:.3f} ({times})"
    said = f"{said}, evaluation {best['number'] + 1}"
    objectives = Objectives.declared(status.declaration)
    if objectives.plain:
        return said
    if not objectives.is_feasible(best["metrics"]):
        limits = " and ".join(limit.text for limit in objectives.limits)
        said += f"; no evaluation keeps {limits}, this one breaks it least"
    return f"{objectives.names[0]} {said}"


def _find_experiment(run: Path) -> Path | None:
    """The folder of an experiment, named itself or by its TOML file; None if it is none."""
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


def _report_experiment(folder: Path) -> tuple[str, dict[str, Any], Path]:
    """The report of an experiment, facts about it, and the file it goes to by default."""
    from nasgoat.experiments import read_experiment
    from nasgoat.report import write_experiment_page

    records = read_experiment(folder)
    facts = {"kind": records.kind, "name": records.name, "runs": len(records.runs)}
    return write_experiment_page(records), facts, folder / _REPORT_FILE


def _report_search(
    run: Path | None, storage: str | None, study: str | None
) -> tuple[str, dict[str, Any], Path]:
    """The report of a search, facts about it, and the file it goes to by default."""
    from nasgoat.integrations.stored_search import read_stored_search
    from nasgoat.report import ReportedSearch, search_page

    address, folder = _find_study(run, storage, "report")
    if study is None:
        study, *others = _list_studies(address)
        if others:
            known = ", ".join(sorted([study, *others])[:10])
            raise StudyError(f"--study must be given, got none; the storage holds {known}")
    found = ReportedSearch(read_stored_search(address, study), folder)
    facts = {
        "kind": "search",
        "study": study,
        "storage": str(address),
        "state": found.state,
        "evaluations": len(found.done),
        "failed": len(found.failed),
    }
    default = folder / _REPORT_FILE if folder else Path(f"{make_slug(study)}-report.html")
    return search_page(found), facts, default
