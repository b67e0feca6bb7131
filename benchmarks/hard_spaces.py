"""Spaces on which limits of time and memory are hard to keep, asked through the command line.

Each is declared in a file and put to ``nasgoat solve`` with one observed graph and a time limit, by
every exact optimiser. Printed are, for the whole command with the start of Python and the loading
of compiled code and solvers, seconds by the clock and of the processor and the largest memory of
its processes; then the seconds of the answer itself, how many proposals came back, and how. The
limit is of the answer. Seconds by the clock mean something on a machine that does nothing else;
where code has to be compiled first, once on a machine, run it twice.

    python benchmarks/hard_spaces.py                  all 18, five minutes at most
    python benchmarks/hard_spaces.py --limit 20       another limit
    python benchmarks/hard_spaces.py --only scip      those whose name contains a text
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nasgoat import DartsSpace, EdgeLabeledSpace, GraphSpace, NodeLabeledSpace
from nasgoat.spaces import SearchSpace, to_toml

LIMIT, SLACK = 5.0, 2.0  # seconds of an answer, and what it may take more
OPTIMIZERS = ("auto", "branch", "scip")


def name_ops(count: int, letter: str = "o") -> list[str]:
    """So many names of operations."""
    return [f"{letter}{i}" for i in range(count)]


SPACES: dict[str, SearchSpace] = {
    "cells of 2 to 30, 10 ops": NodeLabeledSpace((2, 30), name_ops(10)),
    "cells of 2": NodeLabeledSpace(2, name_ops(2)),
    "edges labelled, 8 nodes": EdgeLabeledSpace(8, name_ops(4)),
    "edges labelled, 2 nodes": EdgeLabeledSpace(2, name_ops(3)),
    "DARTS of 12 nodes": DartsSpace(12, name_ops(8)),
    "acyclic graphs of 1 to 30": GraphSpace((1, 30), name_ops(4), direction="acyclic"),
}


@dataclass(frozen=True)
class Ended:
    """A command that ended: what it took, and what it said.

    Args:
        code: Its return code.
        clock: Seconds by the clock, from start to end.
        processor: Seconds of the processor, of all its processes.
        megabytes: The largest memory of one of its processes.
        answer: Its JSON document; empty if it refused.
        error: What it wrote to standard error.
    """

    code: int
    clock: float
    processor: float
    megabytes: float
    answer: dict[str, Any]
    error: str

    @property
    def refused(self) -> bool:
        """Whether it said in one line that the optimiser can't apply."""
        return self.code == 2 and "must have" in self.error


def solve(space: SearchSpace, optimizer: str, limit: float = LIMIT) -> Ended:
    """Put one acquisition problem over a space to the command line."""
    with TemporaryDirectory() as folder:
        file, said, error = (Path(folder) / name for name in ("space.toml", "out", "error"))
        file.write_text(to_toml(space))
        options = ["--observations", "1", "--time-limit", f"{limit:g}", "--json"]
        asked = ["solve", "--space", str(file), "--optimizer", optimizer, *options]
        start = time.perf_counter()
        with said.open("w") as out, error.open("w") as err:
            command = [sys.executable, "-m", "nasgoat", *asked]
            process = subprocess.Popen(command, stdout=out, stderr=err)  # noqa: S603 (our own)
            _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - start
        process.returncode = code = os.waitstatus_to_exitcode(status)
        answer = json.loads(said.read_text()) if code == 0 else {}
        taken, most = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        return Ended(code, clock, taken, most, answer, error.read_text())


def _say(name: str, optimizer: str, ended: Ended, limit: float) -> bool:
    """Print a case; whether it kept to the limit."""
    took = f"{ended.clock:8.1f} {ended.processor:9.1f} {ended.megabytes:6.0f}"
    said = f"{name:26s} {optimizer:9s} {limit:5g} {took}"
    if ended.refused:
        print(f"{said}        -         -  refused: {ended.error.splitlines()[-1]}", flush=True)
        return True
    if ended.code:
        print(f"{said}        -         -  failed: {ended.error[-300:]}", flush=True)
        return False
    answer = ended.answer
    by = answer["optimizer"] if optimizer == "auto" else ""
    kept = bool(answer["seconds"] <= limit + SLACK)
    late = "" if kept else "  late"
    what = f"{answer['seconds']:8.1f} {len(answer['proposals']):9d}  {answer['status']} {by}{late}"
    print(f"{said} {what}", flush=True)
    return kept


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print(f"{'space':26s} optimiser limit    clock processor memory   answer proposals  status")
    kept = []
    for name, space in SPACES.items():
        for optimizer in OPTIMIZERS:
            if asked.only in f"{name} {optimizer}":
                ended = solve(space, optimizer, asked.limit)
                kept.append(_say(name, optimizer, ended, asked.limit))
    print(f"{sum(kept)} of {len(kept)} answered, or refused, within the limit and {SLACK:g} s")


if __name__ == "__main__":
    main()
