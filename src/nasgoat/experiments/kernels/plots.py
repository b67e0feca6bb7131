"""The figures of the kernel comparison: predictions of one replication against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nasgoat.experiments.kernels.models import KERNELS
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record
from nasgoat.figures.predictions import predictions_figure

if TYPE_CHECKING:
    from nasgoat.figures import Figure

_KEYS = ("benchmark", "kernel", "cells", "noise", "seed")
_CAPTION = (
    "Predicted against true error of {test} cells after learning from {train}, first replication, "
    "bars of one standard deviation, both axes logarithmic."
)


def captions(records: ExperimentRecords) -> dict[str, str]:
    """A line for each figure."""
    caption = _CAPTION.format(**records.declaration)
    return {_name(records, name): caption for name in records.declaration["benchmarks"]}


def figures(records: ExperimentRecords) -> dict[str, Figure]:
    """One figure per benchmark, of the first noise; none where no details were kept."""
    drawn = {}
    for name in records.declaration["benchmarks"]:
        shown = {kernel: _first(records, name, kernel) for kernel in KERNELS}
        lines = {k: records.details(run["run"])[1:] for k, run in shown.items() if run is not None}
        panels = {
            kernel: (_column(own, "truth"), _column(own, "mean"), _column(own, "std"))
            for kernel, own in lines.items()
            if own
        }
        notes = {k: f"Spearman {run['spearman']:.2f}" for k, run in shown.items() if run}
        if panels:
            metric = "test error (%)" if name == "nb101" else "validation error (%)"
            drawn[_name(records, name)] = predictions_figure(panels, notes, metric)
    return drawn


def _first(records: ExperimentRecords, benchmark: str, kernel: str) -> Record | None:
    declared = records.declaration
    wanted = (benchmark, kernel, declared["cells"][0], declared["noises"][0], 0)
    for run in records.runs:
        if tuple(run[key] for key in _KEYS) == wanted:
            return run
    return None


def _column(lines: list[Record], key: str) -> np.ndarray:
    return np.array([line[key] for line in lines], dtype=float)


def _name(records: ExperimentRecords, benchmark: str) -> str:
    return f"{records.name}-{benchmark.replace('/', '-')}"
