"""``make torture``: prints the table of reliability rows and the figures."""

from __future__ import annotations

import argparse
import itertools
import random
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from uuid import uuid4

from benchmarks.torture import crowds, fuzz
from benchmarks.torture.kills import POINTS, Killer
from benchmarks.torture.rows import ROWS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="Kills at each named point.")
    parser.add_argument("--random-kills", type=int, default=200)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--vectors", type=int, default=2000)
    parser.add_argument("--postgres", help="URL of an empty database; without one, SQLite alone.")
    parser.add_argument("--only", choices=["kills", "fuzz", "crowds", "rows"], nargs="*")
    options = parser.parse_args()
    wanted = options.only or ["kills", "fuzz", "crowds", "rows"]
    good = True
    if "kills" in wanted:
        good &= _kills(options)
    if "fuzz" in wanted:
        good &= _show("2", lambda: fuzz.tell_values(options.values))
        good &= _show("2", lambda: fuzz.error_vectors(options.vectors))
        good &= _show("2", lambda: fuzz.bit_flips(options.flips))
    if "crowds" in wanted:
        good &= _show("4", crowds.workers)
        if options.postgres:
            good &= _show("5", lambda: crowds.crowd(options.postgres))
            good &= _show("5", lambda: crowds.refusals(options.postgres))
        good &= _show("6", crowds.hash_seeds)
    if "rows" in wanted:
        good &= _rows()
    return 0 if good else 1


def _kills(options: argparse.Namespace) -> bool:
    storages: dict[str, Callable[[], list[str]]] = {"SQLite": list}
    if options.postgres:
        url = options.postgres
        storages["PostgreSQL"] = lambda: ["--storage", url, "--study", f"kill-{uuid4().hex}"]
    good = True
    rng = random.Random(0)  # noqa: S311 no secret
    for name, storage in storages.items():
        killer = Killer(storage)
        for point, i in itertools.product(POINTS, range(options.repeats)):
            once = point in ("in report", "in the orphan sweep", "in lock take-over")
            killer.at_point(point, 0, 1 if once else 1 + i % 4)
        good &= _show("1", partial(_tally, killer, f"{name}, 12 points"))
    killer = Killer(storages["SQLite"])
    while killer.tally.kills < options.random_kills:
        killer.at_random(0, 5, rng, 6.0)
    return good & _show("1", partial(_tally, killer, "random moments"))


def _tally(killer: Killer, what: str) -> tuple[bool, str]:
    return killer.tally.good, f"{what}: {killer.tally.line()}"


def _show(figure: str, measure: Callable[[], tuple[bool, str]]) -> bool:
    good, text = measure()
    print(f"figure {figure}  {'ok  ' if good else 'FAIL'}  {text}", flush=True)
    return good


def _rows() -> bool:
    """Run the tests behind each row; a row is as good as the worst of its tests."""
    # Rows name the beginnings of tests: whole files are run, and their tests picked out after.
    tests = sorted({test.partition("::")[0] for row in ROWS.values() for test in row.tests})
    done = subprocess.run(  # noqa: S603 our own tests
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            *tests,
        ],
        capture_output=True,
        text=True,
    )
    results = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    good = True
    for number, row in sorted(ROWS.items()):
        states = [state for state, name in results if any(name.startswith(t) for t in row.tests)]
        passed = bool(states) and set(states) == {"PASSED"}
        state = "ok" if passed else row.otherwise or "FAIL"
        good &= passed or bool(row.otherwise)
        print(f"{number:3d}  {state:<5} {row.fault}: {len(states)} tests")
    return good


if __name__ == "__main__":
    sys.exit(main())
