"""Charts as inline SVG.

Colours come from the page's style sheet (classes ``s1`` to ``s8``), so that a chart follows the
reader's light or dark theme; shapes differ too, so that no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from nasgoat.figures.charts import MANY_POINTS, Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.figures.lines import Point
from nasgoat.figures.scales import Scale
from nasgoat.figures.wording import cut
from nasgoat.report.markup import Html, element, join, legend, region

FULL_WIDTH = 992.0  # pixels of a page
_FLAT = 0.05  # a bend lower than this is not seen, and left out
_DIGIT = 7.4  # width of a character of a tick's text
_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 46.0
_LONGEST, _SHORT = 40, 20  # characters of a name, and of one beside a chart
_NAME = 14.0  # pixels from one name beside a chart to the next
#: Shapes around (0, 0), by name.
_SHAPES = {
    "circle": "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
    "square": "M-3 -3h6v6h-6z",
    "diamond": "M0 -4.4L4.4 0L0 4.4L-4.4 0z",
    "triangle": "M0 -4L4 3.2H-4z",
    "down": "M0 4L4 -3.2H-4z",
    "ring": "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "dash": "M-4.5 0H4.5",
    "cross": "M-3.4 -3.4L3.4 3.4M-3.4 3.4L3.4 -3.4",
}


def draw_grid(charts: Iterable[Chart], class_: str = "grid") -> Html:
    """Charts side by side, as many as there is room for; one alone in its row takes the width.

    Example:
        >>> chart = Chart("A line", "It rises.", Axis("x"), Axis("y"), [Rule(1.0)])
        >>> ['class="wide"' in draw_grid([chart] * count) for count in (1, 2, 3)]
        [True, False, True]
    """
    shown = list(charts)
    if class_ == "grid" or len(shown) == 1:
        shown = _widen_lone(shown)
    return element("div", map(draw_figure, shown), class_=class_)


def _widen_lone(charts: Sequence[Chart]) -> list[Chart]:
    """The charts of two columns, those without a neighbour in their row as wide as the page."""
    found: list[Chart] = []
    before = 0  # narrow charts in the row so far
    for chart, following in zip_longest(charts, charts[1:]):
        wide = chart.width >= FULL_WIDTH
        last = following is None or following.width >= FULL_WIDTH
        if not wide and not before and last:
            chart = replace(chart, width=FULL_WIDTH, height=max(chart.height, 320.0))
        found.append(chart)
        before = 0 if wide else (before + 1) % 2
    return found


def draw_figure(chart: Chart) -> Html:
    """A chart with its legend, heading and caption; a wide one scrolls where it has no room.

    Example:
        >>> chart = Chart("A line", "It rises.", Axis("x"), Axis("y"), [Rule(1.0)], "Rule.", "One.")
        >>> "<figcaption><b>Rule.</b> One.</figcaption>" in draw_figure(chart)
        True
    """
    picture, wide = draw_chart(chart), chart.width >= FULL_WIDTH
    if wide or chart.direct:
        picture = region("div", picture, name=chart.title, class_="pan")
    said = element("figcaption", element("b", cut(chart.heading, _LONGEST)), " ", chart.caption)
    return element("figure", picture, draw_legend(chart), said, class_="wide" if wide else None)


def draw_chart(chart: Chart) -> Html:
    """The picture of a chart.

    Example:
        >>> chart = Chart("A line", "It rises.", Axis("x"), Axis("y"), [Rule(1.0)])
        >>> draw_chart(chart).startswith('<svg class="chart" viewBox="0 0 480 300" role="img"')
        True
    """
    frame = _Frame.around(chart)
    return element(
        "svg",
        element("title", chart.title, id=f"{chart.identity}-title"),
        element("desc", chart.description, id=f"{chart.identity}-desc"),
        frame.draw_axes(chart.x, chart.y),
        [_draw_mark(mark, frame) for mark in chart.marks],
        _write_names(chart, frame),
        class_="chart direct" if chart.direct else "chart",
        viewBox=f"0 0 {chart.width:g} {chart.height:g}",
        # What is inside a picture is not announced: one with links is a group.
        role="group" if any(isinstance(m, Points) and m.links for m in chart.marks) else "img",
        aria_labelledby=f"{chart.identity}-title {chart.identity}-desc",
    )


def draw_legend(chart: Chart) -> Html | None:
    """The names of the series that have one, each beside its mark; None for fewer than two."""
    items = [(_draw_swatch(mark), cut(mark.name, _LONGEST)) for mark in chart.named]
    return legend(items) if items else None


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
        horizontal, vertical = chart.make_scales()
        texts = [cut(text, _SHORT) for _, text in chart.y.list_ticks(vertical)]
        left = (32 if chart.y.name else 16) + _DIGIT * max(map(len, texts), default=1)
        names = [cut(line.name, _SHORT) for line, *_ in chart.place_names(vertical, 0.0)]
        right = chart.width - max([_RIGHT, *(26 + _DIGIT * len(name) for name in names)])
        return cls(left, right, _TOP, chart.height - _BOTTOM, horizontal, vertical)

    def locate(self, x: float, y: float) -> Point:
        return (
            self.left + self.horizontal.place(x) * (self.right - self.left),
            self.bottom - self.vertical.place(y) * (self.bottom - self.top),
        )

    def locate_all(self, x: Sequence[float], y: Sequence[float]) -> list[Point]:
        return [self.locate(*pair) for pair in zip(x, y, strict=True)]

    def draw_axes(self, x: Axis, y: Axis) -> Html:
        parts: list[Html] = []
        for value, text in y.list_ticks(self.vertical):
            _, height = self.locate(0, value)
            parts.append(_draw_path("grid", f"M{self.left:.1f} {height:.1f}H{self.right:.1f}"))
            shown = cut(text, _SHORT)
            parts.append(element("text", shown, class_="tick end", x=self.left - 7, y=height + 4.5))
        for value, text in x.list_ticks(self.horizontal):
            place, _ = self.locate(value, self.vertical.low)
            parts.append(_draw_path("axis", f"M{place:.1f} {self.bottom:.1f}v5"))
            parts.append(element("text", text, class_="tick mid", x=place, y=self.bottom + 19))
        parts.append(_draw_path("axis", f"M{self.left:.1f} {self.bottom:.1f}H{self.right:.1f}"))
        across, up = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        turn = f"translate(13 {up:.1f}) rotate(-90)"
        parts.append(element("text", x.name, class_="name mid", x=across, y=self.bottom + 39))
        parts.append(element("text", y.name, class_="name mid", transform=turn))
        return join(*parts)


def _write_names(chart: Chart, frame: _Frame) -> list[Html]:
    """The names of lines at their right ends, each in the colour of its line."""
    height, parts = frame.bottom - frame.top, []
    for line, end, place in chart.place_names(frame.vertical, _NAME / height):
        start, at = frame.bottom - end * height, frame.bottom - place * height
        way = f"M{frame.right:.1f} {start:.1f}L{frame.right + 12:.1f} {at:.1f}"
        parts.append(_draw_path(f"leader s{line.series}", way))
        class_ = f"direct s{line.series}" + " bold" * line.bold
        name = cut(line.name, _SHORT)
        parts.append(element("text", name, class_=class_, x=frame.right + 15, y=at + 4))
    return parts


def _draw_mark(mark: Mark, frame: _Frame) -> Html:
    if isinstance(mark, Points):
        return _draw_points(mark, frame)
    if isinstance(mark, Line):
        return _draw_path(
            _choose_line_class(mark), _write_path(frame.locate_all(mark.x, mark.y), mark.steps)
        )
    if isinstance(mark, Band):
        there, back = frame.locate_all(mark.x, mark.high), frame.locate_all(mark.x, mark.low)
        closed = _list_corners(there, mark.steps) + _list_corners(back, mark.steps)[::-1]
        return _draw_path(f"band s{mark.series}", _write_path(closed, False) + "z")
    _, height = frame.locate(0, mark.y)
    return _draw_path("rule", f"M{frame.left:.1f} {height:.1f}H{frame.right:.1f}")


def _choose_line_class(mark: Line) -> str:
    return f"line s{mark.series}" + " dashed" * mark.dashed + " bold" * mark.bold


def _draw_points(mark: Points, frame: _Frame) -> Html:
    places = frame.locate_all(mark.x, mark.y)
    bars = []
    for x, (low, high) in zip(mark.x, mark.bars, strict=bool(mark.bars)):
        (across, start), (_, end) = frame.locate(x, low), frame.locate(x, high)
        bars.append(f"M{across:.1f} {start:.1f}V{end:.1f}")
    if mark.shape == "circle" and not mark.titles:
        return _draw_dots(mark, places, bars)
    parts = []
    for i, (x, y) in enumerate(places):
        parts += [_draw_path("bar", bars[i])] if bars else []
        title = element("title", mark.titles[i]) if mark.titles else None
        shape, place = _SHAPES[mark.shape], f"translate({x:.1f} {y:.1f})"
        drawn = element("path", None if mark.links else title, d=shape, transform=place)
        if mark.links:
            drawn = element("a", title, drawn, href=mark.links[i], aria_label=mark.titles[i])
        parts.append(drawn)
    return element("g", parts, class_=f"points {mark.shape} s{mark.series}")


def _draw_dots(mark: Points, places: list[Point], bars: list[str]) -> Html:
    """Many points without texts in two paths: a tenth of the bytes."""
    many = " many" if len(places) > MANY_POINTS else ""
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places) or "M0 0"
    return join(
        _draw_path(f"bars s{mark.series}{many}", "".join(bars)) if bars else None,
        _draw_path(f"dots s{mark.series}{many}", dots),
    )


def _list_corners(points: list[Point], steps: bool) -> list[Point]:
    if not steps:
        return points
    found = points[:1]
    for (_, before), (x, y) in pairwise(points):
        found += [(x, before), (x, y)]
    return found


def _write_path(points: list[Point], steps: bool) -> str:
    corners = _list_corners(points, steps)
    bends = [
        b
        for a, b, c in zip(corners, corners[1:], corners[2:], strict=False)
        if not (abs(a[1] - b[1]) < _FLAT and abs(b[1] - c[1]) < _FLAT)
    ]
    places = [f"{x:.1f} {y:.1f}" for x, y in (*corners[:1], *bends, *corners[1:][-1:])]
    return "M" + "L".join(places) if places else "M0 0"


def _draw_path(class_: str, d: str) -> Html:
    return element("path", class_=class_, d=d)


def _draw_swatch(mark: Points | Line | Rule) -> Html:
    """A mark in small, for a legend."""
    if isinstance(mark, Points):
        shape = element("path", d=_SHAPES[mark.shape], transform="translate(9 7)")
        return element("g", shape, class_=f"points {mark.shape} s{mark.series}")
    return _draw_path("rule" if isinstance(mark, Rule) else _choose_line_class(mark), "M0 7H18")
