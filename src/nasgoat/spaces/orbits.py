"""Labellings under a group of symmetries: one of each orbit, and the cycles of a permutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]
_NAMED = 1 << 62  # words up to which a row is named by one integer


def keep_smallest_in_orbit(rows: Rows, orders: Sequence[Sequence[int]] | NDArray[np.intp]) -> Rows:
    """The rows that no symmetry turns into a smaller one, as words: one of each orbit.

    Args:
        rows: Labels of all places, shape (R, places).
        orders: For each symmetry the places in the order in which it puts them.

    Example:
        >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> keep_smallest_in_orbit(rows, [[0, 1], [1, 0]]).tolist()
        [[0, 0], [0, 1], [1, 1]]
    """
    if len(orders) == 1:
        return rows
    radix, width = int(rows.max(initial=0)) + 1, rows.shape[1]
    if radix**width < _NAMED:
        powers = np.array([radix**i for i in range(width)][::-1], dtype=np.int64)
        own = rows @ powers
        smallest = own.copy()
        for order in orders:
            np.minimum(smallest, rows[:, order] @ powers, out=smallest)
        kept: Rows = rows[own == smallest]
        return kept
    keep = np.ones(len(rows), dtype=bool)
    for order in orders:
        keep &= _is_not_larger(rows, rows[:, order])
    return rows[keep]


def _is_not_larger(first: Rows, second: Rows) -> NDArray[np.bool_]:
    """Whether each row of the first is not larger than that of the second, as a word."""
    differs = first != second
    place = differs.argmax(axis=1)
    at = np.arange(len(first))
    fits: NDArray[np.bool_] = (first[at, place] < second[at, place]) | ~differs.any(axis=1)
    return fits


def inner_cycles(permutation: Sequence[int] | NDArray[np.intp]) -> tuple[int, ...]:
    """Sizes of the cycles of inner nodes in a permutation that fixes the first and the last.

    Example:
        >>> inner_cycles([0, 2, 1, 3, 4])
        (1, 2)
    """
    seen: set[int] = set()
    cycles = []
    for start in range(1, len(permutation) - 1):
        before = len(seen)
        while start not in seen:
            seen.add(start)
            start = int(permutation[start])
        if len(seen) > before:
            cycles.append(len(seen) - before)
    return tuple(sorted(cycles))
