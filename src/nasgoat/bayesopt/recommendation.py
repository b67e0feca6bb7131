"""Which graph a search recommends: the lowest error, unless errors are noisy and say otherwise.

Where some graph was evaluated more than once, its errors tell how noisy they are, and the lowest of
all errors is above all a lucky one.

Notation
    m_i, ȳ_i   how often graph i was evaluated, and the mean of its errors
    s²         variance of an error about the mean of its graph, pooled over all repeated graphs

The graph of lowest ȳ_i + 2 s / √m_i is recommended: one that is known to be good rather than one
that may be. Its estimated error is ȳ_i, with standard error s / √m_i.

Graphs that may be better than it are worth another evaluation, the one of lowest ȳ_i - s / √m_i
first: one that came out well once, or is known to be good.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

CAUTION = 2.0  # standard errors: the mean lies below that in 98 of 100 cases

#: What is said of a graph that is recommended after a single evaluation where errors are noisy.
LUCK = "evaluated once: the lowest of many noisy errors is partly luck; a longer search repeats it"


@dataclass(frozen=True)
class Estimate:
    """What the evaluations of one graph say together.

    Args:
        place: The place of its first evaluation.
        error: The mean of its errors.
        uncertainty: Standard error of that mean; None if no graph was evaluated twice, so that
            nothing is known about the noise.
        times: How often it was evaluated.
    """

    place: int
    error: float
    uncertainty: float | None
    times: int

    def shift(self, by: float) -> float:
        """The error plus this many standard errors, which are 0 where nothing is known of them."""
        return self.error + by * (self.uncertainty or 0.0)


def estimate_errors(graphs: Sequence[Hashable], errors: Sequence[float]) -> list[Estimate]:
    """The estimated error of every graph, in the order of their first evaluations.

    Example:
        >>> for estimate in estimate_errors("abbbb", [5.0, 3.0, 4.0, 5.0, 4.0]):
        ...     print(estimate.error, round(estimate.uncertainty, 3), estimate.times)
        5.0 0.816 1
        4.0 0.408 4
    """
    places: dict[Hashable, list[int]] = {}
    for i, graph in enumerate(graphs):
        places.setdefault(graph, []).append(i)
    values = np.asarray(errors, dtype=float)
    free = len(values) - len(places)
    squares = sum(float(((values[own] - values[own].mean()) ** 2).sum()) for own in places.values())
    sd = np.sqrt(squares / free) if free else None
    return [
        Estimate(
            own[0],
            float(values[own].mean()),
            None if sd is None else float(sd / np.sqrt(len(own))),
            len(own),
        )
        for own in places.values()
    ]


def recommend(graphs: Sequence[Hashable], errors: Sequence[float]) -> Estimate:
    """The graph to take: of lowest mean error plus two standard errors, the first of equals.

    Example:
        >>> recommend("abc", [5.0, 3.0, 3.0])
        Estimate(place=1, error=3.0, uncertainty=None, times=1)
        >>> recommend("abbb", [2.9, 2.4, 3.6, 3.0]).place  # 2.9 was one evaluation, 3.0 are three
        1
    """
    return min(estimate_errors(graphs, errors), key=lambda estimate: estimate.shift(CAUTION))


def list_contenders(graphs: Sequence[Hashable], errors: Sequence[float]) -> list[Estimate]:
    """The graphs that may be the best, by lowest mean error less one standard error.

    Those are left out for which that is above the mean plus two standard errors of the recommended
    one: without noise, all but the best.

    Example:
        >>> errors = [2.9, 2.4, 3.6, 3.0, 9.0]
        >>> [contender.place for contender in list_contenders("abbbc", errors)]
        [0, 1]
        >>> [contender.place for contender in list_contenders("abc", [5.0, 3.0, 4.0])]
        [1]
    """
    found = estimate_errors(graphs, errors)
    highest = min(estimate.shift(CAUTION) for estimate in found)
    contenders = [estimate for estimate in found if estimate.shift(-1.0) <= highest]
    return sorted(contenders, key=lambda estimate: estimate.shift(-1.0))
