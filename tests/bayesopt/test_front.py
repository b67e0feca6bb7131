"""Fronts, hypervolumes and choices against brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.bayesopt.front import (
    choose,
    find_best,
    find_knee,
    find_reference,
    hypervolume,
    list_front,
    measure_progress,
)
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.errors import SettingError, UnknownNameError

GRID = 5  # few values, so that ties and equal points are common


def points(objectives: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    return st.lists(st.tuples(*[st.integers(0, GRID - 1)] * objectives), min_size=1, max_size=12)


ANY_POINTS = st.integers(1, 3).flatmap(points)


def dominates(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) and a != b


@given(ANY_POINTS)
def test_a_front_is_what_nothing_dominates_each_point_once(rows: list[tuple[int, ...]]) -> None:
    front = find_nondominated(rows)
    expected = {row for row in rows if not any(dominates(other, row) for other in rows)}
    assert [rows[i] for i in front] == sorted(expected)
    assert all(rows.index(rows[i]) == i for i in front)  # of equal points the first


@given(ANY_POINTS)
def test_hypervolume_counts_the_cells_of_a_grid(rows: list[tuple[int, ...]]) -> None:
    corners = product(range(GRID), repeat=len(rows[0]))
    covered = [
        corner
        for corner in corners
        if any(all(x <= y for x, y in zip(row, corner, strict=True)) for row in rows)
    ]
    assert hypervolume(rows, [GRID] * len(rows[0])) == len(covered)


@given(ANY_POINTS, st.integers(1, GRID))
def test_what_lies_beyond_the_reference_counts_nothing(
    rows: list[tuple[int, ...]], corner: int
) -> None:
    reference = [corner] * len(rows[0])
    inside = [row for row in rows if all(x < corner for x in row)]
    assert hypervolume(rows, reference) == (hypervolume(inside, reference) if inside else 0.0)


@given(ANY_POINTS)
def test_progress_is_the_hypervolume_of_every_beginning(rows: list[tuple[int, ...]]) -> None:
    reference = [float(GRID)] * len(rows[0])
    expected = [hypervolume(rows[: i + 1], reference) for i in range(len(rows))]
    assert measure_progress(rows, reference) == pytest.approx(expected)


@given(points(2))
def test_the_knee_is_farthest_below_the_line_between_the_ends(rows: list[tuple[int, int]]) -> None:
    front = [rows[i] for i in find_nondominated(rows)]
    knee = find_knee(rows)
    (x0, y0), (x1, y1) = front[0], front[-1]
    depths = {p: (x1 - x0) * (y0 - p[1]) - (p[0] - x0) * (y0 - y1) for p in front}
    if max(depths.values()) == 0:  # two points, a straight line, or one that bends outwards
        assert knee is None
        return
    assert knee is not None
    assert depths[rows[knee]] == max(depths.values())


def test_a_front_that_does_not_bend_has_no_knee() -> None:
    straight = [(0.1 * i, 0.3 * (7 - i)) for i in range(8)]  # but for rounding
    assert find_knee(straight) is None
    assert find_knee([(0.0, 9.0), (8.0, 8.0), (9.0, 0.0)]) is None
    assert find_knee([(0, 1, 1), (1, 0, 1), (1, 1, 0), (0.6, 0.6, 0.6)]) == 3
    assert find_knee([(0, 1, 1), (1, 0, 1), (1, 1, 0), (0.9, 0.9, 0.9)]) is None
    assert find_knee([(0, 2, 5), (1, 1, 5), (2, 0, 5)]) is None  # straight, one of them constant


def test_the_reference_lies_beyond_a_front_of_one_point_and_of_equal_values() -> None:
    assert find_reference([[1.0, 2.0]]) == [1.1, 2.1]
    assert find_reference([[1.0, 2.0], [1.0, 4.0]]) == pytest.approx([1.1, 2.2])
    with pytest.raises(SettingError, match="at least one point, got none"):
        find_reference([])


def test_points_must_be_finite_rows_and_fit_the_reference() -> None:
    with pytest.raises(SettingError, match="points must be finite"):
        find_nondominated([[np.nan, 1.0]])
    with pytest.raises(SettingError, match="rows of equal length"):
        find_nondominated([1.0, 2.0])
    with pytest.raises(SettingError, match="reference must be 2 numbers"):
        hypervolume([[1.0, 2.0]], [3.0])


@pytest.mark.parametrize("reference", [["a", 2], "ab", 5, [[1.0, 2.0], 3.0], [float("nan"), 2.0]])
def test_a_reference_that_is_no_numbers_is_refused(reference: Any) -> None:
    with pytest.raises(SettingError, match="the reference must be 2 numbers, got "):
        hypervolume([[1.0, 2.0]], reference)


METRICS = [
    {"error": 4.0, "latency": 9.0, "energy": 1.0},
    {"error": 6.0, "latency": 3.0, "energy": 2.0},
    {"error": 5.0, "latency": 3.0, "energy": 9.0},
    {"error": 6.0, "latency": 3.0, "energy": 1.0},
]


def test_a_front_holds_only_what_keeps_the_limits() -> None:
    assert list_front(Objectives.of(["error", "latency"]), METRICS) == [0, 2]
    assert list_front(Objectives.of(["error", "latency"], ["energy <= 2"]), METRICS) == [0, 1]
    assert list_front(Objectives.of(["error", "latency"], ["energy <= 0.5"]), METRICS) == []


def test_the_best_keeps_the_limits_or_breaks_them_least() -> None:
    assert find_best(Objectives.of("error", ["latency <= 3"]), METRICS) == 2
    assert find_best(Objectives.of("error", ["latency <= 3", "energy <= 2"]), METRICS) == 1
    assert find_best(Objectives.of("error", ["latency <= 2"]), METRICS) == 2
    assert find_best(Objectives.of("error", ["energy >= 3"]), METRICS) == 2


def test_choosing_under_a_limit_after_the_fact() -> None:
    objectives = Objectives.of(["error", "latency"])
    assert choose(objectives, METRICS, ["latency <= 4"]) == 2
    assert choose(objectives, METRICS, ["energy <= 2", "latency <= 4"]) == 1
    assert choose(objectives, METRICS, ["error <= 5.5"]) == 2  # then the latency decides
    with pytest.raises(SettingError, match="must keep latency <= 2, got none; the lowest is 3"):
        choose(objectives, METRICS, ["latency <= 2"])
    with pytest.raises(UnknownNameError, match="got 'latncy'; did you mean latency"):
        choose(objectives, METRICS, ["latncy <= 2"])
    with pytest.raises(SettingError, match="'NAME <= NUMBER'"):
        choose(objectives, METRICS, ["latency"])
    with pytest.raises(SettingError, match=r"'NAME <= NUMBER' .*, got 3"):
        choose(objectives, METRICS, [3])  # type: ignore[list-item]
    with pytest.raises(SettingError, match="must be named by a text, got 3"):
        Objectives.of(["error", 3])  # type: ignore[list-item]


def test_a_value_that_only_some_evaluations_have_can_be_chosen_by() -> None:
    objectives = Objectives.of(["error", "latency"])
    some: list[dict[str, Any]] = [
        METRICS[0],
        {**METRICS[1], "memory": 3.0},
        {**METRICS[2], "memory": "none"},
    ]
    assert choose(objectives, some, ["memory <= 4"]) == 1
    with pytest.raises(SettingError, match="must keep memory <= 2, got none; the lowest is 3"):
        choose(objectives, some, ["memory <= 2"])
