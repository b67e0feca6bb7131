"""Bounds of structures under the exponential kernel.

Notation
    Q     k_lin of a graph with itself;  κ = σ² exp(Q) its prior variance
    k, L  kernel vector and Cholesky factor of K;  v = ‖L⁻¹ k‖²;  s = ‖L⁻¹ y‖
    value a·k - √β √(κ - v), a = K⁻¹ y

By Cauchy and Schwarz a·k = (L⁻¹ y)·(L⁻¹ k) ≥ -s √v, and v ≤ κ because a variance is never negative.
So the value is at least -s √v - √β √(κ - v) ≥ -√(s² + β) √κ. What is left is to bound Q.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Integers
from nasgoat.acquisition.branch.exhaust import Factors, Model
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.surrogate.posterior import ExponentialPosterior


def model_of(posterior: ExponentialPosterior, sqrt_beta: float) -> Model:
    """The arrays of a posterior."""
    return Model(
        np.ascontiguousarray(posterior.dual),
        np.ascontiguousarray(posterior.whitening),
        np.array([posterior.variance, sqrt_beta]),
    )


def structure_bounds(block: Block, factors: Factors, model: Model) -> Floats:
    """-√(s² + β) √κ with the largest Q that the labels of each structure allow."""
    # L⁻¹ y = Lᵀ a, and Lᵀ is the inverse of the transposed whitening.
    s = np.linalg.solve(model.whitening.T, model.dual) if len(model.dual) else np.zeros(0)
    variance, sqrt_beta = model.settings
    factor = -np.sqrt((s @ s + sqrt_beta**2) * variance)
    bounds: Floats = factor * np.exp(np.minimum(largest_squares(block, factors) / 2, 700.0))
    return bounds


def largest_squares(block: Block, factors: Factors) -> Floats:
    """An upper bound on Q = Σ_f λ_f z_f² for every structure."""
    largest = np.zeros(len(block.shapes.nodes))
    for size in np.unique(block.shapes.size):
        rows = np.flatnonzero(block.shapes.size == size)
        largest[rows] = _largest_squares(block, factors, int(size), rows)
    return largest


def _largest_squares(block: Block, factors: Factors, size: int, rows: Integers) -> Floats:
    """The same for structures of one size.

    Pairs are of one kind if each end is the source, inner or the sink in both, at one distance. A
    count z is largest if all pairs of its kind have the same labels.
    """
    shapes, squares = block.shapes, factors.square[size]
    n, indexed = int(shapes.nodes[rows[0]]), shapes.ends.shape[1] > 0
    codes = _codes(factors, n, indexed)
    distance = shapes.distance[rows]
    counts: dict[tuple[int, int, int], Floats] = defaultdict(lambda: np.zeros(len(rows)))
    ends = [0 if u == 0 else (2 if u == n - 1 else 1) for u in range(n)]
    kinds = list(range(n)) if indexed else ends
    for u in range(n):
        counts[0, kinds[u], kinds[u]] += 1.0
        for v in range(u + 1, n):
            for d in range(1, n):
                counts[d, kinds[u], kinds[v]] += distance[:, u, v] == d
    total = np.zeros(len(rows))
    for (d, a, b), count in counts.items():
        columns = factors.path_column[d][np.ix_(codes[a], codes[b])]
        total += squares[np.diag(columns) if d == 0 else columns].max() * count**2
    if indexed:
        weights = squares[factors.edge_column].max(axis=2)
        total += (block.adjacency[rows] * weights).sum(axis=(1, 2))
    return total


def _codes(factors: Factors, n: int, indexed: bool) -> list[list[int]]:
    """The label codes that a node of each kind can have."""
    if indexed:
        return [[u] for u in range(n)]
    last = factors.path_column.shape[1] - 1
    return [[0], list(range(1, last)) or [0], [last]]
