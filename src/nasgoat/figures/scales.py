"""Where things stand on an axis: values, ticks, and names beside the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nasgoat.figures.wording import format_fixed, format_short

_STEPS = (1, 2, 5, 10)
_EMPTY_DECADE = 0.5  # room below the smallest positive value, in decades, where zero is drawn
_NEGLIGIBLE = 1e-12  # times the largest value: rounding, not data
_TINY = 1e-290  # too small to be divided by
_CLOSE = 0.1  # ticks nearer to zero than this share of the axis would overlap it


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic axis from low to high; with ``zero``, low stands for zero and less.

    Example:
        >>> Scale(0.0, 10.0).place(2.5)
        0.25
        >>> Scale(0.1, 10.0, log=True).place(1.0)
        0.5
    """

    low: float
    high: float
    log: bool = False
    zero: bool = False

    @classmethod
    def of(
        cls, values: Iterable[float], log: bool = False, integer: bool = False, margin: float = 0.05
    ) -> Scale:
        """A scale that shows all of these values with a margin around them.

        Example:
            >>> Scale.of([1.0, 3.0], margin=0.0)
            Scale(low=1.0, high=3.0, log=False, zero=False)
            >>> Scale.of([0.0, 1.0, 100.0], log=True).zero
            True
        """
        known = [value for value in values if math.isfinite(value)]
        low, high = min(known, default=0.0), max(known, default=1.0)
        if log and known and high > _TINY:
            positive = [value for value in known if value > _NEGLIGIBLE * high]
            return cls._make_logarithmic(positive, len(positive) < len(known))
        largest, room = max(abs(low), abs(high)), margin * (high - low)
        if high - low <= max(_NEGLIGIBLE * largest, _TINY):
            room = 1.0 if integer else largest / 2 if largest > _TINY else 0.5
        return cls(low - room, high + room)

    @classmethod
    def _make_logarithmic(cls, positive: list[float], zero: bool) -> Scale:
        low, high = math.log10(min(positive)), math.log10(max(positive))
        room = max(0.06 * (high - low), 0.06)
        below = _EMPTY_DECADE * max(1.0, (high - low) / 2) if zero else room
        return cls(10 ** (low - below), 10 ** (high + room), log=True, zero=zero)

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the start, 1 at the end; never outside."""
        if self.log:
            share = math.log(max(value / self.low, 1.0), self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def list_ticks(self, most: int = 6, integer: bool = False) -> list[tuple[float, str]]:
        """Values to mark, each with its text.

        Example:
            >>> Scale(0.0, 10.0).list_ticks(6)
            [(0.0, '0'), (2.0, '2'), (4.0, '4'), (6.0, '6'), (8.0, '8'), (10.0, '10')]
            >>> [text for _, text in Scale(0.02, 30.0, log=True).list_ticks()]
            ['0.1', '1', '10']
        """
        if not self.log:
            return self._place_ticks(most, integer)
        values = self._multiply_decades((1,))
        values = values[:: -max(1, math.ceil(len(values) / most))][::-1]
        if len(values) < 3:
            values = self._multiply_decades((1, 2, 5))[-most:]
        found = [(value, format_short(value)) for value in values]
        if len(values) < 3:
            found = [tick for tick in self._place_ticks(most, integer) if tick[0] > 0]
        if not self.zero:
            return found
        return [(self.low, "0"), *(tick for tick in found if self.place(tick[0]) > _CLOSE)]

    def _place_ticks(self, most: int, integer: bool) -> list[tuple[float, str]]:
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(s * power for s in _STEPS if span / (s * power) <= most)
        if integer:
            step = max(step, 1.0)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [i * step for i in range(first, last + 1)]
        return [
            (x, format_short(x) if decimals > 4 or abs(x) >= 1e6 else format_fixed(x, decimals))
            for x in values
        ]

    def _multiply_decades(self, factors: tuple[int, ...]) -> list[float]:
        """The powers of ten on the axis, times each of these factors."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        values = [f * 10.0**power for power in range(first, last + 1) for f in factors]
        return [value for value in values if self.low <= value <= self.high]


def spread_labels(wanted: Sequence[float], step: float) -> list[float]:
    """Places between 0 and 1 near those wanted, which rise, so far apart that no texts touch.

    Example:
        >>> spread_labels([0.0, 0.0, 0.5], 0.1)
        [0.0, 0.1, 0.5]
        >>> spread_labels([1.0, 1.0], 0.25)
        [0.75, 1.0]
    """
    step = min(step, 1 / max(len(wanted) - 1, 1))
    found: list[float] = []
    for place in wanted:
        found.append(max(place, found[-1] + step) if found else place)
    highest = 1.0
    for i in range(len(found) - 1, -1, -1):
        found[i] = min(found[i], highest)
        highest = found[i] - step
    return found
