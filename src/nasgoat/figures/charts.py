"""Charts as data: what is drawn on which axes, where its ticks are, and what is said about it.

Whoever has something to show describes it here once. :mod:`nasgoat.figures.panels` draws the
description with matplotlib, :mod:`nasgoat.report.chart_svg` as SVG in a page. A series is a number
from 0 (grey) to 8; each drawing gives it a colour of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nasgoat.figures.wording import format_fixed, format_short

MANY_POINTS = 150  # more points than this are drawn smaller and half transparent
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
            return cls._logarithmic(positive, len(positive) < len(known))
        largest, room = max(abs(low), abs(high)), margin * (high - low)
        if high - low <= max(_NEGLIGIBLE * largest, _TINY):
            room = 1.0 if integer else largest / 2 if largest > _TINY else 0.5
        return cls(low - room, high + room)

    @classmethod
    def _logarithmic(cls, positive: list[float], zero: bool) -> Scale:
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

    def ticks(self, most: int = 6, integer: bool = False) -> list[tuple[float, str]]:
        """Values to mark, each with its text.

        Example:
            >>> Scale(0.0, 10.0).ticks(6)
            [(0.0, '0'), (2.0, '2'), (4.0, '4'), (6.0, '6'), (8.0, '8'), (10.0, '10')]
            >>> [text for _, text in Scale(0.02, 30.0, log=True).ticks()]
            ['0.1', '1', '10']
        """
        if not self.log:
            return self._linear_ticks(most, integer)
        values = self._multiply_decades((1,))
        values = values[:: -max(1, math.ceil(len(values) / most))][::-1]
        if len(values) < 3:
            values = self._multiply_decades((1, 2, 5))[-most:]
        found = [(value, format_short(value)) for value in values]
        if len(values) < 3:
            found = [tick for tick in self._linear_ticks(most, integer) if tick[0] > 0]
        if not self.zero:
            return found
        return [(self.low, "0"), *(tick for tick in found if self.place(tick[0]) > _CLOSE)]

    def _linear_ticks(self, most: int, integer: bool) -> list[tuple[float, str]]:
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


@dataclass(frozen=True)
class Points:
    """Points at (x, y), each with a text that a pointer shows, and bars from low to high.

    The shape is ``circle``, ``ring`` (a hollow circle), ``square``, ``diamond``, ``triangle``,
    ``down`` (a triangle on its tip), ``dash`` or ``cross``.
    """

    x: Sequence[float]
    y: Sequence[float]
    series: int = 1
    shape: str = "circle"
    titles: Sequence[str] = ()
    bars: Sequence[tuple[float, float]] = ()
    name: str = ""


@dataclass(frozen=True)
class Line:
    """A line through (x, y); with steps it keeps its height until the next x."""

    x: Sequence[float]
    y: Sequence[float]
    series: int = 1
    steps: bool = False
    dashed: bool = False
    name: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    series: int = 1
    steps: bool = False


@dataclass(frozen=True)
class Rule:
    """A level across the chart."""

    y: float
    name: str = ""


Mark = Points | Line | Band | Rule


@dataclass(frozen=True)
class Axis:
    """An axis: its name, whether it is logarithmic or whole-numbered, and what it must show."""

    name: str
    log: bool = False
    integer: bool = False
    also: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A chart.

    Args:
        title: What it shows, for those who can't see it.
        description: What it says, in a sentence or two.
        x: The horizontal axis.
        y: The vertical axis.
        marks: What is drawn, first to last; nothing if there is nothing to show.
        heading: A few words above or below it.
        caption: Sentences that follow the heading; where there are no marks, the reason.
        note: A few words that are shown where there is no room for the caption.
        identity: A name, unique on its page.
        width: Of the picture, in pixels of a page.
        height: Of the picture, in pixels of a page.

    Example:
        >>> chart = Chart("A line", "It rises.", Axis("x"), Axis("y"), [Line([0, 1], [2, 3])])
        >>> [(scale.low, scale.high) for scale in chart.scales()]
        [(-0.02, 1.02), (1.94, 3.06)]
    """

    title: str
    description: str
    x: Axis
    y: Axis
    marks: Sequence[Mark] = ()
    heading: str = ""
    caption: str = ""
    note: str = ""
    identity: str = ""
    width: float = 480.0
    height: float = 300.0

    @property
    def named(self) -> list[Points | Line | Rule]:
        """The marks of the legend; none if it would have a single line."""
        found = [mark for mark in self.marks if not isinstance(mark, Band) and mark.name]
        return found if len(found) > 1 else []

    def scales(self, bands: bool = True) -> tuple[Scale, Scale]:
        """The scales of both axes, on which every mark is seen; bands only if asked for."""
        across, up = [*self.x.also], [*self.y.also]
        for mark in self.marks:
            across += () if isinstance(mark, Rule) else mark.x
            match mark:
                case Rule(y=level):
                    up.append(level)
                case Band():
                    up += [*mark.low, *mark.high] if bands else ()
                case Points():
                    up += [*mark.y, *(end for bar in mark.bars for end in bar)]
                case Line():
                    up += mark.y
        return (
            Scale.of(across, self.x.log, self.x.integer, margin=0.02),
            Scale.of(up, self.y.log, self.y.integer, margin=0.06),
        )


@dataclass(frozen=True)
class Panels:
    """Rows of charts in one figure, and a line about all of them."""

    rows: Sequence[Sequence[Chart]]
    caption: str
