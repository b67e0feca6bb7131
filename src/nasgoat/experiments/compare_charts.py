"""The charts of a comparison: regret and test error against evaluations, and a summary of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments.compare_tables import Contest, list_contests
from nasgoat.experiments.records import ExperimentRecords, expand_steps
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Panels, Points
from nasgoat.figures.wording import format_number

Array = NDArray[np.float64]
#: The baselines of the paper's main figure; the others have one of their own.
MAIN = ("random", "gcn", "evolution", "nasbot", "bananas", "nas-bowl")
_OTHERS = (4, 5, 6, 7, 8, 10, 0)  # series of methods that are not ours
_KERNELS = {"linear": 2, "evidence": 3, "together": 9}  # series of ours; of any other kernel 1
_MEAN, _TEST = 2, 3  # columns of a step
_ROUNDED = 2e-6  # percentage points: records keep six decimals
_SHAPES = ("circle", "square", "diamond", "triangle", "down", "dash", "cross")
_BANDS = 3  # methods at most whose spread is shown: more can't be told apart


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
    """A summary, and for each setting figures of regret and test error."""
    found, drawn = list_contests(records), {}
    if summary := make_summary(records):
        drawn[f"{records.name}-summary"] = Panels([summary], summary[0].caption)
    for setting in dict.fromkeys(contest.setting for contest in found):
        own = [contest for contest in found if contest.setting == setting]
        for group in _group_methods(records):
            for test in (False, True) if not group.suffix else (False,):
                charts = [_chart_curves(records, contest, group, test) for contest in own]
                if shown := [chart for chart in charts if chart.marks]:
                    name = f"{records.name}-{setting}{group.suffix}{'-test' * test}"
                    drawn[name] = Panels(_arrange(shown), shown[0].caption)
    return drawn


def _arrange(charts: Sequence[Chart]) -> list[Sequence[Chart]]:
    """Rows of two charts; of three there is one row, so that none is empty."""
    across = 3 if len(charts) == 3 else 2
    return [charts[i : i + across] for i in range(0, len(charts), across)]


def make_summary(records: ExperimentRecords) -> list[Chart]:
    """How soon every method arrives on every benchmark, a chart for each setting."""
    found = list_contests(records)
    settings = dict.fromkeys(contest.setting for contest in found)
    charts = [_chart_arrivals([c for c in found if c.setting == setting]) for setting in settings]
    return [chart for chart in charts if chart.marks]


def _chart_arrivals(contests: Sequence[Contest]) -> Chart:
    """Evaluations until the lowest regret that any method has in the median, method by method."""
    arrivals = {contest.benchmark: _list_arrivals(contest) for contest in contests}
    names = dict.fromkeys(name for known in arrivals.values() for name in known)
    last = 1.0 + max(run["evaluations"] for c in contests for r in c.runs.values() for run in r)
    late = {name: _average(arrivals.values(), name, last) for name in names}
    order = sorted(late, key=lambda name: -late[name])  # the soonest at the top
    marks: list[Mark] = []
    for i, (benchmark, known) in enumerate(arrivals.items()):
        own = [name for name in order if name in known]
        x = [min(known[name], last) for name in own]
        lane = 0.16 * (i - (len(arrivals) - 1) / 2)  # marks at the border must not hide each other
        said = [f"{name}: {known[name]:.0f}" if known[name] < last else name for name in own]
        y = [order.index(name) - lane for name in own]
        marks.append(Points(x, y, i % 8 + 1, _SHAPES[i % len(_SHAPES)], said, name=benchmark))
    best, setting = order[-1] if order else "", contests[0].setting
    goals = ", ".join(f"{c.benchmark} {_find_goal(c):.3f}" for c in contests)
    return Chart(
        f"Evaluations of every method until the goal of each benchmark, {setting}",
        f"Soonest on average: {best}, after {late[best]:.0f}." if best else "",
        Axis("evaluations until the goal, median", also=(0.0, last)),
        Axis("", names=tuple(order)),
        marks if any(arrivals.values()) else [],
        heading=f"Who arrives first, {setting}.",
        caption="Further left is better; at the right border, more than half of the runs did not "
        f"arrive. The goal is the lowest regret that a method has in the median: {goals}. "
        "Methods are sorted by their mean over the benchmarks.",
        height=90.0 + 21.0 * len(order),
    )


def _average(arrivals: Iterable[Mapping[str, float]], name: str, last: float) -> float:
    """The mean over the benchmarks that a method was run on."""
    return float(np.mean([min(known[name], last) for known in arrivals if name in known]))


def _find_goal(contest: Contest) -> float:
    """The lowest regret that any method has in the median at the end: 0 is the optimum."""
    return min(float(np.median([run["regret"] for run in runs])) for runs in contest.runs.values())


def _list_arrivals(contest: Contest) -> dict[str, float]:
    """The median number of evaluations until the goal, infinite for a run that misses it."""
    goal, found = contest.optimum + _find_goal(contest) + _ROUNDED, {}
    for name, runs in contest.runs.items():
        curves = [expand_steps(run, _MEAN) if run["steps"] else None for run in runs]
        known = [np.flatnonzero(values <= goal) for values in curves if values is not None]
        if known:
            found[name] = float(np.median([x[0] + 1.0 if len(x) else np.inf for x in known]))
    return found


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
            series = _KERNELS.get(options.get("kernel"), 1)
            ours[method["name"]] = {"series": series, "bold": own, "dashed": not own}
        else:
            turn, place = divmod(len(others), len(_OTHERS))
            others[method["name"]] = {"series": _OTHERS[place], "dashed": turn % 2 == 1}
    if len({(style["series"], style["bold"]) for style in ours.values()}) < len(ours):
        for i, style in enumerate(ours.values()):
            style["series"] = i % 8 + 1
    return {**ours, **others}


def _chart_curves(records: ExperimentRecords, contest: Contest, group: _Group, test: bool) -> Chart:
    """Regret, or test error, of the best cell so far against evaluations."""
    first = int(records.declaration["initial"])
    kept: dict[str, Array] = {}
    for name in group.methods:
        values = collect_curves(contest.runs.get(name, []), test)
        if values is not None:
            regret = np.where(values - contest.optimum < _ROUNDED, 0.0, values - contest.optimum)
            kept[name] = (values if test else regret)[:, first - 1 :]
    what = "test error" if test else "regret"
    title = f"{contest.benchmark}, {contest.setting}: median {what} against evaluations"
    axes = Axis("evaluation", integer=True), Axis(f"{what} (%)", log=not test)
    if not kept:
        return Chart(title, "", *axes, heading=contest.benchmark)
    ends = {name: float(np.median(values[:, -1])) for name, values in kept.items()}
    best = min(ends, key=lambda name: ends[name])
    seeds = sorted({len(values) for values in kept.values()})
    said = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    of = (
        "Test error of the best cell so far"
        if test
        else ("Regret of the best cell so far: its mean error less the lowest of the table")
    )
    styles = _choose_styles(records)
    spread = _choose_banded(kept, styles)
    shown = f"{', '.join(spread[:-1])} and {spread[-1]}" if len(spread) > 1 else spread[0]
    return Chart(
        title,
        f"Lowest median at the end: {best}, {format_number(ends[best])}.",
        *axes,
        marks=_draw_medians(kept, first, styles, spread),
        heading=contest.benchmark,
        caption=f"{of}. Median of {said} seeds; the bands hold the middle half of the runs of "
        f"{shown}.",
        note=f"{said} seeds",
        height=340.0,
        direct=True,
    )


def _choose_banded(kept: Mapping[str, Array], styles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The methods whose spread is shown: ours with our settings, and the best of the others."""
    ours = [name for name in kept if styles[name].get("bold")][: _BANDS - 1]
    means = {name: float(np.median(kept[name], axis=0).mean()) for name in kept}
    others = sorted((name for name in kept if name not in ours), key=lambda name: means[name])
    return [*ours, *others[:1]]


def _draw_medians(
    kept: Mapping[str, Array],
    first: int,
    styles: Mapping[str, Mapping[str, Any]],
    spread: Sequence[str],
) -> list[Mark]:
    """Medians over runs and, below all of them, the middle half of the runs of some methods."""
    lines: list[Line] = []
    bands: list[Band] = []
    for name, values in kept.items():
        x = [float(first + i) for i in range(values.shape[1])]
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        if name in spread and len(values) > 1:
            bands.append(Band(x, low.tolist(), high.tolist(), styles[name]["series"], steps=True))
        lines.append(Line(x, middle.tolist(), **styles[name], steps=True, name=name))
    # Lines of heavy weight last: nothing lies over them.
    return [*bands, *sorted(lines, key=lambda line: line.bold)]


def collect_curves(runs: Iterable[Record], test: bool = False) -> Array | None:
    """The curves of runs, one row each: mean error of the best cell, or its test error."""
    found = [expand_steps(run, _TEST if test else _MEAN) for run in runs]
    kept = [values for values in found if values is not None]
    return np.array(kept) if kept else None
