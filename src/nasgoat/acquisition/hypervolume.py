"""Expected hypervolume improvement of two objectives, in closed form.

Notation (docs/acquisition-functions.md, "Expected hypervolume improvement")
    a_1 < ... < a_n, b_1 > ... > b_n   the front: values of the first and of the second objective
    r_1, r_2   the reference point: what is beyond it counts nothing;  a_{n+1} = r_1, b_0 = r_2
    I_j(c)     E[max(c - f_j, 0)] = σ_j (φ(z) + z Φ(z)), z = (c - μ_j) / σ_j;  I_1(a_0) = 0

Between a_i and a_{i+1} what no point of the front dominates reaches up to b_i. The volume that a
point dominates is an integral over such strips, and its expectation, objectives independent,

    Σ_{i=0..n} (I_1(a_{i+1}) - I_1(a_i)) I_2(b_i).

It is no function of lower confidence bounds v_j = μ_j - κ σ_j, but bounded by one
(:class:`HypervolumeBound`): where σ_j is between e and e', μ_j is at least v_j + κ e, so that the
expectation is at most that of v_j + κ e and e'. The largest of it over steps of both deviations is
never exceeded by any graph with these v_j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from nasgoat.acquisition.functions import LEAST_STD, log_improvement
from nasgoat.acquisition.lower_confidence_bound import (
    Array,
    LinearAcquisition,
    LowerConfidenceBound,
)
from nasgoat.acquisition.several_objectives import Part, SeveralAcquisition
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph

_KAPPA = 0.5  # of the bounds of both objectives: few graphs are looked at in vain with it
_STEPS = 6  # of each deviation
_POINTS = 32  # of a level line
_HALVINGS = 12  # for each of them; what is left of the interval is added
_ENDLESS = 1e9  # values of an objective beyond which no end of a level line is looked for
_PIECES, _PIECE_POINTS = 8, 8  # of a level line, where one sum leaves too many graphs
_SHARES = 20  # of sums of both objectives that are tried
_SURE = 1e-30  # of the whole scale: below it the sum is taken by logarithms, which don't underflow


def check_points(points: ArrayLike) -> Array:
    """Points as rows, of shape (N, m); refuses what is none.

    Raises:
        SettingError: If they are no rows of equal length, or not finite.
    """
    values = np.asarray(points, dtype=float)
    if values.ndim != 2 and values.size:
        raise SettingError(f"points must be rows of equal length, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise SettingError("points must be finite, got one that is not")
    return values if values.ndim == 2 else values.reshape(0, 1)


def find_nondominated(points: ArrayLike) -> list[int]:
    """The places of points that no other dominates (minimisation), of equal points the first.

    They come by the first objective, then the second, and so on.

    Example:
        >>> find_nondominated([[1.0, 5.0], [3.0, 1.0], [3.0, 2.0], [1.0, 5.0]])
        [0, 1]
    """
    values = check_points(points)
    # Whatever dominates a point comes before it in this order, or is equal to it.
    order = np.lexsort((np.arange(len(values)), *values.T[::-1]))
    if values.shape[1] == 2 and len(values):  # those lower in the second than all before
        second = values[order, 1]
        before = np.minimum.accumulate(np.concatenate([[np.inf], second[:-1]]))
        lowest: list[int] = order[second < before].tolist()
        return lowest
    kept: list[int] = []
    for i in order:
        if not kept or not (values[kept] <= values[i]).all(axis=1).any():
            kept.append(int(i))
    return kept


def find_front(points: Array) -> Array:
    """The points that no other dominates (minimisation), each once, by their first coordinate.

    Args:
        points: Shape (N, 2).

    Example:
        >>> find_front(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 1.0], [3.0, 2.0]])).tolist()
        [[1.0, 5.0], [3.0, 1.0]]
    """
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    return np.asarray(points[find_nondominated(points)])


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
    searches: ClassVar[int] = 6
    slow: ClassVar[bool] = True

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
    def forecast_searches(cls, kernel: str) -> int:
        """A few; ten times as many under a kernel where a sum of objectives has no bound.

        Few labellings are looked at in another way.
        """
        return cls.searches if kernel == "linear" else 10 * cls.searches

    def relax(self, find_widest: Callable[[LinearAcquisition], float]) -> SeveralAcquisition:
        """A function of lower confidence bounds that is never above this one."""
        parts, widest = list[Part](), list[float]()
        for part in self.parts:
            if isinstance(part, LinearAcquisition):
                parts = [*parts, LowerConfidenceBound(_KAPPA, part.gp)]
                widest = [*widest, find_widest(part)]
            else:  # a known cost: averages are refused before
                parts, widest = [*parts, part], [*widest, 0.0]
        return HypervolumeBound(parts, self, widest)

    @cached_property
    def _strips(self) -> tuple[Array, Array]:
        """Right ends a_{i+1} and heights b_i of the strips."""
        front = np.asarray(self.front)
        return np.append(front[:, 0], self.reference[0]), np.append(self.reference[1], front[:, 1])

    def join(self, values: Array) -> Array:
        """-log of the volume that a point at these values dominates."""
        return self.combine(values, np.zeros_like(values))

    def combine(self, mean: Array, std: Array) -> Array:
        """-log of the expected improvement, for means and deviations of shape (2, B).

        It rises with each mean and falls with each deviation (Lemma 5
        of docs/acquisition-functions.md).
        """
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
            # Of ends that are almost equal, rounding may order the improvements the wrong way.
            apart = np.minimum(first[:, :-1] - first[:, 1:], 0.0)
            first[:, 1:] += np.log1p(-np.exp(apart))
        second = np.log(std[1])[:, None] + log_improvement(_standardise(heights, mean[1], std[1]))
        return np.asarray(np.logaddexp.reduce(first + second, axis=1))

    def assume_predicted(self, graphs: Sequence[LabeledGraph]) -> Self:
        """A copy as if these graphs had come out as predicted, on the front as well."""
        if not graphs:
            return self
        points = np.column_stack([part.predict(graphs)[0] for part in self.parts])
        front = np.concatenate([np.asarray(self.front), points])
        return replace(super().assume_predicted(graphs), front=front)


@dataclass(frozen=True, eq=False)
class HypervolumeBound(SeveralAcquisition):
    """A function of lower confidence bounds that is never above -log of an improvement.

    Lemma 6 of docs/acquisition-functions.md proves it.

    Args:
        parts: Lower confidence bounds of the two objectives, or a known cost.
        function: What is bounded.
        widest: Upper bounds on the deviations of both.
        within: Values of the first objective that :meth:`cap_sum` is for: from, and below.
    """

    parts: Sequence[Part]
    function: HypervolumeImprovement
    widest: Sequence[float]
    within: tuple[float, float] = (-np.inf, np.inf)
    _lines: dict[tuple[float, ...], tuple[Array, Array]] = field(default_factory=dict, repr=False)

    @cached_property
    def _cells(self) -> tuple[Array, Array]:
        """For each pair of steps κ e and e' of both objectives, (2, pairs, 1) each."""
        lows, highs = [], []
        for part, widest in zip(self.parts, self.widest, strict=True):
            edges = np.linspace(0.0, widest, _STEPS + 1) if widest > 0 else np.zeros(2)
            kappa = part.sqrt_beta if isinstance(part, LinearAcquisition) else 0.0
            lows.append(kappa * edges[:-1])
            highs.append(edges[1:])
        pairs = [np.stack(np.meshgrid(*ends)).reshape(2, -1, 1) for ends in (lows, highs)]
        return pairs[0], pairs[1]

    def join(self, values: Array) -> Array:
        """The least of -log of the expectation over all pairs of steps."""
        if not np.isfinite(self.widest).all():
            return np.full(values.shape[1], -np.inf)
        least, std = self._cells
        mean = np.where(np.isfinite(values), values, 0.0)[:, None, :] + least
        wide = np.broadcast_to(std, mean.shape)
        found = self.function.combine(mean.reshape(2, -1), wide.reshape(2, -1))
        found = found.reshape(mean.shape[1:]).min(axis=0)
        return np.where(np.isfinite(values).all(axis=0), found, -np.inf)

    def list_sums(self, group: Sequence[int], spread: Array) -> Array:
        """Each objective alone and, where a sum can be minimised, weights on a grid."""
        alone = np.eye(2)[list(group)]
        if len(group) < 2:
            return alone
        shares = np.linspace(0.0, 1.0, _SHARES + 1)[1:-1]
        return np.vstack([alone, np.column_stack([shares, 1.0 - shares]) / spread])

    def split(self, value: float, floor: Array) -> Sequence[SeveralAcquisition]:
        """The same for pieces of the level line, each about as long as the others.

        A line that bends inwards is far from a straight one; pieces of it are not.
        """
        right, height = self._trace(value, floor)
        if len(right) == 0 or not np.isfinite(right).all():
            return (self,)
        steps = [np.abs(np.diff(ends)) / max(np.ptp(ends), 1e-12) for ends in (right, height)]
        way = np.cumsum(steps[0] + steps[1])
        inner = np.searchsorted(way, np.arange(1, _PIECES) / _PIECES * way[-1])
        cuts = [-np.inf, *np.unique(right[inner]).tolist(), np.inf]
        return [replace(self, within=ends, _lines={}) for ends in pairwise(cuts)]

    def cap_sum(self, weights: Array, value: float, floor: Array) -> float:
        """The largest of g_1 u_{k+1} + g_2 ψ(u_k) along the level line of a value.

        ψ(u) is what v_2 is below where v_1 ≥ u and the function is below the value. It falls with
        u, so that between u_k and u_{k+1} the sum is at most what stands above.
        """
        right, height = self._trace(value, floor)
        used = zip(weights, (right, height), strict=True)
        sums = sum((g * ends for g, ends in used if g > 0), np.zeros(len(right)))
        return float(sums.max(initial=-np.inf))

    def _trace(self, value: float, floor: Array) -> tuple[Array, Array]:
        """The u_{k+1} and ψ(u_k) of a level line, from what the values are at least."""
        key = (value, *floor.tolist())
        if key not in self._lines:
            self._lines[key] = self._find_line(value, np.array(floor, dtype=float))
        return self._lines[key]

    def _find_line(self, value: float, floor: Array) -> tuple[Array, Array]:
        if not np.isfinite(floor).all() or not np.isfinite(self.widest).all():
            return np.array([np.inf]), np.array([np.inf])
        floor[0] = max(floor[0], self.within[0])
        outside = floor[0] >= self.within[1]
        if outside or self.join(floor[:, None])[0] >= value:  # no graph is below the value
            return np.zeros(0), np.zeros(0)
        ends = [self._find_end(i, value, floor) for i in range(2)]
        ends[0] = min(ends[0], self.within[1])
        if max(ends) == np.inf:
            return np.array([np.inf]), np.array([np.inf])
        points = _POINTS if np.isinf(self.within).all() else _PIECE_POINTS
        u = np.linspace(floor[0], ends[0], points + 1)
        low, high = np.full(points, floor[1]), np.full(points, ends[1])
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self.join(np.stack([u[:-1], middle])) < value
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return u[1:], high

    def _find_end(self, i: int, value: float, floor: Array) -> float:
        """What objective i is below where the function is below a value."""
        point, low, step = floor.copy(), floor[i], 1.0
        while True:
            point[i] = floor[i] + step
            if self.join(point[:, None])[0] >= value:
                break
            if step > _ENDLESS:
                return np.inf
            low, step = point[i], 2.0 * step
        high = point[i]
        for _ in range(_HALVINGS):
            point[i] = (low + high) / 2
            below = self.join(point[:, None])[0] < value
            low, high = (point[i], high) if below else (low, point[i])
        return float(high)


def _standardise(levels: Array, mean: Array, std: Array) -> Array:
    return np.asarray((levels - mean[:, None]) / std[:, None])


def _improve(levels: Array, mean: Array, std: Array) -> Array:
    """E[max(c - f, 0)] for each graph and level c, shape (B, levels)."""
    z = _standardise(levels, mean, std)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return np.asarray(std[:, None] * (density + z * ndtr(z)))
