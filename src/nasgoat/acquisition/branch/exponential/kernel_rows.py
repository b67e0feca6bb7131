"""Rows of kernel values and their bounds where edges carry the labels: linear, and of halves.

Notation of linear bounds (docs/branch-and-bound.md, Lemma 7)
    k, κ     kernel vector and prior variance: products of a factor for each edge (``model``).
             A *row* holds both, κ after the m entries of k
    ψ        L⁻¹ k;  value a·k - √β S with S² = κ - ‖ψ‖²
    k₀, S₀   any kernel vector and any positive number: the *tangent*

S ≤ (S² + S₀²) / 2S₀ and ‖ψ - ψ₀‖² ≥ 0 give value ≥ g·k - √β (κ + κ₀) / 2S₀ with
g = a + √β K⁻¹ k₀ / S₀ and κ₀ = S₀² + ‖ψ₀‖². That is linear in a row.

Notation of bounds of half the edges, whatever the labels of the other half (Lemma 13)
    F_e(l)   a positive vector of m factors for label l of edge e;  F̄_e its mean over all labels
    z_e(l)   F_e(l) / F̄_e - 1, so that Σ_l z_e(l) = 0;  Γ_e = Σ_l z_e(l) z_e(l)ᵀ
    w        any weights; the value of labels is Σ_j w_j Π_e F_e(l_e)_j
    h        weights of the other half's z once this half has its labels:
             h_j = w_j Π_this F_e(l_e)_j Π_other F̄_ej
    ω        any positive number;  W = Σ_S ω^(-|S|) ∘_S Γ_e over sets S of at least two edges
    Ω        Σ_S (ω (1 - 1/L))^|S| over the same sets

Multiplied out, Σ_j h_j Π_other (1 + z_e(l_e)_j) has a constant, a term for each edge, and one for
each set of two or more edges. Constants and single edges are exact; what is left is at most
√Ω ‖h‖_W, because each term sums to zero over the labels of any of its edges.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.exponential.model import Model
from nasgoat.acquisition.branch.records import Floats, Integers

_ROUNDING = 2.0**-52
_LEAST_OMEGA = 0.01  # where labels are nearly alike, a smaller ω would only magnify rounding


class EdgeFactors(NamedTuple):
    """What the labels of a structure's edges contribute, edges by the node that they lead to."""

    order: Integers  # (edges,) the variable of each edge
    given: Floats  # (m + 1,) row of what does not depend on labels
    values: Floats  # (edges, L, m + 1)
    cost: Floats  # (limits, edges, L)
    room: Floats  # (limits,) what the limits leave for the labels

    def multiply(self, labels: Integers) -> Floats:
        """The rows of complete labellings, a column for each edge."""
        return self.given * multiply_labels(self.values, labels)

    def is_affordable(self, labels: Integers) -> NDArray[np.bool_]:
        """Which labellings keep the limits."""
        spent = self.cost[:, np.arange(labels.shape[1]), labels].sum(axis=2)
        kept: NDArray[np.bool_] = (spent <= self.room[:, None]).all(axis=0)
        return kept


def multiply_labels(values: Floats, labels: Integers) -> Floats:
    """Products of the factors of these labels: (rows, m + 1)."""
    rows = np.ones((len(labels), values.shape[-1]))
    for edge, chosen in zip(values, labels.T, strict=True):
        rows *= edge[chosen]
    return rows


class Tangents(NamedTuple):
    """Bounds that are linear in kernel vector and κ, one for each row (Lemma 7)."""

    weights: Floats  # (tangents, m + 1) g, and -√β / 2S₀ for κ
    constant: Floats  # (tangents,) √β κ₀ / 2S₀
    size: Floats  # (m + 1,) largest sum of the absolute values that make up a weight

    def bound(self, rows: Floats) -> Floats:
        """Lower bounds of the values at each row, by each tangent: (tangents, rows)."""
        bounds: Floats = self.weights @ rows.T - self.constant[:, None]
        return bounds

    def bound_rounding(self, largest: Floats) -> float:
        """More than what rounding changes in any bound of rows that are at most ``largest``.

        Weights are sums of m + 2 terms, bounds of m + 2; factors have some more roundings.
        """
        size = self.size @ largest + np.abs(self.constant).max(initial=0.0)
        return float(2.0**-52 * (2 * len(largest) + 64) * size)


def take_tangents(model: Model, white: Floats, deviation: Floats) -> Tangents:
    """The tangents at ψ₀ = ``white`` and S₀ = ``deviation``, one for each row (Lemma 7).

    Example:
        >>> settings = np.array([1.0, 2.0, 0.0])
        >>> model = Model(dual=np.ones(1), whitening=np.eye(1), settings=settings)
        >>> tangents = take_tangents(model, np.zeros((1, 1)), np.ones(1))
        >>> tangents.bound(np.array([[0.5, 1.0]])).tolist()
        [[-1.5]]
    """
    slope = model.settings[1] / (2 * deviation)
    weights = model.dual + 2 * slope[:, None] * (white @ model.whitening)
    square = deviation**2 + np.einsum("ij,ij->i", white, white)
    steep, far = slope.max(initial=0.0), np.abs(white).max(axis=0, initial=0.0)
    size = np.abs(model.dual) + 2 * steep * (far @ np.abs(model.whitening))
    return Tangents(
        weights=np.hstack([weights, -slope[:, None]]),
        constant=slope * square,
        size=np.append(size, steep),
    )


def score_rows(model: Model, rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Values, whitened kernel vectors and S of rows."""
    kernel, prior = rows[:, :-1], rows[:, -1]
    white = kernel @ model.whitening.T
    deviation = np.sqrt(np.maximum(prior - np.einsum("ij,ij->i", white, white), 0.0))
    values: Floats = kernel @ model.dual - model.settings[1] * deviation
    return values, white, deviation


class CentredHalf(NamedTuple):
    """Half of the edges of a structure, their factors around the means."""

    factors: Floats  # (edges, L, m) F
    mean: Floats  # (m,) Π_e F̄_e
    changes: Floats  # (edges, L, m) z
    interactions: Floats  # (m, m) W
    sets: float  # Ω
    size: Floats  # (m,) the root of Π_e (1 + Γ_e,jj / ω): products bound entries of W


def centre_half(factors: Floats) -> CentredHalf:
    """The mean, the changes around it and the matrix W of some edges.

    Args:
        factors: (edges, L, m) all positive.
    """
    edges, labels, m = factors.shape
    mean = factors.mean(axis=1)
    changes = factors / mean[:, None] - 1.0
    gram = np.matmul(changes.transpose(0, 2, 1), changes)
    diagonal = np.einsum("ejj->ej", gram)
    # About the ratio of the terms of two sets one of which has an edge more.
    omega = max(float(np.sqrt(diagonal.mean())), _LEAST_OMEGA) if edges else 1.0
    single, several = np.zeros((m, m)), np.zeros((m, m))
    share, one, sets = omega * (1.0 - 1.0 / labels), 0.0, 0.0
    for square in gram / omega:
        several += square * (several + single)
        single += square
        sets, one = sets + share * (sets + one), one + share
    size = np.sqrt(np.prod(1.0 + diagonal / omega, axis=0))
    return CentredHalf(
        factors=factors,
        mean=mean.prod(axis=0),
        changes=changes,
        interactions=several,
        sets=sets,
        size=size,
    )


def bound_half(half: CentredHalf, other: CentredHalf, weights: Floats) -> Floats:
    """Lower bounds of w · (Π F) for each labelling of a half, whatever the other has (Lemma 13).

    The label of the last edge changes first. Rounding is allowed for.

    Example:
        >>> left = centre_half(np.array([[[1.0], [2.0]]]))
        >>> right = centre_half(np.array([[[3.0], [5.0]]]))
        >>> bound_half(left, right, np.ones(1)).round(9).tolist()
        [3.0, 6.0]
    """
    edges, labels, m = other.changes.shape
    weights = weights * other.mean
    constant_and_single = np.vstack([np.ones((1, m)), other.changes.reshape(-1, m)])
    terms = _sum_products(half.factors, weights * constant_and_single)
    single = terms[1:].reshape(edges, labels, terms.shape[1]).min(axis=1)
    lowest = terms[0] + single.sum(axis=0)
    largest = np.abs(weights) @ half.factors.max(axis=1).prod(axis=0)
    rounding = _bound_rounding(other, len(half.factors), largest)
    bounds: Floats = lowest - _bound_interactions(half, other, weights * half.mean) - rounding
    return bounds


def bound_rows(other: CentredHalf, weights: Floats) -> Floats:
    """Lower bounds of w · (Π F) over the labels of a half (Lemma 13), for each row of weights.

    Example:
        >>> bound_rows(centre_half(np.array([[[3.0], [5.0]]])), np.ones((1, 1))).round(9).tolist()
        [3.0]
    """
    edges, labels, m = other.changes.shape
    weights = weights * other.mean
    terms = weights @ np.vstack([np.ones((1, m)), other.changes.reshape(-1, m)]).T
    single = terms[:, 1:].reshape(len(weights), edges, labels).min(axis=2)
    square = np.einsum("ij,ij->i", weights @ other.interactions, weights)
    size = np.abs(weights)
    square += _count_roundings(other, 0) * (size @ other.size) ** 2
    bounds: Floats = terms[:, 0] + single.sum(axis=1)
    bounds -= np.sqrt(other.sets * np.maximum(square, 0.0))
    bounds -= _bound_rounding(other, 0, size.sum(axis=1))
    return bounds


def _bound_rounding(other: CentredHalf, edges: int, size: Floats) -> Floats:
    """More than what rounding changes in a constant and the terms of the other half's edges.

    Args:
        other: The other half.
        edges: How many edges the factors in each term are a product of, beside the other half's.
        size: Sum of the absolute values of the products.
    """
    open_, labels, m = other.changes.shape
    largest = np.abs(other.changes).max(axis=(1, 2), initial=0.0)
    roundings = 4 * (m + 4 * labels + 8 * (open_ + edges + 2))
    bounds: Floats = _ROUNDING * roundings * (1.0 + largest.sum()) * size
    return bounds


def _count_roundings(other: CentredHalf, edges: int) -> float:
    """The roundings in a squared norm ‖h‖_W, relative to products of ``size``."""
    open_, labels, m = other.changes.shape
    return float(_ROUNDING * (4 * m + 64 * labels**2 + 256) * (open_ + edges + 2) ** 2)


def multiply_out(factors: Floats) -> Floats:
    """The factors of all labellings of some edges, (L^e, m): the last label changes first."""
    product = np.ones((1, factors.shape[-1]))
    for edge in factors:
        product = (product[:, None] * edge).reshape(-1, factors.shape[-1])
    return product


def _sum_products(factors: Floats, columns: Floats) -> Floats:
    """Σ_j columns_cj Π_e F_e(l_e)_j for all c and all labellings: (columns, labellings).

    One product of matrices: columns times the first edges, and the other edges.
    """
    middle = len(factors) // 2
    first, second = multiply_out(factors[:middle]), multiply_out(factors[middle:])
    weighted = (columns[:, None] * first).reshape(-1, columns.shape[1])
    return (weighted @ second.T).reshape(len(columns), -1)


def _bound_interactions(half: CentredHalf, other: CentredHalf, weights: Floats) -> Floats:
    """√Ω ‖h‖_W or more, for each labelling of a half, with both halves' means in the weights.

    h is a constant and a term for each edge of this half, whose norm is exact, and terms of two
    or more edges, whose norm is at most the same lemma's for vectors in place of numbers.
    """
    edges, labels, m = half.changes.shape
    vectors = weights * np.vstack([np.ones((1, m)), half.changes.reshape(-1, m)])
    gram = vectors @ other.interactions @ vectors.T
    most = np.maximum(1.0, np.abs(half.changes).max(axis=(0, 1), initial=0.0))
    rounding = (np.abs(weights) * most) @ (other.size * half.size)
    rounding = _count_roundings(other, edges) * rounding**2
    square = np.full((labels,) * edges, gram[0, 0] + rounding)
    blocks = gram[1:, 1:].reshape(edges, labels, edges, labels)
    alone = 2 * gram[0, 1:].reshape(edges, labels) + np.einsum("elel->el", blocks)
    for e in range(edges):
        square += alone[e].reshape(_spread(edges, labels, e))
    for e, f in combinations(range(edges), 2):
        square += 2 * blocks[e, :, f].reshape(_spread(edges, labels, e, f))
    rest = weights @ (half.interactions * other.interactions) @ weights
    rest = np.sqrt(half.sets * (max(rest, 0.0) + rounding))
    norms: Floats = np.sqrt(other.sets) * (np.sqrt(np.maximum(square, 0.0)) + rest)
    return norms.ravel()


def _spread(edges: int, labels: int, *axes: int) -> list[int]:
    """The shape that lets a table over the labels of some edges broadcast to one over all edges."""
    return [labels if e in axes else 1 for e in range(edges)]
