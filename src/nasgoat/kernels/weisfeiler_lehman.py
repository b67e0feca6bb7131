"""Weisfeiler-Lehman subtree features of node-labelled graphs.

Notation
    l_0(v)      label of node v
    l_{i+1}(v)  name of the pair (l_i(v), sorted l_i of the successors of v)
    φ_i(G)      histogram of l_i over the nodes of G

    subtree kernel of depth h   k = Σ_{i≤h} ⟨φ_i, φ'_i⟩
    optimal assignment          k = Σ_{i≤h} Σ min(φ_i, φ'_i)

A node of a directed graph takes in the labels of its successors, as GraKeL does; a test holds the
two to the same numbers. Source: Shervashidze et al., JMLR 2011; Kriege et al., NeurIPS 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph

ASSIGNMENTS = ("dot", "intersection")


def wl_histograms(graphs: Sequence[LabeledGraph], depth: int) -> list[NDArray[np.float64]]:
    """φ_0, ..., φ_depth of the graphs, each of shape (graphs, labels of that level).

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> other = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["input", "conv", "output"])
        >>> [level.tolist() for level in wl_histograms([cell, other], depth=1)]
        [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]]]
    """
    if depth < 0:
        raise SettingError(f"the depth must be at least 0, got {depth}")
    names: dict[object, int] = {}
    colours = [[names.setdefault(x, len(names)) for x in _labels(graph)] for graph in graphs]
    successors = [_successors(graph) for graph in graphs]
    levels = [_histogram(colours, len(names))]
    for _ in range(depth):
        names = {}
        colours = [
            [
                names.setdefault((own[v], tuple(sorted([own[w] for w in after]))), len(names))
                for v, after in enumerate(successor)
            ]
            for own, successor in zip(colours, successors, strict=True)
        ]
        levels.append(_histogram(colours, len(names)))
    return levels


def wl_gram(
    levels: Sequence[NDArray[np.float64]], assignment: str = "dot", normalize: bool = True
) -> NDArray[np.float64]:
    """The kernel matrix of graphs from their histograms.

    Args:
        levels: φ_0, ..., φ_h.
        assignment: ``"dot"`` for the subtree kernel, ``"intersection"`` for optimal assignment.
        normalize: Scale the matrix to a unit diagonal.
    """
    if assignment not in ASSIGNMENTS:
        raise UnknownNameError("assignment", assignment, ASSIGNMENTS)
    if assignment == "dot":
        K = sum(level @ level.T for level in levels)
    else:
        K = sum(_intersection(level) for level in levels)
    gram = np.asarray(K, dtype=float)
    if normalize:
        root = np.sqrt(gram.diagonal())
        gram = gram / np.outer(root, root)
    return gram


def _intersection(level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ min(φ, φ'): the dot product of unary codes, one column per label and count."""
    most = int(level.max(initial=0))
    unary = np.concatenate([level >= count for count in range(1, most + 1)], axis=1).astype(float)
    product: NDArray[np.float64] = unary @ unary.T
    return product


def _labels(graph: LabeledGraph) -> tuple[str, ...]:
    if graph.node_labels is None:
        raise GraphError("the graph must have labels on its nodes; turn edges into nodes first")
    return graph.node_labels


def _successors(graph: LabeledGraph) -> list[list[int]]:
    after: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(*np.nonzero(graph.adjacency), strict=True):
        after[int(u)].append(int(v))
    return after


def _histogram(colours: Sequence[Sequence[int]], width: int) -> NDArray[np.float64]:
    histogram = np.zeros((len(colours), width))
    for row, own in zip(histogram, colours, strict=True):
        np.add.at(row, own, 1.0)
    return histogram
