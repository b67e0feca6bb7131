"""Bounds of the labellings of half the edges, against all labellings of both halves (Lemma 13)."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat.acquisition.branch.exponential.kernel_rows import (
    bound_half,
    bound_rows,
    centre_half,
    multiply_out,
)
from nasgoat.acquisition.branch.records import Floats

TIES = 1e-9  # sums in different orders


def draw_halves(seed: int, strength: float) -> tuple[Floats, Floats, Floats]:
    """Factors of two halves and weights of both signs."""
    rng = np.random.default_rng(seed)
    edges, labels, m = rng.integers(0, 4, 2), int(rng.integers(1, 5)), int(rng.integers(1, 30))
    left, right = (np.exp(strength * rng.normal(size=(int(e), labels, m))) for e in edges)
    return left, right, rng.normal(size=m)


@pytest.mark.parametrize("strength", [0.0, 1e-9, 0.05, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(20))
def test_no_pair_is_below_the_bounds_of_its_halves(seed: int, strength: float) -> None:
    left, right, weights = draw_halves(seed, strength)
    values = (multiply_out(left) * weights) @ multiply_out(right).T
    first, second = centre_half(left), centre_half(right)
    slack = TIES * np.abs(values).max()
    assert (bound_half(first, second, weights) <= values.min(axis=1) + slack).all()
    assert (bound_half(second, first, weights) <= values.min(axis=0) + slack).all()
    rows = bound_rows(second, multiply_out(left) * weights)
    assert (rows <= values.min(axis=1) + slack).all()
    assert (bound_half(first, second, weights) <= rows + slack).all()


@pytest.mark.parametrize("seed", range(10))
def test_bounds_are_exact_if_the_other_half_is_one_edge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = np.exp(rng.normal(size=(2, 3, 9))), np.exp(rng.normal(size=(1, 3, 9)))
    weights = rng.normal(size=9)
    values = (multiply_out(left) * weights) @ multiply_out(right).T
    bounds = bound_half(centre_half(left), centre_half(right), weights)
    assert bounds == pytest.approx(values.min(axis=1), abs=1e-6)  # the allowance for rounding


def test_bounds_are_close_where_factors_are_alike() -> None:
    rng = np.random.default_rng(0)
    left, right = np.exp(0.02 * rng.normal(size=(2, 3, 4, 40)))
    weights = rng.normal(size=40)
    values = (multiply_out(left) * weights) @ multiply_out(right).T
    bounds = bound_half(centre_half(left), centre_half(right), weights)
    loss = (values.min(axis=1) - bounds).max()
    assert 0 < loss < 0.2 * (values.max() - values.min())
