"""Shortest distances of graphs, vectorised over batches, and what follows from them.

Notation (Table 1 of the paper)
    A  (B, n, n)  adjacency of B graphs
    d  (B, n, n)  shortest distance; n stands for "infinite"

A node that does not exist has no edges, so it is infinitely far from every other node (C2); for
well-definedness d[v, v] = 0 even then (C3).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError


def find_distances(adjacency: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Shortest distances d of every graph of the batch, by Floyd–Warshall.

    Args:
        adjacency: Shape (B, n, n).

    Returns:
        Shape (B, n, n), entries 0..n, with n for "unreachable".

    Example:
        >>> path = np.array([[[0, 1, 0], [0, 0, 1], [0, 0, 0]]], dtype=bool)
        >>> find_distances(path)[0].tolist()
        [[0, 1, 2], [3, 0, 1], [3, 3, 0]]
    """
    n = adjacency.shape[-1]
    if n > 127:
        raise GraphError(f"graphs must have at most 127 nodes, got {n}")
    # Sums of two "infinite" distances stay below 256, so one byte is enough.
    d = np.where(adjacency, np.uint8(1), np.uint8(n))
    d[:, range(n), range(n)] = 0
    for w in range(n):
        np.minimum(d, d[:, :, w, None] + d[:, None, w, :], out=d)
    return np.minimum(d, np.uint8(n))


def find_nodes_on_paths(
    adjacency: NDArray[np.bool_],
    sources: NDArray[np.bool_] | None = None,
    sinks: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Whether each node is on a path from a source to a sink, shape (B, n).

    Args:
        adjacency: Shape (B, n, n).
        sources: Which nodes are sources, shape (B, n); the first node if None.
        sinks: Which nodes are sinks; the last node if None.

    Example:
        >>> dangling = np.array([[[0, 1, 1], [0, 0, 0], [0, 0, 0]]], dtype=bool)
        >>> find_nodes_on_paths(dangling).tolist()
        [[True, False, True]]
    """
    nodes = np.arange(adjacency.shape[-1])
    first = np.broadcast_to(nodes == 0, adjacency.shape[:2]) if sources is None else sources
    last = np.broadcast_to(nodes == nodes[-1], adjacency.shape[:2]) if sinks is None else sinks
    return _find_reached(adjacency, first) & _find_reached(adjacency.transpose(0, 2, 1), last)


def _find_reached(adjacency: NDArray[np.bool_], start: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The nodes that paths from the starting nodes lead to, these included."""
    found = start[:, None, :]
    while True:
        longer = found | (found @ adjacency)  # one edge more
        if (longer == found).all():
            return longer[:, 0]
        found = longer


def is_acyclic(adjacency: NDArray[np.bool_]) -> bool:
    """Whether one directed graph has no cycle."""
    d = find_distances(adjacency[None])[0]
    return not (adjacency & (len(d) > d.T)).any()


def find_topological_order(
    adjacency: NDArray[np.bool_], rank: Sequence[int] | None = None
) -> list[int]:
    """An order of the nodes in which every edge goes forward.

    Args:
        adjacency: Shape (n, n).
        rank: Of the nodes that could be next, the one with the smallest rank is; among equals, and
            where there are no ranks, the one with the smallest index.

    Example:
        >>> find_topological_order(np.array([[0, 0], [1, 0]], dtype=bool))
        [1, 0]
    """
    waiting = adjacency.sum(axis=0)
    left = set(range(len(adjacency)))
    order: list[int] = []
    while left:
        free = [v for v in left if waiting[v] == 0]
        if not free:
            raise GraphError(f"the graph must be acyclic, got a cycle among nodes {sorted(left)}")
        v = min(free) if rank is None else min(free, key=lambda v: (rank[v], v))
        left.remove(v)
        order.append(v)
        waiting = waiting - adjacency[v]
    return order
