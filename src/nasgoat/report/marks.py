"""What is drawn in a chart: points, lines, bands and rules, as paths of SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nasgoat.report.markup import Html, element, join

Place = tuple[float, float]
#: Where a pair of values lies in the picture.
At = Callable[[float, float], Place]
_MANY = 150  # more points than this are drawn smaller and half transparent
_FLAT = 0.05  # a bend lower than this is not seen, and left out
#: Shapes around (0, 0), by name.
SHAPES = {
    "circle": "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
    "square": "M-3 -3h6v6h-6z",
    "diamond": "M0 -4.4L4.4 0L0 4.4L-4.4 0z",
    "triangle": "M0 -4L4 3.2H-4z",
    "down": "M0 4L4 -3.2H-4z",
    "ring": "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "dash": "M-4.5 0H4.5",
    "cross": "M-3.4 -3.4L3.4 3.4M-3.4 3.4L3.4 -3.4",
}


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
    """A level across the chart; the legend has its name."""

    y: float
    name: str = ""


Mark = Points | Line | Band | Rule


def drawn(mark: Mark, at: At, left: float, right: float) -> Html:
    """A mark's paths; a rule goes from the left end to the right one."""
    if isinstance(mark, Points):
        return _points(mark, at)
    if isinstance(mark, Line):
        way = _way([at(x, y) for x, y in zip(mark.x, mark.y, strict=True)], mark.steps)
        return path(_line_class(mark), way)
    if isinstance(mark, Band):
        there = [at(x, y) for x, y in zip(mark.x, mark.high, strict=True)]
        back = [at(x, y) for x, y in zip(mark.x, mark.low, strict=True)]
        closed = _corners(there, mark.steps) + _corners(back, mark.steps)[::-1]
        return path(f"band s{mark.series}", _way(closed, False) + "z")
    _, height = at(0, mark.y)
    return path("rule", f"M{left:.1f} {height:.1f}H{right:.1f}")


def _line_class(mark: Line) -> str:
    return f"line s{mark.series}" + " dashed" * mark.dashed + " bold" * mark.bold


def _points(mark: Points, at: At) -> Html:
    if mark.shape == "circle" and not mark.titles:
        return _dots(mark, at)
    parts = []
    for i, (x, y) in enumerate(zip(mark.x, mark.y, strict=True)):
        across, down = at(x, y)
        title = element("title", mark.titles[i]) if mark.titles else None
        if mark.bars:
            low, high = (at(x, end)[1] for end in mark.bars[i])
            parts.append(path("bar", f"M{across:.1f} {low:.1f}V{high:.1f}"))
        place = f"translate({across:.1f} {down:.1f})"
        parts.append(element("path", title, d=SHAPES[mark.shape], transform=place))
    return element("g", parts, class_=f"points {mark.shape} s{mark.series}")


def _dots(mark: Points, at: At) -> Html:
    """Many points without texts in two paths: a tenth of the bytes."""
    places = [at(x, y) for x, y in zip(mark.x, mark.y, strict=True)]
    bars = []
    for i, (low, high) in enumerate(mark.bars):
        (x, start), (_, end) = at(mark.x[i], low), at(mark.x[i], high)
        bars.append(f"M{x:.1f} {start:.1f}V{end:.1f}")
    many = " many" if len(places) > _MANY else ""
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places) or "M0 0"
    return join(
        path(f"bars s{mark.series}{many}", "".join(bars)) if bars else None,
        path(f"dots s{mark.series}{many}", dots),
    )


def _corners(points: list[Place], steps: bool) -> list[Place]:
    if not steps:
        return points
    found = points[:1]
    for (_, before), (x, y) in pairwise(points):
        found += [(x, before), (x, y)]
    return found


def _way(points: list[Place], steps: bool) -> str:
    corners = _corners(points, steps)
    bends = [
        b
        for a, b, c in zip(corners, corners[1:], corners[2:], strict=False)
        if not (abs(a[1] - b[1]) < _FLAT and abs(b[1] - c[1]) < _FLAT)
    ]
    places = [f"{x:.1f} {y:.1f}" for x, y in (*corners[:1], *bends, *corners[1:][-1:])]
    return "M" + "L".join(places) if places else "M0 0"


def path(class_: str, d: str) -> Html:
    """A path of a class."""
    return element("path", class_=class_, d=d)


def swatch(mark: Points | Line | Rule) -> Html:
    """A mark in small, for a legend."""
    if isinstance(mark, Points):
        drawn = element("path", d=SHAPES[mark.shape], transform="translate(9 7)")
        inside = element("g", drawn, class_=f"points {mark.shape} s{mark.series}")
    elif isinstance(mark, Rule):
        inside = path("rule", "M0 7H18")
    else:
        inside = path(_line_class(mark), "M0 7H18")
    return element("svg", inside, class_="swatch", viewBox="0 0 18 14", aria_hidden="true")
