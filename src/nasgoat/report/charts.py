"""Charts as inline SVG: points, lines, bands and rules on two axes.

Colours come from the page's style sheet (classes ``s1`` to ``s8``), so that a chart follows the
reader's light or dark theme; shapes differ too, so that no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nasgoat.report.marks import Band, Mark, Points, Rule, drawn, path, swatch
from nasgoat.report.markup import Html, element, join
from nasgoat.report.scales import Scale

_DIGIT = 7.4  # width of a character of a tick's text
_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 46.0


@dataclass(frozen=True)
class Axis:
    """An axis: its name, whether it is logarithmic or whole-numbered, and what it must show."""

    name: str
    log: bool = False
    integer: bool = False
    also: tuple[float, ...] = ()


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
        ...               [Rule(1.0)])
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
            [drawn(mark, frame.at, frame.left, frame.right) for mark in self.marks],
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
        items = [element("li", swatch(mark), mark.name) for mark in named]
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
            parts.append(path("grid", f"M{self.left:.1f} {height:.1f}H{self.right:.1f}"))
            parts.append(element("text", text, class_="tick end", x=self.left - 7, y=height + 4.5))
        for value, text in self.horizontal.ticks(integer=x.integer):
            place, _ = self.at(value, self.vertical.low)
            parts.append(path("axis", f"M{place:.1f} {self.bottom:.1f}v5"))
            parts.append(element("text", text, class_="tick mid", x=place, y=self.bottom + 19))
        parts.append(path("axis", f"M{self.left:.1f} {self.bottom:.1f}H{self.right:.1f}"))
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
