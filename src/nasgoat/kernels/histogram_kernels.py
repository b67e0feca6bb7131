"""Kernels that are dot products of histograms: Weisfeiler-Lehman subtrees and random walks.

Both take graphs with labels on their nodes; both are held to GraKeL's numbers by a test.

Notation
    l_0(v)      label of node v
    l_{i+1}(v)  name of the pair (l_i(v), sorted l_i of the successors of v)
    φ_i(G)      histogram of l_i over the nodes of G

    subtree kernel of depth h   k = Σ_{i≤h} ⟨φ_i, φ'_i⟩
    optimal assignment          k = Σ_{i≤h} Σ min(φ_i, φ'_i)

    A_×         adjacency matrix of the product graph: pairs of nodes with the same label, joined
                where both graphs have the edge
    λ           decay of longer walks
    ψ_s(G)      how often a walk of s edges of G reads each sequence of s + 1 labels

    random walks   k = 1ᵀ (I - λ A_×)⁻¹ 1 = Σ_s λ^s 1ᵀ A_×^s 1 = Σ_s λ^s ⟨ψ_s, ψ'_s⟩

A node of a directed graph takes in the labels of its successors, as in GraKeL. A walk of the
product graph is a pair of walks that read the same labels, so the sum over the product graph is a
dot product of counts. In an acyclic graph of n nodes no walk has n edges and the sum ends. GraKeL
solves a linear system for every pair of graphs instead, and over all pairs of nodes, whatever their
labels: its sum counts n n' walks without an edge in place of ⟨ψ_0, ψ'_0⟩.

Sources: Shervashidze et al., JMLR 2011; Kriege et al., NeurIPS 2016; Gärtner et al., COLT 2003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph

Array = NDArray[np.float64]
ASSIGNMENTS = ("dot", "intersection")


def compute_wl_histograms(graphs: Sequence[LabeledGraph], depth: int) -> list[Array]:
    """φ_0, ..., φ_depth of the graphs, each of shape (graphs, labels of that level).

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> other = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["input", "conv", "output"])
        >>> [level.tolist() for level in compute_wl_histograms([cell, other], depth=1)]
        [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]]]
    """
    if depth < 0:
        raise SettingError(f"the depth must be at least 0, got {depth}")
    names: dict[object, int] = {}
    colours = [[names.setdefault(x, len(names)) for x in _read_labels(graph)] for graph in graphs]
    successors = [_list_successors(graph) for graph in graphs]
    levels = [_count(colours, len(names))]
    for _ in range(depth):
        names = {}
        colours = [
            [
                names.setdefault((own[v], tuple(sorted([own[w] for w in after]))), len(names))
                for v, after in enumerate(successor)
            ]
            for own, successor in zip(colours, successors, strict=True)
        ]
        levels.append(_count(colours, len(names)))
    return levels


def compute_wl_gram(
    levels: Sequence[Array], assignment: str = "dot", normalize: bool = True
) -> Array:
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
        K = sum(_intersect(level) for level in levels)
    return _finish(K, normalize)


def walk_histograms(graphs: Sequence[LabeledGraph]) -> list[Array]:
    """ψ_0, ψ_1, ... of the graphs, each of shape (graphs, label sequences of that length).

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> other = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["input", "conv", "output"])
        >>> [level.tolist() for level in walk_histograms([cell, other])]
        [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1.0], [0.0]]]
    """
    counted = [_count_walks(graph) for graph in graphs]
    longest = max((len(levels) for levels in counted), default=0)
    histograms = []
    for s in range(longest):
        names: dict[tuple[str, ...], int] = {}
        for levels in counted:
            for sequence in levels[s] if s < len(levels) else ():
                names.setdefault(sequence, len(names))
        histogram = np.zeros((len(graphs), len(names)))
        for row, levels in zip(histogram, counted, strict=True):
            for sequence, times in (levels[s] if s < len(levels) else {}).items():
                row[names[sequence]] = times
        histograms.append(histogram)
    return histograms


def walk_gram(
    levels: Sequence[Array],
    decay: float = 0.1,
    normalize: bool = True,
    as_grakel: bool = False,
) -> Array:
    """The kernel matrix of graphs from their walks.

    Args:
        levels: ψ_0, ψ_1, ...
        decay: λ; 0.1 is GraKeL's.
        normalize: Scale the matrix to a unit diagonal.
        as_grakel: Count a walk without an edge for every pair of nodes, as GraKeL does.
    """
    if decay <= 0:
        raise SettingError(f"the decay must be positive, got {decay}")
    if as_grakel:
        levels = [levels[0].sum(axis=1, keepdims=True), *levels[1:]]
    K = sum(decay**s * (level @ level.T) for s, level in enumerate(levels))
    return _finish(K, normalize)


def _count_walks(graph: LabeledGraph) -> list[Counter[tuple[str, ...]]]:
    """How often each label sequence is read, by the number of edges of the walk."""
    labels = _read_labels(graph)
    ending: list[Counter[tuple[str, ...]]] = [Counter({(label,): 1}) for label in labels]
    levels = []
    for _ in range(graph.n):
        levels.append(sum(ending, Counter()))
        longer: list[Counter[tuple[str, ...]]] = [Counter() for _ in labels]
        for u, v in graph.edges:
            for sequence, times in ending[u].items():
                longer[v][(*sequence, labels[v])] += times
        ending = longer
        if not any(ending):
            return levels
    raise GraphError("the graph must have no cycle: its walks would never end")


def _finish(gram: Array | int, normalize: bool) -> Array:
    """The kernel matrix, scaled to a unit diagonal if asked to."""
    K = np.asarray(gram, dtype=float)
    if not normalize:
        return K
    root = np.sqrt(K.diagonal())
    scaled: Array = K / np.outer(root, root)
    return scaled


def _intersect(level: Array) -> Array:
    """Σ min(φ, φ'): the dot product of unary codes, one column per label and count."""
    most = int(level.max(initial=0))
    unary = np.concatenate([level >= count for count in range(1, most + 1)], axis=1).astype(float)
    product: Array = unary @ unary.T
    return product


def _read_labels(graph: LabeledGraph) -> tuple[str, ...]:
    if graph.node_labels is None:
        raise GraphError("the graph must have labels on its nodes; turn edges into nodes first")
    return graph.node_labels


def _list_successors(graph: LabeledGraph) -> list[list[int]]:
    after: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(*np.nonzero(graph.adjacency), strict=True):
        after[int(u)].append(int(v))
    return after


def _count(colours: Sequence[Sequence[int]], width: int) -> Array:
    histogram = np.zeros((len(colours), width))
    for row, own in zip(histogram, colours, strict=True):
        np.add.at(row, own, 1.0)
    return histogram
