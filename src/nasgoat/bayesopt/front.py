"""Fronts: which evaluations no other dominates, how much they cover, where they bend.

Also which evaluation is the best one where limits are measured.

Everything is minimised. A point dominates another if it is nowhere worse and somewhere better.

Notation
    N, m   points and objectives;  points are rows of an (N, m) array
    r      reference point: what lies beyond it counts nothing
    HV     volume of all that lies above some point of the front and below r
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasgoat.acquisition.hypervolume import check_points, find_nondominated
from nasgoat.bayesopt.measured_limits import MeasuredLimit
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.errors import SettingError, UnknownNameError

Array = NDArray[np.float64]
Metrics: TypeAlias = Mapping[str, Any]
_BEYOND = 0.1  # of the front's range: how far a reference point lies beyond its worst value
_STRAIGHT = 1e-9  # of the front's range: a bend of rounding alone is none


def hypervolume(points: ArrayLike, reference: Sequence[float]) -> float:
    """The volume between a front and a reference point, exactly.

    It is summed up slice by slice along the last objective (Knowles, 2002).

    Args:
        points: Shape (N, m); those that others dominate change nothing.
        reference: m numbers; points that do not lie below all of them count nothing.

    Example:
        >>> hypervolume([[0.0, 1.0], [1.0, 0.0]], [2.0, 2.0])
        3.0
        >>> hypervolume([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], [2.0, 2.0, 2.0])
        8.0
    """
    values = check_points(points)
    count = values.shape[1] if len(values) else None
    try:
        corner = np.asarray(reference, dtype=float)
        wrong = corner.ndim != 1 or np.isnan(corner).any() or count not in (None, len(corner))
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        said = "numbers" if count is None else f"{count} numbers"
        raise SettingError(f"the reference must be {said}, got {reference!r}")
    return _measure(values[(values < corner).all(axis=1)], corner)


def _measure(values: Array, corner: Array) -> float:
    if not len(values):
        return 0.0
    if len(corner) == 1:
        return float(corner[0] - values[:, 0].min())
    values = values[np.argsort(values[:, -1], kind="stable")]
    heights = np.diff(np.append(values[:, -1], corner[-1]))
    if len(corner) == 2:
        return float((heights * (corner[0] - np.minimum.accumulate(values[:, 0]))).sum())
    areas = [_measure(values[: i + 1, :-1], corner[:-1]) for i in range(len(values))]
    return float(heights @ np.array(areas))


def find_reference(points: ArrayLike) -> list[float]:
    """A reference point for a front: a tenth of its range beyond its worst values.

    So the ends of the front count too. Where all values of an objective on the front are equal, its
    range is that of all points; where those are equal too, it is 1.

    Example:
        >>> find_reference([[0.0, 20.0], [1.0, 10.0], [9.0, 90.0]])
        [1.1, 21.0]
    """
    values = check_points(points)
    if not len(values):
        raise SettingError("a front must have at least one point, got none")
    front = values[find_nondominated(values)]
    spread = np.ptp(front, axis=0)
    spread = np.where(spread > 0, spread, np.ptp(values, axis=0))
    found: list[float] = (front.max(axis=0) + _BEYOND * np.where(spread > 0, spread, 1.0)).tolist()
    return found


def scale_to_front(points: Array, front: Array) -> Array:
    """Points on the scale on which the front reaches from 0 to 1 in every objective."""
    low, spread = front.min(axis=0), np.ptp(front, axis=0)
    return np.asarray((points - low) / np.where(spread > 0, spread, 1.0))


def find_knee(points: ArrayLike) -> int | None:
    """The place of the point where a front bends most; None if it does not bend.

    With every objective scaled to the range of the front, it is the point with the lowest sum: of
    two objectives the one farthest below the line between the ends. A front of fewer than three
    points, or with no point below the line (or plane) through the ends, has no knee.

    Example:
        >>> find_knee([[0.0, 9.0], [1.0, 1.0], [9.0, 0.0]])
        1
        >>> find_knee([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]) is None
        True
    """
    values = check_points(points)
    places = find_nondominated(values)
    if len(places) < 3:
        return None
    front = values[places]
    scaled = scale_to_front(front, front)
    sums, ends = scaled.sum(axis=1), scaled.argmin(axis=0)
    if sums.min() > sums[ends].mean() - _STRAIGHT:
        return None
    return places[int(np.argmin(sums))]


def measure_progress(points: ArrayLike, reference: Sequence[float]) -> list[float]:
    """The hypervolume after each of the points, in their order.

    Example:
        >>> measure_progress([[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]], [2.0, 2.0])
        [1.0, 1.0, 2.0]
    """
    values, found, covered = check_points(points), list[float](), 0.0
    front = values[:0]
    for point in values:
        if not (front <= point).all(axis=1).any():
            front = np.vstack([front[~(point <= front).all(axis=1)], point])
            covered = hypervolume(front, reference)
        found.append(covered)
    return found


def list_front(objectives: Objectives, evaluated: Sequence[Metrics]) -> list[int]:
    """The places of evaluations that keep every limit and that no other such dominates.

    Args:
        objectives: What is minimised, under which limits.
        evaluated: The metrics of each evaluation.

    Example:
        >>> objectives = Objectives.of(["error", "latency"], ["energy <= 9"])
        >>> rows = [(5, 3, 8), (4, 4, 8), (3, 3, 10), (6, 6, 1)]
        >>> evaluated = [dict(zip(objectives.needed, row)) for row in rows]
        >>> list_front(objectives, evaluated)
        [1, 0]
    """
    kept = [i for i, metrics in enumerate(evaluated) if objectives.is_feasible(metrics)]
    if not kept:
        return []
    return [kept[i] for i in find_nondominated([objectives.pick(evaluated[i]) for i in kept])]


def find_best(objectives: Objectives, evaluated: Sequence[Metrics]) -> int:
    """The place of the best evaluation: of lowest first value among those that keep every limit.

    Where none does, it is the one that breaks the limits least, each relative to its bound.

    Example:
        >>> objectives = Objectives.of("error", ["latency <= 5"])
        >>> find_best(objectives, [{"error": 4, "latency": 9}, {"error": 6, "latency": 5}])
        1
    """

    def rank(place: int) -> tuple[float, ...]:
        metrics = evaluated[place]
        broken = sum(
            limit.excess(metrics) / (abs(limit.bound) or 1.0) for limit in objectives.limits
        )
        return (broken, *objectives.pick(metrics), place)

    return min(range(len(evaluated)), key=rank)


def choose(
    objectives: Objectives, evaluated: Sequence[Metrics], limits: Sequence[str | MeasuredLimit]
) -> int:
    """The place of the best evaluation under further limits, after the fact.

    The first objective that these do not limit decides, then the others. An evaluation that lacks
    a limited value is not chosen.

    Raises:
        SettingError: If no evaluation keeps them.
        UnknownNameError: If nothing of that name was measured.

    Example:
        >>> objectives = Objectives.of(["error", "latency"])
        >>> evaluated = [{"error": 4.0, "latency": 9.0}, {"error": 6.0, "latency": 3.0}]
        >>> choose(objectives, evaluated, ["latency <= 4"])
        1
    """
    wanted = [MeasuredLimit.of(each) for each in limits]
    if not evaluated:
        raise SettingError("there must be an evaluation to choose from, got none")
    measured = [_list_numbers(metrics) for metrics in evaluated]
    known = set[str]().union(*measured)
    for limit in wanted:
        if limit.name not in known:
            raise UnknownNameError("a value to choose by", limit.name, known)
    limited = {limit.name for limit in wanted}
    kept = [
        i
        for i, metrics in enumerate(evaluated)
        if objectives.is_feasible(metrics) and limited <= measured[i]
    ]
    chosen = [i for i in kept if all(limit.holds(evaluated[i]) for limit in wanted)]
    if not chosen:
        said = " and ".join(limit.text for limit in (*wanted, *objectives.limits))
        near = _say_nearest(wanted, [evaluated[i] for i in kept])
        raise SettingError(f"some evaluation must keep {said}, got none{near}")
    order = sorted(objectives.names, key=lambda name: name in limited)
    return min(chosen, key=lambda i: (*(evaluated[i][name] for name in order), i))


def _list_numbers(metrics: Metrics) -> set[str]:
    """The names of what was measured as a number; some may come only now and then."""
    return {name for name, value in metrics.items() if isinstance(value, int | float)}


def _say_nearest(wanted: Sequence[MeasuredLimit], kept: Sequence[Metrics]) -> str:
    """How near the evaluations come to the first of the limits that none keeps."""
    for limit in wanted:
        if kept and not any(limit.holds(metrics) for metrics in kept):
            nearest = min(kept, key=limit.excess)[limit.name]
            return f"; the {'lowest' if limit.sense == '<=' else 'highest'} is {nearest:g}"
    return ""
