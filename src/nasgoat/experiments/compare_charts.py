"""The charts of a comparison: error and test error of the best cell against evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments.compare_tables import Contest, list_contests
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Panels, Rule
from nasgoat.figures.wording import format_number

Array = NDArray[np.float64]
#: The baselines of the paper's main figure; the others have one of their own.
MAIN = ("random", "gcn", "evolution", "nasbot", "bananas", "nas-bowl")
_OTHERS = (3, 4, 5, 6, 7, 8, 0)  # series of methods that are not ours
_MEAN, _TEST = 2, 3  # columns of a step


@dataclass(frozen=True)
class _Group:
    """Methods that share a chart; all methods would be too many for one."""

    suffix: str
    said: str
    methods: Sequence[str]


def make_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts under their headings: one for each setting and group of methods."""
    found: dict[str, list[Chart]] = {}
    for group in _group_methods(records):
        for contest in list_contests(records):
            own = found.setdefault(f"{contest.setting.capitalize()} setting{group.said}", [])
            own += [_chart_curves(records, contest, group, test) for test in (False, True)]
    return found


def make_panels(records: ExperimentRecords) -> dict[str, Panels]:
    """One figure per setting and group of methods."""
    caption = (
        "Median over seeds with one standard deviation. Top: mean error of the cell of lowest "
        "error so far. Bottom: test error of the same cell. Dotted: the best cell of the table."
    )
    found, drawn = list_contests(records), {}
    for setting in dict.fromkeys(contest.setting for contest in found):
        own = [contest for contest in found if contest.setting == setting]
        tests = (False, True) if any(contest.has_test for contest in own) else (False,)
        for group in _group_methods(records):
            rows = [
                [_chart_curves(records, contest, group, test) for contest in own] for test in tests
            ]
            drawn[f"{records.name}-{setting}{group.suffix}"] = Panels(rows, caption)
    return drawn


def _group_methods(records: ExperimentRecords) -> list[_Group]:
    declared = records.declaration["methods"]
    names = [method["name"] for method in declared]
    ours = [method["name"] for method in declared if method["method"] == "goat"]
    others = [name for name in names if name not in ours and name not in MAIN]
    if not others or len(names) <= len(MAIN):
        return [_Group("", "", names)]
    return [
        _Group("", ", the paper's main baselines", [n for n in names if n in ours or n in MAIN]),
        _Group("-others", ", the other methods", [*ours, *others]),
    ]


def _choose_styles(records: ExperimentRecords) -> dict[str, dict[str, Any]]:
    """Series, dashes and weight of each method: the same in all charts of an experiment.

    Ours are heavy with our own settings and dashed with others. They have the colour of their
    kernel where that tells them apart, and colours of their own where it does not.
    """
    ours: dict[str, dict[str, Any]] = {}
    others: dict[str, dict[str, Any]] = {}
    for method in records.declaration["methods"]:
        options = method.get("options", {})
        if method["method"] == "goat":
            own = options.get("preset", "default") == "default"
            series = 2 if options.get("kernel") == "linear" else 1
            ours[method["name"]] = {"series": series, "bold": own, "dashed": not own}
        else:
            turn, place = divmod(len(others), len(_OTHERS))
            others[method["name"]] = {"series": _OTHERS[place], "dashed": turn % 2 == 1}
    if len({(style["series"], style["bold"]) for style in ours.values()}) < len(ours):
        for i, style in enumerate(ours.values()):
            style["series"] = i % 8 + 1
    return {**ours, **others}


def _chart_curves(records: ExperimentRecords, contest: Contest, group: _Group, test: bool) -> Chart:
    """Error, or test error, of the best cell so far against evaluations."""
    first = int(records.declaration["initial"])
    known = {
        name: collect_curves(contest.runs[name], test)
        for name in group.methods
        if name in contest.runs
    }
    kept = {name: values[:, first - 1 :] for name, values in known.items() if values is not None}
    what = "test error" if test else contest.metric.split(" after ")[0]
    title = f"{contest.benchmark}, {contest.setting}: median {what} against evaluations"
    axes = Axis("evaluation", integer=True), Axis(f"{what} (%)")
    if not kept:
        same = test and "test error" in contest.metric
        why = "its error is the mean test error:\nsee above" if same else "not measured"
        return Chart(title, "", *axes, heading=contest.benchmark, caption=why, height=320.0)
    ends = {name: float(np.median(values[:, -1])) for name, values in kept.items()}
    best = min(ends, key=lambda name: ends[name])
    seeds = sorted({len(values) for values in kept.values()})
    said = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    of = "of the same cell" if test else "of the cell of lowest error so far"
    floor = [] if test else [Rule(contest.optimum, "best of the table")]
    return Chart(
        title,
        f"Lowest median at the end: {best}, {format_number(ends[best])}.",
        *axes,
        marks=[*floor, *_draw_medians(kept, first, _choose_styles(records))],
        heading=contest.benchmark,
        caption=f"{what.capitalize()} {of}: median of {said} seeds, "
        "band of one standard deviation.",
        note=f"{said} seeds",
        height=320.0,
    )


def _draw_medians(
    kept: Mapping[str, Array], first: int, styles: Mapping[str, Mapping[str, Any]]
) -> list[Mark]:
    """Medians over runs and, below all of them, bands of one standard deviation."""
    lines: list[Line] = []
    bands: list[Band] = []
    for name, values in kept.items():
        x = [float(first + i) for i in range(values.shape[1])]
        middle = np.median(values, axis=0)
        sd = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(middle)
        low, high = (middle - sd).tolist(), (middle + sd).tolist()
        bands.append(Band(x, low, high, styles[name]["series"], steps=True))
        lines.append(Line(x, middle.tolist(), **styles[name], steps=True, name=name))
    # Lines of heavy weight last: nothing lies over them.
    return [*bands, *sorted(lines, key=lambda line: line.bold)]


def expand_steps(run: Record, column: int) -> Array | None:
    """A value of the best cell after each evaluation; None if the run did not keep it.

    Example:
        >>> run = {"evaluations": 4, "steps": [[1, 9.0, 9.0, None], [3, 8.0, 8.5, None]]}
        >>> expand_steps(run, 1).tolist(), expand_steps(run, 3)
        ([9.0, 9.0, 8.0, 8.0], None)
    """
    steps = run["steps"]
    if not steps or any(step[column] is None for step in steps):
        return None
    places = np.array([step[0] for step in steps])
    values = np.array([step[column] for step in steps], dtype=float)
    held: Array = values[np.searchsorted(places, np.arange(1, run["evaluations"] + 1), "right") - 1]
    return held


def collect_curves(runs: Iterable[Record], test: bool = False) -> Array | None:
    """The curves of runs, one row each: mean error of the best cell, or its test error."""
    found = [expand_steps(run, _TEST if test else _MEAN) for run in runs]
    kept = [values for values in found if values is not None]
    return np.array(kept) if kept else None
