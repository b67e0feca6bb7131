"""What the runs of a comparison say together: curves, medians, shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record

Array = NDArray[np.float64]
_ERROR, _MEAN, _TEST = 1, 2, 3  # columns of a step


@dataclass(frozen=True)
class Scene:
    """The runs of one benchmark in one setting, by method, in the order of the declaration."""

    benchmark: str
    noisy: bool
    runs: dict[str, list[Record]]

    @property
    def setting(self) -> str:
        """Deterministic or noisy."""
        return "noisy" if self.noisy else "deterministic"

    @property
    def optimum(self) -> float:
        """Smallest mean error of the table."""
        return float(self._any["optimum"])

    @property
    def metric(self) -> str:
        """What the error is."""
        return str(self._any["metric"])

    @property
    def has_test(self) -> bool:
        """Whether some run knows a test error."""
        return any(r["test_error"] is not None for found in self.runs.values() for r in found)

    @property
    def _any(self) -> Record:
        return next(iter(self.runs.values()))[0]


def scenes(records: ExperimentRecords) -> list[Scene]:
    """The runs by benchmark and setting, in the order of the declaration."""
    declared = records.declaration
    order = [method["name"] for method in declared["methods"]]
    found = []
    for setting in declared["settings"]:
        for name in declared["benchmarks"]:
            noisy = setting == "noisy"
            own = [r for r in records.runs if r["benchmark"] == name and r["noisy"] == noisy]
            by_method = {m: [r for r in own if r["method"] == m] for m in order}
            by_method = {m: sorted(r, key=lambda x: x["seed"]) for m, r in by_method.items() if r}
            if by_method:
                found.append(Scene(name, noisy, by_method))
    return found


def curve(run: Record, column: int) -> Array | None:
    """A value of the best cell after each evaluation; None if the run did not keep it.

    Example:
        >>> run = {"evaluations": 4, "steps": [[1, 9.0, 9.0, None], [3, 8.0, 8.5, None]]}
        >>> curve(run, 1).tolist(), curve(run, 3)
        ([9.0, 9.0, 8.0, 8.0], None)
    """
    steps = run["steps"]
    if not steps or any(step[column] is None for step in steps):
        return None
    places = np.array([step[0] for step in steps])
    values = np.array([step[column] for step in steps], dtype=float)
    held: Array = values[np.searchsorted(places, np.arange(1, run["evaluations"] + 1), "right") - 1]
    return held


def curves(runs: Iterable[Record], test: bool = False) -> Array | None:
    """The curves of runs, one row each: mean error of the best cell, or its test error."""
    found = [curve(run, _TEST if test else _MEAN) for run in runs]
    kept = [values for values in found if values is not None]
    return np.array(kept) if kept else None


def final_errors(runs: Sequence[Record]) -> list[float]:
    """Mean error of the cell that each run returns."""
    return [run["optimum"] + run["regret"] for run in runs]


def test_errors(runs: Sequence[Record]) -> list[float]:
    """Test error of the cell that each run returns, where it is known."""
    return [run["test_error"] for run in runs if run["test_error"] is not None]


def evaluations_to_optimum(runs: Sequence[Record]) -> float:
    """Median over runs; one that never reaches the optimum counts as later than any that does.

    Example:
        >>> evaluations_to_optimum([{"reached": 30}, {"reached": None}, {"reached": 50}])
        50
    """
    return median(run["reached"] or float("inf") for run in runs)


def below(runs: Sequence[Record], others: Sequence[Record]) -> tuple[float, float] | None:
    """Mean advantage in regret over runs of the same seeds, and its standard error.

    Example:
        >>> ours = [{"seed": 0, "regret": 0.0}, {"seed": 1, "regret": 0.1}]
        >>> theirs = [{"seed": 0, "regret": 0.3}, {"seed": 1, "regret": 0.6}]
        >>> [round(value, 3) for value in below(ours, theirs)]
        [0.4, 0.1]
    """
    by_seed = {run["seed"]: run["regret"] for run in others}
    gains = [by_seed[run["seed"]] - run["regret"] for run in runs if run["seed"] in by_seed]
    if len(gains) < 2:
        return None
    return float(np.mean(gains)), deviation(gains) / float(np.sqrt(len(gains)))


def deviation(values: Sequence[float]) -> float:
    """Standard deviation over runs; 0 for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
