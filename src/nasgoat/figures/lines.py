"""The lines of a drawing: where they end and bend, their heads, and labels beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from nasgoat.graphs import Edge

Point = tuple[float, float]
Box = tuple[Point, Point]  # its middle, and half its width and height
_SHARES = (0.5, 0.35, 0.65, 0.42, 0.58, 0.27, 0.73, 0.2, 0.8)  # of an edge, where its label may be
#: How much wider than usual a drawing may be so that every label of its edges is seen.
STRETCHES = (1.0, 1.35, 1.7, 2.1)


def lay_parallel(start: Point, end: Point, lines: int, gap: float) -> list[tuple[Point, Point]]:
    """This many parallel lines around the one from start to end, each a gap from the next.

    Example:
        >>> lay_parallel((0.0, 0.0), (4.0, 0.0), 2, 1.0)
        [((0.0, -0.5), (4.0, -0.5)), ((0.0, 0.5), (4.0, 0.5))]
    """
    along, up = end[0] - start[0], end[1] - start[1]
    length = max(math.hypot(along, up), 1e-9)
    across = (-up / length, along / length)
    shifts = [gap * (i - (lines - 1) / 2) for i in range(lines)]
    moves = [(shift * across[0] + 0.0, shift * across[1]) for shift in shifts]
    return [((start[0] + x, start[1] + y), (end[0] + x, end[1] + y)) for x, y in moves]


def find_end_at_box(start: Point, end: Point, half_width: float, half_height: float) -> Point:
    """Where a straight line from start to end meets the border of the box around end.

    Example:
        >>> find_end_at_box((0.0, 0.0), (100.0, 0.0), 20.0, 5.0)
        (80.0, 0.0)
    """
    along, up = end[0] - start[0], end[1] - start[1]
    sides = ((half_width, abs(along)), (half_height, abs(up)))
    share = min((room / way for room, way in sides if way > room), default=0.0)
    return end[0] - share * along, end[1] - share * up


def bend(start: Point, end: Point) -> tuple[Point, Point]:
    """The control points of a cubic curve that leaves and arrives along the first direction."""
    reach = 0.45 * (end[0] - start[0])
    return (start[0] + reach, start[1]), (end[0] - reach, end[1])


def find_head(before: Point, tip: Point) -> tuple[Point, Point, Point]:
    """The corners of the head of an arrow that comes from one point and ends in another."""
    across, down = tip[0] - before[0], tip[1] - before[1]
    length = max(math.hypot(across, down), 1e-9)
    across, down = across / length, down / length
    x, y = tip[0] - 9 * across, tip[1] - 9 * down
    return tip, (x - 4.2 * down, y + 4.2 * across), (x + 4.2 * down, y - 4.2 * across)


def place_labels(
    lines: Mapping[Edge, list[Point]],
    sizes: Mapping[Edge, Point],
    taken: Iterable[Box],
    curved: bool,
) -> tuple[dict[Edge, Point], int]:
    """Where the labels of edges stand: in the middle of their lines, or beside it if that is taken.

    The second value counts the boxes that are hidden nevertheless: a drawing may then be made wider
    by the next of ``STRETCHES``.

    Args:
        lines: The points of each line.
        sizes: Half the width and height of each label.
        taken: Middles and half sizes of the boxes of nodes, which no label may hide.
        curved: Whether lines are curved from point to point, as :func:`bend` says.

    Example:
        >>> crossing = {(0, 1): [(0.0, 0.0), (4.0, 4.0)], (2, 3): [(0.0, 4.0), (4.0, 0.0)]}
        >>> places, hidden = place_labels(crossing, dict.fromkeys(crossing, (0.3, 0.3)), [], False)
        >>> places[2, 3], hidden
        ((1.4, 2.6), 0)
    """
    boxes, found, lost = list(taken), {}, 0
    for edge, size in sizes.items():
        places = [_walk(lines[edge], share, curved) for share in _SHARES]
        hidden = [sum(_overlap((place, size), box) for box in boxes) for place in places]
        found[edge] = places[hidden.index(min(hidden))]
        boxes.append((found[edge], size))
        lost += min(hidden)
    return found, lost


def _overlap(one: Box, two: Box) -> bool:
    (a, half_a), (b, half_b) = one, two
    return all(abs(a[i] - b[i]) < half_a[i] + half_b[i] for i in (0, 1))


def _walk(line: list[Point], share: float, curved: bool) -> Point:
    """The point at a share of the way along a line; each of its pieces counts the same."""
    piece = min(int(share * (len(line) - 1)), len(line) - 2)
    start, end, t = line[piece], line[piece + 1], share * (len(line) - 1) - piece
    if not curved:
        return start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    corners = (start, *bend(start, end), end)
    x, y = (sum(w * p[i] for w, p in zip(weights, corners, strict=True)) for i in (0, 1))
    return x, y
