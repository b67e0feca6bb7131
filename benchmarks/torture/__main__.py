"""``make torture``: prints the table of reliability rows and the figures."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.torture import crowds, fuzz, space_fuzz
from benchmarks.torture.kills import Killer
from benchmarks.torture.record import Record, Result
from benchmarks.torture.rows import tested_rows
from benchmarks.torture.warming import warm
from tests.postgres_server import NoPostgresError, running_postgres

PARTS = ("kills", "fuzz", "crowds", "rows")


def main() -> int:
    """Torture what the options name; 0 if nothing was found."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # PostgreSQL is stopped on the way out
    with contextlib.ExitStack() as stack:
        url = options.postgres
        if url is None and not options.no_postgres:
            try:
                url = stack.enter_context(running_postgres())
            except NoPostgresError as problem:
                print(f"without PostgreSQL: {problem}")
        warm()
        options.record.parent.mkdir(parents=True, exist_ok=True)
        record = Record(options.record)
        torture = {"kills": _kills, "fuzz": _fuzz, "crowds": _crowds, "rows": _rows}
        good = [torture[part](options, url, record) for part in options.only or PARTS]
    return 0 if all(good) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="Kills at each named point.")
    parser.add_argument("--random-kills", type=int, default=200)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--vectors", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--limits", type=int, default=2000)
    parser.add_argument("--postgres", help="URL of an empty database; without one, our own.")
    parser.add_argument("--no-postgres", action="store_true")
    parser.add_argument(
        "--record",
        type=Path,
        default=Path("torture.jsonl"),
        help="Keeps every result; a torture that was broken off goes on with it.",
    )
    parser.add_argument("--only", choices=PARTS, nargs="*")
    return parser.parse_args()


def _kills(options: argparse.Namespace, url: str | None, record: Record) -> bool:
    sqlite = Killer("SQLite", None, record)
    good = _show("1", sqlite.at_points(options.repeats))
    if url:
        good &= _show("1", Killer("PostgreSQL", url, record).at_points(options.repeats))
    return good & _show("1", sqlite.at_random(options.random_kills))


def _fuzz(options: argparse.Namespace, _url: str | None, record: Record) -> bool:
    good = _show("2", fuzz.tell_values(options.values, record))
    good &= _show("2", space_fuzz.limits(options.limits, record))
    good &= _show("2", space_fuzz.documents(options.documents, record))
    good &= _show("2", fuzz.error_vectors(options.vectors, record))
    return good & _show("2", fuzz.bit_flips(options.flips, record))


def _crowds(_options: argparse.Namespace, url: str | None, record: Record) -> bool:
    measures: list[tuple[str, str, Callable[[], tuple[bool, str]]]] = [
        ("4", "workers", crowds.workers),
        ("6", "hash seeds", crowds.hash_seeds),
    ]
    if url:
        measures += [
            ("5", "crowd", lambda: crowds.crowd(url)),
            ("5", "refusals", lambda: crowds.refusals(url)),
        ]
    good = True
    for figure, name, measure in measures:

        def kept(measure: Callable[[], tuple[bool, str]] = measure) -> Result:
            good, text = measure()
            return {"good": good, "text": text}

        result = record.result("crowds", name, kept)
        good &= _show(figure, (result.get("good", False), result.get("text", name)))
    return good


def _rows(_options: argparse.Namespace, _url: str | None, _record: Record) -> bool:
    good = True
    for number, passed, text in tested_rows():
        print(f"row {number:2d}    {'ok  ' if passed else 'FAIL'}  {text}", flush=True)
        good &= passed
    return good


def _show(figure: str, measured: tuple[bool, str]) -> bool:
    good, text = measured
    print(f"figure {figure}  {'ok  ' if good else 'FAIL'}  {text}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
