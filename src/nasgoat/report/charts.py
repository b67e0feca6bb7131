"""Charts as inline SVG: points, lines, bands and rules on two axes.

Colours come from the page's style sheet (classes ``s1`` to ``s8``), so that a chart follows the
reader's light or dark theme; shapes differ too, so that no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nasgoat.report.markup import Html, element, join
from nasgoat.report.scales import Scale

SERIES = 8  # colours in the style sheet
_DIGIT = 7.4  # width of a character of a tick's text
_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 46.0
#: Shapes around (0, 0), by name.
SHAPES = {
    "circle": "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
    "square": "M-3 -3h6v6h-6z",
    "diamond": "M0 -4.4L4.4 0L0 4.4L-4.4 0z",
    "triangle": "M0 -4L4 3.2H-4z",
    "down": "M0 4L4 -3.2H-4z",
    "dash": "M-4.5 0H4.5",
    "cross": "M-3.4 -3.4L3.4 3.4M-3.4 3.4L3.4 -3.4",
}


@dataclass(frozen=True)
class Axis:
    """An axis: its name, whether it is logarithmic or whole-numbered, and what it must show."""

    name: str
    log: bool = False
    integer: bool = False
    also: tuple[float, ...] = ()


@dataclass(frozen=True)
class Points:
    """Marks at (x, y), each with a text that a pointer shows, and bars from low to high."""

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
    """A level across the chart; the legend has its name."""

    y: float
    name: str = ""


Mark = Points | Line | Band | Rule


@dataclass(frozen=True)
class Chart:
    """What a chart shows.

    Args:
        identity: A name, unique on its page.
        title: What it shows, for those who can't see it.
        description: What it says, in a sentence or two.
        x: The horizontal axis.
        y: The vertical axis.
        marks: What is drawn, first to last.
        width: Of the picture; text is 13 high.
        height: Of the picture.

    Example:
        >>> chart = Chart("demo", "A line", "It rises.", Axis("x"), Axis("y"),
        ...               [Line([0, 1], [0, 1])])
        >>> chart.svg().startswith('<svg class="chart" viewBox="0 0 480 300" role="img"')
        True
    """

    identity: str
    title: str
    description: str
    x: Axis
    y: Axis
    marks: Sequence[Mark] = field(default_factory=tuple)
    width: float = 480.0
    height: float = 300.0

    def svg(self) -> Html:
        """The picture."""
        frame = _Frame.around(self)
        return element(
            "svg",
            element("title", self.title, id=f"{self.identity}-title"),
            element("desc", self.description, id=f"{self.identity}-desc"),
            frame.axes(self.x, self.y),
            [_drawn(mark, frame) for mark in self.marks],
            class_="chart",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            role="img",
            aria_labelledby=f"{self.identity}-title {self.identity}-desc",
        )

    def legend(self) -> Html | None:
        """The names of the series that have one, each beside its mark; None for fewer than two."""
        named = [m for m in self.marks if not isinstance(m, Band) and m.name]
        if len(named) < 2:
            return None
        items = [element("li", _swatch(mark), mark.name) for mark in named]
        return element("ul", items, class_="legend")


@dataclass(frozen=True)
class _Frame:
    """The rectangle of the data inside a chart, and its scales."""

    left: float
    right: float
    top: float
    bottom: float
    horizontal: Scale
    vertical: Scale

    @classmethod
    def around(cls, chart: Chart) -> _Frame:
        horizontal, vertical = _extent(chart, chart.x, "x"), _extent(chart, chart.y, "y")
        texts = [text for _, text in vertical.ticks(integer=chart.y.integer)]
        left = 32 + _DIGIT * max(map(len, texts), default=1)
        return cls(left, chart.width - _RIGHT, _TOP, chart.height - _BOTTOM, horizontal, vertical)

    def at(self, x: float, y: float) -> tuple[float, float]:
        return (
            self.left + self.horizontal.place(x) * (self.right - self.left),
            self.bottom - self.vertical.place(y) * (self.bottom - self.top),
        )

    def axes(self, x: Axis, y: Axis) -> Html:
        parts: list[Html] = []
        for value, text in self.vertical.ticks(integer=y.integer):
            _, height = self.at(0, value)
            parts.append(_path("grid", f"M{self.left:.1f} {height:.1f}H{self.right:.1f}"))
            parts.append(element("text", text, class_="tick end", x=self.left - 7, y=height + 4.5))
        for value, text in self.horizontal.ticks(integer=x.integer):
            place, _ = self.at(value, self.vertical.low)
            parts.append(_path("axis", f"M{place:.1f} {self.bottom:.1f}v5"))
            parts.append(element("text", text, class_="tick mid", x=place, y=self.bottom + 19))
        parts.append(_path("axis", f"M{self.left:.1f} {self.bottom:.1f}H{self.right:.1f}"))
        middle = (self.top + self.bottom) / 2
        parts.append(
            element(
                "text",
                x.name,
                class_="name mid",
                x=(self.left + self.right) / 2,
                y=self.bottom + 39,
            )
        )
        turn = f"translate(13 {middle:.1f}) rotate(-90)"
        parts.append(element("text", y.name, class_="name mid", transform=turn))
        return join(*parts)


def figure(chart: Chart, caption: Html | str, wide: bool = False) -> Html:
    """A chart with its legend and caption; a wide one scrolls where there is no room for it."""
    inside = element("figcaption", caption)
    picture = chart.svg()
    if wide:
        picture = element(
            "div", picture, class_="pan", role="region", tabindex=0, aria_label=chart.title
        )
    return element("figure", picture, chart.legend(), inside, class_="wide" if wide else None)


def _extent(chart: Chart, axis: Axis, which: str) -> Scale:
    values: list[float] = list(axis.also)
    for mark in chart.marks:
        if isinstance(mark, Rule):
            values += [mark.y] if which == "y" else []
        elif isinstance(mark, Band):
            values += mark.x if which == "x" else [*mark.low, *mark.high]
        else:
            values += mark.x if which == "x" else mark.y
        if isinstance(mark, Points) and which == "y":
            values += [end for bar in mark.bars for end in bar]
    return Scale.of(values, axis.log, axis.integer, margin=0.02 if which == "x" else 0.06)


def _drawn(mark: Mark, frame: _Frame) -> Html:
    if isinstance(mark, Points):
        return _points(mark, frame)
    if isinstance(mark, Line):
        dashed = " dashed" if mark.dashed else ""
        way = _way([frame.at(x, y) for x, y in zip(mark.x, mark.y, strict=True)], mark.steps)
        return _path(f"line s{mark.series}{dashed}", way)
    if isinstance(mark, Band):
        there = [frame.at(x, y) for x, y in zip(mark.x, mark.high, strict=True)]
        back = [frame.at(x, y) for x, y in zip(mark.x, mark.low, strict=True)]
        closed = _corners(there, mark.steps) + _corners(back, mark.steps)[::-1]
        return _path(f"band s{mark.series}", _way(closed, False) + "z")
    _, height = frame.at(0, mark.y)
    return _path("rule", f"M{frame.left:.1f} {height:.1f}H{frame.right:.1f}")


def _points(mark: Points, frame: _Frame) -> Html:
    parts = []
    for i, (x, y) in enumerate(zip(mark.x, mark.y, strict=True)):
        across, down = frame.at(x, y)
        title = element("title", mark.titles[i]) if mark.titles else None
        if mark.bars:
            low, high = (frame.at(x, end)[1] for end in mark.bars[i])
            parts.append(_path("bar", f"M{across:.1f} {low:.1f}V{high:.1f}"))
        place = f"translate({across:.1f} {down:.1f})"
        parts.append(element("path", title, d=SHAPES[mark.shape], transform=place))
    return element("g", parts, class_=f"points {mark.shape} s{mark.series}")


def _corners(points: list[tuple[float, float]], steps: bool) -> list[tuple[float, float]]:
    if not steps:
        return points
    found = points[:1]
    for (_, before), (x, y) in pairwise(points):
        found += [(x, before), (x, y)]
    return found


def _way(points: list[tuple[float, float]], steps: bool) -> str:
    places = [f"{x:.1f} {y:.1f}" for x, y in _corners(points, steps)]
    return "M" + "L".join(places) if places else "M0 0"


def _path(class_: str, d: str) -> Html:
    return element("path", class_=class_, d=d)


def _swatch(mark: Points | Line | Rule) -> Html:
    if isinstance(mark, Points):
        drawn = element("path", d=SHAPES[mark.shape], transform="translate(9 7)")
        inside = element("g", drawn, class_=f"points {mark.shape} s{mark.series}")
    elif isinstance(mark, Rule):
        inside = _path("rule", "M0 7H18")
    else:
        inside = _path(f"line s{mark.series}{' dashed' if mark.dashed else ''}", "M0 7H18")
    return element("svg", inside, class_="swatch", viewBox="0 0 18 14", aria_hidden="true")
