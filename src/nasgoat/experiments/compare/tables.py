"""The tables of a comparison: an overview, then one per benchmark and setting."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nasgoat.experiments.compare.results import (
    Scene,
    below,
    deviation,
    evaluations_to_optimum,
    final_errors,
    scenes,
    test_errors,
)
from nasgoat.experiments.kinds import Table
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


def tables(records: ExperimentRecords) -> list[Table]:
    """The overview and the tables of all benchmarks and settings."""
    found = scenes(records)
    return [*_overviews(found), *(_table(scene) for scene in found)]


def _overviews(found: Sequence[Scene]) -> list[Table]:
    overviews = []
    for setting in dict.fromkeys(scene.setting for scene in found):
        own = [scene for scene in found if scene.setting == setting]
        names = list(dict.fromkeys(name for scene in own for name in scene.runs))
        rows = [(name, *(_short(scene, name) for scene in own)) for name in names]
        columns = ("method", *(scene.benchmark for scene in own))
        title = (
            f"Median regret, runs that reach the optimum, and evaluations to it (median), {setting}"
        )
        overviews.append(Table(title, columns, tuple(rows)))
    return overviews


def _short(scene: Scene, name: str) -> str:
    runs = scene.runs.get(name)
    if not runs:
        return _NOTHING
    regret = median(run["regret"] for run in runs)
    least = min(median(run["regret"] for run in other) for other in scene.runs.values())
    shown = f"**{regret:.3f}**" if regret <= least else f"{regret:.3f}"
    return f"{shown}, {_share(runs)}, {_when(runs)}"


def _table(scene: Scene) -> Table:
    random = scene.runs.get(_RANDOM, [])
    rows = tuple(_row(name, runs, random) for name, runs in scene.runs.items())
    title = f"{scene.benchmark}, {scene.setting}: {scene.metric}, the best cell has " + (
        f"{scene.optimum:.3f}"
    )
    return Table(title, _COLUMNS, rows, (_HOW, *_notes(scene)))


def _row(name: str, runs: Sequence[Record], random: Sequence[Record]) -> tuple[str, ...]:
    tests = test_errors(runs)
    gain = None if name == _RANDOM else below(runs, random)
    seconds = [run["seconds_per_iteration"] for run in runs if run["seconds_per_iteration"]]
    proven = [run["certified"] for run in runs if run["certified"] is not None]
    return (
        name,
        str(len(runs)),
        _spread(final_errors(runs)),
        f"{median(run['regret'] for run in runs):.3f}",
        _NOTHING if gain is None else f"{gain[0]:.3f} ± {gain[1]:.3f}",
        _spread(tests) if tests else _NOTHING,
        _share(runs),
        _when(runs),
        f"{median(seconds):.3g}" if seconds else _NOTHING,
        f"{100 * sum(proven) / len(proven):.0f} %" if proven else _NOTHING,
    )


def _notes(scene: Scene) -> list[str]:
    notes = [_leaders(scene)]
    if "test error" in scene.metric:
        notes.append(
            "The table of this benchmark has no validation error for every cell: the search "
            "minimises the mean **test** error, and there is no other error to report."
        )
    elif not scene.has_test:
        notes.append("The table of this benchmark has no test error.")
    return notes


def _leaders(scene: Scene) -> str:
    """Who is best, ours or not."""
    regret = {name: median(r["regret"] for r in runs) for name, runs in scene.runs.items()}
    least = min(regret.values())
    best = [name for name, value in regret.items() if value <= least]
    said = f"Lowest median regret: {', '.join(best)} ({least:.3f})."
    soon = {name: evaluations_to_optimum(runs) for name, runs in scene.runs.items()}
    first = min(soon, key=lambda name: soon[name])
    if soon[first] < float("inf"):
        said += f" First at the optimum in the median: {first}, after {soon[first]:.0f}."
    return said


def _when(runs: Sequence[Record]) -> str:
    when = evaluations_to_optimum(runs)
    return f"{when:.0f}" if when < float("inf") else f"> {max(run['evaluations'] for run in runs)}"


def _share(runs: Sequence[Record]) -> str:
    return f"{sum(run['reached'] is not None for run in runs)}/{len(runs)}"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.3f} ({deviation(values):.3f})"
