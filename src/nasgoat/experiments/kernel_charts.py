"""The charts of the comparison of kernels: predictions of one replication against the truth.

Details of a run have every predicted cell. They are not part of records that are passed on, since
they hold values of a benchmark's table; what the summary keeps instead are means over groups of
cells of similar error, enough to draw the figure again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments.kernel_models import KERNELS
from nasgoat.experiments.kernel_study import GROUP
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Chart, Line, Panels, Points

Array = NDArray[np.float64]
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
    """The first replication of a kernel and noise, of the first draw that the benchmark has.

    Args:
        records: Of a comparison of kernels.
        benchmark: Name of the benchmark.
        kernel: Name of the kernel.

    Returns:
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
