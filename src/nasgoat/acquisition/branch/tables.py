"""From a posterior to the tables of the compiled searches.

Notation
    w, R  mean weights and root of the posterior covariance on integer counts (surrogate/posterior)
    "*"   the last label code: the mean over the labels that a variable may take

*Columns* are rows of numbers, one for each feature: the mean part first, then the vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasgoat.acquisition.branch.labellings import Factors, Model
from nasgoat.acquisition.branch.records import Floats, Tables
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, Posterior


def make_tables(
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
    ops: Sequence[int] | None = None,
) -> Tables:
    """The tables of a posterior under the linear kernel; of some operations on nodes alone."""
    columns = [feature_columns(features, posterior, sqrt_beta, n) for n in features.space.sizes]
    paths = np.stack([path_columns(features, values, ops) for values in columns])
    edges = np.stack([edge_columns(features, values) for values in columns])
    labels = count_labels(paths) if features.space.node_vocabulary else 0
    both = find_interactions(labels, paths)
    none = np.zeros((0, labels, labels, 1, both.shape[-1]))
    options = np.zeros(paths.shape[1], dtype=np.int64)
    return fill_tables(paths, edges, both, _largest_products(both), none, options)


def fill_tables(
    paths: Floats,
    edges: Floats,
    both: Floats,
    both_gram: Floats,
    option: Floats,
    options: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Tables:
    """Tables of the columns of paths, edges, interactions and their options."""
    path_mean, path_vector = split_columns(paths)
    shift_mean, shift_vector = split_columns(_find_shifts(both.shape[2], paths))
    edge_mean, edge_vector = split_columns(edges)
    both_mean, both_vector = split_columns(both)
    option_mean, option_vector = split_columns(option)
    return Tables(
        path_mean=path_mean,
        path_vector=path_vector,
        shift_mean=shift_mean,
        shift_vector=shift_vector,
        edge_mean=edge_mean,
        edge_vector=edge_vector,
        both_mean=both_mean,
        both_vector=both_vector,
        both_gram=both_gram,
        option_mean=option_mean,
        option_vector=option_vector,
        options=options,
    )


def split_columns(values: Floats) -> tuple[Floats, Floats]:
    """Mean parts and vectors of columns."""
    return np.ascontiguousarray(values[..., 0]), np.ascontiguousarray(values[..., 1:])


def feature_columns(
    features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> Floats:
    """Columns of all features of graphs with n nodes."""
    on_counts = posterior.on_counts(features, n)
    return np.column_stack([on_counts.w, sqrt_beta * on_counts.R])


def count_labels(paths: Floats) -> int:
    """Labels of nodes in a table of paths: all codes but those of the source, the sink and "*"."""
    return int(paths.shape[2]) - 3


def path_columns(features: FeatureMap, columns: Floats, ops: Sequence[int] | None = None) -> Floats:
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


def edge_columns(features: FeatureMap, columns: Floats) -> Floats:
    """Columns of labelled edges by their ends and labels, "*" the last."""
    n, labels = features.space.sizes[-1], len(features.space.edge_vocabulary)
    table = np.zeros((n, n, labels + 1, columns.shape[1]))
    if labels:
        u, v, label = np.array(features.edge_types).T
        table[u, v, label] = columns[len(features.path_types) :]
        table[:, :, -1] = table[:, :, :-1].mean(axis=2)
    return table


def _find_shifts(labels: int, paths: Floats) -> Floats:
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


def _largest_products(both: Floats) -> Floats:
    """For each two distances the largest product of two interactions; never negative."""
    sizes, n, labels, _, width = both.shape
    if labels == 0:
        return np.zeros((sizes, n, n))
    vectors = both[..., 1:].reshape(sizes, n * labels * labels, width - 1)
    products = vectors @ vectors.swapaxes(1, 2)
    products = products.reshape(sizes, n, labels * labels, n, labels * labels)
    return np.ascontiguousarray(np.maximum(products.max(axis=(2, 4)), 0.0))


def make_factors(features: FeatureMap, posterior: ExponentialPosterior) -> Factors:
    """The features of a space as factors of the kernel vector of the exponential kernel."""
    space = features.space
    n, codes, edges = space.sizes[-1], len(space.node_vocabulary), len(space.edge_vocabulary)
    codes = codes or n
    on_counts = [posterior.on_counts(features, size) for size in space.sizes]
    columns = np.stack([np.exp(part.projections) for part in on_counts])
    path_column = np.zeros((n, codes, codes), dtype=np.int64)
    edge_column = np.zeros((n, n, edges), dtype=np.int64)
    for column, (s, a, b) in enumerate(features.path_types):
        path_column[s, a, b] = column
    for column, (u, v, label) in enumerate(features.edge_types, len(features.path_types)):
        edge_column[u, v, label] = column
    return Factors(
        path=columns[:, path_column],
        path_column=path_column,
        edge=columns[:, edge_column],
        edge_column=edge_column,
        square=np.stack([part.squares for part in on_counts]),
    )


def make_model(posterior: ExponentialPosterior, sqrt_beta: float) -> Model:
    """The arrays of a posterior of the exponential kernel."""
    return Model(
        dual=np.ascontiguousarray(posterior.dual),
        whitening=np.ascontiguousarray(posterior.whitening),
        settings=np.array([posterior.variance, sqrt_beta]),
    )


def bound_space(features: FeatureMap, posterior: Posterior, sqrt_beta: float) -> float:
    """A lower bound on every graph of a space, from its pairs of nodes one by one.

    It is far below the optimum, but known at once. Linear kernel: superadditivity. Exponential
    kernel: Lemma 6 with the largest Q.
    """
    return min(_bound_size(features, posterior, sqrt_beta, n) for n in features.space.sizes)


def _bound_size(features: FeatureMap, posterior: Posterior, sqrt_beta: float, n: int) -> float:
    on_counts = posterior.on_counts(features, n)
    nodes = np.array([s == 0 for s, _, _ in features.path_types])
    paths = len(features.path_types)
    pairs = n * (n - 1) // 2
    if isinstance(on_counts, ExponentialPosterior):
        q = on_counts.squares[:paths].max() * (n + pairs) ** 2
        q += on_counts.squares[paths:].max(initial=0.0) * pairs
        s = np.linalg.solve(on_counts.whitening.T, on_counts.dual)
        factor = np.sqrt((s @ s + sqrt_beta**2) * on_counts.variance)
        return float(-factor * np.exp(min(q / 2, 700.0)))
    if not isinstance(on_counts, LinearPosterior):
        return -np.inf
    alone = np.minimum(on_counts.w - sqrt_beta * np.linalg.norm(on_counts.R, axis=1), 0.0)
    lowest = n * alone[:paths][nodes].min() + pairs * alone[:paths][~nodes].min(initial=0.0)
    return float(lowest + pairs * alone[paths:].min(initial=0.0))
