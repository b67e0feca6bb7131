"""What the blocks beside the paper's count in a graph, and between which values.

Each block has two functions: ``bound_...`` gives for a space the least and the largest value of
every count, none where there is nothing to count; ``count_...`` counts, for all graphs of a batch.
Isomorphic graphs have the same counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch
from nasgoat.spaces import SearchSpace

Counts = NDArray[np.int64]
_NOWHERE = np.int16(-1000)  # less than any count: no path leads here


# Operations


def list_operations(space: SearchSpace) -> tuple[list[int], list[int]]:
    """Codes of the operations on nodes, and of those on edges."""
    on_nodes = [space.node_vocabulary.index(label) for label in space.node_ops]
    return on_nodes, list(range(len(space.edge_vocabulary)))


def count_labels(space: SearchSpace) -> tuple[int, int]:
    """How many operations there are on nodes, and on edges."""
    on_nodes, on_edges = list_operations(space)
    return len(on_nodes), len(on_edges)


def bound_operations(space: SearchSpace) -> list[tuple[int, int]]:
    """Least and largest number of each operation."""
    on_nodes, on_edges = list_operations(space)
    return [(0, space.sizes[-1])] * len(on_nodes) + [(0, find_most_edges(space))] * len(on_edges)


def count_operations(space: SearchSpace, batch: GraphBatch) -> Counts:
    """How often each operation occurs, on nodes and then on edges."""
    on_nodes, on_edges = list_operations(space)
    found = []
    if batch.node_codes is not None:
        found += [(batch.node_codes == code).sum(axis=1) for code in on_nodes]
    if batch.edge_codes is not None:
        codes = batch.edge_codes if space.directed else np.triu(batch.edge_codes + 1) - 1
        found += [(codes == code).sum(axis=(1, 2)) for code in on_edges]
    return np.stack(found, axis=1).astype(np.int64)


# Shape


def bound_shape(space: SearchSpace) -> list[tuple[int, int]]:
    """Least and largest value of each of the numbers of :func:`count_shape`."""
    n, edges = space.sizes[-1], find_most_edges(space)
    least = int(getattr(space, "on_paths", False))  # every node on a path from source to sink
    ends = [(least, n - 1)] * 2
    size = [(space.sizes[0], n), (least * (space.sizes[0] - 1), edges)]
    if _operations_on_edges(space):
        pairs = sum(v * (n - 1 - v) for v in range(n)) + 2 * edges
        size = [(least * (space.sizes[0] - 1), edges), (least * space.sizes[0], pairs)]
    return [*ends, *size, *ends]


def count_shape(space: SearchSpace, batch: GraphBatch) -> Counts:
    """Depth, shortest path, nodes, edges, most edges out of a source and into a sink.

    Depth and shortest path are the edges of the longest and of the shortest path from a source to
    a sink. Where paths may run in cycles, depth is the largest of the shortest distances. Where
    operations are on edges they count as nodes, joined if one ends where the other begins.
    """
    sources, sinks = space.ends(batch)
    out, into = batch.adjacency.sum(axis=2), batch.adjacency.sum(axis=1)
    d = batch.distances.astype(np.int64)
    apart = sources[:, :, None] & sinks[:, None, :] & (d > 0) & (d < batch.n)
    shortest = np.where(apart, d, batch.n).min(axis=(1, 2))
    size = [batch.sizes.astype(np.int64), batch.edge_counts]
    if _operations_on_edges(space):
        pairs = (into * out).sum(axis=1) + (out * sources).sum(axis=1) + (into * sinks).sum(axis=1)
        size = [batch.edge_counts, pairs]
    found = [
        _find_depths(batch, sources, sinks)
        if space.acyclic
        else np.where(apart, d, 0).max(axis=(1, 2)),
        np.where(shortest == batch.n, 0, shortest),
        *size,
        (out * sources).max(axis=1),
        (into * sinks).max(axis=1),
    ]
    return np.stack(found, axis=1).astype(np.int64)


def _find_depths(batch: GraphBatch, sources: NDArray[np.bool_], sinks: NDArray[np.bool_]) -> Counts:
    """Edges of the longest path from a source to a sink of each acyclic graph."""
    reached, depth = sources & batch.exists, np.zeros(len(batch), dtype=np.int64)
    for length in range(1, batch.n):
        reached = np.asarray((reached[:, :, None] & batch.adjacency).any(axis=1))
        depth[(reached & sinks).any(axis=1)] = length
    return depth


# The most of each operation on a path


def bound_longest(space: SearchSpace) -> list[tuple[int, int]]:
    """Least and largest number of each operation on a path; none where paths may run in cycles."""
    on_nodes, on_edges = list_operations(space)
    n = space.sizes[-1]
    return [(0, n)] * len(on_nodes) + [(0, n - 1)] * len(on_edges) if space.acyclic else []


def count_longest(space: SearchSpace, batch: GraphBatch) -> Counts:
    """The most of each operation on any path of an acyclic graph."""
    on_nodes, on_edges = list_operations(space)
    found = []
    if batch.node_codes is not None:
        for code in on_nodes:
            own = batch.node_codes == code
            found.append(find_richest_path(batch, own, own[:, None, :]))
    if batch.edge_codes is not None:
        none = np.zeros((len(batch), batch.n), dtype=bool)
        edges = [batch.edge_codes == code for code in on_edges]
        found += [find_richest_path(batch, none, gains) for gains in edges]
    return np.stack(found, axis=1).astype(np.int64)


def find_richest_path(
    batch: GraphBatch, start: NDArray[np.bool_], gains: NDArray[np.bool_]
) -> NDArray[np.int16]:
    """The largest number of gains of edges on any path, and of the node that it starts from."""
    most = start.astype(np.int16)
    step = np.where(batch.adjacency, gains.astype(np.int16), _NOWHERE)
    for _ in range(batch.n - 1):
        longer = np.maximum(most, (most[:, :, None] + step).max(axis=1))
        if (longer == most).all():
            break
        most = longer
    found: NDArray[np.int16] = most.max(axis=1)
    return found


def find_most_edges(space: SearchSpace) -> int:
    """The most edges that a graph of the space can have."""
    return int(getattr(space, "edge_limit", space.most_edges(space.sizes[-1])))


def _operations_on_edges(space: SearchSpace) -> bool:
    return bool(space.edge_vocabulary) and not space.node_vocabulary
