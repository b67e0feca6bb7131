"""The figures of the kernel comparison: predictions of one replication against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nasgoat.experiments.kernels.models import KERNELS
from nasgoat.experiments.kernels.predictions import Shown, shown
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.figures.predictions import predictions_figure

if TYPE_CHECKING:
    from nasgoat.figures import Figure

_CAPTION = (
    "Predicted against true error of {test} cells after learning from {train}, first replication, "
    "bars of one standard deviation, both axes logarithmic"
)


def captions(records: ExperimentRecords) -> dict[str, str]:
    """A line for each figure."""
    caption = _CAPTION.format(**records.declaration)
    found = {}
    for name, panels in _panels(records).items():
        notes = {panel.note for panel in panels.values()} - {""}
        found[_name(records, name, panels)] = ", ".join([caption, *notes]) + "."
    return found


def figures(records: ExperimentRecords) -> dict[str, Figure]:
    """One figure per benchmark, of the first draw and noise.

    Where the details of the runs were not kept, points are means over groups of cells and the
    figure's name ends in ``-grouped``.
    """
    drawn = {}
    for name, panels in _panels(records).items():
        notes = {k: f"Spearman {panel.run['spearman']:.2f}" for k, panel in panels.items()}
        values = {k: (panel.truth, panel.mean, panel.std) for k, panel in panels.items()}
        metric = "test error (%)" if name == "nb101" else "validation error (%)"
        drawn[_name(records, name, panels)] = predictions_figure(values, notes, metric)
    return drawn


def _panels(records: ExperimentRecords) -> dict[str, dict[str, Shown]]:
    """By benchmark and kernel; none where nothing was kept."""
    found = {}
    for name in records.declaration["benchmarks"]:
        known = {kernel: shown(records, name, kernel) for kernel in KERNELS}
        if panels := {kernel: panel for kernel, panel in known.items() if panel is not None}:
            found[name] = panels
    return found


def _name(records: ExperimentRecords, benchmark: str, panels: dict[str, Shown]) -> str:
    ending = "" if all(panel.cells == 1 for panel in panels.values()) else "-grouped"
    return f"{records.name}-{benchmark.replace('/', '-')}{ending}"
