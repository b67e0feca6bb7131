"""One session of an experiment: what is missing is run, then tables and figures are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from nasgoat.atomic_file import replace_file, write_whole
from nasgoat.bayesopt import Workers
from nasgoat.errors import ExperimentFileError, UnknownNameError
from nasgoat.experiments.experiment_file import Experiment
from nasgoat.experiments.kinds import captions_of, figures_of, tables_of
from nasgoat.experiments.records import RecordFolder, read_experiment, write_head
from nasgoat.experiments.runner import Runner, RunProgress, RunTally
from nasgoat.experiments.study import Run, versions
from nasgoat.integrations.locks import FileLock

Filter = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Session:
    """An experiment and the folder of its records.

    Args:
        experiment: What to measure.
        folder: Where records, tables and figures go.
        command: The command that measures it, for the record.
    """

    experiment: Experiment
    folder: Path
    command: str = ""

    def run(
        self,
        workers: Workers,
        only: Filter | None = None,
        on_progress: Callable[[RunProgress], None] = lambda progress: None,
        stopping: Callable[[], bool] = lambda: False,
        seconds: float = float("inf"),
    ) -> RunTally:
        """Do what is missing.

        Args:
            workers: Where runs are done.
            only: Values that a run's settings must have, by key.
            on_progress: Called after each run.
            stopping: Asked before each run; True begins no further one.
            seconds: Begin no run after so many seconds.

        Raises:
            ExperimentFileError: If the folder belongs to another experiment or is in use.
        """
        study = self.experiment.study
        with _OnlyOne(self.folder):
            runs = chosen(study.runs(), only or {})
            records = RecordFolder(self.folder)
            records.missing(runs)
            self._write_head()
            runner = Runner(study.kind, records, workers, on_progress, stopping, seconds)
            return runner.run(runs)

    def show(self, figures: Path | None = None) -> list[Path]:
        """Write tables and figures from the records alone; returns the files."""
        records = read_experiment(self.folder)
        tables = tables_of(records)
        markdown = "\n\n".join(table.markdown() for table in tables) + "\n"
        write_whole(self.folder / "tables.md", markdown)
        document = json.dumps([asdict(table) for table in tables], indent=1, ensure_ascii=False)
        write_whole(self.folder / "tables.json", document + "\n")
        written = [self.folder / "tables.md", self.folder / "tables.json"]
        target = figures or self.folder
        target.mkdir(parents=True, exist_ok=True)
        known = captions_of(records)
        for name, figure in figures_of(records).items():
            path = target / f"{name}.png"
            with replace_file(path) as partial:
                figure.savefig(partial, format="png", metadata={"Title": known.get(name, name)})
            written.append(path)
        return written

    def _write_head(self) -> None:
        experiment = self.experiment
        head = {
            "kind": experiment.study.kind,
            "name": experiment.name,
            "title": experiment.title,
            "description": experiment.description,
            "declaration": experiment.study.declaration(),
            "left_out": list(experiment.study.left_out()),
            "command": self.command,
            "versions": versions(),
        }
        write_head(self.folder, head)


def chosen(runs: Sequence[Run], only: Filter) -> list[Run]:
    """The runs whose settings have one of the given values under each of the given keys.

    Example:
        >>> runs = [Run("a", {"seed": 0}), Run("b", {"seed": 1})]
        >>> [run.id for run in chosen(runs, {"seed": ["1"]})]
        ['b']
        >>> [run.id for run in chosen([Run("a", {"noisy": False})], {"noisy": ["false"]})]
        ['a']
        >>> chosen(runs, {"sed": ["1"]})
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: key of a run must be one of seed, got 'sed'; did you mean
        seed?
    """
    wanted = {key: [_spelt(value) for value in values] for key, values in only.items()}
    for key in wanted:
        keys = {known for run in runs for known in run.settings}
        if runs and key not in keys:
            raise UnknownNameError("key of a run", key, keys)
        values = {_value(run, key) for run in runs}
        for value in wanted[key]:
            if runs and value not in values:
                raise UnknownNameError(key, value, values)
    return [run for run in runs if all(_value(run, key) in wanted[key] for key in wanted)]


def _value(run: Run, key: str) -> str:
    value = run.settings[key]
    return _spelt(str(value["name"] if isinstance(value, Mapping) else value))


def _spelt(text: str) -> str:
    """Truth values as TOML and JSON spell them, anything else as it is."""
    return text.lower() if text.lower() in ("true", "false") else text


class _OnlyOne(AbstractContextManager[None]):
    """Lets one session at a time into a folder; a killed one never blocks its successor."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = FileLock(folder / "runs" / "lock")

    def __enter__(self) -> None:
        if not self._lock.acquire():
            raise ExperimentFileError(
                self.folder, None, "", "must not be in use, got a session that runs in it"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
