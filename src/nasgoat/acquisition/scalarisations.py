"""Several objectives as one: the augmented weighted maximum, and one under limits on the others.

Notation (docs/acquisition-functions.md, "Several objectives")
    v_i   value of part i;  λ, r  weights and reference point;  ρ the augmentation;  c_j limits
    g_i   weight of part i in a sum that bounds the function from below (``bound_sum``)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

import numpy as np

from nasgoat.acquisition.lower_confidence_bound import Array
from nasgoat.acquisition.several_objectives import KnownCost, Part, SeveralAcquisition
from nasgoat.errors import SettingError
from nasgoat.spaces.limits import TOLERANCE, Limit

#: Prices of a limit that are tried, in units of the spreads of the two parts.
_PRICES = (0.0, *np.geomspace(1e-3, 1e3, 48).tolist())
_STEPS = {1: 1, 2: 40, 3: 12}  # of the grid on which shares are tried, by the number of parts


@dataclass(frozen=True, eq=False)
class Chebyshev(SeveralAcquisition):
    """max_i λ_i (v_i - r_i) + ρ Σ_i λ_i (v_i - r_i): one point of the front for each weighting.

    The sum, a small share of the maximum, prefers among graphs with the same maximum one that no
    other dominates.

    Args:
        parts: What each objective contributes.
        weights: λ, from 0 up, one for each part.
        reference: r, the value of each part that counts as 0, for example the best that is known.
        augmentation: ρ.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> both = Chebyshev(parts, weights=[0.5, 1.0], reference=[0.0, 1.0], augmentation=0.1)
        >>> both.join(np.array([[2.0], [4.0]])).round(3).tolist()  # max(1, 3) + 0.1 (1 + 3)
        [3.4]
    """

    parts: Sequence[Part]
    weights: Sequence[float]
    reference: Sequence[float]
    augmentation: float = 0.05

    def __post_init__(self) -> None:
        self._check_parts()
        for name in ("weights", "reference"):
            numbers = tuple(float(number) for number in getattr(self, name))
            if len(numbers) != len(self.parts) or not np.isfinite(numbers).all():
                raise SettingError(
                    f"{name} must be {len(self.parts)} finite numbers, one for each part, got "
                    f"{numbers!r}"
                )
            object.__setattr__(self, name, numbers)
        if min(self.weights) < 0 or max(self.weights) == 0:
            raise SettingError(f"weights must be from 0 up, not all 0, got {self.weights!r}")
        if not 0 <= self.augmentation < np.inf:
            raise SettingError(f"augmentation must be from 0 up, got {self.augmentation!r}")

    def list_sums(self, group: Sequence[int], spread: Array) -> Array:
        """Weights g_i = λ_i (ω_i + ρ) with ω on a grid of the simplex: any bounds the maximum."""
        active = [i for i in group if self.weights[i] > 0]
        shares = list_shares(len(active))
        found = np.zeros((len(shares), len(self.parts)))
        found[:, active] = np.array(self.weights)[active] * (shares + self.augmentation)
        return found

    def cap_sum(self, weights: Array, value: float, floor: Array) -> float:
        """With g_i = s λ_i (ω_i + ρ) on the parts A of the sum, Σ ω_i = 1: what Σ g_i v_i is below.

        Let y_i = λ_i (v_i - r_i). Where h < t, every y_i is below t - ρ Σ_j y_j, so that
        Σ_A (ω_i + ρ) y_i < t - ρ Σ_{j not in A} y_j, and y_j is at least λ_j (L_j - r_j)
        (docs/acquisition-functions.md, Lemma 4).
        """
        lam, reference = np.array(self.weights), np.array(self.reference)
        inside = weights > 0
        if (lam[inside] == 0).any():
            return np.inf
        rest = self.augmentation * (lam * (floor - reference))[~inside & (lam > 0)].sum()
        relative = weights[inside] / lam[inside]
        s = relative.sum() / (1.0 + self.augmentation * len(relative))
        return float(s * (value - rest) + weights @ reference)

    def join(self, values: Array) -> Array:
        """max_i λ_i (v_i - r_i) + ρ Σ_i λ_i (v_i - r_i)."""
        weights, reference = np.array(self.weights), np.array(self.reference)
        scaled = weights[:, None] * (values - reference[:, None])
        return np.asarray(scaled.max(axis=0) + self.augmentation * scaled.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Constrained(SeveralAcquisition):
    """v_0 where v_j ≤ c_j for every other part, infinite elsewhere.

    With lower bounds as values this is optimistic: a graph is left out only where even the lower
    bound of a limited objective is above its limit. With a known cost it is a hard limit.

    Args:
        parts: What is minimised, and then what each limit is on.
        limits: c_j, one for each part but the first.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> Constrained(parts, limits=[0.5]).join(np.array([[2.0, 1.0], [0.5, 0.6]])).tolist()
        [2.0, inf]
    """

    parts: Sequence[Part]
    limits: Sequence[float]

    def __post_init__(self) -> None:
        self._check_parts()
        limits = tuple(float(limit) for limit in self.limits)
        if len(limits) != len(self.parts) - 1 or not all(limit > -np.inf for limit in limits):
            raise SettingError(
                f"limits must be {len(self.parts) - 1} numbers, one for each part but the first, "
                f"got {limits!r}"
            )
        object.__setattr__(self, "limits", limits)

    @property
    def allowed(self) -> Array:
        """What the limited parts may be worth: c_j and a little, for rounding."""
        limits = np.array(self.limits)
        slack = TOLERANCE * np.maximum(1.0, np.abs(limits))
        return np.where(np.isfinite(limits), limits + slack, limits)

    @property
    def known_limits(self) -> dict[int, Limit]:
        """Limits on known costs, by the place of the part: linear limits of a space."""
        found = {}
        for i, (part, limit) in enumerate(zip(self.parts[1:], self.limits, strict=True), start=1):
            if isinstance(part, KnownCost) and limit < np.inf:
                found[i] = replace(part.total, sense="<=", bound=limit + part.total.bound)
        return found

    @property
    def excess(self) -> SeveralAcquisition | None:
        """How far the modelled parts are beyond their limits; None if there are no such limits."""
        pairs = zip(self.parts[1:], self.allowed.tolist(), strict=True)
        modelled = [(p, c) for p, c in pairs if not isinstance(p, KnownCost) and c < np.inf]
        if not modelled:
            return None
        parts, limits = zip(*modelled, strict=True)
        return Chebyshev(parts, [1.0] * len(parts), limits, augmentation=0.0)

    def list_sums(self, group: Sequence[int], spread: Array) -> Array:
        """Weights (1, π): a price for each limit, in units of the spreads; and limits alone."""
        limited = [i for i in group if i > 0 and self.limits[i - 1] < np.inf]
        found = [np.eye(len(self.parts))[i] for i in limited]
        if 0 in group:
            prices = _PRICES if len(limited) == 1 else _PRICES[::4]
            for chosen in product(prices, repeat=len(limited)):
                weights = np.eye(len(self.parts))[0]
                weights[limited] = np.array(chosen) * spread[0] / spread[limited]
                found.append(weights)
        return np.array(found).reshape(-1, len(self.parts))

    def cap_sum(self, weights: Array, value: float, floor: Array) -> float:
        """Where v_0 < t and v_j ≤ c_j, Σ g_i v_i is below g_0 t + Σ_j g_j c_j.

        This is Lemma 4 of docs/acquisition-functions.md.
        """
        inside = np.flatnonzero(weights)
        caps = np.append(value, self.allowed)
        return float(weights[inside] @ caps[inside])

    def join(self, values: Array) -> Array:
        """The first value v_0 where all others are within their limits, infinity elsewhere."""
        within = (values[1:] <= self.allowed[:, None]).all(axis=0)
        return np.where(within, values[0], np.inf)


def list_shares(parts: int) -> Array:
    """Shares from 0 to 1 that add up to 1, on a grid.

    Example:
        >>> list_shares(2).shape, list_shares(3).shape, list_shares(1).tolist()
        ((41, 2), (91, 3), [[1.0]])
    """
    steps = _STEPS.get(parts, 5)
    if parts <= 1:
        return np.ones((parts, parts))
    cuts = np.array(list(combinations_with_replacement(range(steps + 1), parts - 1)))
    ends = np.zeros((len(cuts), 1))
    return np.asarray(np.diff(np.hstack([ends, cuts, ends + steps]), axis=1) / steps)
