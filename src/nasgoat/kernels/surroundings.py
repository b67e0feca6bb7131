"""How often each label occurs in each surroundings: the block of functional groups.

What a group of atoms does depends on which atoms are bound to which, and how. So a node is told
apart by its label and its edges, twice: by how many edges of each label it has, and by how many
lead to each label of a neighbour.

Notation
    kind      of an edge, seen from a node: its direction, its label and, for the second count, the
              label of the neighbour
    type      of a node: its label a, and how many edges of each kind it has
    N_a,d     how many nodes of a graph have the type (a, d)

The types that degrees and weights of edges allow are listed before any graph is counted. Where
there are too many of them, nodes are told apart less: without the labels of neighbours, or not at
all. A type that random graphs do not have is told apart by whether it is there at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch
from nasgoat.spaces import SearchSpace

Type = tuple[int, ...]  # a label, then the number of edges of each kind
MOST_TYPES = 500  # of nodes that are told apart


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


def count_surroundings(space: SearchSpace, batch: GraphBatch) -> NDArray[np.int64]:
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


def _count_types(numbers: NDArray[np.int64], types: list[Type]) -> NDArray[np.int64]:
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
    rules = getattr(space, "rules", None)  # declared degrees; cells have none
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
