"""Figure 1: searches killed at named and at random points, then resumed.

Each search runs in a forked child, which saves the imports; the parent holds no threads and no
connections when it forks. A child is killed by its own hand at a named point, or by the parent at a
random moment, and the same call is made again until it ends by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from optuna.storages import RDBStorage

from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.cli import app, session, tasks
from nasgoat.integrations import study_ledger
from nasgoat.integrations.pictures import Painter
from nasgoat.integrations.study_ledger import StudyLedger
from nasgoat.surrogate import GraphGP

EVALUATIONS = 14
CALL = ["search", "--quiet", "--evaluations", str(EVALUATIONS), "--initial", "5", "--batch", "3"]
#: Point -> what is patched, whether the kill comes before or after it, and in which session.
POINTS: dict[str, tuple[Any, str, str, int]] = {
    "after ask": (Optimizer, "ask", "after", 1),
    "in fit": (GraphGP, "fit", "before", 1),
    "in solve": (Optimizer, "_minimize", "after", 1),
    "after submit": (Driver, "_submit", "after", 1),
    "in objective": (tasks.TableEvaluator, "__call__", "before", 1),
    "before tell": (StudyLedger, "finish", "before", 1),
    "in tell": (RDBStorage, "set_trial_state_values", "before", 1),
    "after tell": (StudyLedger, "finish", "after", 1),
    "in picture": (Painter, "paint", "before", 1),
    "in report": (session, "write_whole", "before", 1),
    "in the orphan sweep": (StudyLedger, "_abandon", "after", 2),
    "in lock take-over": (study_ledger, "_take", "after", 2),
}


@dataclass
class Tally:
    """What the kills came to."""

    kills: int = 0
    searches: int = 0
    resumed: int = 0
    lost: int = 0
    wrong_budget: int = 0
    other_proposals: int = 0

    def line(self) -> str:
        """The figures in one line."""
        return (
            f"{self.kills} kills in {self.searches} searches: {self.resumed} resumed, "
            f"{self.lost} acknowledged evaluations lost, {self.wrong_budget} wrong budgets, "
            f"{self.other_proposals} with other proposals"
        )

    @property
    def good(self) -> bool:
        """Whether nothing was lost."""
        return self.resumed == self.searches and not (
            self.lost or self.wrong_budget or self.other_proposals
        )


def forked(work: Callable[[], int], kill_after: float | None = None) -> int:
    """Run work in a forked child; its exit code, or minus the signal that killed it."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            code = work()
        except BaseException:
            Path("crash.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)
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


def search(options: list[str], acknowledged: Path, point: str | None, count: int) -> int:
    """One session of the search in this process."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(acknowledging(acknowledged))
        if point is not None:
            stack.enter_context(dying_at(point, count))
        return app.run(options)


class Killer:
    """Kills searches on one storage and checks what they come to.

    Args:
        storage: Makes the ``--storage`` options of a new study; none for SQLite in its folder.
    """

    def __init__(self, storage: Callable[[], list[str]]) -> None:
        self._storage = storage
        self.tally = Tally()
        self.unkilled: dict[int, list[Any]] = {}

    def at_point(self, point: str, seed: int, count: int) -> None:
        """Kill a search at a point, then resume it."""
        session_of_kill = POINTS[point][3]
        steps: list[tuple[str | None, int, float | None]] = [(point, count, None)]
        if session_of_kill == 2:  # there must be something left behind first
            steps = [("in objective", 3, None), (point, 1, None)]
        self._run(seed, steps, pictures=point == "in picture")

    def at_random(self, seed: int, kills: int, rng: random.Random, longest: float) -> None:
        """Kill a search several times at random moments, then let it end."""
        self._run(seed, [(None, 0, rng.uniform(0.05, longest)) for _ in range(kills)])

    def _run(
        self, seed: int, steps: list[tuple[str | None, int, float | None]], pictures: bool = False
    ) -> None:
        expected = self._unkilled(seed)
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                options = self._options(seed, pictures)
                for point, count, seconds in steps:
                    work = self._work(options, point, count)
                    self.tally.kills += forked(work, seconds) == -signal.SIGKILL
                self.tally.searches += 1
                code = forked(self._work(options, None, 0))
                self._judge(code, expected)
            finally:
                os.chdir(before)

    def _options(self, seed: int, pictures: bool) -> list[str]:
        pictured = [] if pictures else ["--no-pictures"]
        return [*CALL, "--seed", str(seed), "--report", "run", *pictured, *self._storage()]

    @staticmethod
    def _work(options: list[str], point: str | None, count: int) -> Callable[[], int]:
        return lambda: search(options, Path("acknowledged.txt"), point, count)

    def _judge(self, code: int, expected: list[Any]) -> None:
        path = Path("run/result.json")
        if code != 0 or not path.exists():
            # Killed after its last write, a search has nothing left to do under another name.
            crash = Path("crash.txt")
            note = crash.read_text() if crash.exists() else ""
            print(f"  not resumed: exit {code} {note}", file=sys.stderr)
            return
        self.tally.resumed += 1
        history = json.loads(path.read_text())["history"]
        errors = {entry["number"]: entry["metrics"]["error"] for entry in history}
        kept = Path("acknowledged.txt").read_text().splitlines()
        self.tally.lost += sum(errors.get(n) != e for n, e in map(json.loads, kept))
        self.tally.wrong_budget += len(history) != EVALUATIONS
        self.tally.other_proposals += [entry["graph"] for entry in history] != expected

    def _unkilled(self, seed: int) -> list[Any]:
        """The proposals of the search that nobody kills."""
        if seed not in self.unkilled:
            before = Path.cwd()
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                options = [*CALL, "--seed", str(seed), "--report", "run", "--no-pictures"]
                forked(lambda: app.run(options))
                history = json.loads(Path("run/result.json").read_text())["history"]
                os.chdir(before)
            self.unkilled[seed] = [entry["graph"] for entry in history]
        return self.unkilled[seed]
