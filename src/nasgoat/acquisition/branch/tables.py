"""From a posterior to the tables of the compiled search.

Notation
    w, R  mean weights and root of the posterior covariance on integer counts (surrogate/posterior)
    "*"   the last label code: the mean over the labels that a variable may take
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Tables
from nasgoat.acquisition.branch.exhaust import Factors
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior

#: Means and vectors of paths, shifts, edges and interactions.
_Parts = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]


def tables_of(
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
    ops: Sequence[int] | None = None,
) -> Tables:
    """The tables of a posterior under the linear kernel; of some operations on nodes alone."""
    parts = [posterior.on_counts(features, n) for n in features.space.sizes]
    columns = [np.column_stack([part.w, sqrt_beta * part.R]) for part in parts]
    return _tables(features, columns, ops)


def columns_of(
    features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> tuple[Floats, Floats]:
    """Columns of all paths of graphs with n nodes, (1, ...), and of all edges."""
    part = posterior.on_counts(features, n)
    columns = np.column_stack([part.w, sqrt_beta * part.R])
    return _paths(features, columns)[None], _edges(features, columns)


def table_parts(space: SearchSpace, paths: Floats, edges: Floats) -> tuple[_Parts, Floats]:
    """Mean parts and vectors of paths, shifts, edges and interactions; the interactions again."""
    # Codes are those of the source, the labels, the sink and "*".
    labels = paths.shape[2] - 3 if space.node_vocabulary else 0
    both, shifts = _interactions(labels, paths), _shifts(labels, paths)
    return (*split(paths), *split(shifts), *split(edges), *split(both)), both


def _tables(features: FeatureMap, columns: list[Floats], ops: Sequence[int] | None) -> Tables:
    """Tables of columns whose first entry is the mean part and whose others are the vector."""
    paths = np.stack([_paths(features, values, ops) for values in columns])
    parts, both = table_parts(features.space, paths, _edges(features, columns[-1]))
    labels, width = both.shape[2], both.shape[-1]
    none = np.zeros((0, labels, labels, 1, width))
    options = np.zeros(paths.shape[1], dtype=np.int64)
    return Tables(*parts, _largest_products(both), *split(none), options)


def split(values: Floats) -> tuple[Floats, Floats]:
    """Mean parts and vectors of columns."""
    return np.ascontiguousarray(values[..., 0]), np.ascontiguousarray(values[..., 1:])


def _paths(features: FeatureMap, columns: Floats, ops: Sequence[int] | None = None) -> Floats:
    """Columns by distance and codes; where nodes have labels, with the code "*"."""
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
    codes = names
    inner = slice(1, names - 1)
    wide = np.zeros((n, codes + 1, codes + 1, columns.shape[1]))
    wide[:, :-1, :-1] = table
    if names > 2:
        wide[:, -1, :-1] = table[:, inner].mean(axis=1)
        wide[:, :-1, -1] = table[:, :, inner].mean(axis=2)
        wide[:, -1, -1] = table[:, inner, inner].mean(axis=(1, 2))
        # A node's pair with itself has one label, not two independent ones.
        own = np.arange(1, names - 1)
        wide[0, -1, -1] = table[0, own, own].mean(axis=0)
    return wide


def _shifts(labels: int, paths: Floats) -> Floats:
    """What label l instead of "*" changes in a pair: first as its tail, then as its head."""
    inner = slice(1, labels + 1)
    tail = paths[:, :, inner] - paths[:, :, -1:]
    head = (paths[:, :, :, inner] - paths[:, :, :, -1:]).swapaxes(2, 3)
    own = np.arange(labels) + 1
    # A node's pair with itself changes at both ends together.
    if labels:
        tail[:, 0, :, -1] = paths[:, 0, own, own] - paths[:, 0, -1:, -1]
    return np.ascontiguousarray(np.stack([tail, head]))


def _edges(features: FeatureMap, columns: Floats) -> Floats:
    n, labels = features.space.sizes[-1], len(features.space.edge_vocabulary)
    table = np.zeros((n, n, labels + 1, columns.shape[1]))
    if labels:
        u, v, label = np.array(features.edge_types).T
        table[u, v, label] = columns[len(features.path_types) :]
        table[:, :, -1] = table[:, :, :-1].mean(axis=2)
    return table


def _interactions(labels: int, paths: Floats) -> Floats:
    """What two labels at distance s add beyond the sum of their separate changes."""
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


def factors_of(features: FeatureMap, posterior: ExponentialPosterior) -> Factors:
    """The features of a space as factors of the kernel vector."""
    space = features.space
    n, codes, edges = space.sizes[-1], len(space.node_vocabulary), len(space.edge_vocabulary)
    codes = codes or n
    parts = [posterior.on_counts(features, size) for size in space.sizes]
    columns = np.stack([np.exp(part.projections) for part in parts])
    path_column = np.zeros((n, codes, codes), dtype=np.int64)
    edge_column = np.zeros((n, n, edges), dtype=np.int64)
    for column, (s, a, b) in enumerate(features.path_types):
        path_column[s, a, b] = column
    for column, (u, v, label) in enumerate(features.edge_types, len(features.path_types)):
        edge_column[u, v, label] = column
    squares = np.stack([part.squares for part in parts])
    return Factors(
        columns[:, path_column], path_column, columns[-1][edge_column], edge_column, squares
    )
