"""Measuring an experiment: the runs that its folder lacks are done and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from nasgoat.bayesopt import Workers
from nasgoat.errors import ExperimentFileError, UnknownNameError
from nasgoat.experiments.experiment_file import Experiment
from nasgoat.experiments.records import RecordFolder, write_head
from nasgoat.experiments.runner import FinishedRun, Runner, Tally
from nasgoat.experiments.study import Run, versions
from nasgoat.integrations.locks import FileLock

Filter = Mapping[str, Sequence[str]]


def measure(
    experiment: Experiment,
    folder: Path,
    workers: Workers,
    command: str = "",
    only: Filter | None = None,
    on_finished: Callable[[FinishedRun], None] = lambda run: None,
    stopping: Callable[[], bool] = lambda: False,
    seconds: float = float("inf"),
) -> Tally:
    """Do the runs of an experiment that its folder lacks.

    Args:
        experiment: What to measure.
        folder: Where its records go.
        workers: Where runs are done.
        command: The command that measures it, for the record.
        only: Values that a run's settings must have, by key.
        on_finished: Called after each run.
        stopping: Asked before each run; True begins no further one.
        seconds: Begin no run after so many seconds.

    Raises:
        ExperimentFileError: If the folder belongs to another experiment or is in use.
    """
    study = experiment.study
    with _lock(folder):
        runs = select_runs(study.runs(), only or {})
        records = RecordFolder(folder)
        records.missing(runs)
        head = {
            "kind": study.kind,
            "name": experiment.name,
            "title": experiment.title,
            "description": experiment.description,
            "declaration": study.declaration(),
            "left_out": list(study.left_out()),
            "command": command,
            "versions": versions(),
        }
        write_head(folder, head)
        runner = Runner(study.kind, records, workers, on_finished, stopping, seconds)
        return runner.run(runs)


def select_runs(runs: Sequence[Run], only: Filter) -> list[Run]:
    """The runs whose settings have one of the given values under each of the given keys.

    Example:
        >>> runs = [Run("a", {"seed": 0}), Run("b", {"seed": 1})]
        >>> [run.id for run in select_runs(runs, {"seed": ["1"]})]
        ['b']
        >>> [run.id for run in select_runs([Run("a", {"noisy": False})], {"noisy": ["false"]})]
        ['a']
        >>> select_runs(runs, {"sed": ["1"]})
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: key of a run must be one of seed, got 'sed'; did you mean
        seed?
    """
    wanted = {key: [_spell(value) for value in values] for key, values in only.items()}
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
    return _spell(str(value["name"] if isinstance(value, Mapping) else value))


def _spell(text: str) -> str:
    """Truth values as TOML and JSON spell them, anything else as it is."""
    return text.lower() if text.lower() in ("true", "false") else text


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one call at a time measure in a folder; a killed one never blocks its successor."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "runs" / "lock")
    if not lock.acquire():
        raise ExperimentFileError(
            folder, None, "", "must not be in use, got a session that runs in it"
        )
    try:
        yield
    finally:
        lock.release()
