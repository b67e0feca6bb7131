"""Where the nodes, edges and labels of a cell stand in its picture, and their SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from nasgoat.figures.layout import Layout, Point
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.report.markup import Html, cut, element

_LABEL, _SMALL_LABEL = 16, 10  # characters of a label in a large and in a small picture
_CHARACTER = 7.6  # width of one of them, 13 high
_ROW = 62.0  # between two rows
_BOX = 30.0  # height of a node


@dataclass(frozen=True)
class CellPicture:
    """A graph's picture in directions of its own: ``along`` the edges and ``across`` them.

    A large picture runs from left to right. A small one of labelled nodes runs from top to bottom:
    so its labels stay large enough to be read.
    """

    graph: LabeledGraph
    layout: Layout
    classes: dict[str, str]
    large: bool

    @cached_property
    def _in_layers(self) -> bool:
        return self.layout.style == "layers"

    @cached_property
    def _upright(self) -> bool:
        return not self.large and self._in_layers and self.graph.node_labels is not None

    @cached_property
    def _steps(self) -> Point:
        """Between two layers, and between two nodes of a layer: room for the longest label."""
        graph = self.graph
        widest = 2 * max(self._half(v) for v in range(graph.n))
        if self._upright:
            return 54.0, widest + 12
        if self.large and graph.edge_labels:
            longest = max(len(cut(x, _LABEL)) for x in graph.edge_labels.values())
            # A label on an edge from row to row needs room above and below.
            row = _ROW + 24 if self.layout.style == "folded" else _ROW
            return widest + _CHARACTER * longest + 76, row
        return widest + (30 if graph.node_labels is None else 44), _ROW

    @cached_property
    def _corner(self) -> Point:
        """Where the picture begins, in its own directions."""
        points = [self._raw(point) for line in self._lines for point in line]
        return min(a for a, _ in points) - self._reach[0], min(b for _, b in points) - self._reach[
            1
        ]

    @property
    def size(self) -> Point:
        """Width and height."""
        points = [self._at(point) for line in self._lines for point in line]
        along, across = (max(values) for values in zip(*points, strict=True))
        return self._turned((along + self._reach[0], across + self._reach[1]))

    @property
    def _lines(self) -> list[list[Point]]:
        return [*self.layout.edges.values(), list(self.layout.nodes.values())]

    @cached_property
    def _reach(self) -> Point:
        """From the middle of a node to the border of the picture."""
        half = max(self._half(v) for v in range(self.graph.n)) + 5
        if self.large and self.graph.edge_labels and not self._in_layers:
            # On a circle and between rows, an edge's label may lie above or below a node.
            half = max(half, *(_half_label(x) + 2 for x in self.graph.edge_labels.values()))
        return (_BOX / 2 + 5, half) if self._upright else (half, _BOX / 2 + 5)

    def _raw(self, point: Point) -> Point:
        along, across = self._steps
        return point[0] * along, -point[1] * across

    def _at(self, point: Point) -> Point:
        along, across = self._raw(point)
        return along - self._corner[0], across - self._corner[1]

    def _turned(self, point: Point) -> Point:
        return (point[1], point[0]) if self._upright else point

    def _text(self, v: int) -> str:
        return str(v) if self.graph.node_labels is None else self.graph.node_labels[v]

    def _half(self, v: int) -> float:
        """Half the width of a node."""
        shown = cut(self._text(v), _LABEL if self.large else _SMALL_LABEL)
        return max(_BOX / 2, _CHARACTER * len(shown) / 2 + 9)

    def draw_node(self, v: int) -> Html:
        """A node with its label."""
        x, y = self._turned(self._at(self.layout.nodes[v]))
        half, text = self._half(v), self._text(v)
        class_ = "o0" if self.graph.node_labels is None else self.classes.get(text, "o0")
        box = element(
            "rect", x=x - half, y=y - _BOX / 2, width=2 * half, height=_BOX, rx=8,
            class_=f"node {class_}",
        )  # fmt: skip
        shown = cut(text, _LABEL if self.large else _SMALL_LABEL)
        return Html(box + element("text", shown, x=x, y=y + 4.5, class_=class_))

    def draw_edge(self, edge: Edge) -> Html:
        """An edge with its head and, in a large picture, its label."""
        label = self.graph.edge_labels[edge] if self.graph.edge_labels else None
        class_ = "o0" if label is None else self.classes.get(label, "o0")
        points = self._course(edge)
        turned = [self._turned(point) for point in points]
        way = smooth_path(points, self._turned) if self._in_layers else straight_path(turned)
        parts = element("path", d=way, class_=f"edge {class_}")
        if self.graph.directed:
            before = (points[-1][0] - 1, points[-1][1]) if self._in_layers else points[0]
            head = arrow_head(self._turned(before), turned[-1])
            parts = Html(parts + element("path", d=head, class_=f"head {class_}"))
        if label is None or not self.large:
            return parts
        return Html(parts + _draw_edge_label(turned, label, class_))

    def _course(self, edge: Edge) -> list[Point]:
        """The points of an edge's line, from border to border where that shows."""
        u, v = edge
        points = [self._at(point) for point in self.layout.edges[edge]]
        if not self._in_layers:
            halves = (self._half(u), self._half(v) + 2)
            return connect_boxes(points[0], points[-1], *halves, _BOX / 2 + 2)
        # From layer to layer a line leaves and arrives in the direction of the layers.
        (first, start), (last, end) = points[0], points[-1]
        border = _BOX / 2 if self._upright else self._half(v)
        points[0] = (first, start + self._port(edge, 0))
        points[-1] = (last - border - 2, end + self._port(edge, 1))
        return points

    def _port(self, edge: Edge, end: int) -> float:
        """How far from the middle of its node's side an edge ends, so that lines stay apart."""
        near = 1 if end == 0 else -2  # the point of a line next to that end
        lines = self.layout.edges
        shared = sorted(
            (other for other in lines if other[end] == edge[end]),
            key=lambda other: (-lines[other][near][1], other),
        )
        side = 2 * self._half(edge[end]) if self._upright else _BOX
        step = min(12.0 if self._upright else 9.0, (side - 8) / len(shared))
        return (shared.index(edge) - (len(shared) - 1) / 2) * step


def _draw_edge_label(points: list[Point], text: str, class_: str) -> Html:
    middle = points[(len(points) - 1) // 2 : len(points) // 2 + 1]
    x = sum(p[0] for p in middle) / len(middle)
    y = sum(p[1] for p in middle) / len(middle)
    shown, half = cut(text, _LABEL), _half_label(text)
    back = element("rect", x=x - half, y=y - 10, width=2 * half, height=20, class_="back")
    return Html(back + element("text", shown, x=x, y=y + 4.5, class_=f"on-edge {class_}"))


def _half_label(text: str) -> float:
    """Half the width of an edge's label."""
    return _CHARACTER * len(cut(text, _LABEL)) / 2 + 4


def connect_boxes(
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
        >>> connect_boxes((0.0, 0.0), (100.0, 0.0), 10.0, 20.0, 5.0)
        [(10.0, 0.0), (80.0, 0.0)]
    """
    across, down = end[0] - start[0], end[1] - start[1]

    def reach(half: float) -> float:
        sides = [(half, abs(across)), (tall, abs(down))]
        return min((room / way for room, way in sides if way > 1e-9), default=0.0)

    shares = (reach(first), 1 - reach(second))
    return [(start[0] + t * across, start[1] + t * down) for t in shares]


def straight_path(points: list[Point]) -> str:
    """A path of straight pieces.

    Example:
        >>> straight_path([(0.0, 0.0), (5.0, 10.0)])
        'M0 0L5 10'
    """
    return "M" + "L".join(_format_point(point) for point in points)


def smooth_path(points: list[Point], turned: Callable[[Point], Point]) -> str:
    """A path whose pieces leave and arrive along the first direction; then it is turned.

    Example:
        >>> smooth_path([(0.0, 0.0), (10.0, 20.0)], lambda point: point)
        'M0 0C4 0 6 20 10 20'
    """
    way = f"M{_format_point(turned(points[0]))}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(y0 - y1) < 0.5:
            way += f"L{_format_point(turned((x1, y1)))}"
            continue
        reach = 0.45 * (x1 - x0)
        bends = ((x0 + reach, y0), (x1 - reach, y1), (x1, y1))
        way += "C" + " ".join(_format_point(turned(point)) for point in bends)
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


def _format_point(point: Point) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
