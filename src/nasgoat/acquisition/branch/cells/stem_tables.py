"""Stems: prefixes with nodes that float, and their tables (Lemma 4).

What leads to a floating node is open. Vectors are split into the two parts that Lemma 2 treats each
on its own, chosen for shapes of one kind. Any orthonormal basis gives the same norms. In that of
the eigenvectors of E, changes are long in the entries of its small eigenvalues and interactions in
those of its large ones. The first entries become the *first part*, where √(tr S_U · tr S_W), added
up over the parts, is least.

Notation (docs/branch-and-bound.md)
    k, m   known nodes of a prefix, and *floating* nodes after them, in topological order
    n      nodes of the whole graph: k + m, the last inner node, and the sink
    code   stands for a distance that is open: any of 0 (no path), 1, ..., most; from the source
           any of 1, ..., most. Codes follow after the distances 0, ..., n - 1.
    U, W   sums of changes and of interactions;  S_U, S_W  their second moments, one by one
    E      the matrix for which tr(E S_U) + tr(E⁻¹ S_W) is least: S_U⁻¹ # S_W, a geometric mean
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import find_twins, measure_distances
from nasgoat.acquisition.branch.cells.records import PairTables, Tables
from nasgoat.acquisition.branch.cells.reference import make_no_changes, measure_changes
from nasgoat.acquisition.branch.cells.structures import CellBlock, make_prefix_block
from nasgoat.acquisition.branch.cells.tables import (
    find_interactions,
    find_shifts,
    make_edge_columns,
    make_feature_columns,
    make_path_columns,
    measure_states,
)
from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace
from nasgoat.surrogate.posterior import LinearPosterior

_CENTRING = 40  # steps of the search for weights of open distances
_LONGEST = 400  # entries of vectors for which a basis is looked for: that takes their cube
_REGULAR = 1e-2  # of the trace, spread over all directions: none is without length


def make_floating_block(
    space: CellSpace, n: int, matrices: NDArray[np.bool_], last_labels: Integers
) -> CellBlock:
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
        known_offset=0 if labelled else len(distances),
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


def split_vectors(tables: Tables, block: CellBlock) -> Tables:
    """The tables in the basis, and with the parts, that suit the shapes of a block of prefixes."""
    if not can_split(tables):
        return turn_tables(tables, None, 0)
    changes, interactions = _measure_changes(tables, block), _measure_interactions(tables, block)
    if not np.trace(changes) > 0 or not np.trace(interactions) > 0:
        return turn_tables(tables, None, 0)
    basis = _find_basis(changes, interactions)
    long = np.einsum("ij,ik,kj->j", basis, changes, basis, optimize=True)
    wide = np.einsum("ij,ik,kj->j", basis, interactions, basis, optimize=True)
    return turn_tables(tables, basis, _find_split(long, wide))


def can_split(tables: Tables) -> bool:
    """Whether a basis is looked for: not where vectors are very long."""
    return bool(tables.option.shape[-1] <= _LONGEST)


def turn_tables(tables: Tables, basis: Floats | None, split: int) -> Tables:
    """The same columns with Ω of two parts, their vectors in another orthonormal basis.

    Args:
        tables: The columns.
        basis: The basis as columns; that of the tables if None.
        split: Entries of the first part.
    """

    def turn(columns: Floats) -> Floats:
        if basis is None:
            return columns
        return np.concatenate([columns[..., :1], columns[..., 1:] @ basis], axis=-1)

    pairs = tables.pairs._replace(path=turn(tables.pairs.path), both=turn(tables.pairs.both))
    turned = tables._replace(
        pairs=pairs, shift=turn(tables.shift), option=turn(tables.option), split=split
    )
    parts = slice(split), slice(split, None)
    if know_all_labels(tables):
        return turned._replace(pull=np.stack([_bound_pulls(turned, part) for part in parts]))
    spread = [_bound_products(turned, part) for part in parts]
    return turned._replace(spread=np.stack(spread)[:, :, None])


def know_all_labels(tables: Tables) -> bool:
    """Whether tables of floating nodes are for prefixes all of whose labels are known."""
    return tables.known_offset == 0


def _bound_pulls(tables: Tables, part: slice) -> Floats:
    """Products of an option with the best option of another pair, (kinds, n, kinds + 1).

    A kind is a code with both labels, or from the source with one. The last column has the squares
    of the options.
    """
    codes, labels, width = len(tables.option) // 2, tables.option.shape[1], tables.option.shape[3]
    pairs = tables.option[:codes, ..., 1:].reshape(codes * labels**2, width, -1)
    ends = tables.option[codes:, 0, ..., 1:].reshape(codes * labels, width, -1)
    vectors = np.concatenate([pairs, ends])[..., part]
    totals = tables.options[-2 * codes :]
    totals = np.concatenate(
        [np.repeat(totals[:codes], labels**2), np.repeat(totals[codes:], labels)]
    )
    used = np.arange(width) < totals[:, None]
    pulls = np.empty((len(vectors), width, len(vectors) + 1))
    for kind, options in enumerate(vectors):
        products = np.tensordot(vectors, options[: totals[kind]], axes=(2, 1))
        pulls[:, :, kind] = products.max(axis=2)
    pulls[:, :, -1] = (vectors**2).sum(axis=2)
    pulls[~used] = 0.0
    return pulls


def _bound_products(tables: Tables, part: slice) -> Floats:
    """The terms of Ω in one part of the entries: (2, codes, codes, L, L), by tails and by heads.

    A product of two interactions is at most its largest value given both tails, and given both
    heads, so it is at most half the sum. The source has no label: there the heads decide.
    """
    vectors, labels = list_interactions(tables), tables.option.shape[1]
    total = len(vectors)
    codes = len(tables.option) // 3
    source = range(total - 2 * codes, total - codes)
    terms = np.zeros((2, total, total, labels, labels))
    for c in range(1, total):
        first = vectors[c][..., part]
        for d in range(1, c + 1):
            second = vectors[d][..., part]
            products = np.tensordot(first, second, axes=(3, 3))
            heads = products.max(axis=(0, 2, 3, 5))
            if c not in source and d not in source:
                terms[0, c, d] = 0.5 * products.max(axis=(1, 2, 4, 5))
                heads *= 0.5
            terms[1, c, d] = heads
            terms[:, d, c] = terms[:, c, d].swapaxes(1, 2)
    return terms


def list_interactions(tables: Tables) -> list[Floats]:
    """For every distance, and every code of an open one, its interactions: (L, L, options, r).

    The codes after the distances are those between labelled nodes, those from the source, and those
    between labelled nodes of which one label is known.
    """
    known = len(tables.options) - len(tables.option)
    codes = len(tables.option) // (2 if know_all_labels(tables) else 3)
    vectors = [both[:, :, None, 1:] for both in tables.pairs.both[0, :known]]
    for c, (option, total) in enumerate(zip(tables.option, tables.options[known:], strict=True)):
        source = codes <= c < 2 * codes
        vectors.append(option[: 1 if source else None, :, :total, 1:])
    return vectors


def _measure_changes(tables: Tables, block: CellBlock) -> Floats:
    """S_U: of changes by labels, and by what a state has with the last two nodes."""
    if know_all_labels(tables):
        changes = make_no_changes(tables)
    else:
        changes = measure_changes(tables, block.shapes, block.classes, block.labels)
    states = measure_states(block, tables, changes)
    total = np.zeros((changes.move.shape[-1] - 1,) * 2)
    for columns in (changes.move, states.added if states is not None else changes.move[:0]):
        vectors = columns[..., 1:].reshape(-1, len(total))
        total += vectors.T @ vectors / max(len(vectors), 1)
    return total


def _measure_interactions(tables: Tables, block: CellBlock) -> Floats:
    """S_W: of interactions at all distances, as often as shapes have them."""
    vectors, distance = list_interactions(tables), block.shapes.distance.astype(np.int64)
    often = np.bincount(distance[:, 1:].ravel(), minlength=len(vectors))
    often += np.bincount(distance[:, 0].ravel(), minlength=len(vectors)) * (tables.options > 0)
    often[0] = 0  # no pair
    total = np.zeros((tables.option.shape[-1] - 1,) * 2)
    for d in np.flatnonzero(often).tolist():
        rows = vectors[d].reshape(-1, len(total))
        total += often[d] / often.sum() * (rows.T @ rows) / len(rows)
    return total


def _find_basis(changes: Floats, interactions: Floats) -> Floats:
    """The eigenvectors of E as columns, those of small eigenvalues first."""
    eye = np.eye(len(changes)) * (_REGULAR / len(changes))
    values, vectors = np.linalg.eigh(changes / np.trace(changes) + eye)
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    within = root @ (interactions / np.trace(interactions) + eye) @ root
    values, vectors = np.linalg.eigh(within)
    middle = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    basis: Floats = np.linalg.eigh(inverse @ middle @ inverse)[1]
    return basis


def _find_split(long: Floats, wide: Floats) -> int:
    """How many of the first entries form the first part."""
    long, wide = np.maximum(long, 0.0), np.maximum(wide, 0.0)
    before = np.sqrt(np.cumsum(long) * np.cumsum(wide))
    after = np.sqrt(np.cumsum(long[::-1]) * np.cumsum(wide[::-1]))[::-1]
    return int(np.argmin(before[:-1] + after[1:])) + 1 if len(long) > 1 else 0
