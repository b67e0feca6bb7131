"""The table and the charts of a scale study: seconds, gap and model size of every method."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.results import Table
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Chart, Line, Mark, Panels, Points

_QUANTITIES = {
    "cpu_seconds": "processor seconds",
    "gap": "gap",
    "variables": "variables",
    "constraints": "rows",
}
_COLUMNS = (
    "method", "kernel", "n", "t", "seeds", "status", "cpu s", "clock s", "build s", "gap",
    "variables", "rows", "tree",
)  # fmt: skip
_HOW = (
    "Median over seeds. n nodes, at most n + 2 edges, three operations, t observations; the {top} "
    "best graphs. The gap is that of the worst seed, the status that of most."
)


def make_tables(records: ExperimentRecords) -> list[Table]:
    """One table of everything."""
    title = "Seconds and gap of the acquisition optimisers"
    note = _HOW.format(top=records.declaration["top"])
    return [Table(title, _COLUMNS, _make_rows(records.runs), (note,))]


def _make_rows(runs: Sequence[Record]) -> tuple[tuple[str, ...], ...]:
    """One row for each problem size and method."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    order = sorted(runs, key=lambda r: (r["kernel"], r["nodes"], r["observations"]))
    for run in order:
        key = (run["method"], run["kernel"], run["nodes"], run["observations"])
        groups.setdefault(key, []).append(run)
    return tuple(_make_row(key, found) for key, found in groups.items())


def _make_row(key: tuple[Any, ...], runs: Sequence[Record]) -> tuple[str, ...]:
    statuses = [run["status"] for run in runs]
    gaps = [run["gap"] for run in runs if run["gap"] is not None]
    return (
        *map(str, key),
        str(len(runs)),
        max(set(statuses), key=statuses.count),
        _format_median(runs, "cpu_seconds", ".2f"),
        _format_median(runs, "seconds", ".2f"),
        _format_median(runs, "build_seconds", ".2f"),
        f"{max(gaps):.1e}" if gaps else "–",
        *(_format_median(runs, name, ".0f") for name in ("variables", "constraints", "tree_nodes")),
    )


def _format_median(runs: Sequence[Record], key: str, form: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    return f"{median(values):{form}}" if values else "–"


def make_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts under their headings: one for each kernel and number of observations."""
    declared = records.declaration
    return {
        f"The {kernel} kernel, {t} observations": _chart_quantities(records, kernel, t)
        for kernel in declared["kernels"]
        for t in declared["observations"]
    }


def make_panels(records: ExperimentRecords) -> dict[str, Panels]:
    """One figure per kernel, of the first number of observations."""
    caption = (
        "Seconds, gap and size of the model against the number of nodes, median over seeds; "
        "hollow: not proven for every seed."
    )
    t = records.declaration["observations"][0]
    drawn = {}
    for kernel in records.declaration["kernels"]:
        if row := [chart for chart in _chart_quantities(records, kernel, t) if chart.marks]:
            drawn[f"{records.name}-{kernel}"] = Panels([row], caption)
    return drawn


def _chart_quantities(records: ExperimentRecords, kernel: str, t: int) -> list[Chart]:
    own = [r for r in records.runs if (r["kernel"], r["observations"]) == (kernel, t)]
    # Records may be older than the declaration, and have methods that it no longer names.
    found = sorted({str(r["method"]) for r in own})
    methods = list(dict.fromkeys([*records.declaration["methods"], *found]))
    return [_chart_quantity(own, methods, key) for key in _QUANTITIES]


def _chart_quantity(runs: Sequence[Record], methods: Sequence[str], key: str) -> Chart:
    """A quantity against the number of nodes, hollow where not every seed was proven optimal."""
    marks: list[Mark] = []
    for i, method in enumerate(methods):
        own = [r for r in runs if r["method"] == method and r.get(key) is not None]
        sizes = sorted({r["nodes"] for r in own})
        if not sizes:
            continue
        groups = {n: [r for r in own if r["nodes"] == n] for n in sizes}
        middle = {n: float(median([r[key] for r in groups[n]])) for n in sizes}
        proven = [n for n in sizes if all(r["status"] == "optimal" for r in groups[n])]
        hollow = [n for n in sizes if n not in proven]
        series = i % 8 + 1
        marks.append(Line(sizes, list(middle.values()), series, dashed=i >= 8, name=method))
        for shape, kept in (("circle", proven), ("ring", hollow)):
            marks.append(Points(kept, [middle[n] for n in kept], series, shape))
    name = _QUANTITIES[key]
    return Chart(
        f"{name.capitalize()} against the number of nodes",
        "One line for each method, on a logarithmic axis.",
        Axis("nodes", integer=True),
        Axis(name, log=True),
        marks,
        heading=f"{name.capitalize()}.",
        caption="Median over seeds; hollow where not every seed was proven optimal.",
    )
