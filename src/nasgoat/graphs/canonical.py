"""Canonical forms of labelled graphs through pynauty.

pynauty's certificate is exact on vertex-coloured digraphs but does not contain the colours, so the
key puts the sorted (label, count) pairs in front of it. An edge label becomes a vertex of its own
on the middle of the edge, coloured by the label.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pynauty
from numpy.typing import NDArray


def key(
    adjacency: NDArray[np.bool_],
    node_labels: Sequence[str] | None = None,
    edge_labels: Mapping[tuple[int, int], str] | None = None,
    directed: bool = True,
) -> bytes:
    """A byte string that is equal exactly for isomorphic graphs.

    Example:
        >>> a = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
        >>> key(a) == key(a[::-1, ::-1]), key(a) == key(a, ["x", "x", "y"])
        (True, False)
    """
    n = len(adjacency)
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
    return key_of_colored(total, arcs, colours, directed)


def key_of_colored(
    total: int, arcs: dict[int, list[int]], colours: Mapping[str, set[int]], directed: bool
) -> bytes:
    """The key of a vertex-coloured graph given by its arcs and its colour classes."""
    names = sorted(colours)
    graph = pynauty.Graph(total, directed, arcs, [colours[name] for name in names])
    head = repr((directed, [(name, len(colours[name])) for name in names]))
    certificate: bytes = pynauty.certificate(graph)
    return head.encode() + b"\0" + certificate


def automorphisms(
    adjacency: NDArray[np.bool_], colours: Sequence[set[int]], directed: bool = True
) -> NDArray[np.intp]:
    """Every automorphism of a vertex-coloured graph, one permutation a row, the identity first.

    Example:
        >>> diamond = np.zeros((4, 4), dtype=bool)
        >>> diamond[0, [1, 2]] = diamond[[1, 2], 3] = True
        >>> automorphisms(diamond, [{0}, {1, 2}, {3}]).tolist()
        [[0, 1, 2, 3], [0, 2, 1, 3]]
    """
    n = len(adjacency)
    arcs = {u: np.flatnonzero(adjacency[u]).tolist() for u in range(n)}
    generators = pynauty.autgrp(pynauty.Graph(n, directed, arcs, [c for c in colours if c]))[0]
    identity = tuple(range(n))
    group = {identity: None}  # a dict keeps the order in which elements were found
    frontier = [identity]
    while frontier:
        found = []
        for element in frontier:
            for generator in generators:
                product = tuple(generator[i] for i in element)
                if product not in group:
                    group[product] = None
                    found.append(product)
        frontier = found
    return np.array(list(group), dtype=np.intp)
