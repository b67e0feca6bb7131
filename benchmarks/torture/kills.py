"""Figure 1: searches killed at named and at random points, then resumed.

A search is killed by its own hand at a named point, or by its parent at a random moment, and the
same call is made again until it ends by itself.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.torture.record import Record, Result
from benchmarks.torture.sessions import POINTS, forked, search

from nasgoat import cli

EVALUATIONS = 9
CALL = ["search", "--quiet", "--evaluations", str(EVALUATIONS), "--initial", "3", "--batch", "2"]
SEEDS = 2
KILLS_IN_A_ROW = 10  # random ones, before a search may end
_FIGURES = ("kills", "searches", "resumed", "lost", "wrong_budget", "other_proposals", "missed")


@dataclass(frozen=True)
class Step:
    """One session that is to die: at the count-th pass of a point, or after so many seconds."""

    point: str | None = None
    count: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Killer:
    """Kills searches on one storage and checks what they come to.

    Args:
        name: What the table calls the storage.
        url: Of a PostgreSQL database; None for SQLite in the run's folder.
        record: Keeps the results.
    """

    name: str
    url: str | None
    record: Record

    def at_points(self, repeats: int) -> tuple[bool, str]:
        """Kill at every named point, several times, each time in another pass or seed."""
        self._learn()
        cases = [(point, i) for point in POINTS for i in range(repeats)]
        part = f"kills at points, {self.name}"
        results = [
            self.record.result(part, f"{point} {i}", partial(self._at_point, point, i))
            for point, i in cases
        ]
        return _judged(f"{self.name}, {len(POINTS)} points x {repeats}", results)

    def at_random(self, kills: int) -> tuple[bool, str]:
        """Kill at random moments, several times each search, until there were so many kills."""
        self._learn()
        part = f"kills at random, {self.name}"
        longest = self.record.result(part, "seconds unkilled", self._seconds)["seconds"]
        results: list[Result] = []
        while sum(result.get("kills", 0) for result in results) < kills:
            i = len(results)
            work = partial(self._at_random, i, longest)
            results.append(self.record.result(part, str(i), work))
            if i > 2 * kills:
                break
        return _judged(f"{self.name}, random moments", results)

    def _learn(self) -> None:
        """Make the unkilled searches first: what a case's child learns is lost with it."""
        for seed in range(SEEDS):
            self._expected(seed)

    def _expected(self, seed: int) -> list[Any]:
        case = f"{EVALUATIONS} evaluations, seed {seed}"
        graphs: list[Any] = self.record.result("unkilled", case, lambda: _unkilled(seed))["graphs"]
        return graphs

    def _at_point(self, point: str, i: int) -> Result:
        once = point in ("in report", "in lock take-over")
        steps = [Step(point, 1 if once else 1 + i % 3)]
        if POINTS[point][3] == 2:  # there must be something left behind first
            left = Step("in objective", 1 + i % 2)
            steps = [left, Step(point, 1 if once else 1 + i % 2)]
        return self._run(i % SEEDS, steps, pictures=point == "in picture")

    def _at_random(self, i: int, longest: float) -> Result:
        rng = random.Random(i)  # noqa: S311 no secret
        moments = [rng.uniform(0.02, longest) for _ in range(KILLS_IN_A_ROW)]
        return self._run(i % SEEDS, [Step(seconds=moment) for moment in moments])

    def _seconds(self) -> Result:
        """How long an unkilled search takes: the range of the random moments."""
        start = time.monotonic()
        _proposals(self._options(0, pictures=False))
        return {"seconds": time.monotonic() - start}

    def _run(self, seed: int, steps: Sequence[Step], pictures: bool = False) -> Result:
        expected = self._expected(seed)
        named = sum(step.point is not None for step in steps)
        with _folder():
            options = self._options(seed, pictures)
            kept = Path("acknowledged.txt")
            kept.touch()
            kills = 0
            for step in steps:
                work = partial(search, options, kept, step.point, step.count)
                kills += forked(work, step.seconds) == -signal.SIGKILL
            code = forked(lambda: search(options, kept, None, 0))
            found = _result(code, kept, expected)
        return {"kills": kills, "searches": 1, "missed": max(named - kills, 0), **found}

    def _options(self, seed: int, pictures: bool) -> list[str]:
        pictured = [] if pictures else ["--no-pictures"]
        stored = ["--storage", self.url, "--study", f"kill-{uuid4().hex}"] if self.url else []
        return [*CALL, "--seed", str(seed), "--report", "run", *pictured, *stored]


def _result(code: int, kept: Path, expected: list[Any]) -> Result:
    path = Path("run/result.json")
    if code != 0 or not path.exists():
        crash = Path("crash.txt")
        note = crash.read_text()[-2000:] if crash.exists() else ""
        return {"resumed": 0, "note": f"exit {code} {note}"}
    history = json.loads(path.read_text())["history"]
    errors = {entry["number"]: entry["metrics"]["error"] for entry in history}
    acknowledged = map(json.loads, kept.read_text().splitlines())
    return {
        "resumed": 1,
        "lost": sum(errors.get(number) != error for number, error in acknowledged),
        "wrong_budget": int(len(history) != EVALUATIONS),
        "other_proposals": int([entry["graph"] for entry in history] != expected),
    }


def _unkilled(seed: int) -> Result:
    """The proposals of the search that nobody kills."""
    return {"graphs": _proposals([*CALL, "--seed", str(seed), "--report", "run", "--no-pictures"])}


def _proposals(options: list[str]) -> list[Any]:
    with _folder():
        forked(lambda: cli.run(options))
        history = json.loads(Path("run/result.json").read_text())["history"]
    return [entry["graph"] for entry in history]


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    """A scratch folder to be in."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        yield


def _judged(what: str, results: Sequence[Result]) -> tuple[bool, str]:
    """Whether nothing was lost, and the figures in one line."""
    total = {name: sum(result.get(name, 0) for result in results) for name in _FIGURES}
    crashed = len(list(_crashes(results)))
    good = total["resumed"] == len(results) and not crashed
    good &= not any(total[name] for name in _FIGURES[3:])
    text = (
        f"{what}: {total['kills']} kills in {len(results)} searches, {total['resumed']} resumed, "
        f"{total['lost']} acknowledged evaluations lost, {total['wrong_budget']} wrong budgets, "
        f"{total['other_proposals']} with other proposals"
    )
    missed = f", {total['missed']} points never reached" if total["missed"] else ""
    return good, text + missed + (f", {crashed} cases crashed" if crashed else "")


def _crashes(results: Sequence[Result]) -> Iterator[Result]:
    return (result for result in results if "crash" in result)
