"""Lines between nodes, as the paths of SVG."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from nasgoat.figures.layout import Point


def between_boxes(
    start: Point, end: Point, first: float, second: float, tall: float
) -> list[Point]:
    """The straight line from the border of one box to that of another.

    Args:
        start: Middle of the one.
        end: Middle of the other.
        first: Half the width of the one.
        second: Half the width of the other.
        tall: Half the height of both.

    Example:
        >>> between_boxes((0.0, 0.0), (100.0, 0.0), 10.0, 20.0, 5.0)
        [(10.0, 0.0), (80.0, 0.0)]
    """
    across, down = end[0] - start[0], end[1] - start[1]

    def reach(half: float) -> float:
        sides = [(half, abs(across)), (tall, abs(down))]
        return min((room / way for room, way in sides if way > 1e-9), default=0.0)

    shares = (reach(first), 1 - reach(second))
    return [(start[0] + t * across, start[1] + t * down) for t in shares]


def straight(points: list[Point]) -> str:
    """A path of straight pieces.

    Example:
        >>> straight([(0.0, 0.0), (5.0, 10.0)])
        'M0 0L5 10'
    """
    return "M" + "L".join(_shown(point) for point in points)


def smooth(points: list[Point], turned: Callable[[Point], Point]) -> str:
    """A path whose pieces leave and arrive along the first direction; then it is turned.

    Example:
        >>> smooth([(0.0, 0.0), (10.0, 20.0)], lambda point: point)
        'M0 0C4 0 6 20 10 20'
    """
    way = f"M{_shown(turned(points[0]))}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(y0 - y1) < 0.5:
            way += f"L{_shown(turned((x1, y1)))}"
            continue
        reach = 0.45 * (x1 - x0)
        bends = ((x0 + reach, y0), (x1 - reach, y1), (x1, y1))
        way += "C" + " ".join(_shown(turned(point)) for point in bends)
    return way


def arrow_head(before: Point, tip: Point) -> str:
    """The head of an arrow that comes from one point and ends in another.

    Example:
        >>> arrow_head((0.0, 0.0), (20.0, 0.0))
        'M20.0 0.0L11.0 4.2L11.0 -4.2z'
    """
    length = max(((tip[0] - before[0]) ** 2 + (tip[1] - before[1]) ** 2) ** 0.5, 1e-9)
    across, down = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
    back = (tip[0] - 9 * across, tip[1] - 9 * down)
    one = (back[0] - 4.2 * down, back[1] + 4.2 * across)
    two = (back[0] + 4.2 * down, back[1] - 4.2 * across)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (tip, one, two)) + "z"


def _shown(point: Point) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
