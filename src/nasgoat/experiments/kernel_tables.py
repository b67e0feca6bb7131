"""The tables of the comparison of kernels: ours beside the paper's, for each noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasgoat.experiments.kernel_models import KERNELS
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.results import Table
from nasgoat.experiments.study import Record

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
#: A cell differs from the paper's when the means are further apart than so many of its deviations.
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
    found = []
    for noise in records.declaration["noises"]:
        for name in records.declaration["benchmarks"]:
            for cells in records.declaration["cells"]:
                wanted = (name, cells, noise)
                own = [
                    r for r in records.runs if (r["benchmark"], r["cells"], r["noise"]) == wanted
                ]
                if own:
                    found.append(_make_table(name, noise, own))
    return found


def _make_table(name: str, noise: float | str, runs: Sequence[Record]) -> Table:
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
    rows = tuple(_make_row(name, kernel, own) for kernel, own in by_kernel.items())
    sd = float(np.mean([run["target_sd"] for run in runs]))
    known = float(np.mean([run.get("known", 0.0) for run in runs]))
    twice = f"; {known:.0%} of these are training cells as well" if known else ""
    notes = (
        f"{_SCALE} The standard deviation of the target over the test cells is {sd:.2f}{twice}.",
    )
    return Table(title, columns, rows, (*notes, _name_far(name, by_kernel)))


def _make_row(name: str, kernel: str, runs: Sequence[Record]) -> tuple[str, ...]:
    cells = [kernel, str(len(runs))]
    for measure in MEASURES:
        values = [run[measure] for run in runs]
        cells.append(_format_spread(float(np.mean(values)), float(np.std(values))))
        known = find_published(name, kernel, measure)
        cells.append("–" if known is None else _format_spread(*known))
    return tuple(cells)


def _name_far(name: str, by_kernel: dict[str, list[Record]]) -> str:
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
