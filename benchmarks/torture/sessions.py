"""One session of a search that kills itself at a named point, in a child that can be killed."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.torture.record import fork
from optuna.storages import RDBStorage
from optuna.storages._rdb.storage import _VersionManager

from nasgoat import cli
from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.benchmarks import benchmark
from nasgoat.cli import search_output, search_task
from nasgoat.cli.search_output import Painter
from nasgoat.integrations import study_ledger
from nasgoat.integrations.study_ledger import StudyLedger
from nasgoat.surrogate import GraphGP

#: Point -> what is patched, whether the kill comes before or after it, and in which session.
POINTS: dict[str, tuple[Any, str, str, int]] = {
    "after ask": (Optimizer, "ask", "after", 1),
    "in fit": (GraphGP, "fit", "before", 1),
    "in solve": (Optimizer, "_minimize", "after", 1),
    "after submit": (Driver, "_submit", "after", 1),
    "in objective": (search_task.TableEvaluator, "__call__", "before", 1),
    "before tell": (StudyLedger, "finish", "before", 1),
    "in tell": (RDBStorage, "set_trial_state_values", "before", 1),
    "after tell": (StudyLedger, "finish", "after", 1),
    "in picture": (Painter, "paint", "before", 1),
    "in report": (search_output, "write_whole", "before", 1),
    "in the orphan sweep": (StudyLedger, "_abandon", "after", 2),
    "in lock take-over": (study_ledger, "take_lock", "after", 2),
}


def forked(work: Callable[[], int], kill_after: float | None = None) -> int:
    """Run work in a silent child; its exit code, or minus the signal that killed it."""

    def silent() -> int:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        try:
            return work()
        except BaseException:
            Path("crash.txt").write_text(traceback.format_exc())
            raise

    child = fork(silent)
    if kill_after is not None:
        deadline = time.monotonic() + kill_after
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def dying_at(point: str, count: int) -> Iterator[None]:
    """Kill this process at the count-th pass of a point."""
    owner, name, when, _ = POINTS[point]
    original = getattr(owner, name)
    left = count

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if when == "after":
            result = original(*args, **kwargs)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result if when == "after" else original(*args, **kwargs)

    with patch.object(owner, name, dying):
        yield


@contextlib.contextmanager
def acknowledging(path: Path) -> Iterator[None]:
    """Write down each evaluation once its ledger has kept it."""
    original = Driver._finish

    def finish(self: Driver, ticket: Any, outcome: Any) -> None:
        original(self, ticket, outcome)
        with path.open("a") as file:
            file.write(json.dumps([ticket.number, outcome.metrics["error"]]) + "\n")

    with patch.object(Driver, "_finish", finish):
        yield


#: The table and Optuna's migrations are read once for all cases, as are the imports.
table = functools.cache(benchmark)
_versions: dict[str, str] = {}
_head_version = _VersionManager.get_head_version


def newest(manager: Any) -> str:
    """Optuna's newest schema, from its migrations the first time it is asked for."""
    if not _versions:
        _versions["head"] = _head_version(manager)
    return _versions["head"]


def search(options: list[str], acknowledged: Path, point: str | None, count: int) -> int:
    """One session of the search in this process."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(acknowledging(acknowledged))
        stack.enter_context(patch.object(search_task, "find_benchmark", table))
        stack.enter_context(patch.object(_VersionManager, "get_head_version", newest))
        if point is not None:
            stack.enter_context(dying_at(point, count))
        if point not in ("in report", "in picture"):
            stack.enter_context(patch.object(search_output, "save"))
        return cli.run(options)
