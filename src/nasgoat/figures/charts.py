"""Charts as data: what is drawn on which axes, where its ticks are, and what is said about it.

Whoever has something to show describes it here once. :mod:`nasgoat.figures.panels` draws the
description with matplotlib, :mod:`nasgoat.report.chart_svg` as SVG in a page. A series is a number
from 0 (grey) to 8; each drawing gives it a colour of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nasgoat.figures.scales import Scale, spread_labels

MANY_POINTS = 150  # more points than this are drawn smaller and half transparent


@dataclass(frozen=True)
class Points:
    """Points at (x, y), each with a text that a pointer shows, and bars from low to high.

    In a page each may be a link, which the tab key reaches.

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
    links: Sequence[str] = ()


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
    """An axis: its name, whether it is logarithmic or whole-numbered, and what it must show.

    With ``names`` it is a list: 0, 1, ... from its start stand for these.
    """

    name: str
    log: bool = False
    integer: bool = False
    also: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    def list_ticks(self, scale: Scale) -> list[tuple[float, str]]:
        """Values to mark, each with its text."""
        if self.names:
            return [(float(i), name) for i, name in enumerate(self.names)]
        return scale.list_ticks(integer=self.integer)


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
        direct: Names stand at the right ends of lines instead of in a legend.

    Example:
        >>> chart = Chart("A line", "It rises.", Axis("x"), Axis("y"), [Line([0, 1], [2, 3])])
        >>> [(scale.low, scale.high) for scale in chart.make_scales()]
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
    direct: bool = False

    @property
    def named(self) -> list[Points | Line | Rule]:
        """The marks of the legend; none if it would have a single line."""
        found = [mark for mark in self.marks if not isinstance(mark, Band) and mark.name]
        found = [mark for mark in found if not (self.direct and isinstance(mark, Line))]
        return found if len(found) > 1 else []

    def place_names(self, up: Scale, step: float) -> list[tuple[Line, float, float]]:
        """The lines that are named directly: where each ends, and where its name stands.

        Both are shares of the height. Of lines that end together, the one that was there first is
        the lowest. No two names are closer than ``step``, as long as all fit.
        """
        lines = [m for m in self.marks if self.direct and isinstance(m, Line) and m.name and m.x]
        lines.sort(key=lambda line: (line.y[-1], [*line.y].index(line.y[-1])))
        ends = [up.place(line.y[-1]) for line in lines]
        return list(zip(lines, ends, spread_labels(ends, step), strict=True))

    def make_scales(self, bands: bool = True) -> tuple[Scale, Scale]:
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
            _make_scale(self.x, across, margin=0.02),
            _make_scale(self.y, up, margin=0.06),
        )


def _make_scale(axis: Axis, values: Sequence[float], margin: float) -> Scale:
    if axis.names:
        return Scale(-0.6, len(axis.names) - 0.4)
    return Scale.of(values, axis.log, axis.integer, margin)


@dataclass(frozen=True)
class Panels:
    """Rows of charts in one figure, and a line about all of them."""

    rows: Sequence[Sequence[Chart]]
    caption: str
