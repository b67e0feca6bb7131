"""The acquisition functions of a batch that covers a front: for every place of it another.

Notation
    z_i    value i on the scale of its target
    λ      weights of the values: the next of a sequence for every place
    c_j    limit j on the scale of its target
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import (
    Chebyshev,
    Constrained,
    HypervolumeImprovement,
    LinearAcquisition,
    SeveralAcquisition,
)
from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.acquisition.several_objectives import Part

Array = NDArray[np.float64]
_PRIMES = (2, 3)
_BEYOND = 0.1  # of the observed range: how far the reference point lies beyond the front
_WEIGHED = (1, 3)  # of five proposals those that minimise a weighted maximum instead


@dataclass(frozen=True, eq=False)
class Limited(SeveralAcquisition):
    """An acquisition function of several values where further parts keep their limits.

    Elsewhere it is infinite. With lower bounds as parts this is optimistic: a graph is left out
    only where even the lower bound of a limited value is above its limit.

    Args:
        parts: Those of the function, then those that the limits are on.
        function: What is minimised.
        limits: c_j, one for each further part.
    """

    parts: Sequence[Part]
    function: SeveralAcquisition
    limits: Sequence[float]

    def join(self, values: Array) -> Array:
        """The function, or infinity."""
        count = len(self.function.parts)
        within = (values[count:] <= np.array(self.limits)[:, None]).all(axis=0)
        return np.where(within, self.function.join(values[:count]), np.inf)

    def relax(self, find_widest: Callable[[LinearAcquisition], float]) -> SeveralAcquisition:
        """The limits on a relaxation of the function, which depends on values of parts alone."""
        relaxed = self.function.relax(find_widest)
        limited = self.parts[len(self.function.parts) :]
        return Limited([*relaxed.parts, *limited], relaxed, self.limits)

    def combine(self, mean: Array, std: Array) -> Array:
        """The function of means and deviations, or infinity."""
        count = len(self.function.parts)
        rows = zip(self.parts[count:], mean[count:], std[count:], strict=True)
        bounds = np.stack([part.combine(m, s) for part, m, s in rows])
        within = (bounds <= np.array(self.limits)[:, None]).all(axis=0)
        return np.where(within, self.function.combine(mean[:count], std[:count]), np.inf)


def make_front_function(
    name: str, parts: list[Part], place: int, observed: Array
) -> SeveralAcquisition:
    """A function that a point of the front minimises, for every place another.

    Args:
        name: The acquisition function of the settings.
        parts: One for each value.
        place: How many graphs the search proposed before.
        observed: The values seen so far on their scales, shape (evaluations, values).
    """
    # Both in turn: docs/decisions/0094-several-objectives-in-turn.md has the figures.
    if name == "hypervolume" and place % 5 not in _WEIGHED:
        return HypervolumeImprovement(parts, observed, _choose_reference(observed))
    if name in ("hypervolume", "chebyshev"):
        return weigh(parts, place, observed)
    # The lowest bound of one value where others are within some share of the front's range.
    front, first = observed[find_nondominated(observed)], place % len(parts)
    others = [i for i in range(len(parts)) if i != first]
    share = [_reverse_digits(place + 1, base) for base in _PRIMES[: len(others)]]
    bounds = front.min(axis=0)[others] + np.array(share) * np.ptp(front, axis=0)[others]
    return Constrained([parts[i] for i in (first, *others)], bounds.tolist())


def weigh(parts: list[Part], place: int, observed: Array) -> SeveralAcquisition:
    """The weighted maximum of the values, each scaled to the range of those observed."""
    low, spread = observed.min(axis=0), np.ptp(observed, axis=0)
    weights = spread_weights(place, len(parts)) / np.where(spread > 0, spread, 1.0)
    return Chebyshev(parts, weights.tolist(), low.tolist())


def _choose_reference(observed: Array) -> list[float]:
    """The values beyond which nothing counts, a little further out than the front."""
    front = observed[find_nondominated(observed)].max(axis=0)
    spread = np.ptp(observed, axis=0)
    found: list[float] = (front + _BEYOND * np.where(spread > 0, spread, 1.0)).tolist()
    return found


def spread_weights(place: int, count: int) -> Array:
    """Weights that add up to 1: the next of a sequence that fills the simplex evenly.

    Radical inverses (van der Corput, Halton) cut the unit interval; the weights are the pieces.

    Example:
        >>> [spread_weights(place, 2).round(3).tolist() for place in range(3)]
        [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]]
    """
    cuts = sorted(_reverse_digits(place + 1, base) for base in _PRIMES[: count - 1])
    return np.diff([0.0, *cuts, 1.0])


def _reverse_digits(number: int, base: int) -> float:
    """The radical inverse: the digits of a number behind the point, in reverse order."""
    found, share = 0.0, 1.0
    while number:
        number, digit = divmod(number, base)
        share /= base
        found += digit * share
    return found
