"""Canonical forms of labelled graphs, their automorphisms, and labellings under these.

Canonical forms come from pynauty. Its certificate is exact on vertex-coloured digraphs but does not
contain the colours, so the key puts the sorted (label, count) pairs in front of it. An edge label
becomes a vertex of its own on the middle of the edge, coloured by the label.

On digraphs nauty can tell hardly any vertices apart at the start: a dense one of nine nodes with
labels on its edges takes hours. From a certain size on a digraph is therefore turned into an
undirected graph. Each node v becomes a tail and a head for each bit of a label's number, all joined
in a path, and an edge u → v joins the tail of u to the head of v for each bit that its number has.
Nine nodes with three labels take 36 vertices, and no time.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pynauty
from numpy.typing import NDArray

Rows = NDArray[Any]
_NAMED = 1 << 62  # words up to which a row is named by one integer
_DIGRAPH = 16  # vertices, those of labelled edges included, up to which nauty takes a digraph
_LONGEST = 1024  # bytes of a certificate; of longer ones a key has the checksum


def make_key(
    adjacency: NDArray[np.bool_],
    node_labels: Sequence[str] | None = None,
    edge_labels: Mapping[tuple[int, int], str] | None = None,
    directed: bool = True,
) -> bytes:
    """A byte string that is equal exactly for isomorphic graphs.

    Example:
        >>> a = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
        >>> make_key(a) == make_key(a[::-1, ::-1]), make_key(a) == make_key(a, ["x", "x", "y"])
        (True, False)
    """
    n = len(adjacency)
    if directed and n + (0 if edge_labels is None else len(edge_labels)) > _DIGRAPH:
        return _make_key_of_large(adjacency, node_labels, edge_labels)
    rows = adjacency.tolist()
    arcs: dict[int, list[int]] = {u: [v for v in range(n) if rows[u][v]] for u in range(n)}
    colours: dict[str, set[int]] = {}
    for v in range(n):
        colours.setdefault("" if node_labels is None else f"n{node_labels[v]}", set()).add(v)
    total = n
    if edge_labels is not None:
        arcs = {u: [] for u in range(n)}
        for (u, v), label in edge_labels.items():
            arcs[u].append(total)
            arcs[total] = [v]
            colours.setdefault(f"e{label}", set()).add(total)
            total += 1
    return make_key_of_colored(total, arcs, colours, directed)


def _make_key_of_large(
    adjacency: NDArray[np.bool_],
    node_labels: Sequence[str] | None,
    edge_labels: Mapping[tuple[int, int], str] | None,
) -> bytes:
    """The key of a digraph by an undirected graph of tails and heads."""
    n, labels = len(adjacency), edge_labels or {}
    words = sorted(set(labels.values()))
    number = {word: 1 + i for i, word in enumerate(words)}
    layers = max(len(words), 1).bit_length()
    colours: dict[str, set[int]] = {}
    arcs: dict[int, list[int]] = {}
    for v in range(n):
        copies = range(2 * layers * v, 2 * layers * (v + 1))  # tail, head of each bit in turn
        arcs |= {a: [b] for a, b in pairwise(copies)} | {copies[-1]: []}
        label = "" if node_labels is None else f"n{node_labels[v]}"
        for place, vertex in enumerate(copies):
            colours.setdefault(f"{place:03d}{label}", set()).add(vertex)
    for u, v in np.argwhere(adjacency).tolist():
        bits = number[labels[u, v]] if labels else 1
        for bit in range(layers):
            if bits >> bit & 1:
                arcs[2 * (layers * u + bit)].append(2 * (layers * v + bit) + 1)
    words_first = repr((n, words)).encode() + b"\0"
    return words_first + make_key_of_colored(2 * layers * n, arcs, colours, directed=False)


def make_key_of_colored(
    total: int, arcs: dict[int, list[int]], colours: Mapping[str, set[int]], directed: bool
) -> bytes:
    """The key of a vertex-coloured graph given by its arcs and its colour classes."""
    names = sorted(colours)
    graph = pynauty.Graph(total, directed, arcs, [colours[name] for name in names])
    head = repr((directed, [(name, len(colours[name])) for name in names]))
    certificate: bytes = pynauty.certificate(graph)
    if len(certificate) > _LONGEST:
        certificate = hashlib.sha256(certificate).digest()
    return head.encode() + b"\0" + certificate


def list_automorphisms(
    adjacency: NDArray[np.bool_],
    colours: Sequence[set[int]],
    directed: bool = True,
    most: int | None = None,
) -> NDArray[np.intp]:
    """Every automorphism of a vertex-coloured graph, one permutation a row, the identity first.

    Where there are more than ``most``, only the first that are found.

    Example:
        >>> diamond = np.zeros((4, 4), dtype=bool)
        >>> diamond[0, [1, 2]] = diamond[[1, 2], 3] = True
        >>> list_automorphisms(diamond, [{0}, {1, 2}, {3}]).tolist()
        [[0, 1, 2, 3], [0, 2, 1, 3]]
    """
    n = len(adjacency)
    arcs = {u: np.flatnonzero(adjacency[u]).tolist() for u in range(n)}
    generators = pynauty.autgrp(pynauty.Graph(n, directed, arcs, [c for c in colours if c]))[0]
    identity = tuple(range(n))
    group = {identity: None}  # a dict keeps the order in which elements were found
    frontier = [identity]
    while frontier and (most is None or len(group) < most):
        found = []
        for element in frontier:
            for generator in generators:
                product = tuple(generator[i] for i in element)
                if product not in group:
                    group[product] = None
                    found.append(product)
        frontier = found
    return np.array(list(group), dtype=np.intp)


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


def measure_inner_cycles(permutation: Sequence[int] | NDArray[np.intp]) -> tuple[int, ...]:
    """Sizes of the cycles of inner nodes in a permutation that fixes the first and the last.

    Example:
        >>> measure_inner_cycles([0, 2, 1, 3, 4])
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
