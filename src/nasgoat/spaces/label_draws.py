"""Random labels of one structure under limits whose costs differ by place, and small changes.

Notation
    V, k  places and labels;  K  rows of limits: the costs of all labels add up to at most the cap
    λ     prices of the rows, from 0 up

Labels are drawn place by place with probabilities proportional to exp(-λ · cost), with the prices
that make the limits hold on average: those of largest entropy. A draw within the limits is kept
with probability exp(-λ · (cap - total)), which is at most 1, so that every labelling within the
limits is equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_DRAWN = 64  # labellings at a time
_ROUNDS = 8  # before a search gives up
_HIGHEST = 1e4  # price in units of the spread of a row: limits that bind even more leave nothing


@dataclass(frozen=True, eq=False)
class PricedLabels:
    """Draws and changes the labels of one structure.

    Args:
        cost: What each label costs at each place, shape (K, V, k).
        cap: What each row may add up to, shape (K,).

    Example:
        >>> labels = PricedLabels(np.array([[[0.0, 1.0]] * 3]), np.array([1.0]))
        >>> drawn = labels.draw(np.random.default_rng(0))
        >>> int(drawn.sum()) <= 1
        True
    """

    cost: Array
    cap: Array

    @cached_property
    def prices(self) -> Array:
        """The λ at which totals meet the caps on average, and 0 where a cap does not bind.

        They minimise Σ_v log Σ_l exp(-λ · cost) + λ · cap, which is convex.
        """
        spread = np.maximum(np.ptp(self.cost, axis=2).max(axis=1, initial=0.0), 1e-12)
        cost, cap = self.cost / spread[:, None, None], self.cap / spread

        def measure(prices: Array) -> tuple[float, Array]:
            logits = -np.tensordot(prices, cost, 1)
            total = logsumexp(logits, axis=1, keepdims=True)
            expected = np.tensordot(cost, np.exp(logits - total), 2)
            return float(total.sum() + prices @ cap), cap - expected

        begin, bounds = np.zeros(len(cap)), [(0.0, _HIGHEST)] * len(cap)
        best = minimize(measure, begin, jac=True, bounds=bounds, method="L-BFGS-B")
        found: Array = best.x / spread
        return found

    @cached_property
    def _steps(self) -> Array:
        """Cumulated probabilities of the labels at each place."""
        logits = -np.tensordot(self.prices, self.cost, 1)
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        steps: Array = np.cumsum(chances, axis=1) / chances.sum(axis=1, keepdims=True)
        return steps

    def add_up(self, codes: Codes) -> Array:
        """What each row adds up to for rows of labels, shape (K, rows)."""
        found: Array = self.cost[:, np.arange(codes.shape[1]), codes].sum(axis=2)
        return found

    def draw(self, rng: np.random.Generator) -> Codes | None:
        """A labelling within the limits, each as likely as any other; None if none was found."""
        for _ in range(_ROUNDS):
            chance = rng.random((_DRAWN, self.cost.shape[1], 1))
            codes: Codes = (chance > self._steps).sum(axis=2).clip(max=self.cost.shape[2] - 1)
            left = self.cap[:, None] - self.add_up(codes)
            inside = (left >= 0.0).all(axis=0)
            kept = inside & (rng.random(_DRAWN) <= np.exp(-self.prices @ np.maximum(left, 0.0)))
            if kept.any():
                found: Codes = codes[int(np.argmax(kept))]
                return found
        return None

    def change(self, codes: Codes, rng: np.random.Generator) -> Codes | None:
        """Another label at one place, each that the limits allow as likely; None if none is."""
        places = np.arange(len(codes))
        own = self.cost[:, places, codes]
        total = own.sum(axis=1)[:, None, None] + self.cost - own[:, :, None]
        fits = (total <= self.cap[:, None, None]).all(axis=0)
        fits[places, codes] = False
        where = np.flatnonzero(fits)
        if not len(where):
            return None
        place, label = divmod(int(rng.choice(where)), fits.shape[1])
        changed = codes.copy()
        changed[place] = label
        return changed


def draw_in_turn(labels: PricedLabels, rng: np.random.Generator) -> Codes | None:
    """Labels place by place in random order, each leaving enough of every limit for others.

    Not all are equally likely, but where few are within the limits one is found; None if not.
    """
    cost, least = labels.cost, labels.cost.min(axis=2)
    left = labels.cap - least.sum(axis=1)
    codes = np.zeros(cost.shape[1], dtype=np.intp)
    for place in rng.permutation(len(codes)).tolist():
        extra = cost[:, place] - least[:, place, None]
        fits = np.flatnonzero((extra <= left[:, None]).all(axis=0))
        if not len(fits):
            return None
        codes[place] = rng.choice(fits)
        left = left - extra[:, codes[place]]
    return codes
