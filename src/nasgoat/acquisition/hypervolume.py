"""Expected hypervolume improvement of two objectives, in closed form.

Notation (docs/acquisition-functions.md, "Expected hypervolume improvement")
    a_1 < ... < a_n, b_1 > ... > b_n   the front: values of the first and of the second objective
    r_1, r_2   the reference point: what is beyond it counts nothing;  a_{n+1} = r_1, b_0 = r_2
    I_j(c)     E[max(c - f_j, 0)] = σ_j (φ(z) + z Φ(z)), z = (c - μ_j) / σ_j;  I_1(a_0) = 0

Between a_i and a_{i+1} what no point of the front dominates reaches up to b_i. The volume that a
point dominates is an integral over such strips, and its expectation, objectives independent,

    Σ_{i=0..n} (I_1(a_{i+1}) - I_1(a_i)) I_2(b_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import ndtr

from nasgoat.acquisition.functions import LEAST_STD, log_improvement
from nasgoat.acquisition.lower_confidence_bound import Array
from nasgoat.acquisition.several import Part, SeveralAcquisition
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph

_SURE = 1e-30  # of the whole scale: below it the sum is taken by logarithms, which don't underflow


def find_front(points: Array) -> Array:
    """The points that no other dominates (minimisation), each once, by their first coordinate.

    Args:
        points: Shape (N, 2).

    Example:
        >>> find_front(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 1.0], [3.0, 2.0]])).tolist()
        [[1.0, 5.0], [3.0, 1.0]]
    """
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    lowest = np.minimum.accumulate(np.concatenate([[np.inf], ordered[:-1, 1]]))[: len(ordered)]
    return np.asarray(ordered[ordered[:, 1] < lowest])


@dataclass(frozen=True, eq=False)
class HypervolumeImprovement(SeveralAcquisition):
    """-log of the expected hypervolume improvement of two objectives over a front.

    It rises with the mean of each objective and falls with its deviation, so that bounds on both
    bound it. The logarithm does not underflow where a graph is surely dominated.

    Args:
        parts: The two objectives; what counts of them is the posterior, √β is not used.
        front: Values of the two objectives to improve on, shape (N, 2), on the scales of their
            targets; those that others dominate, or beyond the reference, change nothing.
        reference: The values beyond which nothing counts.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> ehvi = HypervolumeImprovement(parts, front=[[0.0, 0.0]], reference=[1.0, 1.0])
        >>> surely = ehvi.combine(np.array([[-1.0], [0.5]]), np.zeros((2, 1)))
        >>> np.exp(-surely).round(6).tolist()  # of [-1, 1] x [0.5, 1] what [0, 1] x [0, 1] is not
        [0.5]
    """

    parts: Sequence[Part]
    front: Array | Sequence[Sequence[float]]
    reference: Sequence[float]

    def __post_init__(self) -> None:
        self._check_parts()
        reference = tuple(float(number) for number in self.reference)
        if len(self.parts) != 2 or len(reference) != 2 or not np.isfinite(reference).all():
            raise SettingError(
                "expected hypervolume improvement must have two parts and a reference of two "
                f"finite numbers, got {len(self.parts)} parts and {reference!r}"
            )
        front = np.asarray(self.front, dtype=float).reshape(-1, 2)
        if not np.isfinite(front).all():
            raise SettingError(f"the front must be of finite numbers, got {front.tolist()!r}")
        inside = find_front(front[(front < np.array(reference)).all(axis=1)])
        object.__setattr__(self, "reference", reference)
        object.__setattr__(self, "front", inside)

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """Its minimum is that of no lower confidence bound of the parts."""
        return "expected hypervolume improvement is no function of lower confidence bounds"

    @cached_property
    def _strips(self) -> tuple[Array, Array]:
        """Right ends a_{i+1} and heights b_i of the strips."""
        front = np.asarray(self.front)
        return np.append(front[:, 0], self.reference[0]), np.append(self.reference[1], front[:, 1])

    def join(self, values: Array) -> Array:
        """-log of the volume that a point at these values dominates."""
        return self.combine(values, np.zeros_like(values))

    def combine(self, mean: Array, std: Array) -> Array:
        """-log of the expected improvement, for means and deviations of shape (2, B)."""
        wide = np.maximum(std, LEAST_STD)
        ends, heights = self._strips
        first = _improve(ends, mean[0], wide[0])
        first[:, 1:] -= first[:, :-1].copy()
        volume = np.einsum("ij,ij->i", first, _improve(heights, mean[1], wide[1]))
        sure = volume > _SURE * np.ptp(ends) * np.ptp(heights) + _SURE
        found = np.empty(len(volume))
        found[sure] = -np.log(volume[sure])
        if not sure.all():
            rest = ~sure
            found[rest] = -self._log_volume(mean[:, rest], wide[:, rest])
        return found

    def _log_volume(self, mean: Array, std: Array) -> Array:
        """The logarithm of the sum, from logarithms of its terms."""
        ends, heights = self._strips
        first = np.log(std[0])[:, None] + log_improvement(_standardise(ends, mean[0], std[0]))
        with np.errstate(divide="ignore"):
            first[:, 1:] += np.log1p(-np.exp(first[:, :-1] - first[:, 1:]))
        second = np.log(std[1])[:, None] + log_improvement(_standardise(heights, mean[1], std[1]))
        return np.asarray(np.logaddexp.reduce(first + second, axis=1))

    def believing(self, graphs: Sequence[LabeledGraph]) -> Self:
        """The same function as if these graphs had come out as predicted, on the front as well."""
        if not graphs:
            return self
        points = np.column_stack([part.predict(graphs)[0] for part in self.parts])
        front = np.concatenate([np.asarray(self.front), points])
        return replace(super().believing(graphs), front=front)


def _standardise(levels: Array, mean: Array, std: Array) -> Array:
    return np.asarray((levels - mean[:, None]) / std[:, None])


def _improve(levels: Array, mean: Array, std: Array) -> Array:
    """E[max(c - f, 0)] for each graph and level c, shape (B, levels)."""
    z = _standardise(levels, mean, std)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return np.asarray(std[:, None] * (density + z * ndtr(z)))
