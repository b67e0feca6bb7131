"""Prefixes whose last nodes *float*: what leads to them is still open.

Notation
    k, m   known nodes of a prefix, and floating nodes after them, in topological order
    n      nodes of the whole graph: k + m, the last inner node, and the sink
    code   stands for a distance that is open: any of 0 (no path), 1, ..., most; from the source
           any of 1, ..., most. Codes follow after the distances 0, ..., n - 1.

With a path from i to the j-th floating node every step but the last ones is in the prefix, so the
distance is at most the longest distance within the prefix from i, plus j + 1. A pair with an open
distance carries the mean over these distances in the reference graph; what one distance and two
labels add to that is an *option* of its interaction (docs/branch-and-bound.md, Lemma 7).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers, Limits, Shapes, Tables
from nasgoat.acquisition.branch.kinds import kinds_of_nodes
from nasgoat.acquisition.branch.shapes import (
    Block,
    distances,
    kind_arrays,
    prefix_states,
    twins,
)
from nasgoat.acquisition.branch.tables import columns_of, split, table_parts
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.surrogate.posterior import LinearPosterior


def floating_block(
    space: NodeLabeledSpace, n: int, matrices: NDArray[np.bool_], tails: Integers, floating: int
) -> Block:
    """Prefixes with floating nodes; shape s is prefix s with label ``tails[s]`` at the end."""
    total, known, _ = matrices.shape
    nodes = known + floating
    adjacency = np.zeros((total, nodes, nodes), dtype=bool)
    adjacency[:, :known, :known] = matrices
    distance = np.zeros((total, nodes, nodes), dtype=np.int8)
    distance[:, :known, :known] = distances(matrices)
    reach = np.zeros((total, nodes), dtype=np.int64)
    reach[:, :known] = distance[:, :known, :known].max(axis=2)
    for j in range(floating):
        most = reach[:, :known] + 1 + j
        distance[:, 1:known, known + j] = n + most[:, 1:] - 1
        distance[:, 0, known + j] = n + n - 2 + most[:, 0] - 1
        for i in range(j):
            distance[:, known + i, known + j] = n + (j - i) - 1
    reach[:, :known] += floating
    reach[:, known:] = floating - 1 - np.arange(floating)
    sizes = np.full(total, nodes, dtype=np.int64)
    shapes = Shapes(
        np.arange(total),
        tails,
        np.zeros(total, dtype=np.int64),
        sizes,
        matrices.sum(axis=(1, 2)).astype(np.int64),
        sizes,
        distance,
        np.zeros((total, 0, 2), dtype=np.int8),
        np.tile(np.arange(nodes, dtype=np.int8), (total, 1)) if floating else twins(matrices),
        reach,
        *kind_arrays(kinds_of_nodes(distance, sizes, whole=False), sizes),
    )
    return Block(space, shapes, adjacency, *prefix_states(len(space.ops), n))


def floating_tables(
    space: NodeLabeledSpace, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> Tables:
    """The tables for graphs of n nodes, with codes of open distances."""
    paths, edges = columns_of(FeatureMap(space), posterior, sqrt_beta, n)
    labels = len(space.ops)
    inner = slice(1, labels + 1)
    extended, options = [paths[0, : max(n, 1)]], []
    counts = [0] * n
    for source in (False, True):
        for most in range(1, n - 1):
            open_ = paths[0, :n][(1 if source else 0) : most + 1].copy()
            if not source:
                open_[0] = 0.0  # no path: no feature
            extended.append(open_.mean(axis=0)[None])
            counts.append(len(open_))
            options.append(open_)
    wide = np.concatenate(extended)[None]
    parts, both = table_parts(space, wide, edges)
    table = np.zeros((len(options), labels, labels, n, wide.shape[-1]))
    for c, open_ in enumerate(options):
        mean = wide[0, n + c]
        if c < n - 2:
            added = open_[:, inner, inner] - mean[inner, inner] + both[0, n + c]
        else:
            added = np.repeat((open_[:, :1, inner] - mean[:1, inner]), labels, axis=1)
        table[c, :, :, : len(open_)] = np.moveaxis(added, 0, 2)
    vectors = [both[0, d].reshape(-1, wide.shape[-1])[:, 1:] for d in range(n)]
    vectors += [
        table[c, :, :, : counts[n + c]].reshape(-1, wide.shape[-1])[:, 1:]
        for c in range(len(options))
    ]
    return Tables(*parts, _largest(vectors)[None], *split(table), np.array(counts, dtype=np.int64))


def _largest(vectors: list[Floats]) -> Floats:
    """The largest product of a vector of one list with one of another; never negative."""
    total = len(vectors)
    largest = np.zeros((total, total))
    for c in range(total):
        for e in range(c, total):
            most = max(float((vectors[c] @ vectors[e].T).max(initial=0.0)), 0.0)
            largest[c, e] = largest[e, c] = most
    return largest


def no_limits(block: Block) -> Limits:
    """Limits say nothing about floating nodes yet."""
    states, shapes = len(block.label), len(block.shapes.nodes)
    return Limits(
        np.zeros(0), np.zeros((0, states)), np.zeros((0, shapes)), np.zeros((0, block.labels))
    )
