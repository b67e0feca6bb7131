"""The exponential kernel as arrays, and bounds of structures under it (Lemma 6).

The normalised kernel divides k(x) by exp(Q / 2) and κ by exp(Q), so that a complete labelling is
scaled once. κ is then the same for every graph, and Lemma 6 tells no structure from another.

Notation (docs/branch-and-bound.md)
    Q        k_lin of a graph with itself;  κ = σ² exp(Q) its prior variance
    k, L     kernel vector and Cholesky factor of K;  v = ‖L⁻¹ k‖²;  s = ‖L⁻¹ y‖
    value    a·k - √β √(κ - v), a = K⁻¹ y

By Cauchy and Schwarz a·k = (L⁻¹ y)·(L⁻¹ k) ≥ -s √v, and v ≤ κ because a variance is never negative.
So the value is at least -s √v - √β √(κ - v) ≥ -√(s² + β) √κ. What is left is to bound Q.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nasgoat.acquisition.branch.cells.records import LimitRows
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior


class Model(NamedTuple):
    """The posterior of the exponential kernel (c = 0) or of the normalised one (c = 1).

    With q(x) = k_lin(x, x) / 2, kernel values are σ_k² exp(φ_j Λ x - c q(x) - c q(φ_j)), and the
    prior variance is σ_k² exp(2 (1 - c) q(x)). What the observed graphs add to the exponents is
    part of dual and whitening.
    """

    dual: Floats  # (m,) a = K⁻¹ y, times exp(-c q(φ_j))
    whitening: Floats  # (m, m) L⁻¹, column j times exp(-c q(φ_j))
    settings: Floats  # (3,) σ_k², √β and c


class Factors(NamedTuple):
    """Features as factors of the kernel vector."""

    path: Floats  # (sizes, n, labels, labels, m) exp of what a pair adds to k_lin(x, X)
    path_column: Integers  # (n, labels, labels) place among the counts
    edge: Floats  # (sizes, n, n, L, m)
    edge_column: Integers  # (n, n, L)
    square: Floats  # (sizes, columns) λ_f
    given: Floats  # (P or 1, m) σ² times the factor of what is known of a shape besides its pairs
    given_square: Floats  # (P or 1,) what that adds to k_lin with itself


@dataclass(frozen=True)
class ExponentialProblem:
    """What a search under the exponential kernel looks up.

    Args:
        block: The structures.
        factors, model, limits: What the posterior and the space say about them.
        roots: A lower bound of each structure.
    """

    block: CellBlock
    factors: Factors
    model: Model
    limits: LimitRows
    roots: Floats


def make_factors(
    features: FeatureMap, posterior: ExponentialPosterior | NormalisedPosterior
) -> Factors:
    """The features of a space as factors of the kernel vector, before it is normalised."""
    space = features.space
    n, codes, edges = space.sizes[-1], len(space.node_vocabulary), len(space.edge_vocabulary)
    codes = codes or n
    every = range(space.sizes[0], n + 1)  # also sizes in gaps: ``Shapes.size`` counts them
    on_counts = [posterior.fold_to_counts(features, size) for size in every]
    columns = np.stack([np.exp(part.projections) for part in on_counts])
    path_column = np.zeros((n, codes, codes), dtype=np.int64)
    edge_column = np.zeros((n, n, edges), dtype=np.int64)
    for column, (s, a, b) in enumerate(features.path_types):
        path_column[s, a, b] = column
    for column, (u, v, label) in enumerate(features.edge_types, len(features.path_types)):
        edge_column[u, v, label] = column
    return Factors(
        path=np.ascontiguousarray(columns[:, path_column]),
        path_column=path_column,
        edge=np.ascontiguousarray(columns[:, edge_column]),
        edge_column=edge_column,
        square=np.stack([part.squares for part in on_counts]),
        given=np.full((1, columns.shape[-1]), posterior.variance),
        given_square=np.zeros(1),
    )


def give_codes(
    factors: Factors, features: FeatureMap, posterior: ExponentialPosterior, codes: Floats
) -> Factors:
    """The factors, with those of kernel blocks other than the paper's: constants of each shape."""
    first = len(features.path_types) + len(features.edge_types)
    on_counts = posterior.fold_to_counts(features, features.space.sizes[0])  # alike for every size
    return factors._replace(
        given=posterior.variance * np.exp(codes @ on_counts.projections[first:]),
        given_square=codes @ on_counts.squares[first:],
    )


def make_model(posterior: ExponentialPosterior | NormalisedPosterior, sqrt_beta: float) -> Model:
    """The arrays of a posterior of the exponential or of the normalised kernel."""
    fade, power = np.ones(len(posterior.dual)), 0.0
    if isinstance(posterior, NormalisedPosterior):
        fade, power = np.exp(-posterior.offsets), 1.0
    return Model(
        dual=np.ascontiguousarray(posterior.dual * fade),
        whitening=np.ascontiguousarray(posterior.whitening * fade),
        settings=np.array([posterior.variance, sqrt_beta, power]),
    )


def bound_exponential(block: CellBlock, factors: Factors, model: Model) -> Floats:
    """A lower bound of every structure (Lemma 6), with the largest Q that its labels allow."""
    # L⁻¹ y = Lᵀ a, and Lᵀ is the inverse of the transposed whitening.
    s = np.linalg.solve(model.whitening.T, model.dual) if len(model.dual) else np.zeros(0)
    variance, sqrt_beta, power = model.settings
    factor = -np.sqrt((s @ s + sqrt_beta**2) * variance)
    largest = bound_squares(block, factors)
    bounds: Floats = factor * np.exp(np.minimum((1.0 - power) * largest / 2, 700.0))
    return bounds


def bound_squares(block: CellBlock, factors: Factors) -> Floats:
    """An upper bound on Q of every structure, whatever its labels."""
    largest = np.zeros(len(block.shapes.nodes))
    for size in np.unique(block.shapes.size):
        rows = np.flatnonzero(block.shapes.size == size)
        largest[rows] = _bound_squares(block, factors, int(size), rows)
    return largest


def _bound_squares(block: CellBlock, factors: Factors, size: int, rows: Integers) -> Floats:
    """An upper bound on Q = Σ_f λ_f z_f² for structures of one size.

    Pairs of nodes are alike if each end is the source, inner or the sink in both (with indexed
    nodes: the same node), at one distance. A count z is largest if all pairs that are alike have
    the same labels.
    """
    shapes, squares = block.shapes, factors.square[size]
    n, indexed = int(shapes.nodes[rows[0]]), shapes.ends.shape[1] > 0
    codes = _list_codes(factors, n, indexed)
    distance = shapes.distance[rows]
    counts: dict[tuple[int, int, int], Floats] = defaultdict(lambda: np.zeros(len(rows)))
    role = [u if indexed else (0 if u == 0 else 2 if u == n - 1 else 1) for u in range(n)]
    for u in range(n):
        counts[0, role[u], role[u]] += 1.0
        for v in range(u + 1, n):
            for d in range(1, n):
                counts[d, role[u], role[v]] += distance[:, u, v] == d
    total = np.zeros(len(rows))
    for (d, a, b), count in counts.items():
        columns = factors.path_column[d][np.ix_(codes[a], codes[b])]
        total += squares[np.diag(columns) if d == 0 else columns].max() * count**2
    if indexed:
        weights = squares[factors.edge_column].max(axis=2)
        total += (block.adjacency[rows] * weights).sum(axis=(1, 2))
    total += factors.given_square[np.minimum(rows, len(factors.given_square) - 1)]
    return total


def _list_codes(factors: Factors, n: int, indexed: bool) -> list[list[int]]:
    """The label codes that a node of each role can have."""
    if indexed:
        return [[u] for u in range(n)]
    last = factors.path_column.shape[1] - 1
    return [[0], list(range(1, last)) or [0], [last]]
