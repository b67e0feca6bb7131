"""From a posterior to the tables of the compiled search.

Notation
    w, R  mean weights and root of the posterior covariance on integer counts (surrogate/posterior)
    "*"   the last label code: the mean over the labels that a variable may take
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Exponential, Floats, Tables
from nasgoat.acquisition.branch.exhaust import Factors
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, Posterior


def tables_of(
    space: SearchSpace, posterior: Posterior, sqrt_beta: float
) -> tuple[Tables, Exponential]:
    """The tables of a posterior; the second part is empty for the linear kernel."""
    features = FeatureMap(space)
    on_counts = [posterior.on_counts(features, n) for n in space.sizes]
    linear = [
        np.column_stack([part.w, sqrt_beta * part.R])
        for part in on_counts
        if isinstance(part, LinearPosterior)
    ]
    if linear:
        return _tables(space, features, linear), _exponential(None, None, sqrt_beta)
    exponential = [part for part in on_counts if isinstance(part, ExponentialPosterior)]
    if not exponential:
        raise SettingError(
            "branch and bound must have a linear or exponential kernel, got "
            f"{type(posterior).__name__}; use the catalogue"
        )
    columns = [
        np.column_stack(
            [np.zeros(len(part.squares)), part.projections, np.diag(np.sqrt(part.squares))]
        )
        for part in exponential
    ]
    tables = _tables(space, features, columns)
    return tables, _exponential(exponential[0], tables.both_vector, sqrt_beta)


def _tables(space: SearchSpace, features: FeatureMap, columns: list[Floats]) -> Tables:
    """Tables of columns whose first entry is the mean part and whose others are the vector."""
    paths = np.stack([_paths(space, features, values) for values in columns])
    edges = _edges(space, features, columns[-1])
    both, shifts = _interactions(space, paths), _shifts(space, paths)
    parts = (*_split(paths), *_split(shifts), *_split(edges), *_split(both))
    return Tables(*parts, _largest_products(both, _tail(columns[0])))


def _tail(columns: Floats) -> int:
    """Where the part of a column begins that enters a norm: the last square block."""
    return int(columns.shape[1] - columns.shape[0])


def _exponential(
    posterior: ExponentialPosterior | None, both: Floats | None, sqrt_beta: float
) -> Exponential:
    if posterior is None or both is None:
        nothing = np.zeros((0, 0, 0))
        return Exponential(
            np.zeros(0), np.zeros((0, 0)), nothing, nothing, np.zeros(2), np.zeros((6, 0))
        )
    m = len(posterior.dual)
    sizes, n, labels = both.shape[:3]
    head = np.zeros((sizes, n, 1, m)) if labels == 0 else both[..., :m].reshape(sizes, n, -1, m)
    return Exponential(
        np.ascontiguousarray(posterior.dual),
        np.ascontiguousarray(posterior.whitening),
        np.ascontiguousarray(head.min(axis=2)),
        np.ascontiguousarray(head.max(axis=2)),
        np.array([posterior.variance, sqrt_beta]),
        np.empty((6, m)),
    )


def _split(values: Floats) -> tuple[Floats, Floats]:
    return np.ascontiguousarray(values[..., 0]), np.ascontiguousarray(values[..., 1:])


def _paths(space: SearchSpace, features: FeatureMap, columns: Floats) -> Floats:
    """Columns by distance and codes; where nodes have labels, with the code "*"."""
    n, names = space.sizes[-1], len(space.node_vocabulary)
    codes = names or n
    table = np.zeros((n, codes, codes, columns.shape[1]))
    for column, (s, a, b) in zip(columns, features.path_types, strict=False):
        table[s, a, b] = column
    if not names:
        return table
    inner = slice(1, names - 1)
    wide = np.zeros((n, codes + 1, codes + 1, columns.shape[1]))
    wide[:, :-1, :-1] = table
    if names > 2:
        wide[:, -1, :-1] = table[:, inner].mean(axis=1)
        wide[:, :-1, -1] = table[:, :, inner].mean(axis=2)
        wide[:, -1, -1] = table[:, inner, inner].mean(axis=(1, 2))
        # A node's pair with itself has one label, not two independent ones.
        wide[0, -1, -1] = np.mean([table[0, a, a] for a in range(1, names - 1)], axis=0)
    return wide


def _shifts(space: SearchSpace, paths: Floats) -> Floats:
    """What label l instead of "*" changes in a pair: first as its tail, then as its head."""
    labels = max(len(space.node_vocabulary) - 2, 0)
    inner = slice(1, labels + 1)
    tail = paths[:, :, inner] - paths[:, :, -1:]
    head = (paths[:, :, :, inner] - paths[:, :, :, -1:]).swapaxes(2, 3)
    own = np.arange(labels) + 1
    # A node's pair with itself changes at both ends together.
    if labels:
        tail[:, 0, :, -1] = paths[:, 0, own, own] - paths[:, 0, -1:, -1]
    return np.ascontiguousarray(np.stack([tail, head]))


def _edges(space: SearchSpace, features: FeatureMap, columns: Floats) -> Floats:
    n, labels = space.sizes[-1], len(space.edge_vocabulary)
    table = np.zeros((n, n, labels + 1, columns.shape[1]))
    for column, (u, v, label) in zip(
        columns[len(features.path_types) :], features.edge_types, strict=True
    ):
        table[u, v, label] = column
    if labels:
        table[:, :, -1] = table[:, :, :-1].mean(axis=2)
    return table


def _interactions(space: SearchSpace, paths: Floats) -> Floats:
    """What two labels at distance s add beyond the sum of their separate changes."""
    sizes, n, _, _, width = paths.shape
    labels = max(len(space.node_vocabulary) - 2, 0)
    if labels == 0:
        return np.zeros((sizes, n, 0, 0, width))
    inner, star = slice(1, labels + 1), slice(-1, None)
    return np.ascontiguousarray(
        paths[:, :, inner, inner]
        - paths[:, :, star, inner]
        - paths[:, :, inner, star]
        + paths[:, :, star, star]
    )


def _largest_products(both: Floats, start: int) -> Floats:
    """For each two distances the largest product of two interactions; never negative."""
    sizes, n, labels, _, width = both.shape
    if labels == 0:
        return np.zeros((sizes, n, n))
    vectors = both[..., start:].reshape(sizes, n, labels * labels, width - start)
    products = np.einsum("zdix,zejx->zdeij", vectors, vectors, optimize=True)
    return np.ascontiguousarray(np.maximum(products.max(axis=(3, 4)), 0.0))


def factors_of(space: SearchSpace, posterior: ExponentialPosterior) -> Factors:
    """The features of a space as factors of the kernel vector."""
    features = FeatureMap(space)
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
