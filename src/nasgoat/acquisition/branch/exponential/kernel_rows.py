"""Rows of kernel values and their linear bounds, where edges carry the labels (Lemma 7).

Notation (docs/branch-and-bound.md)
    k, κ     kernel vector and prior variance: products of a factor for each edge (``model``).
             A *row* holds both, κ after the m entries of k
    ψ        L⁻¹ k;  value a·k - √β S with S² = κ - ‖ψ‖²
    k₀, S₀   any kernel vector and any positive number: the *tangent*

S ≤ (S² + S₀²) / 2S₀ and ‖ψ - ψ₀‖² ≥ 0 give value ≥ g·k - √β (κ + κ₀) / 2S₀ with
g = a + √β K⁻¹ k₀ / S₀ and κ₀ = S₀² + ‖ψ₀‖². That is linear in a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.exponential.model import Model
from nasgoat.acquisition.branch.records import Floats, Integers


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
