"""Boxes of means and deviations: bounds hold, and nothing better is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nasgoat import NodeLabeledSpace
from nasgoat.acquisition import (
    Chebyshev,
    Constrained,
    HypervolumeImprovement,
    SeveralAcquisition,
    random_problem,
)
from nasgoat.acquisition.bounding_boxes import Boxes

SPACE = NodeLabeledSpace(4, ["a", "b"])
PARTS = [random_problem(SPACE, 6, seed=seed).acquisition for seed in range(3)]
FRONT = [[-0.5, 0.7], [0.1, 0.2], [0.6, -0.4]]
FUNCTIONS: list[SeveralAcquisition] = [
    HypervolumeImprovement(PARTS[:2], FRONT, [1.5, 1.5]),
    Chebyshev(PARTS[:2], [0.3, 0.7], [-2.0, -2.0]),
    Chebyshev(PARTS, [0.3, 0.5, 0.2], [-2.0, -2.0, -1.0]),
    Constrained(PARTS[:2], [0.1]),
]


def draw_values(rng: np.random.Generator, parts: int, total: int) -> NDArray[Any]:
    """Lower bounds on means and upper bounds on deviations, then the values themselves."""
    mean = rng.normal(size=(parts, total)) * rng.choice([1e-3, 1.0, 30.0])
    std = np.abs(rng.normal(size=(parts, total))) * float(rng.choice([0.0, 1e-3, 1.0]))
    more = np.abs(rng.normal(size=(parts, total))) * float(rng.choice([0.0, 0.1]))
    return np.stack([mean, std, mean + more, std * rng.random((parts, total))])


@given(st.integers(0, 2**32 - 1), st.integers(1, 600), st.sampled_from(FUNCTIONS))
def test_a_walk_meets_all_that_is_better(seed: int, total: int, function: Any) -> None:
    rng = np.random.default_rng(seed)
    low, high, mean, std = draw_values(rng, len(function.parts), total)
    exact, met = function.combine(mean, std), list[int]()

    def reach() -> float:
        return float(exact[met].min(initial=np.inf))

    for bound, places in Boxes.of(low, high).walk(function, reach):
        later = np.setdiff1d(np.arange(total), met)
        assert bound <= exact[later].min() + 1e-9 * (1 + abs(bound))
        met += places.tolist()
    assert reach() == exact.min()
    assert len(met) == len(set(met))


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_boxes_hold_every_graph_once_within_their_bounds(parts: int) -> None:
    low, high, _, _ = draw_values(np.random.default_rng(parts), parts, 2_000)
    boxes = Boxes.of(low, high)
    assert sorted(boxes.order.tolist()) == list(range(2_000))
    number = np.repeat(np.arange(len(boxes.first)), np.diff(boxes.first, append=2_000))
    assert len(boxes.first) > 20
    assert (low[:, boxes.order] >= boxes.least[:, number]).all()
    assert (high[:, boxes.order] <= boxes.largest[:, number]).all()


def test_few_of_many_graphs_are_met() -> None:
    function, rng = FUNCTIONS[0], np.random.default_rng(0)
    mean, std = rng.normal(size=(2, 50_000)), 0.1 * rng.random((2, 50_000))
    exact, met = function.combine(mean, std), list[int]()

    def reach() -> float:
        return float(exact[met].min(initial=np.inf))

    for _, places in Boxes.of(mean, std).walk(function, reach):
        met += places.tolist()
    assert reach() == exact.min()
    assert len(met) < 1_000
