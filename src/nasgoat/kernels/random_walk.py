"""Random-walk features of node-labelled acyclic graphs.

Notation
    A_×        adjacency matrix of the product graph: pairs of nodes with the same label, joined
               where both graphs have the edge
    λ          decay of longer walks
    φ_s(G)     how often a walk of s edges of G reads each sequence of s + 1 labels

    k = 1ᵀ (I - λ A_×)⁻¹ 1 = Σ_s λ^s 1ᵀ A_×^s 1 = Σ_s λ^s ⟨φ_s, φ'_s⟩

A walk of the product graph is a pair of walks that read the same labels, so the sum over the
product graph is a dot product of counts. In an acyclic graph of n nodes no walk has n edges and the
sum ends.

GraKeL solves a linear system for every pair of graphs instead, and over all pairs of nodes,
whatever their labels: its sum counts n n' walks without an edge in place of ⟨φ_0, φ'_0⟩. A test
holds the two to the same numbers. Source: Gärtner et al., COLT 2003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SettingError
from nasgoat.graphs import LabeledGraph

Array = NDArray[np.float64]


def walk_histograms(graphs: Sequence[LabeledGraph]) -> list[Array]:
    """φ_0, φ_1, ... of the graphs, each of shape (graphs, label sequences of that length).

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> other = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["input", "conv", "output"])
        >>> [level.tolist() for level in walk_histograms([cell, other])]
        [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1.0], [0.0]]]
    """
    counted = [_walks(graph) for graph in graphs]
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
        levels: φ_0, φ_1, ...
        decay: λ; 0.1 is GraKeL's.
        normalize: Scale the matrix to a unit diagonal.
        as_grakel: Count a walk without an edge for every pair of nodes, as GraKeL does.
    """
    if decay <= 0:
        raise SettingError(f"the decay must be positive, got {decay}")
    if as_grakel:
        levels = [levels[0].sum(axis=1, keepdims=True), *levels[1:]]
    K = sum(decay**s * (level @ level.T) for s, level in enumerate(levels))
    gram = np.asarray(K, dtype=float)
    if normalize:
        root = np.sqrt(gram.diagonal())
        gram = gram / np.outer(root, root)
    return gram


def _walks(graph: LabeledGraph) -> list[Counter[tuple[str, ...]]]:
    """How often each label sequence is read, by the number of edges of the walk."""
    if graph.node_labels is None:
        raise GraphError("the graph must have labels on its nodes; turn edges into nodes first")
    labels = graph.node_labels
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
