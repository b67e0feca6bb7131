"""The predictions that a figure shows: cell by cell, or means of groups of cells.

Details of a run have every predicted cell. They are not part of records that are passed on, since
they hold values of a benchmark's table; what the summary keeps instead are means over groups of
cells of similar error, enough to draw the figure again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record

Array = NDArray[np.float64]
GROUP = 10  # cells whose means are one point of a figure
_KEYS = ("benchmark", "kernel", "cells", "noise", "seed")


@dataclass(frozen=True, eq=False)
class Shown:
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


def grouped(truth: Array, mean: Array, std: Array, size: int = GROUP) -> list[list[float]]:
    """Means of truth, prediction and (root mean square) deviation over cells of similar truth.

    Example:
        >>> truth = np.array([3.0, 1.0, 2.0, 4.0])
        >>> grouped(truth, truth + 1.0, np.ones(4), size=2)
        [[1.5, 2.5, 1.0], [3.5, 4.5, 1.0]]
    """
    order = np.argsort(truth, kind="stable")
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    rows = [(truth[p].mean(), mean[p].mean(), np.sqrt((std[p] ** 2).mean())) for p in parts]
    return [[round(float(value), 4) for value in row] for row in rows]


def shown(records: ExperimentRecords, benchmark: str, kernel: str) -> Shown | None:
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
    return Shown(run, truth, mean, std, 1 if lines else GROUP)
