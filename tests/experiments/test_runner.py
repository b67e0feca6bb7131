"""Runs are done once, in order, and what was finished survives whatever breaks."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from nasgoat.bayesopt import Workers
from nasgoat.errors import SettingError, WorkersLostError
from nasgoat.experiments.records import RecordFolder
from nasgoat.experiments.runner import FinishedRun, Runner, start_local_processes
from nasgoat.experiments.scale import ScaleStudy

STUDY = ScaleStudy(methods=("catalogue",), nodes=(3, 4), observations=(4,), top=1, seeds=(0, 1))


class Breaking(Executor):
    """Breaks at its third call, as when a worker process is killed."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        if self.calls < 3:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(BrokenProcessPool("a child process terminated abruptly"))
        return future


def test_a_lost_worker_keeps_what_was_finished(tmp_path: Path) -> None:
    runner = Runner(Workers.on(Breaking(), 1))
    with pytest.raises(WorkersLostError, match="must stay alive, got a child process"):
        runner.run("scale", RecordFolder(tmp_path), STUDY.runs())
    again = RecordFolder(tmp_path)
    assert [run.id for run in again.list_missing(STUDY.runs())] == [
        run.id for run in STUDY.runs()[2:]
    ]
    assert Runner().run("scale", again, STUDY.runs()).left == 0


def test_progress_estimates_what_is_left(tmp_path: Path) -> None:
    said: list[FinishedRun] = []
    tally = Runner(on_finished=said.append).run("scale", RecordFolder(tmp_path), STUDY.runs())
    assert (tally.done, tally.left, tally.failed) == (4, 0, {})
    assert [progress.done for progress in said] == [1, 2, 3, 4]
    assert said[0].left is not None and said[0].left > 0
    assert said[-1].left == 0


def test_nothing_is_begun_once_it_stops(tmp_path: Path) -> None:
    tally = Runner(stopping=lambda: True).run("scale", RecordFolder(tmp_path), STUDY.runs())
    assert (tally.done, tally.left) == (0, 4)


def test_workers_are_at_least_one() -> None:
    with pytest.raises(SettingError, match="workers must be at least 1"):
        start_local_processes(0)
