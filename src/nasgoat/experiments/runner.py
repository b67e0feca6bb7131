"""Measuring an experiment: the runs that its folder lacks are done and recorded.

They are done one by one, in local processes, or on a Dask cluster.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from nasgoat.bayesopt import Workers
from nasgoat.errors import ExperimentFileError, SettingError, UnknownNameError, WorkersLostError
from nasgoat.experiments.records import RecordFolder, list_versions, write_head
from nasgoat.experiments.study import Experiment, ExperimentRun, Record, find_study
from nasgoat.integrations.locks import FileLock

logger = logging.getLogger(__name__)

Filter = Mapping[str, Sequence[str]]
_POLL = 0.5  # seconds between two looks at signals and workers
_SUMMARY_EVERY = 30.0  # seconds; whatever happens in between is in the details of the runs
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Tally:
    """What one call has done of an experiment.

    Args:
        done: Runs that are done, those of earlier calls included.
        failed: Reason of each run that failed, by its name.
        left: Runs that are still to be done.
    """

    done: int
    failed: Mapping[str, str]
    left: int


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended, and how far the experiment is.

    Args:
        run: The run.
        summary: What it measured; None if it failed.
        reason: Why it failed.
        done: Runs finished so far, those of earlier calls included.
        total: All runs.
        left: Estimate of the seconds left; None before there is one.
    """

    run: ExperimentRun
    summary: Record | None
    reason: str
    done: int
    total: int
    left: float | None


def start_local_processes(count: int) -> Workers:
    """This many processes of this machine, each with one thread for linear algebra.

    Example:
        >>> with_two = start_local_processes(2)
        >>> with_two.slots()
        2
        >>> with_two.close()
    """
    if count < 1:
        raise SettingError(f"workers must be at least 1, got {count}")
    for variable in _THREADS:
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    return Workers.on(ProcessPoolExecutor(count, mp_context=context), count)


@dataclass
class Runner:
    """Does the runs of an experiment that its folder lacks.

    Args:
        workers: Where runs are done.
        on_finished: Called after each run.
        stopping: Asked before each run; True begins no further one.
        seconds: Begin no run after this many seconds.
    """

    workers: Workers = field(default_factory=Workers.serial)
    on_finished: Callable[[FinishedRun], None] = lambda run: None
    stopping: Callable[[], bool] = lambda: False
    seconds: float = float("inf")

    def measure(
        self, experiment: Experiment, folder: Path, command: str = "", only: Filter | None = None
    ) -> Tally:
        """Do the missing runs of an experiment; one call at a time measures in a folder.

        Args:
            experiment: What to measure.
            folder: Where its records go.
            command: The command that measures it, for the record.
            only: Values that a run's settings must have, by key.

        Raises:
            ExperimentFileError: If the folder belongs to another experiment or is in use.
        """
        study = experiment.study
        lock = FileLock(folder / "runs" / "lock")  # a killed call never blocks its successor
        if not lock.acquire():
            said = "must not be in use, got a session that runs in it"
            raise ExperimentFileError(folder, None, "", said)
        try:
            runs = select_runs(study.runs(), only or {})
            records = RecordFolder(folder)
            records.list_missing(runs)
            head = {
                "kind": study.kind,
                "name": experiment.name,
                "title": experiment.title,
                "description": experiment.description,
                "declaration": study.declaration(),
                "left_out": study.list_left_out(),
                "command": command,
                "versions": list_versions(),
            }
            write_head(folder, head)
            return self.run(study.kind, records, runs)
        finally:
            lock.release()

    def run(self, kind: str, records: RecordFolder, runs: Sequence[ExperimentRun]) -> Tally:
        """Do the missing runs in their order.

        Raises:
            WorkersLostError: If a worker process dies; what was finished is kept.
        """
        self._records, waiting = records, deque(records.list_missing(runs))
        self._total, self._failed = len(runs), dict[str, str]()
        self._left = {run.id: run for run in waiting}
        running: dict[Future[list[Record]], ExperimentRun] = {}
        start = written = time.monotonic()
        try:
            while waiting or running:
                late = time.monotonic() - start > self.seconds
                if late or self.stopping():
                    waiting.clear()
                while waiting and len(running) < self.workers.slots():
                    run = waiting.popleft()
                    call = self.workers.executor.submit(execute, kind, dict(run.settings))
                    running[call] = run
                self._collect(running)
                if time.monotonic() - written > _SUMMARY_EVERY:
                    records.write_summary()
                    written = time.monotonic()
        finally:
            records.write_summary()
        left = len(records.list_missing(runs))
        return Tally(done=len(runs) - left, failed=self._failed, left=left)

    def _collect(self, running: dict[Future[list[Record]], ExperimentRun]) -> None:
        finished, _ = wait(running, timeout=_POLL, return_when=FIRST_COMPLETED)
        for future in finished:
            self._finish(running.pop(future), future)
        if not finished:
            self.workers.check()

    def _finish(self, run: ExperimentRun, future: Future[list[Record]]) -> None:
        """Keep the records of a run that has ended, or why it failed, and report it."""
        reason, summary = "", None
        try:
            lines = future.result()
        except BrokenExecutor as problem:
            raise WorkersLostError(f"the worker processes must stay alive, got {problem}") from None
        except Exception as problem:
            logger.info("%s failed", run.id, exc_info=problem)
            reason = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
            self._failed[run.id] = reason
        else:
            self._records.keep(run, lines)
            summary = self._records.known[run.id]
        del self._left[run.id]
        done = self._total - len(self._left)
        self.on_finished(
            FinishedRun(
                run=run,
                summary=summary,
                reason=reason,
                done=done,
                total=self._total,
                left=self._estimate(),
            )
        )

    def _estimate(self) -> float | None:
        """Seconds left, from the runs of the same settings apart from the seed."""
        known = [record for record in self._records.known.values() if record.get("seconds")]
        if not known:
            return None
        alike: dict[str, list[float]] = {}
        for record in known:
            alike.setdefault(_drop_seed(record["run"]), []).append(record["seconds"])
        every = [record["seconds"] for record in known]
        expected = (fmean(alike.get(_drop_seed(name), every)) for name in self._left)
        return sum(expected) / self.workers.slots()


def _drop_seed(run: str) -> str:
    return run.rpartition(".")[0]


def execute(kind: str, settings: Mapping[str, Any]) -> list[Record]:
    """Do one run: its summary first, then the lines of its details."""
    summary, *lines = find_study(kind).execute(settings)
    return [{**summary, "versions": list_versions()}, *lines]


def select_runs(runs: Sequence[ExperimentRun], only: Filter) -> list[ExperimentRun]:
    """The runs whose settings have one of the given values under each of the given keys.

    Example:
        >>> runs = [ExperimentRun("a", {"seed": 0}), ExperimentRun("b", {"seed": 1})]
        >>> [run.id for run in select_runs(runs, {"seed": ["1"]})]
        ['b']
        >>> plain = [ExperimentRun("a", {"noisy": False})]
        >>> [run.id for run in select_runs(plain, {"noisy": ["false"]})]
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
        values = {_format_value(run, key) for run in runs}
        for value in wanted[key]:
            if runs and value not in values:
                raise UnknownNameError(key, value, values)
    return [run for run in runs if all(_format_value(run, key) in wanted[key] for key in wanted)]


def _format_value(run: ExperimentRun, key: str) -> str:
    value = run.settings[key]
    return _spell(str(value["name"] if isinstance(value, Mapping) else value))


def _spell(text: str) -> str:
    """Truth values as TOML and JSON spell them, anything else as it is."""
    return text.lower() if text.lower() in ("true", "false") else text
