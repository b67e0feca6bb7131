"""Tables and charts of the comparison of kernels.

Tables have ours beside the paper's numbers, for each noise. Charts have the predictions of one
replication against the truth, every predicted cell a point, as long as the details of the runs are
there. They are not passed on, since they hold values of a benchmark's table; without them a point
is the mean over a group of cells of similar error, which the summary keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments import Table
from nasgoat.experiments.kernel_models import GROUP, KERNELS
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Chart, Line, Panels, Points

Array = NDArray[np.float64]
MEASURES = ("rmse", "mnll", "spearman")
Pair = tuple[float, float]

#: Table 2 of the paper, over 20 replications: by benchmark and kernel, the mean and standard
#: deviation of RMSE, MNLL and Spearman.
PAPER: dict[str, dict[str, tuple[Pair, Pair, Pair]]] = {
    "nb101": {
        "RW": ((0.29, 0.01), (30.29, 5.26), (0.81, 0.04)),
        "WL": ((0.15, 0.02), (-0.77, 0.07), (0.87, 0.03)),
        "SP": ((0.21, 0.05), (227.67, 114.59), (0.83, 0.04)),
        "ESP": ((0.11, 0.02), (28.83, 15.02), (0.93, 0.02)),
    },
    "nb201/cifar10": {
        "RW": ((0.32, 0.02), (43.07, 19.14), (0.78, 0.05)),
        "WL": ((0.23, 0.04), (0.98, 1.02), (0.81, 0.07)),
        "WL-edge": ((0.37, 0.02), (46.00, 16.73), (0.11, 0.09)),
        "SP": ((0.33, 0.04), (465.15, 152.20), (0.63, 0.10)),
        "ESP": ((0.30, 0.04), (0.36, 0.22), (0.64, 0.11)),
    },
}
#: A cell differs from the paper's if the means are further apart than this many of its deviations.
FAR = 2.0
_HEADS = {"rmse": "RMSE ↓", "mnll": "MNLL ↓", "spearman": "Spearman ↑"}
_DRAWN = {"searched": "", "all": ", all 15,625 cells", "nas-bowl": ", drawn as NAS-BOWL does"}
_SCALE = (
    "Mean over replications (one standard deviation in brackets), the paper's numbers behind. The "
    "target is the natural logarithm of the error; Gaussian processes learn it standardised by the "
    "training cells, and predictions are turned back before they are measured. MNLL is the density "
    "of the measured value: its variance includes the noise."
)


def make_tables(records: ExperimentRecords) -> list[Table]:
    """One table per benchmark, draw of cells and noise."""
    declared = (records.declaration[key] for key in ("noises", "benchmarks", "cells"))
    groups: dict[tuple[Any, ...], list[Record]] = {key: [] for key in product(*declared)}
    for run in records.runs:
        if (key := (run["noise"], run["benchmark"], run["cells"])) in groups:
            groups[key].append(run)
    return [_make_table(name, noise, own) for (noise, name, _), own in groups.items() if own]


def _make_table(name: str, noise: float | str, runs: Sequence[Record]) -> Table:
    by_kernel = {k: [r for r in runs if r["kernel"] == k] for k in KERNELS}
    by_kernel = {kernel: own for kernel, own in by_kernel.items() if own}
    first = runs[0]
    said = "fitted" if noise == "fit" else f"fixed at {noise:g} of the target's variance"
    title = (
        f"{name}{_DRAWN[first['cells']]}, noise {said}: {first['train']} cells to learn from, "
        f"{first['test']} to predict"
    )
    columns = ("kernel", "replications", *(h for m in MEASURES for h in (_HEADS[m], "paper")))
    rows = tuple(_make_row(name, kernel, own) for kernel, own in by_kernel.items())
    sd = float(np.mean([run["target_sd"] for run in runs]))
    known = float(np.mean([run.get("known", 0.0) for run in runs]))
    twice = f"; {known:.0%} of these are training cells as well" if known else ""
    note = f"The standard deviation of the target over the test cells is {sd:.2f}{twice}."
    return Table(title, columns, rows, (note, _name_far(name, by_kernel)), _SCALE)


def _make_row(name: str, kernel: str, runs: Sequence[Record]) -> tuple[str, ...]:
    cells = [kernel, str(len(runs))]
    for measure in MEASURES:
        values = [run[measure] for run in runs]
        cells.append(_format_spread(float(np.mean(values)), float(np.std(values))))
        known = find_published(name, kernel, measure)
        cells.append("–" if known is None else _format_spread(*known))
    return tuple(cells)


def _name_far(name: str, by_kernel: Mapping[str, Sequence[Record]]) -> str:
    found = [
        f"{kernel} {_HEADS[measure][:-2]}"
        for kernel, runs in by_kernel.items()
        for measure in MEASURES
        if is_far(name, kernel, measure, float(np.mean([run[measure] for run in runs])))
    ]
    said = ", ".join(found) or "none"
    return f"More than two of the paper's standard deviations away from the paper: {said}."


def _format_spread(mean: float, sd: float) -> str:
    return f"{mean:.2f} ({sd:.2f})"


def find_published(benchmark: str, kernel: str, measure: str) -> Pair | None:
    """Mean and deviation in the paper; None where it has none.

    Example:
        >>> find_published("nb101", "ESP", "spearman")
        (0.93, 0.02)
    """
    row = PAPER.get(benchmark, {}).get(kernel)
    return None if row is None else row[MEASURES.index(measure)]


def is_far(benchmark: str, kernel: str, measure: str, mean: float) -> bool:
    """Whether a mean differs from the paper's by more than two of its deviations.

    Example:
        >>> is_far("nb101", "ESP", "spearman", 0.88), is_far("nb101", "ESP", "spearman", 0.90)
        (True, False)
    """
    known = find_published(benchmark, kernel, measure)
    # The paper's numbers have two decimals: a difference that rounding explains is none.
    return known is not None and abs(mean - known[0]) > FAR * known[1] + 0.005


_KEYS = ("benchmark", "kernel", "cells", "noise", "seed")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Points of a figure, all as natural logarithms.

    Args:
        run: The summary of the run they belong to.
        truth: True values.
        mean: Predicted means.
        std: Predicted standard deviations.
        cells: How many cells a point stands for, at most.
    """

    run: Record
    truth: Array
    mean: Array
    std: Array
    cells: int

    @property
    def note(self) -> str:
        """What a point is, if it is no single cell."""
        return "" if self.cells == 1 else f"each point the mean of {self.cells} cells"


def find_predictions(records: ExperimentRecords, benchmark: str, kernel: str) -> Predictions | None:
    """The first replication of a kernel, of the first noise and draw of cells that were measured.

    None where nothing was kept.
    """
    declared = records.declaration
    known = {tuple(run[key] for key in _KEYS): run for run in records.runs}
    draws = [(benchmark, kernel, cells, declared["noises"][0], 0) for cells in declared["cells"]]
    run = next((known[draw] for draw in draws if draw in known), None)
    if run is None:
        return None
    lines = records.details(run["run"])[1:]
    rows = [[line["truth"], line["mean"], line["std"]] for line in lines] or run.get("groups")
    if not rows:
        return None
    truth, mean, std = np.array(rows, dtype=float).T
    return Predictions(run, truth, mean, std, 1 if lines else GROUP)


def make_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts under their headings: one for each kernel on each benchmark."""
    return {
        f"Predictions on {benchmark}": [_chart_predictions(points) for points in found]
        for benchmark, found in _find_by_benchmark(records).items()
    }


def make_panels(records: ExperimentRecords) -> dict[str, Panels]:
    """One figure per benchmark.

    Where the details of the runs were not kept, points are means over groups of cells and the
    figure's name ends in ``-grouped``.
    """
    caption = (
        "Predicted against true error of {test} cells after learning from {train}, first "
        "replication, bars of one standard deviation, both axes logarithmic"
    ).format(**records.declaration)
    drawn = {}
    for benchmark, found in _find_by_benchmark(records).items():
        error = "test error" if benchmark == "nb101" else "validation error"
        row = [_chart_predictions(points, i % 8 + 1, error) for i, points in enumerate(found)]
        ending = "" if all(points.cells == 1 for points in found) else "-grouped"
        notes = {points.note for points in found} - {""}
        name = f"{records.name}-{benchmark.replace('/', '-')}{ending}"
        drawn[name] = Panels([row], ", ".join([caption, *notes]) + ".")
    return drawn


def _find_by_benchmark(records: ExperimentRecords) -> dict[str, list[Predictions]]:
    """By benchmark, those of each kernel; none where nothing was kept."""
    found = {
        benchmark: [find_predictions(records, benchmark, kernel) for kernel in KERNELS]
        for benchmark in records.declaration["benchmarks"]
    }
    kept = {name: [points for points in every if points] for name, every in found.items()}
    return {name: every for name, every in kept.items() if every}


def _chart_predictions(points: Predictions, series: int = 1, error: str = "error") -> Chart:
    """Predictions of one replication against the truth, with bars of one standard deviation."""
    run = points.run
    truth = np.exp(points.truth)
    low, high = float(truth.min()) * 0.8, float(truth.max()) * 1.25
    below, middle, above = (
        np.clip(np.exp(points.mean + sign * points.std), low, high).tolist() for sign in (-1, 0, 1)
    )
    bars = list(zip(below, above, strict=True))
    said = [f"Spearman {run['spearman']:.2f}", f"RMSE {run['rmse']:.2f}"]
    return Chart(
        f"{run['benchmark']}, {run['kernel']}: predicted against true error",
        f"{', '.join(said)}, MNLL {run['mnll']:.2f}.",
        Axis(f"true {error} (%)", log=True, also=(low, high)),
        Axis("predicted (%)", log=True, also=(low, high)),
        [
            Line([low, high], [low, high], 0, dashed=True),
            Points(truth.tolist(), middle, series, bars=bars),
        ],
        heading=str(run["kernel"]),
        caption=", ".join([*said, "first replication", *filter(None, [points.note])]) + ".",
        note=said[0],
        width=360.0,
        height=330.0,
    )
