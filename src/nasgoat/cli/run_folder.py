"""Where a run keeps its files, and which earlier run a call goes on with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nasgoat.cli.secrets import restored
from nasgoat.errors import StudyError
from nasgoat.integrations import StorageAddress
from nasgoat.integrations.stored_search import read_status

STUDY_FILE = "study.db"
RUNS = Path("runs")


def choose_folder(
    wanted: Path | None,
    storage: str | None,
    study: str,
    declaration: dict[str, Any],
    evaluations: int,
) -> tuple[Path, StorageAddress]:
    """The run's folder and the address of its study.

    The same call goes on with its unfinished run, if there is one; after a finished one it begins
    anew in ``NAME-2``, ``NAME-3``, ... A folder or storage that the call names is never passed over
    because it holds another search: the study's ledger refuses that and says what differs.
    """
    if storage is not None:
        return wanted or RUNS / slug(study), StorageAddress.of(restored(storage))
    first = wanted or RUNS / slug(study)
    number = 1
    while True:
        folder = first if number == 1 else first.with_name(f"{first.name}-{number}")
        path = folder / STUDY_FILE
        if not path.exists() and not (folder / "result.json").exists():
            return folder, StorageAddress.of(path)
        if path.exists():
            status = read_status(StorageAddress.of(path), study)
            same = status.declaration == declaration
            reported = (folder / "result.json").exists()
            left = status.complete + status.failed < evaluations or not reported
            if (same and left) or (not same and wanted is not None):
                return folder, StorageAddress.of(path)
        number += 1


def run_address(run: Path | None, usage: str) -> StorageAddress:
    """The address of a run's study: of its folder, of its study file, or of the latest run.

    Args:
        run: The folder or file; None for the latest in ``runs/``.
        usage: How to name a run, for the message when there is none.
    """
    if run is None:
        files = sorted(RUNS.glob(f"*/{STUDY_FILE}"), key=lambda path: path.stat().st_mtime)
        if not files:
            raise StudyError(f"a run must be given, got none in {RUNS}/; {usage}")
        return StorageAddress.of(files[-1])
    if run.is_dir() and not (run / STUDY_FILE).exists():
        raise StudyError(
            f"the folder {run} must hold a {STUDY_FILE}, got none; name a study in another storage "
            "by --storage and --study alone"
        )
    return StorageAddress.of(run / STUDY_FILE if run.is_dir() or not run.suffix else run)


def slug(name: str) -> str:
    """A name as part of a path: letters, digits and dashes alone.

    Example:
        >>> slug("../nb101 examples.digits:train")
        'nb101-examples-digits-train'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:80] or "search"
