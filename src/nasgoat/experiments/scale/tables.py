"""The table of a scale study: seconds and gap for every problem and method."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from nasgoat.experiments.kinds import Table
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record

_COLUMNS = (
    "method", "kernel", "n", "t", "seeds", "status", "cpu s", "clock s", "build s", "gap",
    "variables", "rows", "tree",
)  # fmt: skip
_HOW = (
    "Median over seeds. n nodes, at most n + 2 edges, three operations, t observations; the {top} "
    "best graphs. The gap is that of the worst seed, the status that of most."
)


def tables(records: ExperimentRecords) -> list[Table]:
    """One table of everything."""
    title = "Seconds and gap of the acquisition optimisers"
    note = _HOW.format(top=records.declaration["top"])
    return [Table(title, _COLUMNS, rows(records.runs), (note,))]


def rows(runs: Sequence[Record]) -> tuple[tuple[str, ...], ...]:
    """One row for each problem size and method."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    order = sorted(runs, key=lambda r: (r["kernel"], r["nodes"], r["observations"]))
    for run in order:
        key = (run["method"], run["kernel"], run["nodes"], run["observations"])
        groups.setdefault(key, []).append(run)
    return tuple(_row(key, found) for key, found in groups.items())


def _row(key: tuple[Any, ...], runs: Sequence[Record]) -> tuple[str, ...]:
    statuses = [run["status"] for run in runs]
    gaps = [run["gap"] for run in runs if run["gap"] is not None]
    return (
        *map(str, key),
        str(len(runs)),
        max(set(statuses), key=statuses.count),
        _middle(runs, "cpu_seconds", ".2f"),
        _middle(runs, "seconds", ".2f"),
        _middle(runs, "build_seconds", ".2f"),
        f"{max(gaps):.1e}" if gaps else "–",
        *(_middle(runs, name, ".0f") for name in ("variables", "constraints", "tree_nodes")),
    )


def _middle(runs: Sequence[Record], key: str, form: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    return f"{median(values):{form}}" if values else "–"
