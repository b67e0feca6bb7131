"""Charts: every value on its axis, ticks that read well."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat.figures.scales import Scale, spread_labels

VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20)


@given(VALUES, st.booleans())
def test_every_value_lies_on_the_axis_and_ticks_rise(values: list[float], log: bool) -> None:
    scale = Scale.of(values, log)
    assert all(0 <= scale.place(value) <= 1 for value in values)
    ticks = scale.list_ticks()
    assert len(ticks) <= 8
    places = [scale.place(value) for value, _ in ticks]
    assert places == sorted(places)
    assert all(a < b for a, b in itertools.pairwise(places))


@given(st.lists(st.integers(0, 500), min_size=1, max_size=20))
def test_whole_numbers_get_whole_ticks(values: list[int]) -> None:
    for value, text in Scale.of(map(float, values), integer=True).list_ticks(integer=True):
        assert value == round(value)
        assert "." not in text


def test_one_value_has_room_on_both_sides() -> None:
    assert Scale.of([3.0]).place(3.0) == pytest.approx(0.5)
    assert Scale.of([0.0]).place(0.0) == pytest.approx(0.5)
    assert Scale.of([]).place(0.5) == pytest.approx(0.5)


def test_zero_has_its_own_tick_on_a_logarithmic_axis() -> None:
    scale = Scale.of([0.0, 0.01, 1.0], log=True)
    assert scale.place(0.0) == 0.0
    assert scale.list_ticks()[0][1] == "0"


def test_numbers_below_zero_are_never_put_on_a_logarithm() -> None:
    assert not Scale.of([-1.0, -2.0], log=True).log


@pytest.mark.parametrize("log", [False, True])
def test_an_axis_of_nothing_runs_from_zero_to_one(log: bool) -> None:
    scale = Scale.of([], log)
    assert scale.low < 0 < 1 < scale.high
    assert next(text for _, text in scale.list_ticks()) == "0.0"


@given(st.lists(st.floats(0, 1), max_size=15), st.floats(0.01, 0.2))
def test_labels_are_spread_within_the_axis_and_keep_their_order(
    wanted: list[float], step: float
) -> None:
    places = spread_labels(sorted(wanted), step)
    assert len(places) == len(wanted)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)  # rounding
    least = min(step, 1 / max(len(wanted) - 1, 1))
    assert all(b - a >= least - 1e-9 for a, b in itertools.pairwise(places))
