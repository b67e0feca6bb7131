"""Structures of node-labelled cells as ordered predecessor sets, compiled.

Notation
    rows[v]  predecessors of node v as bits; nodes are in a topological order, 0 the source and
             n - 1 the sink

Of all topological orders of a structure the one with the lexicographically least rows satisfies:
if v and v + 1 are not joined, rows[v] ≤ rows[v + 1], for otherwise exchanging the two gives lesser
rows. Listing the rows that satisfy this lists every structure at least once, and few of them twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.compiled import compiled


@compiled
def _bits(x: int) -> int:
    total = 0
    while x:
        x &= x - 1
        total += 1
    return total


@compiled
def _fits(rows: NDArray[np.int64], n: int, max_edges: int, v: int) -> bool:
    """Whether rows 0..v can be part of a structure in the least order."""
    covered = edges = 0
    for w in range(v + 1):
        covered |= rows[w]
        edges += _bits(rows[w])
    still_open = _bits(((1 << (v + 1)) - 1) & ~covered)  # without successor, v among them
    if v == n - 1:
        return still_open == 1 and edges <= max_edges
    if v >= 2 and not rows[v] >> (v - 1) & 1 and rows[v - 1] > rows[v]:
        return False
    # Each later node needs an incoming edge, each open node an outgoing one.
    return edges + max(n - 1 - v, still_open) <= max_edges


@compiled
def _list_rows(n: int, max_edges: int, rows: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    """Fill ``out`` with as many rows as it holds; returns how many there are."""
    total, v = 0, 1
    while v >= 1:
        rows[v] += 1
        if rows[v] >= 1 << v:
            rows[v] = 0
            v -= 1
        elif _fits(rows, n, max_edges, v):
            if v < n - 1:
                v += 1
            else:
                if total < len(out):
                    for w in range(n):
                        out[total, w] = rows[w]
                total += 1
    return total


def ordered_structures(n: int, max_edges: int) -> NDArray[np.bool_]:
    """Adjacency matrices (S, n, n) that hold every structure of n nodes at least once.

    Example:
        >>> len(ordered_structures(4, 9))
        10
    """
    total = _list_rows(n, max_edges, np.zeros(n, dtype=np.int64), np.zeros((0, n), dtype=np.int64))
    rows = np.zeros((total, n), dtype=np.int64)
    _list_rows(n, max_edges, np.zeros(n, dtype=np.int64), rows)
    return (rows[:, None, :] >> np.arange(n)[:, None] & 1).astype(bool)
