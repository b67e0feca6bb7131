"""Charts as data: what is drawn on which axes, and what is said about it.

Whoever has something to show describes it here once. :mod:`nasgoat.figures.panels` draws the
description with matplotlib, :mod:`nasgoat.report.chart_svg` as SVG in a page. A series is a number
from 0 (grey) to 8; each drawing gives it a colour of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nasgoat.figures.scales import Scale

MANY_POINTS = 150  # more points than this are drawn smaller and half transparent


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
        across: list[float] = [*self.x.also]
        up: list[float] = [*self.y.also]
        for mark in self.marks:
            if isinstance(mark, Rule):
                up.append(mark.y)
                continue
            across += mark.x
            if isinstance(mark, Band):
                up += [*mark.low, *mark.high] if bands else []
            else:
                up += mark.y
            if isinstance(mark, Points):
                up += [end for bar in mark.bars for end in bar]
        return (
            Scale.of(across, self.x.log, self.x.integer, margin=0.02),
            Scale.of(up, self.y.log, self.y.integer, margin=0.06),
        )


@dataclass(frozen=True)
class Panels:
    """Rows of charts in one figure, and a line about all of them."""

    rows: Sequence[Sequence[Chart]]
    caption: str
