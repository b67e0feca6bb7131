"""Unlabelled structures of acyclic cells, each once up to isomorphism.

A structure has n nodes in topological order, node 0 the source and node n - 1 the sink, and every
node on a path from source to sink, which for an acyclic graph means: every node but the source has
an incoming edge and every node but the sink an outgoing one.

Structures grow node by node. Two isomorphic prefixes have isomorphic continuations, so one of them
is enough: the number of prefixes kept stays small even though the number of matrices explodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import canonical

Prefix = tuple[int, ...]  # for each node the set of its predecessors, as bits


@dataclass(frozen=True, eq=False)
class Structures:
    """All structures with n nodes: adjacency (S, n, n), and each one's automorphisms."""

    adjacency: NDArray[np.bool_]
    automorphisms: tuple[NDArray[np.intp], ...]


@lru_cache(maxsize=32)  # spaces that differ in limits alone share them
def acyclic_structures(n: int, max_edges: int) -> Structures:
    """Every structure of n nodes with at most ``max_edges`` edges, once up to isomorphism.

    Example:
        >>> [len(acyclic_structures(n, 9).adjacency) for n in (2, 3, 4, 5)]
        [1, 2, 10, 97]
    """
    prefixes: list[Prefix] = [(0,)]
    for m in range(1, n):
        prefixes = _extended(prefixes, m, n, max_edges)
    matrices = [_matrix(prefix) for prefix in prefixes]
    adjacency = np.array(matrices, dtype=bool).reshape(-1, n, n)
    inner = set(range(1, n - 1))
    groups = (canonical.automorphisms(a, [{0}, inner, {n - 1}]) for a in adjacency)
    return Structures(adjacency, tuple(groups))


def _extended(prefixes: list[Prefix], m: int, n: int, max_edges: int) -> list[Prefix]:
    """Add node m to every prefix in every way, keeping one of each isomorphism class."""
    found: dict[bytes, Prefix] = {}
    is_sink = m == n - 1
    for prefix in prefixes:
        used = sum(row.bit_count() for row in prefix)
        open_nodes = _without_successor(prefix)
        for row in _predecessor_sets(m, open_nodes if is_sink else 0):
            edges = used + row.bit_count()
            # Each later node needs an incoming edge, each open node an outgoing one.
            still_open = 0 if is_sink else (open_nodes & ~row).bit_count() + 1
            if edges + max(n - 1 - m, still_open) <= max_edges:
                extended = (*prefix, row)
                found.setdefault(_prefix_key(extended, is_sink), extended)
    return list(found.values())


def _predecessor_sets(m: int, required: int) -> Iterator[int]:
    """Non-empty subsets of the nodes 0..m-1 that contain the required ones."""
    free = ((1 << m) - 1) & ~required
    subset = free
    while True:
        if subset | required:
            yield subset | required
        if subset == 0:
            return
        subset = (subset - 1) & free


def _without_successor(prefix: Prefix) -> int:
    covered = 0
    for row in prefix:
        covered |= row
    return ((1 << len(prefix)) - 1) & ~covered


def _prefix_key(prefix: Prefix, is_sink: bool) -> bytes:
    m = len(prefix)
    last = {m - 1} if is_sink else set()
    classes = {"source": {0}, "inner": set(range(1, m)) - last, "sink": last}
    arcs: dict[int, list[int]] = {u: [] for u in range(m)}
    for v, row in enumerate(prefix):
        for u in range(v):
            if row >> u & 1:
                arcs[u].append(v)
    present = {name: members for name, members in classes.items() if members}
    return canonical.key_of_colored(m, arcs, present, directed=True)


def _matrix(prefix: Prefix) -> list[list[int]]:
    n = len(prefix)
    return [[prefix[v] >> u & 1 for v in range(n)] for u in range(n)]
