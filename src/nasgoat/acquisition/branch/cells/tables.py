"""From a posterior to the tables of the compiled linear search of cells.

Notation
    w, R  mean weights and root of the posterior covariance on integer counts (surrogate/posterior)
    "*"   the last label code: the mean over the labels that a variable may take
    column  1 + r numbers for each feature: its mean part first, then its vector
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.records import Changes, PairTables, States, Tables
from nasgoat.acquisition.branch.cells.reference import multiply_changes
from nasgoat.acquisition.branch.cells.structures import CellBlock, PrefixStates
from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import LinearPosterior


def make_tables(
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
    ops: Sequence[int] | None = None,
    largest: int | None = None,
) -> Tables:
    """The tables of a posterior under the linear kernel.

    Args:
        features: What the posterior is a function of.
        posterior: The posterior.
        sqrt_beta: √β.
        ops: Those operations on nodes that tables are made for; all if None.
        largest: Number of nodes up to which they are made; of all graphs if None.
    """
    sizes = features.space.sizes
    sizes = range(sizes[0], (largest or sizes[-1]) + 1)
    columns = [make_feature_columns(features, posterior, sqrt_beta, n) for n in sizes]
    paths = np.stack([make_path_columns(features, values, ops)[: sizes[-1]] for values in columns])
    edges = np.stack([make_edge_columns(features, values) for values in columns])
    labels = paths.shape[2] - 3 if features.space.node_vocabulary else 0  # no source, sink or "*"
    both = find_interactions(labels, paths)
    gram, spread = _multiply_interactions(both)
    return Tables(
        pairs=PairTables(path=paths, both=both, both_gram=gram),
        shift=find_shifts(labels, paths),
        edge=edges,
        option=np.zeros((0, labels, labels, 1, both.shape[-1])),
        options=np.zeros(paths.shape[1], dtype=np.int64),
        codes=columns[0][len(features.path_types) + len(features.edge_types) :],
        split=0,
        spread=np.stack([np.zeros_like(spread), spread]),
        known_offset=0,
        pull=np.zeros((2, 0, 0, 0)),
    )


def make_feature_columns(
    features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> Floats:
    """Columns of all features of graphs with n nodes."""
    on_counts = posterior.fold_to_counts(features, n)
    return np.column_stack([on_counts.w, sqrt_beta * on_counts.R])


def make_path_columns(
    features: FeatureMap, columns: Floats, ops: Sequence[int] | None = None
) -> Floats:
    """Columns of pairs by distance and codes; where nodes have labels, with the code "*"."""
    n, names = features.space.sizes[-1], len(features.space.node_vocabulary)
    codes = names or n
    table = np.zeros((n, codes, codes, columns.shape[1]))
    s, a, b = np.array(features.path_types).T
    table[s, a, b] = columns[: len(s)]
    if not names:
        return table
    if ops is not None:
        kept = [0, *(1 + op for op in ops), names - 1]
        table, names = table[:, kept][:, :, kept], len(kept)
    inner = slice(1, names - 1)
    wide = np.zeros((n, names + 1, names + 1, columns.shape[1]))
    wide[:, :-1, :-1] = table
    if names > 2:
        wide[:, -1, :-1] = table[:, inner].mean(axis=1)
        wide[:, :-1, -1] = table[:, :, inner].mean(axis=2)
        wide[:, -1, -1] = table[:, inner, inner].mean(axis=(1, 2))
        # A node's pair with itself has one label, not two independent ones.
        own = np.arange(1, names - 1)
        wide[0, -1, -1] = table[0, own, own].mean(axis=0)
    return wide


def make_edge_columns(features: FeatureMap, columns: Floats) -> Floats:
    """Columns of labelled edges by their ends and labels, "*" the last."""
    n, labels = features.space.sizes[-1], len(features.space.edge_vocabulary)
    table = np.zeros((n, n, labels + 1, columns.shape[1]))
    if labels:
        u, v, label = np.array(features.edge_types).T
        first = len(features.path_types)
        table[u, v, label] = columns[first : first + len(u)]
        table[:, :, -1] = table[:, :, :-1].mean(axis=2)
    return table


def find_shifts(labels: int, paths: Floats) -> Floats:
    """What label l instead of "*" changes in a pair: first as its tail, then as its head."""
    inner = slice(1, labels + 1)
    tail = paths[:, :, inner] - paths[:, :, -1:]
    head = (paths[:, :, :, inner] - paths[:, :, :, -1:]).swapaxes(2, 3)
    own = np.arange(labels) + 1
    # A node's pair with itself changes at both ends together.
    if labels:
        tail[:, 0, :, -1] = paths[:, 0, own, own] - paths[:, 0, -1:, -1]
    return np.ascontiguousarray(np.stack([tail, head]))


def find_interactions(labels: int, paths: Floats) -> Floats:
    """What two labels at distance s add beyond the sum of their separate changes (Lemma 1)."""
    sizes, n, _, _, width = paths.shape
    if labels == 0:
        return np.zeros((sizes, n, 0, 0, width))
    inner, star = slice(1, labels + 1), slice(-1, None)
    return np.ascontiguousarray(
        paths[:, :, inner, inner]
        - paths[:, :, star, inner]
        - paths[:, :, inner, star]
        + paths[:, :, star, star]
    )


def _multiply_interactions(both: Floats) -> tuple[Floats, Floats]:
    """For each two distances the largest product of two interactions; never negative.

    Then the same given the labels of both tails, and of both heads: half of each (Lemma 2, Ω).
    """
    sizes, n, labels, _, width = both.shape
    if labels == 0:
        return np.zeros((sizes, n, n)), np.zeros((2, sizes, n, n, 0, 0))
    vectors = both[..., 1:].reshape(sizes, n * labels * labels, width - 1)
    products = vectors @ vectors.swapaxes(1, 2)
    products = products.reshape(sizes, n, labels, labels, n, labels, labels)
    tails, heads = products.max(axis=(3, 6)), products.max(axis=(2, 5))
    largest = np.ascontiguousarray(np.maximum(tails.max(axis=(2, 4)), 0.0))
    return largest, 0.5 * np.stack([tails, heads]).swapaxes(3, 4)


def measure_states(
    block: CellBlock,
    tables: Tables,
    changes: Changes,
    allowed: NDArray[np.uint8] | None = None,
    like: States | None = None,
    known_labels: Integers | None = None,
) -> States | None:
    """What the states of prefixes add besides the changes of their labels; None for structures.

    ``allowed`` says which states of each shape are searched, (S, V, X); all if None. ``like`` are
    the states of another block under the same tables, to take from what is the same.
    """
    found = block.prefix_states
    if found is None:
        return None
    states = like or _measure_ends(found, tables, int(block.shapes.size[0]), block.labels)
    first = slice(tables.split)
    halves = [(changes.move[..., 1:], states.link_vector)]
    halves += [(moves[..., first], links[..., first]) for moves, links in halves]
    return states._replace(
        link_gram=np.ascontiguousarray(
            np.stack([np.einsum("clr,qkr->qclk", m, k, optimize=True) for m, k in halves])
        ),
        first_square=(halves[1][0] ** 2).sum(axis=2),
        first_gram=multiply_changes(
            np.ascontiguousarray(changes.move[..., : tables.split + 1]), block.classes
        )
        if len(changes.move)
        else changes.gram,
        reach=found.reach,
        allowed=np.zeros((0, 0, 0), dtype=np.uint8) if allowed is None else allowed,
        known_labels=np.zeros((0, 0), dtype=np.int64) if known_labels is None else known_labels,
        next_variable=np.full(0 if allowed is None else len(allowed), -1),
        label_bound=np.zeros((0 if allowed is None else len(allowed), block.labels)),
    )


def _measure_ends(found: PrefixStates, tables: Tables, size: int, labels: int) -> States:
    """What states add by their pairs with the last two nodes: the same for every block."""
    paths, n = tables.pairs.path[size], found.reach.shape[1] + 2
    source, out = found.label == labels, labels + 1
    code = np.where(source, 0, found.label + 1)
    added, fixed = [], []
    for tail in range(1, labels + 1):
        to_last = np.where(found.last[:, None] > 0, paths[found.last, code, tail], 0.0)
        both = to_last + paths[found.sink, code, out]
        # Centred, so that changes are short: what is not exact in the norm grows with them.
        inner, first = both[~source].mean(axis=0), both[source].mean(axis=0)
        ends = paths[0, out, out] + paths[0, tail, tail] + paths[1, tail, out]
        added.append(both - np.where(source[:, None], first, inner))
        fixed.append([ends, inner, first])
    vector, nothing = np.array(added)[..., 1:], np.zeros((0, 0, 0))
    link, link_vector = _find_links(found, labels, paths)
    return States(
        label=found.label,
        last=found.last,
        sink=found.sink,
        added=np.array(added),
        gram=np.stack(
            [
                v @ v.swapaxes(1, 2)
                for v in (vector, np.ascontiguousarray(vector[..., : tables.split]))
            ]
        ),
        link=link,
        link_vector=link_vector,
        link_gram=nothing,
        first_square=nothing,
        first_gram=nothing,
        clash=_find_clashes(found, n),
        needed=_find_needed(found, n),
        fixed=np.array(fixed),
        reach=found.reach,
        option=tables.option,
        options=tables.options,
        split=tables.split,
        spread=np.ascontiguousarray(tables.spread[:, :, size]),
        known_offset=tables.known_offset,
        pull=tables.pull,
        allowed=np.zeros((0, 0, 0), dtype=np.uint8),
        known_labels=np.zeros((0, 0), dtype=np.int64),
        next_variable=np.zeros(0, dtype=np.int64),
        label_bound=np.zeros((0, 0)),
    )


def _find_links(found: PrefixStates, labels: int, paths: Floats) -> tuple[Integers, Floats]:
    """The two links of every state, and their vectors for each label of the last inner node."""
    source, out = found.label == labels, labels + 1
    code = np.where(source, 0, found.label + 1)
    first, place = np.unique(np.stack([code, found.last]), axis=1, return_inverse=True)
    second, other = np.unique(np.stack([code, found.sink]), axis=1, return_inverse=True)
    vectors = []
    for tail in range(1, labels + 1):
        to_last = np.where(first[1][:, None] > 0, paths[first[1], first[0], tail], 0.0)
        to_sink = paths[second[1], second[0], out]
        both = to_last[place.ravel()] + to_sink[other.ravel()]
        inner, start = both[~source].mean(axis=0), both[source].mean(axis=0)
        to_sink = to_sink - np.where((second[0] == 0)[:, None], start, inner)
        vectors.append(np.concatenate([to_last, to_sink])[:, 1:])
    link = np.stack([place.ravel(), len(first[0]) + other.ravel()], axis=1)
    return np.ascontiguousarray(link.astype(np.int64)), np.ascontiguousarray(np.array(vectors))


def _find_clashes(found: PrefixStates, n: int) -> NDArray[np.int8]:
    """Whether a node in one state can't be at distance d before a node in another, (n, X, X).

    With a path of length d from u to v, u is at most d further than v from wherever v leads.
    """
    d = np.arange(n)[:, None, None]
    near, far = found.last[None, :, None], found.last[None, None, :]
    cut = (far > 0) & ((near == 0) | (near > d + far))
    cut |= found.sink[None, :, None] > d + found.sink[None, None, :]
    return np.ascontiguousarray(cut.astype(np.int8))


def _find_needed(found: PrefixStates, n: int) -> NDArray[np.int8]:
    """The least distance between nodes in two states, (X, X); n if no path can lead there.

    The same inequality, solved for d: it is at least 1, and what the two distances differ by.
    """
    near, far = found.last[:, None], found.last[None, :]
    to_last = np.where(far > 0, np.where(near > 0, near - far, n), 1)
    needed = np.maximum(found.sink[:, None] - found.sink[None, :], to_last)
    return np.ascontiguousarray(needed.clip(1, n).astype(np.int8))


def find_largest_products(vectors: list[Floats]) -> Floats:
    """For each two lists the largest product of a vector of one with one of the other, or 0."""
    largest = np.zeros((len(vectors), len(vectors)))
    for i, first in enumerate(vectors):
        for j in range(i + 1):
            largest[i, j] = largest[j, i] = (first @ vectors[j].T).max(initial=0.0)
    return largest
