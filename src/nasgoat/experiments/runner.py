"""Doing the runs of an experiment: one by one, in local processes, or on a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from statistics import fmean

from nasgoat.bayesopt import Workers
from nasgoat.errors import SettingError, WorkersLostError
from nasgoat.experiments.records import RecordFolder
from nasgoat.experiments.results import execute
from nasgoat.experiments.study import Record, Run

logger = logging.getLogger(__name__)

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

    run: Run
    summary: Record | None
    reason: str
    done: int
    total: int
    left: float | None


def local_processes(count: int) -> Workers:
    """So many processes of this machine, each with one thread for linear algebra.

    Example:
        >>> with_two = local_processes(2)
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
    """Does what is missing in a folder.

    Args:
        kind: Of the experiment.
        records: Its folder.
        workers: Where runs are done.
        on_finished: Called after each run.
        stopping: Asked before each run; True begins no further one.
        seconds: Begin no run after so many seconds.
    """

    kind: str
    records: RecordFolder
    workers: Workers = field(default_factory=Workers.serial)
    on_finished: Callable[[FinishedRun], None] = lambda run: None
    stopping: Callable[[], bool] = lambda: False
    seconds: float = float("inf")

    def run(self, runs: Sequence[Run]) -> Tally:
        """Do the missing runs in their order.

        Raises:
            WorkersLostError: If a worker process dies; what was finished is kept.
        """
        waiting = deque(self.records.missing(runs))
        self._total, self._failed = len(runs), dict[str, str]()
        self._left = {run.id: run for run in waiting}
        running: dict[Future[list[Record]], Run] = {}
        start = written = time.monotonic()
        try:
            while waiting or running:
                late = time.monotonic() - start > self.seconds
                if late or self.stopping():
                    waiting.clear()
                while waiting and len(running) < self.workers.slots():
                    run = waiting.popleft()
                    call = self.workers.executor.submit(execute, self.kind, dict(run.settings))
                    running[call] = run
                self._collect(running)
                if time.monotonic() - written > _SUMMARY_EVERY:
                    self.records.write_summary()
                    written = time.monotonic()
        finally:
            self.records.write_summary()
        left = len(self.records.missing(runs))
        return Tally(done=len(runs) - left, failed=self._failed, left=left)

    def _collect(self, running: dict[Future[list[Record]], Run]) -> None:
        finished, _ = wait(running, timeout=_POLL, return_when=FIRST_COMPLETED)
        for future in finished:
            self._finish(running.pop(future), future)
        if not finished:
            self.workers.check()

    def _finish(self, run: Run, future: Future[list[Record]]) -> None:
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
            self.records.keep(run, lines)
            summary = self.records.known[run.id]
        del self._left[run.id]
        done = self._total - len(self._left)
        self.on_finished(FinishedRun(run, summary, reason, done, self._total, self._estimate()))

    def _estimate(self) -> float | None:
        """Seconds left, from the runs of the same settings apart from the seed."""
        known = [record for record in self.records.known.values() if record.get("seconds")]
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
