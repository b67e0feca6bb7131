"""What the runs of a comparison say together: medians, shares, and the tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from nasgoat.experiments import Table
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record

_NOTHING = "–"
_RANDOM = "random"
_COLUMNS = (
    "method",
    "seeds",
    "error",
    "regret",
    "below random",
    "test error",
    "at the optimum",
    "evaluations to it",
    "s / iteration",
    "certified",
)
_HOW = (
    "Median over seeds (one standard deviation in brackets) of the cell of lowest error, in "
    "percent; the test error, where a run kept it, is that of the same cell. Below random: mean "
    "advantage in regret over random search with the same seeds and its standard error. "
    "Evaluations to the optimum: median, a run that never reaches it counts as later than any that "
    "does. Seconds are processor time of the proposals of one iteration. Certified: share of the "
    "iterations whose proposals are all proven optimal."
)


@dataclass(frozen=True)
class Contest:
    """All methods on one benchmark in one setting: their runs, in the order of the declaration."""

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


def list_contests(records: ExperimentRecords) -> list[Contest]:
    """What was run on each benchmark in each setting, in the order of the declaration."""
    declared = records.declaration
    order = [method["name"] for method in declared["methods"]]
    found = []
    for setting in declared["settings"]:
        for name in declared["benchmarks"]:
            noisy = setting == "noisy"
            own = [r for r in records.runs if r["benchmark"] == name and r["noisy"] == noisy]
            if by_method := group_by_method(own, order):
                found.append(Contest(name, noisy, by_method))
    return found


def group_by_method(runs: Sequence[Record], methods: Sequence[str]) -> dict[str, list[Record]]:
    """The runs of each method in the order of their seeds; methods without a run are left out."""
    own = {name: [run for run in runs if run["method"] == name] for name in methods}
    return {m: sorted(found, key=lambda run: run["seed"]) for m, found in own.items() if found}


def make_tables(records: ExperimentRecords) -> list[Table]:
    """The overview and the tables of all benchmarks and settings."""
    found = list_contests(records)
    initial = records.declaration["initial"]
    return [*_make_overviews(found, initial), *(_make_table(contest) for contest in found)]


def _make_overviews(found: Sequence[Contest], initial: int) -> list[Table]:
    overviews = []
    for setting in dict.fromkeys(contest.setting for contest in found):
        own = [contest for contest in found if contest.setting == setting]
        names = list(dict.fromkeys(name for contest in own for name in contest.runs))
        rows = [(name, *(_summarise_runs(contest, name) for contest in own)) for name in names]
        columns = ("method", *(contest.benchmark for contest in own))
        title = (
            f"Median regret, runs that reach the optimum, and evaluations to it (median), {setting}"
        )
        overviews.append(Table(title, columns, tuple(rows), _name_sequential(own, initial)))
    return overviews


def _name_sequential(contests: Sequence[Contest], initial: int) -> tuple[str, ...]:
    """A note on the methods that learnt from every cell before they proposed the next one."""
    runs = [run for contest in contests for found in contest.runs.values() for run in found]
    every = dict.fromkeys(run["method"] for run in runs)
    batched = {run["method"] for run in runs if run["iterations"] < run["evaluations"] - initial}
    single = [method for method in every if method not in batched]
    if not single:
        return ()
    others = "; the others in batches" if batched else ""
    return (f"One cell at a time: {', '.join(single)}{others}.",)


def _summarise_runs(contest: Contest, name: str) -> str:
    runs = contest.runs.get(name)
    if not runs:
        return _NOTHING
    regret = median(run["regret"] for run in runs)
    least = min(median(run["regret"] for run in other) for other in contest.runs.values())
    shown = f"**{regret:.3f}**" if regret <= least else f"{regret:.3f}"
    return f"{shown}, {format_share(runs)}, {format_arrival(runs)}"


def _make_table(contest: Contest) -> Table:
    random = contest.runs.get(_RANDOM, [])
    rows = tuple(_make_row(name, runs, random) for name, runs in contest.runs.items())
    title = f"{contest.benchmark}, {contest.setting}: {contest.metric}, the best cell has " + (
        f"{contest.optimum:.3f}"
    )
    return Table(title, _COLUMNS, rows, tuple(_write_notes(contest)), _HOW)


def _make_row(name: str, runs: Sequence[Record], random: Sequence[Record]) -> tuple[str, ...]:
    tests = list_test_errors(runs)
    gain = None if name == _RANDOM else measure_advantage(runs, random)
    seconds = [run["seconds_per_iteration"] for run in runs if run["seconds_per_iteration"]]
    proven = [run["certified"] for run in runs if run["certified"] is not None]
    return (
        name,
        str(len(runs)),
        _format_spread(list_final_errors(runs)),
        f"{median(run['regret'] for run in runs):.3f}",
        _NOTHING if gain is None else f"{gain[0]:.3f} ± {gain[1]:.3f}",
        _format_spread(tests) if tests else _NOTHING,
        format_share(runs),
        format_arrival(runs),
        f"{median(seconds):.3g}" if seconds else _NOTHING,
        f"{100 * sum(proven) / len(proven):.0f} %" if proven else _NOTHING,
    )


def _write_notes(contest: Contest) -> list[str]:
    notes = [_name_leaders(contest)]
    if "test error" in contest.metric:
        notes.append(
            "The table of this benchmark has no validation error for every cell: the search "
            "minimises the mean **test** error, and there is no other error to report."
        )
    elif not contest.has_test:
        notes.append("The table of this benchmark has no test error.")
    return notes


def _name_leaders(contest: Contest) -> str:
    """Say which method has the lowest median regret, and which is first at the optimum."""
    regret = {name: median(r["regret"] for r in runs) for name, runs in contest.runs.items()}
    least = min(regret.values())
    best = [name for name, value in regret.items() if value <= least]
    said = f"Lowest median regret: {', '.join(best)} ({least:.3f})."
    soon = {name: count_evaluations_to_optimum(runs) for name, runs in contest.runs.items()}
    first = min(soon, key=lambda name: soon[name])
    if soon[first] < float("inf"):
        said += f" First at the optimum in the median: {first}, after {soon[first]:.0f}."
    return said


def format_arrival(runs: Sequence[Record]) -> str:
    """The median number of evaluations to the optimum, or that more are needed than were made."""
    when = count_evaluations_to_optimum(runs)
    return f"{when:.0f}" if when < float("inf") else f"> {max(run['evaluations'] for run in runs)}"


def format_share(runs: Sequence[Record]) -> str:
    """How many of the runs reached the optimum."""
    return f"{sum(run['reached'] is not None for run in runs)}/{len(runs)}"


def _format_spread(values: Sequence[float]) -> str:
    return f"{median(values):.3f} ({measure_deviation(values):.3f})"


def list_final_errors(runs: Sequence[Record]) -> list[float]:
    """Mean error of the cell that each run returns."""
    return [run["optimum"] + run["regret"] for run in runs]


def list_test_errors(runs: Sequence[Record]) -> list[float]:
    """Test error of the cell that each run returns, where it is known."""
    return [run["test_error"] for run in runs if run["test_error"] is not None]


def count_evaluations_to_optimum(runs: Sequence[Record]) -> float:
    """Median over runs; one that never reaches the optimum counts as later than any that does.

    Example:
        >>> count_evaluations_to_optimum([{"reached": 30}, {"reached": None}, {"reached": 50}])
        50
    """
    return median(run["reached"] or float("inf") for run in runs)


def measure_advantage(
    runs: Sequence[Record], others: Sequence[Record]
) -> tuple[float, float] | None:
    """Mean advantage in regret over runs of the same seeds, and its standard error.

    Example:
        >>> ours = [{"seed": 0, "regret": 0.0}, {"seed": 1, "regret": 0.1}]
        >>> theirs = [{"seed": 0, "regret": 0.3}, {"seed": 1, "regret": 0.6}]
        >>> [round(value, 3) for value in measure_advantage(ours, theirs)]
        [0.4, 0.1]
    """
    by_seed = {run["seed"]: run["regret"] for run in others}
    gains = [by_seed[run["seed"]] - run["regret"] for run in runs if run["seed"] in by_seed]
    if len(gains) < 2:
        return None
    return float(np.mean(gains)), measure_deviation(gains) / float(np.sqrt(len(gains)))


def measure_deviation(values: Sequence[float]) -> float:
    """Standard deviation over runs; 0 for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
