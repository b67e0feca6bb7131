"""Labels under limits that differ by place: equally likely, cheap to change, never outside."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from nasgoat import ChainSpace
from nasgoat.spaces.label_limits import PricedLabels, draw_in_turn


def make_labels(rng: np.random.Generator, places: int = 4, labels: int = 3) -> PricedLabels:
    cost = rng.uniform(0.0, 5.0, (2, places, labels))
    return PricedLabels(cost, 2.0 * places * np.ones(2))


def list_within(labels: PricedLabels) -> list[tuple[int, ...]]:
    _, places, k = labels.cost.shape
    every = np.array(list(product(range(k), repeat=places)))
    fits = (labels.add_up(every) <= labels.cap[:, None]).all(axis=0)
    return [tuple(row) for row in every[fits].tolist()]


def test_every_labelling_within_the_limits_is_equally_likely() -> None:
    labels = make_labels(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    drawn = [labels.draw(rng) for _ in range(4000)]
    found = Counter(tuple(codes.tolist()) for codes in drawn if codes is not None)
    inside = list_within(labels)
    assert found.total() == 4000
    assert set(found) <= set(inside)
    assert 5 < len(inside) < 81
    assert chisquare([found[codes] for codes in inside]).pvalue > 1e-3


def test_prices_are_zero_where_a_limit_does_not_bind() -> None:
    labels = PricedLabels(np.ones((1, 3, 2)) * [0.0, 1.0], np.array([10.0]))
    assert labels.prices.tolist() == [0.0]


@pytest.mark.parametrize("seed", [0, 1, 3])  # of which the limits leave some labellings
def test_a_change_is_one_label_that_the_limits_allow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = make_labels(rng)
    inside = set(list_within(labels))
    assert inside
    for codes in list(inside)[:10]:
        near = {b for b in inside if sum(x != y for x, y in zip(codes, b, strict=True)) == 1}
        seen = [labels.change(np.array(codes), rng) for _ in range(40)]
        if near:
            assert {tuple(found.tolist()) for found in seen if found is not None} <= near
            assert all(found is not None for found in seen)
        else:
            assert all(found is None for found in seen)


def test_limits_that_leave_one_labelling_are_met_in_turn() -> None:
    cost = np.arange(12.0).reshape(1, 4, 3)
    labels = PricedLabels(cost, cost.min(axis=2).sum(axis=1))
    found = draw_in_turn(labels, np.random.default_rng(0))
    assert found is not None
    assert found.tolist() == [0, 0, 0, 0]


def test_limits_that_leave_nothing_give_none() -> None:
    labels = PricedLabels(np.ones((1, 4, 3)), np.array([3.0]))
    rng = np.random.default_rng(0)
    assert labels.draw(rng) is None
    assert draw_in_turn(labels, rng) is None
    assert labels.change(np.zeros(4, dtype=np.intp), rng) is None


def test_chains_of_several_lengths_change_their_length_too() -> None:
    ops = ["a", "b"]
    costs = {"time": {"a": [1.0, 2.0, 1.0, 2.0], "b": [2.0, 1.0, 2.0, 1.0]}}
    space = ChainSpace((2, 4), ops).constrain("sum(time) <= 6", costs=costs)
    rng = np.random.default_rng(0)
    chain = space.from_operations(["a", "b", "a"])
    lengths = {len(space.mutate(chain, rng).edges) for _ in range(100)}
    assert lengths == {2, 3, 4}
    assert all(graph in space for graph in space.variants(chain, 30, rng, edits=2))
