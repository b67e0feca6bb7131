"""Prefixes with nodes that float, and their tables: what leads to such a node is open (Lemma 4).

Notation
    k, m   known nodes of a prefix, and *floating* nodes after them, in topological order
    n      nodes of the whole graph: k + m, the last inner node, and the sink
    code   stands for a distance that is open: any of 0 (no path), 1, ..., most; from the source
           any of 1, ..., most. Codes follow after the distances 0, ..., n - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import find_twins, measure_distances
from nasgoat.acquisition.branch.cells.records import PairTables, Tables
from nasgoat.acquisition.branch.cells.structures import Block, make_prefix_block
from nasgoat.acquisition.branch.cells.tables import (
    find_interactions,
    find_shifts,
    make_edge_columns,
    make_feature_columns,
    make_path_columns,
)
from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace
from nasgoat.surrogate.posterior import LinearPosterior

_CENTRING = 40  # steps of the search for weights of open distances


def make_floating_block(
    space: CellSpace, n: int, matrices: NDArray[np.bool_], last_labels: Integers
) -> Block:
    """Prefixes with as many floating nodes as they lack; shape s ends in ``last_labels[s]``.

    With a path from i to the j-th floating node every step but the last ones is in the prefix, so
    the distance is at most the longest distance within the prefix from i, plus j + 1.
    """
    total, known, _ = matrices.shape
    nodes = n - 2
    floating = nodes - known
    adjacency = np.zeros((total, nodes, nodes), dtype=bool)
    adjacency[:, :known, :known] = matrices
    distance = np.zeros((total, nodes, nodes), dtype=np.int8)
    distance[:, :known, :known] = measure_distances(matrices)
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
    every = np.tile(np.arange(nodes, dtype=np.int8), (total, 1))
    return make_prefix_block(
        space,
        n,
        size=0,
        adjacency=adjacency,
        home=np.arange(total),
        last_label=last_labels,
        distance=distance,
        twin=every if floating else find_twins(matrices),
        reach=reach,
    )


def make_floating_tables(
    space: CellSpace,
    posterior: LinearPosterior,
    sqrt_beta: float,
    n: int,
    labelled: bool = False,
) -> Tables:
    """The tables for graphs of n nodes, with codes of open distances (Lemma 4).

    A pair with an open distance carries the mean over its distances in the reference graph; what
    one distance and two labels add to that is an *option* of its interaction. Where all labels are
    known (``labelled``), every two labels have a mean of their own. Else codes of open distances
    between two nodes, the label of one of which is known, come last.
    """
    features = FeatureMap(space)
    columns = make_feature_columns(features, posterior, sqrt_beta, n)
    paths, labels = make_path_columns(features, columns)[:n], len(space.ops)
    distances = _list_open_distances(paths)
    find_mean = _find_means if labelled else _find_centre
    inner = slice(1, labels + 1)
    means = [find_mean(options, inner, c >= n - 2)[None] for c, options in enumerate(distances)]
    totals = [len(options) for options in distances]
    if not labelled:
        means.append(np.zeros((n - 2, *paths.shape[1:])))
        totals += totals[: n - 2]
    wide = np.concatenate([paths, *means])[None]
    both = find_interactions(labels, wide)
    option = np.zeros((len(totals), labels, labels, n, wide.shape[-1]))
    _fill_options(option, distances, wide[0, n:], None if labelled else both[0, n:])
    counts = np.array([0] * n + totals, dtype=np.int64)
    nothing = np.zeros((1, len(counts), len(counts)))  # prefixes take Ω in its place
    return Tables(
        pairs=PairTables(path=wide, both=both, both_gram=nothing),
        shift=find_shifts(labels, wide),
        edge=make_edge_columns(features, columns)[None],
        option=option,
        options=counts,
        codes=np.zeros((0, wide.shape[-1])),
        split=0,
        spread=np.zeros((2, 2, 1, len(counts), len(counts), labels, labels)),
        named=0 if labelled else len(distances),
        pull=np.zeros((2, 0, 0, 0)),
    )


def _fill_options(
    option: Floats, distances: list[Floats], means: Floats, both: Floats | None
) -> None:
    """What each distance that a code leaves open adds to its mean, for every two labels.

    ``both`` are interactions where labels are open; rows of known labels then come last.
    """
    labels = option.shape[1]
    inner = slice(1, labels + 1)
    for c, options in enumerate(distances):
        if c < len(distances) // 2:
            added = options[:, inner, inner] - means[c, inner, inner]
            known = c if both is None else len(distances) + c
            option[known, :, :, : len(options)] = np.moveaxis(added, 0, 2)
            added = added if both is None else added + both[c]
        else:
            added = np.repeat((options[:, :1, inner] - means[c, :1, inner]), labels, axis=1)
        option[c, :, :, : len(options)] = np.moveaxis(added, 0, 2)


def _list_open_distances(paths: Floats) -> list[Floats]:
    """The columns of all distances that each code leaves open, those from the source last."""
    n, any_distance = len(paths), paths.copy()
    any_distance[0] = 0.0  # no path: no feature
    found = [any_distance[: most + 1] for most in range(1, n - 1)]
    return found + [paths[1 : most + 1] for most in range(1, n - 1)]


def _find_means(options: Floats, inner: slice, source: bool) -> Floats:
    """For every two labels the centre of the columns of all distances that a code leaves open."""
    tails = slice(1) if source else inner
    points = options[:, tails, inner]
    weights = np.full(points.shape[:-1], 1.0 / len(points))
    best, shortest = weights, np.full(points.shape[1:-1], np.inf)
    for turn in range(_CENTRING):
        centre = (weights[..., None] * points).sum(axis=0)
        lengths = ((points - centre)[..., 1:] ** 2).sum(axis=-1)
        shorter = lengths.max(axis=0) < shortest
        best, shortest = (
            np.where(shorter, weights, best),
            np.where(shorter, lengths.max(axis=0), shortest),
        )
        longest = np.arange(len(points))[:, None, None] == lengths.argmax(axis=0)
        weights = weights * (1.0 - 1.0 / (turn + 2)) + longest / (turn + 2)
    means = np.zeros(options.shape[1:])
    means[tails, inner] = (best[..., None] * points).sum(axis=0)
    return means


def _find_centre(options: Floats, inner: slice, source: bool) -> Floats:
    """A weighted mean of the columns of all distances that a code leaves open.

    The interactions are what an option differs by from the part of the mean that single labels
    explain. The weights make the longest of them short: in turn, the option with the longest gets
    more weight (Badoiu and Clarkson's method for the smallest ball around some points).
    """
    weights = np.full(len(options), 1.0 / len(options))
    best, shortest = weights, np.inf
    for turn in range(_CENTRING):
        mean = np.tensordot(weights, options, 1)
        explained = mean[:1, inner]
        if not source:
            explained = mean[-1:, inner] + mean[inner, -1:] - mean[-1:, -1:]
        added = options[:, :1, inner] if source else options[:, inner, inner]
        lengths = ((added - explained)[..., 1:] ** 2).sum(axis=-1)
        longest = lengths.reshape(len(options), -1).max(axis=1, initial=0.0)
        if longest.max() < shortest:
            best, shortest = weights, longest.max()
        weights = weights * (1.0 - 1.0 / (turn + 2))
        weights[longest.argmax()] += 1.0 / (turn + 2)
    centre: Floats = np.tensordot(best, options, 1)
    return centre
