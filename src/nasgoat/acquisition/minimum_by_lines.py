"""The exact minimum of an acquisition function that is not linear in μ and σ, by ones that are.

Notation (docs/acquisition-functions.md)
    a(μ, σ)   the acquisition function: rises with μ, falls with σ, quasi-concave
    κ         a slope, √β of a lower confidence bound; infinite for the largest σ
    L(κ)      a lower bound on μ - κ σ of all graphs that are not excluded and not found yet

Each graph is a point (σ, μ) of the plane. A lower confidence bound that is minimised for a slope κ
gives graphs, and a line below which no other graph lies: μ ≥ L(κ) + κ σ. So all other graphs lie in
the polygon above all lines, and a quasi-concave function has its minimum over a polygon at a corner
(Theorem 1 of the page). If the corners are worth no less than the k-th best graph, that is proven
optimal; if not, the next slope is that of the level line of a through the best corner.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from nasgoat.acquisition.functions import LargestDeviation
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    LinearAcquisition,
    LowerConfidenceBound,
)
from nasgoat.acquisition.part_sums import ROUNDING, Solve
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.errors import SettingError
from nasgoat.spaces import SearchSpace

Corner = tuple[float, float, float]  # σ, μ and the value a there

_FIRST_SHARE = 0.25  # of the time, for each of the two lines at the ends
_GROWTH = 1.5  # of the number of graphs that a search finds, from the fifth search on
_PATIENCE = 4
_STEP = 1e-5  # of differences that stand for derivatives, in units of σ
_NONE_LEFT = -1.0


@dataclass
class _Plane:
    """What the searches so far have shown: the best graphs, and lines that no other lies below."""

    best: KBest
    lines: dict[float, float] = field(default_factory=dict)  # slope κ, L(κ)
    found: set[bytes] = field(default_factory=set)  # keys

    @property
    def largest(self) -> float:
        """An upper bound on σ of the graphs that were not found; negative if there are none."""
        return -self.lines[np.inf]

    def search(self, kappa: float, count: int, solve: Solve, deadline: float | None) -> None:
        """Minimise μ - κ σ over what was not found yet, keep the graphs, and draw the line."""
        gp = self.best.acquisition.gp
        linear: LinearAcquisition = LargestDeviation(gp)
        if np.isfinite(kappa):
            linear = LowerConfidenceBound(kappa, gp)
        pool = solve(linear, count, {*self.best.exclude, *self.found}, deadline)
        graphs = [proposal.graph for proposal in pool]
        self.best.add(graphs)
        self.found.update(self.best.space.key(graph) for graph in graphs)
        certificate = pool[len(pool) - 1].certificate if len(pool) else pool.certificate
        bound = -np.inf if certificate.bound is None else certificate.bound
        if certificate.status in {Status.OPTIMAL, Status.EXHAUSTED} and len(pool) < count:
            self.lines[np.inf] = -_NONE_LEFT  # there is no other graph
        else:
            self.lines[kappa] = max(bound, self.lines.get(kappa, -np.inf))

    def trace(self, solve: Solve, start: float, seconds: float | None) -> float:
        """Search until nothing better is left, or the time is up; a bound on what is left."""
        count, searches, end = self.best.k, 2, seconds and start + seconds
        for turn, kappa in enumerate((0.0, np.inf), start=1):
            self.search(kappa, count, solve, seconds and start + turn * _FIRST_SHARE * seconds)
        corner = self.find_best_corner()
        while corner[2] < _allow_rounding(self.best.cutoff):
            if seconds is not None and time.perf_counter() > start + seconds:
                break
            count = count if searches < _PATIENCE else int(_GROWTH * count) + 1
            self.search(self.choose_slope(corner), count, solve, end)
            corner, searches = self.find_best_corner(), searches + 1
        return corner[2]

    def find_best_corner(self) -> Corner:
        """The corner of the polygon where the acquisition function is lowest (Theorem 1)."""
        if self.largest < 0.0:
            return 0.0, np.inf, np.inf
        slopes = np.array(sorted(kappa for kappa in self.lines if np.isfinite(kappa)))
        heights = np.array([self.lines[kappa] for kappa in slopes.tolist()])
        i, j = np.triu_indices(len(slopes), 1)
        with np.errstate(invalid="ignore"):
            cuts = (heights[i] - heights[j]) / (slopes[j] - slopes[i])
        inside = cuts[(cuts > 0.0) & (cuts < self.largest)]
        std = np.concatenate([[0.0], inside, [self.largest]])
        mean = (heights[:, None] + slopes[:, None] * std).max(axis=0)
        values = self.best.acquisition.combine(mean, std)
        lowest = int(np.argmin(values))
        return float(std[lowest]), float(mean[lowest]), float(values[lowest])

    def choose_slope(self, corner: Corner) -> float:
        """The slope of the level line through a corner: -(∂a/∂σ) / (∂a/∂μ), by differences."""
        std, mean, _ = corner
        step = _STEP * max(std, 1e-3 * self.largest, 1e-9)
        low, high = max(std - step, 0.0), std + step
        means = np.array([mean, mean, mean - step, mean + step])
        values = self.best.acquisition.combine(means, np.array([low, high, std, std]))
        fall, rise = (values[0] - values[1]) / (high - low), (values[3] - values[2]) / (2 * step)
        slope = fall / rise if rise > 0.0 else np.nan
        return (
            float(slope)
            if 0.0 <= slope < np.inf
            else 1.0 + max(kappa for kappa in self.lines if np.isfinite(kappa))
        )


def trace_frontier(
    acquisition: Acquisition,
    space: SearchSpace,
    solve: Solve,
    k: int,
    exclude: Collection[bytes],
    seconds: float | None = None,
    gap: float = 0.0,
) -> Pool:
    """The k best graphs under an acquisition function with a frontier.

    Args:
        acquisition: What is minimised.
        space: The space.
        solve: Minimises lower confidence bounds exactly, or says how far it may be off.
        k: How many graphs.
        exclude: Keys of graphs that must not be proposed.
        seconds: Time for all searches.
        gap: Relative gap that counts as optimal.

    Raises:
        SettingError: If nothing is known of the acquisition function but its values.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import Catalogue, ExpectedImprovement, random_problem
        >>> catalogue, lcb = Catalogue(nasbench201()), random_problem(nasbench201(), 10).acquisition
        >>> def solve(linear, k, exclude, deadline):
        ...     return catalogue.optimize(linear, k, exclude)
        >>> ei = ExpectedImprovement(lcb.gp)
        >>> traced = trace_frontier(ei, nasbench201(), solve, 3, ())
        >>> [p.graph for p in traced] == [p.graph for p in catalogue.optimize(ei, 3)]
        True
    """
    if not acquisition.has_frontier:
        raise SettingError(
            "the acquisition must rise with the mean, fall with the deviation and say so "
            f"(has_frontier) for bounds, got {type(acquisition).__name__}; use the catalogue"
        )
    start = time.perf_counter()
    plane = _Plane(KBest(space, acquisition, k, exclude, gap))
    left = plane.trace(solve, start, seconds)
    return _certify(plane.best, left, time.perf_counter() - start)


def _allow_rounding(value: float) -> float:
    return value - ROUNDING * (1.0 + abs(value)) if np.isfinite(value) else value


def _certify(best: KBest, left: float, seconds: float) -> Pool:
    """Proposals, given a bound on the value of everything that was not found."""
    proven = left >= _allow_rounding(best.cutoff)

    def certify(value: float) -> Certificate:
        bound = value if left >= _allow_rounding(value) else left
        status = Status.OPTIMAL if proven else Status.FEASIBLE
        return Certificate(status, value, bound if np.isfinite(bound) else None, seconds)

    status = Status.EXHAUSTED if left == np.inf else Status.FEASIBLE
    return best.pool(certify, Certificate(status, None, None, seconds))
