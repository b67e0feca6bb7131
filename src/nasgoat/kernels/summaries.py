"""What decides the counts of a block, and all the values that it can take in a space.

Notation
    N    *numbers*: how often each operation occurs, those on nodes first, then those on edges
    ℓ    *longest*: the most of each operation on any path, in the same order

An exact optimiser takes the values of what decides a block one by one: the codes of the block are
constants then (docs/branch-and-bound.md, Lemma 10). A graph with numbers N has 1 ≤ ℓ_o ≤ N_o for
every operation that occurs, and ℓ_o = 0 for all others. Where every graph is a single path, ℓ = N.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np

from nasgoat.graphs import GraphBatch
from nasgoat.kernels.graph_counts import count_labels, list_operations
from nasgoat.spaces import SearchSpace

#: What decides the counts of a block: the graph without its labels, the number of each operation,
#: the most of each operation on a path, or nothing less than the whole graph.
STRUCTURE, OPERATIONS, LONGEST, GRAPH = "structure", "operations", "longest", "graph"
DECIDING = (STRUCTURE, OPERATIONS, LONGEST, GRAPH)
Composition = tuple[int, ...]  # a number for each operation
#: Matrices with roles of a declared graph that a mixed-integer program chooses among.
MOST_MATRICES = 5_000
_COUNTED = 100_000  # summaries of declared graphs that are counted one by one
Totals = tuple[int, int]  # of nodes, and of edges, that carry an operation


class Summary(NamedTuple):
    """What graphs that are searched together have in common; None where that is left open."""

    numbers: Composition | None
    longest: Composition | None


NOTHING = Summary(None, None)


def list_compositions(total: int, parts: int) -> Iterator[Composition]:
    """All ways to write ``total`` as an ordered sum of this many numbers.

    Example:
        >>> list(list_compositions(2, 2))
        [(0, 2), (1, 1), (2, 0)]
    """
    if parts == 0:
        if total == 0:
            yield ()
        return
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in list_compositions(total - first, parts - 1):
            yield (first, *rest)


def list_summaries(
    totals: Collection[Totals],
    labels: tuple[int, int],
    decided_by: Collection[str],
    chains: bool = False,
) -> Iterator[Summary]:
    """The values of numbers and longest, as far as they decide, of graphs with these totals.

    Args:
        totals: How many nodes, and how many edges, carry an operation: all pairs that occur.
        labels: Operations on nodes, and on edges.
        decided_by: What decides the blocks.
        chains: Whether every graph is a single path.

    Example:
        >>> [held.longest for held in list_summaries([(2, 0)], (2, 0), [LONGEST])]
        [(0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]
        >>> len(list(list_summaries([(2, 0)], (2, 0), [LONGEST, OPERATIONS])))
        5
    """
    if chains and LONGEST in decided_by:
        for held in list_summaries(totals, labels, [OPERATIONS]):
            yield held._replace(longest=held.numbers)
        return
    if OPERATIONS in decided_by:
        for total in sorted(set(totals)):
            parts = (list_compositions(t, part) for t, part in zip(total, labels, strict=True))
            for nodes, edges in product(*map(list, parts)):
                yield from _list_longest((*nodes, *edges), LONGEST in decided_by)
    elif LONGEST in decided_by:
        each = [_list_up_to({t[side] for t in totals}, labels[side]) for side in (0, 1)]
        yield from (Summary(None, (*nodes, *edges)) for nodes, edges in product(*each))


def _list_longest(numbers: Composition, longest: bool) -> Iterator[Summary]:
    """The numbers, with every value of longest that they allow."""
    if not longest:
        yield Summary(numbers, None)
        return
    for each in product(*(range(min(N, 1), N + 1) for N in numbers)):
        yield Summary(numbers, each)


def _list_up_to(totals: set[int], parts: int) -> list[Composition]:
    """All lists of ``parts`` numbers with sums up to the largest total; 0 only if it is a total."""
    every = range(0 if 0 in totals or not parts else 1, max(totals) + 1)
    return [each for total in every for each in list_compositions(total, parts)]


def count_summaries(space: SearchSpace, decided_by: Collection[str]) -> int:
    """How many values of numbers and longest the graphs of a space have, at most; 1 if none decide.

    Example:
        >>> from nasgoat import nasbench101
        >>> count_summaries(nasbench101(), [OPERATIONS])  # 0 to 5 nodes among 3 operations
        56
        >>> count_summaries(nasbench101(), [LONGEST]), count_summaries(nasbench101(), [STRUCTURE])
        (56, 1)
    """
    if not {*decided_by} & {OPERATIONS, LONGEST}:
        return 1
    labels, chains = count_labels(space), has_only_paths(space)
    longest = LONGEST in decided_by and not chains
    if OPERATIONS not in decided_by and longest:
        each = [_count_ways(part, most, lambda _: 1) for part, most in _list_most(space, labels)]
        return int(np.prod([float(sum(ways)) for ways in each]))

    def ways_of(k: int) -> int:
        return max(k, 1) if longest else 1

    found = 0
    for nodes, edges in _list_totals(space):
        first = _count_ways(labels[0], max(nodes), ways_of)
        second = _count_ways(labels[1], max(edges), ways_of)
        found += sum(first[t] for t in nodes) * sum(second[t] for t in edges)
    if space.rules is not None and found <= _COUNTED:
        return _count_possible(space, decided_by)
    return found


def _count_possible(space: SearchSpace, decided_by: Collection[str]) -> int:
    """How many summaries declared graphs have, those aside that degrees rule out; counted once."""
    key = f"summaries by {' and '.join(sorted(decided_by))}"
    if key not in space.kept:
        every = [[(n, e) for n in nodes for e in edges] for nodes, edges in _list_totals(space)]
        labels = count_labels(space)
        space.kept[key] = sum(
            may_have_numbers(space, held.numbers)
            for totals in every
            for held in list_summaries(totals, labels, decided_by)
        )
    return int(space.kept[key])


def may_have_numbers(space: SearchSpace, numbers: Composition | None) -> bool:
    """Whether declared degrees leave room for these numbers of operations; True if not known.

    Edges add their weights to the degrees of both ends, so all weights together, twice where edges
    have no direction, lie between the sums of the least and of the largest degrees.

    Example:
        >>> from nasgoat import molecules
        >>> may_have_numbers(molecules(2), (0, 0, 1, 1, 0, 1, 0))  # O and F, a double bond
        False
    """
    rules = space.rules
    if rules is None or numbers is None:
        return True
    nodes, edges = list_operations(space)
    on_nodes, on_edges = numbers[: len(nodes)], numbers[len(nodes) :]
    if not nodes or not edges:
        return True
    weight = sum(int(rules.weights[a]) * N for a, N in zip(edges, on_edges, strict=True))
    last = len(space.node_vocabulary) - 1
    every = [*zip(nodes, on_nodes, strict=True), (0, rules.sources), (last, rules.sinks)]
    for bounds in (rules.degree_in, rules.degree_out):
        low = sum(int(bounds.low[a]) * N for a, N in every)
        high = sum(int(bounds.high[a]) * N for a, N in every)
        if not low <= weight * (1 if space.directed else 2) <= high:
            return False
    return True


def _count_ways(parts: int, most: int, ways: Callable[[int], int]) -> list[int]:
    """For each total up to ``most`` the sum, over all lists of this many numbers, of Π ways."""
    found = [1] + [0] * most
    for _ in range(parts):
        found = [sum(found[t - k] * ways(k) for k in range(t + 1)) for t in range(most + 1)]
    return found


def _list_totals(space: SearchSpace) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """How many nodes, and how many edges, may carry an operation, for every size that matters."""
    on_nodes, on_edges = count_labels(space)
    if space.labels_on == "edges" and on_edges:  # the same numbers whatever the size
        yield [0], range(space.edge_limit + 1)
        return
    ends = 2 if space.layout == "cell" else count_ends(space)
    for n in space.sizes:
        edges = range(min(space.most_edges(n), space.edge_limit) + 1)
        yield [max(n - ends, 0)] if on_nodes else [0], edges if on_edges else [0]


def count_ends(space: SearchSpace) -> int:
    """Count the nodes of a declared graph whose role fixes their label: sources and sinks."""
    return space.sources + space.sinks


def _list_most(space: SearchSpace, labels: tuple[int, int]) -> list[tuple[int, int]]:
    """For nodes and for edges how many operations there are, and how many can carry one."""
    every = list(_list_totals(space))
    most = max(max(nodes) for nodes, _ in every), max(max(edges) for _, edges in every)
    return list(zip(labels, most, strict=True))


def bound_matrices(space: SearchSpace) -> float:
    """An upper bound on the (adjacency matrix, roles) pairs of the largest declared graphs.

    Example:
        >>> from nasgoat import GraphSpace
        >>> bound_matrices(GraphSpace((2, 4), ["a"], direction="undirected"))
        64.0
    """
    n, ordered = space.sizes[-1], space.ordered
    edges = space.most_edges(n) * (2 if space.acyclic and not ordered else 1)
    return float(2.0 ** min(edges, 300) * (1 if ordered else comb(n, count_ends(space))))


def has_only_paths(space: SearchSpace) -> bool:
    """Whether every graph of a space is a single path, as in a chain of layers.

    Example:
        >>> from nasgoat import ChainSpace, nasbench201
        >>> has_only_paths(ChainSpace((3, 5), ["conv", "skip"])), has_only_paths(nasbench201())
        (True, False)
    """
    if not space.on_paths or space.edge_limit != space.sizes[-1] - 1:
        return False  # said without a list of structures
    return all(space.edge_places(n) == [(v, v + 1) for v in range(n - 1)] for n in space.sizes)


def realise_on_path(space: SearchSpace, every: Sequence[Composition]) -> GraphBatch:
    """For each N a graph with N = ℓ, in the space or not: all operations on a single path.

    Example:
        >>> from nasgoat import nasbench101
        >>> from nasgoat.kernels.graph_counts import count_longest
        >>> count_longest(nasbench101(), realise_on_path(nasbench101(), [(2, 0, 1)])).tolist()
        [[2, 0, 1]]
    """
    nodes, edges = list_operations(space)
    counts = np.array(every, dtype=np.int64).reshape(len(every), len(nodes) + len(edges))
    on_nodes, on_edges = counts[:, : len(nodes)], counts[:, len(nodes) :]
    n = 2 + int(max(on_nodes.sum(axis=1).max(initial=0), on_edges.sum(axis=1).max(initial=0)))
    node_codes = np.full((len(every), n), -1, dtype=np.int8)
    edge_codes = np.full((len(every), n, n), -1, dtype=np.int8)
    for g in range(len(every)):
        on_path, labels = np.repeat(nodes, on_nodes[g]), np.repeat(edges, on_edges[g])
        node_codes[g, 1 : 1 + len(on_path)] = on_path
        edge_codes[g, np.arange(len(labels)), 1 + np.arange(len(labels))] = labels
    path = np.repeat(np.eye(n, k=1, dtype=bool)[None], len(every), axis=0)
    if not space.directed:
        path, edge_codes = (
            path | path.swapaxes(1, 2),
            np.maximum(edge_codes, edge_codes.swapaxes(1, 2)),
        )
    return GraphBatch(
        adjacency=path,
        sizes=np.full(len(every), n, dtype=np.int8),
        node_codes=node_codes if space.node_vocabulary else None,
        edge_codes=edge_codes if space.edge_vocabulary else None,
        node_vocabulary=space.node_vocabulary,
        edge_vocabulary=space.edge_vocabulary,
        directed=space.directed,
    )
