"""Structures, and prefixes of structures, of acyclic cells: each once up to isomorphism, compiled.

Notation
    rows[v]  predecessors of node v as bits; nodes are in a topological order, 0 the source and, in
             a structure, the last one the sink

Every node is on a path from source to sink: every node but the source has an incoming edge and
every node but the sink an outgoing one. Of all topological orders of a structure one has the
lexicographically least rows. If some order of the first nodes gives lesser rows than theirs, so
does one of all nodes. So it is enough to extend least rows by one node at a time and to keep what
is least again: every class of isomorphic structures comes exactly once. The same holds with
"greatest" for "least"; catalogues list structures that way, in descending order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.compiled import compiled, compiled_inline
from nasgoat.graphs import canonical
from nasgoat.spaces.cell_space import Structures

_CHUNK = 20_000  # structures between two looks at the clock


class _RowsWanted(NamedTuple):
    """What is listed: see :func:`list_rows`."""

    n: int
    max_edges: int
    whole: bool
    greatest: bool


@compiled_inline
def _count_bits(x: int) -> int:
    total = 0
    while x:
        x &= x - 1
        total += 1
    return total


@compiled_inline
def _fits(rows: NDArray[np.int64], v: int, wanted: _RowsWanted) -> bool:
    """Whether rows 0..v can be part of n nodes that the edges suffice for."""
    n, max_edges, whole = wanted.n, wanted.max_edges, wanted.whole
    covered = edges = 0
    for w in range(v + 1):
        covered |= rows[w]
        edges += _count_bits(rows[w])
    still_open = _count_bits(((1 << (v + 1)) - 1) & ~covered)  # without successor, v among them
    if whole and v == n - 1:
        return still_open == 1 and edges <= max_edges
    # Two nodes that no edge joins could be swapped.
    apart = v >= 2 and not rows[v] >> (v - 1) & 1 and rows[v - 1] != rows[v]
    if apart and (rows[v - 1] > rows[v]) != wanted.greatest:
        return False
    # Each later node needs an incoming edge, each open node an outgoing one; a prefix is followed
    # by the last inner node and the sink.
    later = n - 1 - v if whole else n + 1 - v
    needed = max(later, still_open if whole else still_open + 1)
    return edges + needed <= max_edges


@compiled_inline
def _is_first(rows: NDArray[np.int64], v: int, scratch: NDArray[np.int64], greatest: bool) -> bool:
    """Whether no topological order of the nodes 0..v has lesser (or greater) rows."""
    at, place, following = scratch[0], scratch[1], scratch[2]
    for w in range(v + 1):
        place[w] = -1
    place[0] = 0
    p = 1
    following[1] = 1
    while p >= 1:
        w = following[p] if p <= v else v + 1
        if w > v:
            p -= 1
            if p >= 1:
                place[at[p]] = -1
            continue
        following[p] = w + 1
        if place[w] >= 0:
            continue
        row = 0
        for u in range(w):
            if rows[w] >> u & 1:
                row = row | 1 << place[u] if place[u] >= 0 and row >= 0 else -1
        if row >= 0 and row != rows[p] and (row < rows[p]) != greatest:
            return False
        if row == rows[p]:
            at[p] = w
            place[w] = p
            p += 1
            if p <= v:
                following[p] = 1
    return True


@compiled
def _list_rows(wanted: _RowsWanted, scratch: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    """Fill ``out`` with the next rows, going on from the scratch; returns how many there were."""
    rows, tried, n, greatest = scratch[3], scratch[4], wanted.n, wanted.greatest
    total, v = 0, scratch[5, 0]
    while v >= 1 and total < len(out):
        tried[v] += 1
        rows[v] = (1 << v) - tried[v] if greatest else tried[v]
        if tried[v] >= 1 << v:
            rows[v] = tried[v] = 0
            v -= 1
        elif _fits(rows, v, wanted) and _is_first(rows, v, scratch, greatest):
            if v < n - 1:
                v += 1
            else:
                for w in range(n):
                    out[total, w] = rows[w]
                total += 1
    scratch[5, 0] = v
    return total


@compiled
def _extend_rows(
    parents: NDArray[np.int64],
    wanted: _RowsWanted,
    scratch: NDArray[np.int64],
    out: NDArray[np.int64],
    home: NDArray[np.int64],
) -> int:
    """Fill ``out`` with the rows that extend parents by a node; returns how many."""
    rows, total, k = scratch[3], 0, parents.shape[1]
    for p in range(len(parents)):
        for w in range(k):
            rows[w] = parents[p, w]
        for row in range(1, 1 << k):
            rows[k] = row
            if _fits(rows, k, wanted) and _is_first(rows, k, scratch, wanted.greatest):
                for w in range(k + 1):
                    out[total, w] = rows[w]
                home[total] = p
                total += 1
    return total


def extend_rows(
    rows: NDArray[np.int64], n: int, max_edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prefixes with one more node, each class once, and the place of what each extends.

    Args:
        rows: Prefixes of k nodes, (S, k).
        n: Nodes that a prefix will have in the end.
        max_edges: Edges of the whole graph at most.

    Example:
        >>> found, home = extend_rows(np.array([[0, 1]]), 3, 10)
        >>> found.tolist(), home.tolist()
        ([[0, 1, 1], [0, 1, 2], [0, 1, 3]], [0, 0, 0])
    """
    total, k = rows.shape
    out = np.zeros((total << k, k + 1), dtype=np.int64)
    home = np.zeros(total << k, dtype=np.int64)
    scratch = np.zeros((6, n + 2), dtype=np.int64)
    wanted = _RowsWanted(n=n, max_edges=max_edges, whole=False, greatest=False)
    count = _extend_rows(rows, wanted, scratch, out, home)
    return out[:count].copy(), home[:count].copy()


def list_rows(
    n: int, max_edges: int, whole: bool, greatest: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Rows of all structures of n nodes (``whole``), or of all prefixes, in chunks.

    A prefix of n nodes is what is left of a structure of n + 2 nodes without its sink and one inner
    node whose only successor is the sink.

    Args:
        n: Nodes of a structure, or of a prefix.
        max_edges: Edges of the whole structure at most.
        whole: Whether structures are listed, or prefixes.
        greatest: Whether greatest rows come, in descending order, or least ones in ascending order.

    Example:
        >>> [sum(map(len, list_rows(n, 28, whole=True))) for n in (3, 4, 5)]
        [2, 10, 98]
    """
    wanted = _RowsWanted(n=n, max_edges=max_edges, whole=whole, greatest=greatest)
    scratch = np.zeros((6, n + 1), dtype=np.int64)
    scratch[5, 0] = 1
    if n == 1:
        yield np.zeros((1, 1), dtype=np.int64)
        return
    while scratch[5, 0] >= 1:
        out = np.zeros((_CHUNK, n), dtype=np.int64)
        total = _list_rows(wanted, scratch, out)
        yield out[:total].copy()


def unpack_matrices(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Adjacency matrices (S, n, n) of rows (S, n).

    Example:
        >>> unpack_matrices(np.array([[0, 1, 2]]))[0].astype(int).tolist()
        [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    n = rows.shape[1]
    return (rows[:, None, :] >> np.arange(n)[:, None] & 1).astype(bool)


@lru_cache(maxsize=32)  # spaces that differ in limits alone share them
def list_acyclic_structures(n: int, max_edges: int) -> Structures:
    """Every structure of n nodes with at most ``max_edges`` edges, with its automorphisms.

    Example:
        >>> [len(list_acyclic_structures(n, 9).adjacency) for n in (2, 3, 4, 5)]
        [1, 2, 10, 97]
    """
    rows = np.concatenate(list(list_rows(n, max_edges, whole=True, greatest=True)))
    adjacency = unpack_matrices(rows)
    colours = [{0}, set(range(1, n - 1)), {n - 1}]
    return Structures(adjacency, [canonical.list_automorphisms(a, colours) for a in adjacency])
