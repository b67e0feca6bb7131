"""From a posterior to the tables of the compiled search.

Notation
    w, R  mean weights and root of the posterior covariance on integer counts (surrogate/posterior)
    "*"   the last label code: the mean over the labels that a variable may take
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers, States, Tables
from nasgoat.acquisition.branch.exhaust import Factors
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, Posterior

#: Means and vectors of paths, shifts, edges and interactions.
_Parts = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]


def tables_of(space: SearchSpace, posterior: LinearPosterior, sqrt_beta: float) -> Tables:
    """The tables of a posterior under the linear kernel."""
    features = FeatureMap(space)
    parts = [posterior.on_counts(features, n) for n in space.sizes]
    return _tables(
        space, features, [np.column_stack([part.w, sqrt_beta * part.R]) for part in parts]
    )


def states_of(block: Block, tables: Tables) -> States:
    """What the states of a block add besides the changes of their labels."""
    if not block.prefixes:
        return _plain_states(block, tables.path_vector.shape[-1])
    size, labels = int(block.shapes.size[0]), block.labels
    paths = np.concatenate([tables.path_mean[size, ..., None], tables.path_vector[size]], axis=-1)
    source, out = block.label == labels, labels + 1
    code = np.where(source, 0, block.label + 1)
    added, fixed = [], []
    for tail in range(1, labels + 1):
        to_last = np.where(block.last[:, None] > 0, paths[block.last, code, tail], 0.0)
        both = to_last + paths[block.sink, code, out]
        # Centred, so that changes are short: what is not exact in the norm grows with them.
        inner, first = both[~source].mean(axis=0), both[source].mean(axis=0)
        ends = paths[0, out, out] + paths[0, tail, tail] + paths[1, tail, out]
        added.append(both - np.where(source[:, None], first, inner))
        fixed.append([ends, inner, first])
    mean, vector = split(np.array(added))
    part, part_vector = _parts(block, paths)
    return States(
        block.label,
        block.last,
        block.sink,
        mean,
        vector,
        np.ascontiguousarray(vector @ vector.swapaxes(1, 2)),
        part,
        part_vector,
        clashes(block, int(block.shapes.nodes[0]) + 2),
        *split(np.array(fixed)),
    )


def _plain_states(block: Block, r: int) -> States:
    """States that are labels and nothing else."""
    total = len(block.label)
    none = np.zeros(total, dtype=np.int64)
    return States(
        block.label,
        none,
        none,
        np.zeros((0, total)),
        np.zeros((0, total, r)),
        np.zeros((0, total, total)),
        np.zeros((total, 2), dtype=np.int64),
        np.zeros((0, 0, r)),
        np.zeros((1, 1, 1), dtype=np.int8),
        np.zeros((0, 3)),
        np.zeros((0, 3, r)),
    )


def _parts(block: Block, paths: Floats) -> tuple[Integers, Floats]:
    """The two parts of every state, and their vectors for each label of the last inner node."""
    labels = block.labels
    source, out = block.label == labels, labels + 1
    code = np.where(source, 0, block.label + 1)
    first, place = np.unique(np.stack([code, block.last]), axis=1, return_inverse=True)
    second, other = np.unique(np.stack([code, block.sink]), axis=1, return_inverse=True)
    vectors = []
    for tail in range(1, labels + 1):
        to_last = np.where(first[1][:, None] > 0, paths[first[1], first[0], tail], 0.0)
        to_sink = paths[second[1], second[0], out]
        both = to_last[place.ravel()] + to_sink[other.ravel()]
        inner, start = both[~source].mean(axis=0), both[source].mean(axis=0)
        to_sink = to_sink - np.where((second[0] == 0)[:, None], start, inner)
        vectors.append(np.concatenate([to_last, to_sink])[:, 1:])
    part = np.stack([place.ravel(), len(first[0]) + other.ravel()], axis=1)
    return np.ascontiguousarray(part.astype(np.int64)), np.ascontiguousarray(np.array(vectors))


def clashes(block: Block, n: int) -> NDArray[np.int8]:
    """Whether a node in one state can't be at distance d before a node in another.

    With a path of length d from u to v, u is at most d further than v from wherever v leads.
    """
    last, sink, d = block.last, block.sink, np.arange(n)[:, None, None]
    near, far = last[None, :, None], last[None, None, :]
    cut = (far > 0) & ((near == 0) | (near > d + far))
    cut |= sink[None, :, None] > d + sink[None, None, :]
    return np.ascontiguousarray(cut.astype(np.int8))


def columns_of(
    space: SearchSpace, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> tuple[Floats, Floats]:
    """Columns of all paths of graphs with n nodes, (1, ...), and of all edges."""
    features = FeatureMap(space)
    part = posterior.on_counts(features, n)
    columns = np.column_stack([part.w, sqrt_beta * part.R])
    return _paths(space, features, columns)[None], _edges(space, features, columns)


def table_parts(space: SearchSpace, paths: Floats, edges: Floats) -> tuple[_Parts, Floats]:
    """Mean parts and vectors of paths, shifts, edges and interactions; the interactions again."""
    both, shifts = _interactions(space, paths), _shifts(space, paths)
    return (*split(paths), *split(shifts), *split(edges), *split(both)), both


def _tables(space: SearchSpace, features: FeatureMap, columns: list[Floats]) -> Tables:
    """Tables of columns whose first entry is the mean part and whose others are the vector."""
    paths = np.stack([_paths(space, features, values) for values in columns])
    parts, both = table_parts(space, paths, _edges(space, features, columns[-1]))
    labels, width = both.shape[2], both.shape[-1]
    none = np.zeros((0, labels, labels, 1, width))
    options = np.zeros(paths.shape[1], dtype=np.int64)
    return Tables(*parts, _largest_products(both), *split(none), options)


def split(values: Floats) -> tuple[Floats, Floats]:
    """Mean parts and vectors of columns."""
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


def _largest_products(both: Floats) -> Floats:
    """For each two distances the largest product of two interactions; never negative."""
    sizes, n, labels, _, width = both.shape
    if labels == 0:
        return np.zeros((sizes, n, n))
    vectors = both[..., 1:].reshape(sizes, n, labels * labels, width - 1)
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


def crude_bound(space: SearchSpace, posterior: Posterior, sqrt_beta: float) -> float:
    """A lower bound on the acquisition of every graph, from its pairs one by one.

    Linear kernel: superadditivity. Exponential kernel: ``exponential.py``, with the largest Q.
    """
    features = FeatureMap(space)
    return min(_crude_bound(space, features, posterior, sqrt_beta, n) for n in space.sizes)


def _crude_bound(
    space: SearchSpace, features: FeatureMap, posterior: Posterior, sqrt_beta: float, n: int
) -> float:
    part = posterior.on_counts(features, n)
    nodes = np.array([s == 0 for s, _, _ in features.path_types])
    paths = len(features.path_types)
    pairs = n * (n - 1) // 2
    if isinstance(part, ExponentialPosterior):
        q = part.squares[:paths].max() * (n + pairs) ** 2
        q += part.squares[paths:].max(initial=0.0) * pairs
        s = np.linalg.solve(part.whitening.T, part.dual)
        factor = np.sqrt((s @ s + sqrt_beta**2) * part.variance)
        return float(-factor * np.exp(min(q / 2, 700.0)))
    if not isinstance(part, LinearPosterior):
        return -np.inf
    alone = np.minimum(part.w - sqrt_beta * np.linalg.norm(part.R, axis=1), 0.0)
    lowest = n * alone[:paths][nodes].min() + pairs * alone[:paths][~nodes].min(initial=0.0)
    return float(lowest + pairs * alone[paths:].min(initial=0.0))
