"""Graphs gathered in boxes of means and deviations, so that a function is bounded box by box.

Notation (docs/acquisition-functions.md, Lemma 7)
    h          a function of several parts that rises with each mean and falls with each deviation
    m_i, s_i   a lower bound on μ_i and an upper bound on σ_i of part i, at every graph
    box        graphs whose m and s are close to each other

h of the least m_i and the largest s_i of a box is a lower bound of h at each of its graphs. There
are a few thousand boxes, whatever the number of graphs; those that can't hold a better graph are
left out together, and of the others each graph has a bound of its own, h(m, s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.lower_confidence_bound import Array
from nasgoat.acquisition.several_objectives import SeveralAcquisition

Places = NDArray[np.intp]
_BOXES = 40_000  # at most; a box has a number of 16 bits, which are sorted quickly
_STEPS = 4  # of a deviation
_GATHERED, _HANDED = 4096, 256  # graphs that are bounded, and handed over, together at first


@dataclass(frozen=True, eq=False)
class Boxes:
    """What is known of all graphs, and of boxes of them.

    Args:
        mean: m, shape (parts, graphs).
        std: s, shape (parts, graphs).
        order: The graphs, box by box.
        first: Where in that order each box begins.
        least: The least m of each box, shape (parts, boxes).
        largest: The largest s of each box, shape (parts, boxes).

    Example:
        >>> mean, std = np.array([[0.0, 0.1, 5.0]]), np.array([[1.0, 1.5, 0.5]])
        >>> boxes = Boxes.of(mean, std)
        >>> bool((boxes.least.min() == 0.0) & (boxes.largest.max() == 1.5))
        True
    """

    mean: Array
    std: Array
    order: Places
    first: Places
    least: Array
    largest: Array

    @classmethod
    def of(cls, mean: Array, std: Array) -> Boxes:
        """Boxes of about the same width in every mean, and a few steps of every deviation."""
        number = _number_boxes(mean, std)
        order = np.argsort(number, kind="stable")
        first = np.flatnonzero(np.diff(number[order].astype(np.int32), prepend=-1))
        least = np.minimum.reduceat(mean[:, order], first, axis=1)
        largest = np.maximum.reduceat(std[:, order], first, axis=1)
        return cls(mean, std, order, first, least, largest)

    def walk(
        self, function: SeveralAcquisition, reach: Callable[[], float]
    ) -> Iterator[tuple[float, Places]]:
        """Yield graphs that may be below ``reach()``, roughly in the order of their bounds.

        Args:
            function: h.
            reach: The value below which graphs matter; it may fall meanwhile.

        Yields:
            A lower bound of h at these graphs and at all that come later, and their places.
        """
        lower = function.combine(self.least, self.largest)
        ranked = np.argsort(lower, kind="stable")
        sizes = np.diff(self.first, append=len(self.order))[ranked]
        ends, done, most = np.cumsum(sizes), 0, _GATHERED
        while done < len(ranked) and lower[ranked[done]] < reach():
            before = ends[done] - sizes[done]
            until = max(int(np.searchsorted(ends, before + most, side="right")), done + 1)
            for places in self._narrow(function, ranked[done:until], reach):
                yield float(lower[ranked[done]]), places
            done, most = until, 2 * most

    def _narrow(
        self, function: SeveralAcquisition, boxes: Places, reach: Callable[[], float]
    ) -> Iterator[Places]:
        """The graphs of some boxes that their own bounds leave, the lowest first."""
        ends = np.append(self.first, len(self.order))
        places = np.concatenate([self.order[ends[b] : ends[b + 1]] for b in boxes])
        bounds = function.combine(self.mean[:, places], self.std[:, places])
        ranked = np.argsort(bounds, kind="stable")
        start, most = 0, _HANDED
        while start < len(ranked) and bounds[ranked[start]] < reach():
            part = ranked[start : start + most]
            yield places[part[bounds[part] < reach()]]
            start, most = start + most, 2 * most


def _number_boxes(mean: Array, std: Array) -> NDArray[np.uint16]:
    """The number of the box that each graph is in."""
    parts, total = mean.shape
    each = int(_BOXES ** (1.0 / parts))
    number = np.zeros(total, dtype=np.uint16)
    for m, s in zip(mean, std, strict=True):
        steps = _STEPS if np.ptp(s) > 0 and each >= _STEPS**2 else 1
        width = each // steps
        inner = np.quantile(s, np.arange(1, steps) / steps)
        number = number * np.uint16(steps) + np.searchsorted(inner, s).astype(np.uint16)
        share = (m - m.min()) / max(float(np.ptp(m)), 1e-300)
        column = np.minimum(share * width, width - 1).astype(np.uint16)
        number = number * np.uint16(width) + column
    return number
