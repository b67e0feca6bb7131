"""What the blocks other than the paper's count in a graph, and between which values.

Each block has two functions: ``bound_...`` gives for a space the least and the largest value of
every count, none where there is nothing to count; ``count_...`` counts, for all graphs of a batch.
Isomorphic graphs have the same counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch
from nasgoat.spaces import SearchSpace

Counts = NDArray[np.int64]
Type = tuple[int, ...]  # of a node: its label, then the number of edges of each kind
MOST_TYPES = 500  # of nodes that are told apart
MOST_PATHS = 100  # of one length that are counted: dense graphs have exponentially many
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
    return [(0, space.sizes[-1])] * len(on_nodes) + [(0, space.edge_limit)] * len(on_edges)


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
    n, edges = space.sizes[-1], space.edge_limit
    least = int(space.on_paths)  # every node on a path from source to sink
    ends = [(least, n - 1)] * 2
    size = [(space.sizes[0], n), (least * (space.sizes[0] - 1), edges)]
    if _has_operations_on_edges(space):
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
    if _has_operations_on_edges(space):
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
    """The most gains on any path: of its edges, and of its first node if that is marked."""
    most = start.astype(np.int16)
    step = np.where(batch.adjacency, gains.astype(np.int16), _NOWHERE)
    for _ in range(batch.n - 1):
        longer = np.maximum(most, (most[:, :, None] + step).max(axis=1))
        if (longer == most).all():
            break
        most = longer
    found: NDArray[np.int16] = most.max(axis=1)
    return found


# Paths by their number of operations


def bound_lengths(space: SearchSpace) -> list[tuple[int, int]]:
    """Least and largest number of paths with each number of operations.

    None where there may be cycles, or where no operation is known to pass its input on.
    """
    if not space.acyclic or not space.identities:
        return []
    return [(0, MOST_PATHS)] * (_bound_on_path(space) + 1)


def count_lengths(space: SearchSpace, batch: GraphBatch) -> Counts:
    """How many paths from a source to a sink have 0, 1, 2, ... operations, identities not counted.

    A skip connection passes its input on, so that a path is as long as what it computes: a shortcut
    over two of them is the same as one over a single one.

    Example:
        >>> from nasgoat import nasbench201
        >>> space = nasbench201()
        >>> space.identities
        ('skip_connect',)
        >>> direct = space.from_digits([3, 0, 3, 1, 0, 3])  # the edges 01, 02, 12, 03, 13, 23
        >>> roundabout = space.from_digits([1, 3, 0, 0, 1, 3])  # two skips, and two convolutions
        >>> count_lengths(space, space.batch([direct, roundabout])).tolist()
        [[1, 0, 0, 1], [1, 0, 1, 0]]
    """
    on_nodes, on_edges = list_operations(space)
    sources, sinks = space.ends(batch)
    most = _bound_on_path(space)
    nodes = np.zeros((len(batch), batch.n), dtype=bool)
    edges = np.zeros_like(batch.adjacency)
    if batch.node_codes is not None:
        working = [c for c in on_nodes if space.node_vocabulary[c] not in space.identities]
        nodes = np.isin(batch.node_codes, working)
    if batch.edge_codes is not None:
        working = [c for c in on_edges if space.edge_vocabulary[c] not in space.identities]
        edges = np.isin(batch.edge_codes, working)
    # Paths that end in each node, by their length; each round makes them longer by one edge.
    ending = np.zeros((len(batch), batch.n, most + 2), dtype=np.int64)
    starts = sources & batch.exists
    ending[:, :, 0], ending[:, :, 1] = starts & ~nodes, starts & nodes
    steps = edges.astype(np.int8) + nodes[:, None, :]
    ways = [batch.adjacency & (steps == step) for step in range(3)]
    found = np.zeros((len(batch), most + 2), dtype=np.int64)
    for _ in range(batch.n - 1):
        longer = np.zeros_like(ending)
        for step, way in enumerate(ways):
            if way.any():
                reached = np.einsum("buv,buk->bvk", way, ending[:, :, : most + 2 - step])
                longer[:, :, step:] += reached
        ending = np.minimum(longer, MOST_PATHS)
        found += (ending * (sinks & batch.exists)[:, :, None]).sum(axis=1)
    return np.minimum(found[:, : most + 1], MOST_PATHS)


def _bound_on_path(space: SearchSpace) -> int:
    """The most operations that a path can have."""
    n = space.sizes[-1]
    return n * bool(space.node_ops) + (n - 1) * bool(space.edge_vocabulary)


def _has_operations_on_edges(space: SearchSpace) -> bool:
    return bool(space.edge_vocabulary) and not space.node_vocabulary


# Surroundings: the block of functional groups.
#
# What a group of atoms does depends on which atoms are bound to which, and how. So a node is told
# apart by its label and its edges, twice: by how many edges of each label it has, and by how many
# lead to each label of a neighbour.
#
# Notation
#     kind      of an edge, seen from a node: its direction, its label and, for the second count,
#               the label of the neighbour
#     type      of a node: its label a, and how many edges of each kind it has
#     N_a,d     how many nodes of a graph have the type (a, d)
#
# The types that degrees and weights of edges allow are listed before any graph is counted. Where
# there are too many of them, nodes are told apart less: without the labels of neighbours, or not at
# all. A type that random graphs do not have is told apart by whether it is there at all.


@dataclass(frozen=True)
class _Kind:
    """A kind of edge at a node: outgoing or not, its label, and the neighbour's or None."""

    outgoing: bool
    edge: int
    neighbour: int | None


def bound_surroundings(space: SearchSpace) -> list[tuple[int, int]]:
    """Least and largest number of nodes of each type; none where there is only one."""
    total = sum(len(types) for _, types in _list_types(space))
    return [(0, space.sizes[-1])] * total if total > 1 else []


def count_surroundings(space: SearchSpace, batch: GraphBatch) -> Counts:
    """How many nodes are of each type: by edges alone, then by edges and neighbours.

    Example:
        >>> from nasgoat import from_smiles, molecules
        >>> space = molecules(3)
        >>> found = count_surroundings(space, space.batch([from_smiles("CCO")]))
        >>> int(found.sum()), found.shape[1]  # each of three atoms by its edges, and by neighbours
        (6, 148)
    """
    labels = batch.node_codes
    if labels is None:
        labels = np.where(batch.exists, 0, -1).astype(np.int8)
    edges = batch.edge_codes
    if edges is None:
        edges = np.where(batch.adjacency, 0, -1).astype(np.int8)
    found = [np.zeros((len(batch), 0), dtype=np.int64)]
    for kinds, types in _list_types(space):
        numbers = [labels.astype(np.int64)]
        for kind in kinds:
            there = edges == kind.edge
            if not kind.outgoing and space.directed:
                there = there.transpose(0, 2, 1)
            if kind.neighbour is not None:
                there = there & (labels == kind.neighbour)[:, None, :]
            numbers.append(there.sum(axis=2))
        found.append(_count_types(np.stack(numbers, axis=2), types))
    return np.concatenate(found, axis=1)


def _count_types(numbers: Counts, types: list[Type]) -> Counts:
    """How many nodes of each graph, shape (B, n, 1 + kinds), are of each type.

    Types are compared by a random sum of their numbers, modulo 2^64. Every node of a graph of the
    space is of a listed type, and no two of those have the same sum.
    """
    factors = np.random.default_rng(0).integers(2**63, size=numbers.shape[2], dtype=np.uint64)
    known = np.array(types).astype(np.uint64) @ factors
    order = np.argsort(known)
    graph, node = np.nonzero(numbers[:, :, 0] >= 0)
    found = numbers[graph, node].astype(np.uint64) @ factors
    counted = np.zeros((len(numbers), len(types)), dtype=np.int64)
    np.add.at(counted, (graph, order[np.searchsorted(known[order], found)]), 1)
    return counted


def _list_types(space: SearchSpace) -> list[tuple[list[_Kind], list[Type]]]:
    """The kinds of edges and the types of nodes, for the first and for the second count."""
    if "types of nodes" not in space.kept:
        labels, found = range(len(space.node_vocabulary) or 1), []
        for neighbours in ([None], [*labels]):
            directions = (False, True) if space.directed else (False,)
            ops = range(len(space.edge_vocabulary) or 1)
            kinds = [_Kind(*kind) for kind in product(directions, ops, neighbours)]
            types: list[Type] = []
            for one in _grow_types(space, kinds):
                types.append(one)
                if len(types) > MOST_TYPES:
                    break
            if len(types) <= MOST_TYPES and (neighbours == [None] or len(labels) > 1):
                found.append((kinds, types))
        space.kept["types of nodes"] = found
    listed: list[tuple[list[_Kind], list[Type]]] = space.kept["types of nodes"]
    return listed


def _grow_types(space: SearchSpace, kinds: list[_Kind]) -> Iterator[Type]:
    """Every type whose edges a label has room for."""
    rules = space.rules  # declared degrees; cells have none
    weights = [1] * len(kinds)
    if rules is not None and space.edge_vocabulary:
        weights = [int(rules.weights[kind.edge]) for kind in kinds]
    most = space.sizes[-1] - 1  # neighbours
    for label in range(len(space.node_vocabulary) or 1):
        room = [most * max(weights)] * 2  # of incoming edges, or of all; of outgoing ones
        if rules is not None:
            bounds = rules.degree_in, rules.degree_out
            room = [min(int(b.high[label]), most * max(weights)) for b in bounds]
        yield from _fill(kinds, weights, room, [most, most], (label,))


def _fill(
    kinds: list[_Kind], weights: list[int], room: list[int], most: list[int], begun: Type
) -> Iterator[Type]:
    """A type that is known up to some kind, with all numbers of edges of the kinds after it."""
    i = len(begun) - 1
    if i == len(kinds):
        yield begun
        return
    side = int(kinds[i].outgoing)
    for number in range(min(room[side] // weights[i], most[side]) + 1):
        left, fewer = list(room), list(most)
        left[side] -= number * weights[i]
        fewer[side] -= number
        yield from _fill(kinds, weights, left, fewer, (*begun, number))
