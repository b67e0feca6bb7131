"""The charts of an experiment, from its records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nasgoat.experiments import ExperimentRecords
from nasgoat.experiments.compare.plots import MAIN
from nasgoat.experiments.compare.results import Scene, curves, scenes
from nasgoat.experiments.kernels.models import KERNELS
from nasgoat.experiments.kernels.predictions import Shown, shown
from nasgoat.experiments.study import Record
from nasgoat.report.charts import Axis, Chart, figure
from nasgoat.report.marks import Band, Line, Mark, Points, Rule
from nasgoat.report.markup import Html, cut, element, join
from nasgoat.report.quantities import number

_OTHERS = (3, 4, 5, 6, 7, 8, 0)  # series of methods that are not ours
_QUANTITIES = {
    "cpu_seconds": "processor seconds",
    "gap": "gap",
    "variables": "variables",
    "constraints": "rows",
}


def charts_of(records: ExperimentRecords) -> dict[str, list[Html]]:
    """The figures of an experiment under the headings they belong to."""
    kinds = {"compare": _compared, "kernels": _predicted, "scale": _scaled}
    return kinds[records.kind](records)


def _compared(records: ExperimentRecords) -> dict[str, list[Html]]:
    """Error and test error of the best cell against evaluations."""
    styles, first = _styles(records), int(records.declaration["initial"])
    found: dict[str, list[Html]] = {}
    for group, methods in _groups(records).items():
        for scene in scenes(records):
            drawn = found.setdefault(f"{scene.setting.capitalize()} setting{group}", [])
            for test in (False, True):
                shown = {name: styles[name] for name in methods if name in scene.runs}
                name = f"curves-{len(found)}-{len(drawn)}"
                if chart := _curves(scene, shown, test, first, name):
                    drawn.append(chart)
    return {heading: drawn for heading, drawn in found.items() if drawn}


def _groups(records: ExperimentRecords) -> dict[str, list[str]]:
    """Which methods share a chart; all of them would be too many for one."""
    declared = records.declaration["methods"]
    names = [method["name"] for method in declared]
    ours = [method["name"] for method in declared if method["method"] == "goat"]
    others = [name for name in names if name not in ours and name not in MAIN]
    if not others or len(names) <= len(MAIN) + 2:
        return {"": names}
    return {
        ", the paper's main baselines": [n for n in names if n in ours or n in MAIN],
        ", the other methods": [*ours, *others],
    }


def _styles(records: ExperimentRecords) -> dict[str, dict[str, Any]]:
    """Series, dashes and weight of each method: the same all over a report.

    Ours have the colour of their kernel, heavy with our own settings and dashed with others.
    """
    styles: dict[str, dict[str, Any]] = {}
    others = 0
    for method in records.declaration["methods"]:
        options = method.get("options", {})
        if method["method"] == "goat":
            own = options.get("preset", "default") == "default"
            series = 2 if options.get("kernel") == "linear" else 1
            styles[method["name"]] = {"series": series, "bold": own, "dashed": not own}
        else:
            series, dashed = _OTHERS[others % len(_OTHERS)], others // len(_OTHERS) % 2 == 1
            styles[method["name"]] = {"series": series, "dashed": dashed}
            others += 1
    return styles


def _curves(
    scene: Scene, styles: Mapping[str, Mapping[str, Any]], test: bool, first: int, identity: str
) -> Html | None:
    known = {name: curves(scene.runs[name], test) for name in styles}
    kept = {name: values[:, first - 1 :] for name, values in known.items() if values is not None}
    if not kept:
        return None
    lines: list[Mark] = []
    bands: list[Mark] = []
    for name, values in kept.items():
        x = [float(first + i) for i in range(values.shape[1])]
        middle = np.median(values, axis=0)
        sd = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(middle)
        series = styles[name]["series"]
        bands.append(Band(x, (middle - sd).tolist(), (middle + sd).tolist(), series, True))
        lines.append(Line(x, middle.tolist(), **styles[name], steps=True, name=cut(name, 40)))
    # Lines of heavy weight last: nothing lies over them.
    lines.sort(key=lambda line: isinstance(line, Line) and line.bold)
    floor: list[Mark] = [] if test else [Rule(scene.optimum, "best of the table")]
    what = "test error" if test else scene.metric.split(" after ")[0]
    ends = {name: float(np.median(values[:, -1])) for name, values in kept.items()}
    best = min(ends, key=lambda name: ends[name])
    chart = Chart(
        identity,
        f"{scene.benchmark}, {scene.setting}: median {what} against evaluations",
        f"Lowest median at the end: {best}, {number(ends[best])}.",
        Axis("evaluation", integer=True),
        Axis(f"{what} (%)"),
        [*floor, *bands, *lines],
        height=320.0,
    )
    seeds = sorted({len(values) for values in kept.values()})
    said = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    of = "of the same cell" if test else "of the cell of lowest error so far"
    text = f" {what.capitalize()} {of}: median of {said} seeds, band of one standard deviation."
    return figure(chart, join(element("b", scene.benchmark), text))


def _predicted(records: ExperimentRecords) -> dict[str, list[Html]]:
    """Predictions of the first replication against the truth, with bars of one sd."""
    found = dict[str, list[Html]]()
    for benchmark in records.declaration["benchmarks"]:
        for kernel in KERNELS:
            if (points := shown(records, benchmark, kernel)) is not None:
                drawn = found.setdefault(f"Predictions on {benchmark}", [])
                drawn.append(_predictions(points, f"predictions-{len(found)}-{len(drawn)}"))
    return found


def _predictions(points: Shown, identity: str) -> Html:
    run, kernel = points.run, points.run["kernel"]
    truth = np.exp(points.truth)
    low, high = float(truth.min()) * 0.8, float(truth.max()) * 1.25
    kept = [
        np.clip(np.exp(points.mean + sign * points.std), low, high).tolist() for sign in (-1, 0, 1)
    ]
    chart = Chart(
        identity,
        f"{run['benchmark']}, {kernel}: predicted against true error",
        f"Spearman {run['spearman']:.2f}, RMSE {run['rmse']:.2f}, MNLL {run['mnll']:.2f}.",
        Axis("true error (%)", log=True, also=(low, high)),
        Axis("predicted (%)", log=True, also=(low, high)),
        [
            Line([low, high], [low, high], 0, dashed=True),
            Points(truth.tolist(), kept[1], 1, bars=list(zip(kept[0], kept[2], strict=True))),
        ],
        width=360.0,
        height=330.0,
    )
    said = f" Spearman {run['spearman']:.2f}, RMSE {run['rmse']:.2f}, first replication"
    text = ", ".join([said, *filter(None, [points.note])]) + "."
    return figure(chart, join(element("b", cut(str(kernel), 40)), text))


def _scaled(records: ExperimentRecords) -> dict[str, list[Html]]:
    """Seconds, gap and size of the model against the number of nodes."""
    declared, found = records.declaration, dict[str, list[Html]]()
    for kernel in declared["kernels"]:
        for t in declared["observations"]:
            own = [r for r in records.runs if (r["kernel"], r["observations"]) == (kernel, t)]
            heading = f"The {kernel} kernel, {t} observations"
            for key, name in _QUANTITIES.items():
                identity = f"scale-{len(found)}-{key}"
                if chart := _scaling(own, declared["methods"], key, name, identity):
                    found.setdefault(heading, []).append(chart)
    return found


def _scaling(
    runs: Sequence[Record], methods: Sequence[str], key: str, name: str, identity: str
) -> Html | None:
    marks: list[Mark] = []
    for i, method in enumerate(methods):
        own = [r for r in runs if r["method"] == method and r.get(key) is not None]
        sizes = sorted({r["nodes"] for r in own})
        if not sizes:
            continue
        groups = {n: [r for r in own if r["nodes"] == n] for n in sizes}
        y = [float(np.median([r[key] for r in groups[n]])) for n in sizes]
        proven = [all(r["status"] == "optimal" for r in groups[n]) for n in sizes]
        series = i % 8 + 1
        marks.append(Line(sizes, y, series, dashed=i >= 8, name=cut(method, 40)))
        for shape, wanted in (("circle", True), ("ring", False)):
            kept = [(n, v) for n, v, p in zip(sizes, y, proven, strict=True) if p is wanted]
            marks.append(Points([n for n, _ in kept], [v for _, v in kept], series, shape))
    if not marks:
        return None
    chart = Chart(
        identity,
        f"{name.capitalize()} against the number of nodes",
        "One line for each method, on a logarithmic axis.",
        Axis("nodes", integer=True),
        Axis(name, log=True),
        marks,
    )
    text = " Median over seeds; hollow where not every seed was proven optimal."
    return figure(chart, join(element("b", f"{name.capitalize()}."), text))
