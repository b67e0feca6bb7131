"""The tables of the kernel comparison: ours beside the paper's, for each noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasgoat.experiments.kernels.models import KERNELS
from nasgoat.experiments.kernels.published import MEASURES, is_far, published
from nasgoat.experiments.kinds import Table
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record

_HEADS = {"rmse": "RMSE ↓", "mnll": "MNLL ↓", "spearman": "Spearman ↑"}
_DRAWN = {"searched": "", "all": ", all 15,625 cells", "nas-bowl": ", drawn as NAS-BOWL does"}
_SCALE = (
    "Mean over replications (one standard deviation in brackets), the paper's numbers behind. The "
    "target is the natural logarithm of the error; Gaussian processes learn it standardised by the "
    "training cells, and predictions are turned back before they are measured. MNLL is the density "
    "of the measured value: its variance includes the noise."
)


def tables(records: ExperimentRecords) -> list[Table]:
    """One table per benchmark, draw of cells and noise."""
    found = []
    for noise in records.declaration["noises"]:
        for name in records.declaration["benchmarks"]:
            for cells in records.declaration["cells"]:
                wanted = (name, cells, noise)
                own = [
                    r for r in records.runs if (r["benchmark"], r["cells"], r["noise"]) == wanted
                ]
                if own:
                    found.append(_table(name, noise, own))
    return found


def _table(name: str, noise: float | str, runs: Sequence[Record]) -> Table:
    by_kernel = {k: [r for r in runs if r["kernel"] == k] for k in KERNELS}
    by_kernel = {kernel: own for kernel, own in by_kernel.items() if own}
    first = runs[0]
    said = "fitted" if noise == "fit" else f"fixed at {noise:g} of the target's variance"
    drawn = _DRAWN[first["cells"]]
    title = (
        f"{name}{drawn}, noise {said}: {first['train']} cells to learn from, "
        f"{first['test']} to predict"
    )
    columns = ("kernel", "replications", *(h for m in MEASURES for h in (_HEADS[m], "paper")))
    rows = tuple(_row(name, kernel, own) for kernel, own in by_kernel.items())
    sd = float(np.mean([run["target_sd"] for run in runs]))
    known = float(np.mean([run.get("known", 0.0) for run in runs]))
    twice = f"; {known:.0%} of these are training cells as well" if known else ""
    notes = (
        f"{_SCALE} The standard deviation of the target over the test cells is {sd:.2f}{twice}.",
    )
    return Table(title, columns, rows, (*notes, _far(name, by_kernel)))


def _row(name: str, kernel: str, runs: Sequence[Record]) -> tuple[str, ...]:
    cells = [kernel, str(len(runs))]
    for measure in MEASURES:
        values = [run[measure] for run in runs]
        cells.append(_spread(float(np.mean(values)), float(np.std(values))))
        known = published(name, kernel, measure)
        cells.append("–" if known is None else _spread(*known))
    return tuple(cells)


def _far(name: str, by_kernel: dict[str, list[Record]]) -> str:
    found = [
        f"{kernel} {_HEADS[measure][:-2]}"
        for kernel, runs in by_kernel.items()
        for measure in MEASURES
        if is_far(name, kernel, measure, float(np.mean([run[measure] for run in runs])))
    ]
    said = ", ".join(found) or "none"
    return f"More than two of the paper's standard deviations away from the paper: {said}."


def _spread(mean: float, sd: float) -> str:
    return f"{mean:.2f} ({sd:.2f})"
