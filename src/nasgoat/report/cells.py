"""Cells as inline SVG, in the page's colours, and in words for those who can't see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nasgoat.figures.layout import Layout, Point, layered
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.report.markup import Html, cut, element

COLOURS = 8  # in the style sheet: classes o1 to o8; o0 is for what is no operation
ENDS = ("input", "output")
_LABEL = 16  # characters of a label in a picture
_CHARACTER = 7.6  # width of one of them, 13 high
_ROW = 62.0  # between two rows
_BOX = 30.0  # height of a node


def operation_classes(labels: Sequence[str]) -> dict[str, str]:
    """The class of each operation: the same all over a page.

    Example:
        >>> operation_classes(["conv", "pool"])
        {'conv': 'o1', 'pool': 'o2'}
    """
    operations = [name for name in dict.fromkeys(labels) if name not in ENDS]
    return {name: f"o{i % COLOURS + 1}" for i, name in enumerate(operations)}


def in_words(graph: LabeledGraph) -> str:
    """The graph as a sentence.

    Example:
        >>> in_words(LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"]))
        '3 nodes: 0 input, 1 conv, 2 output; 2 edges: 0 to 1, 1 to 2'
        >>> in_words(LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["pool"]))
        '2 nodes; 1 edge: 0 to 1 pool'
    """
    nodes = f"{graph.n} node" + ("s" if graph.n != 1 else "")
    if graph.node_labels is not None:
        nodes += ": " + ", ".join(f"{v} {cut(x, 40)}" for v, x in enumerate(graph.node_labels))
    edges = graph.edges
    counted = f"{len(edges)} edge" + ("s" if len(edges) != 1 else "")
    link = "to" if graph.directed else "with"
    named = ", ".join(
        f"{u} {link} {v}" + (f" {cut(graph.edge_labels[u, v], 40)}" if graph.edge_labels else "")
        for u, v in edges
    )
    return f"{nodes}; {counted}" + (f": {named}" if named else "")


def cell(
    graph: LabeledGraph, classes: dict[str, str], identity: str, title: str, large: bool = False
) -> Html:
    """A picture of a graph from left to right.

    Args:
        graph: The graph.
        classes: The class of each operation.
        identity: A name, unique on its page.
        title: What the picture is called.
        large: With the labels of its edges.
    """
    picture = _Picture(graph, layered(graph), classes, large)
    width, height = picture.size
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", in_words(graph), id=f"{identity}-desc"),
        [picture.edge(edge) for edge in graph.edges],
        [picture.node(v) for v in range(graph.n)],
        class_="cell large" if large else "cell",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
    )


def legend(classes: dict[str, str], graph: LabeledGraph) -> Html:
    """The operations with their colours; on edges as lines, on nodes as boxes."""
    on_edges = graph.node_labels is None
    items = []
    for name, class_ in classes.items():
        way = "M0 7H18" if on_edges else "M2 1h14v12H2z"
        mark = element("path", d=way, class_=f"{'edge' if on_edges else 'node'} {class_}")
        swatch = element("svg", mark, class_="swatch", viewBox="0 0 18 14", aria_hidden="true")
        items.append(element("li", swatch, element("bdi", cut(name, 40))))
    return element("ul", items, class_="legend operations")


@dataclass(frozen=True)
class _Picture:
    graph: LabeledGraph
    layout: Layout
    classes: dict[str, str]
    large: bool

    @property
    def _column(self) -> float:
        """Between two columns: room for the longest label."""
        graph = self.graph
        texts = graph.node_labels or ()
        if self.large and graph.edge_labels:
            texts = (*texts, *graph.edge_labels.values())
        longest = max((len(cut(x, _LABEL)) for x in texts), default=2)
        return 46 + _CHARACTER * longest + (70 if graph.edge_labels and self.large else 0)

    @property
    def size(self) -> tuple[float, float]:
        (left, top), (right, bottom) = self._corners
        return right - left, bottom - top

    @property
    def _corners(self) -> tuple[Point, Point]:
        lines = [*self.layout.edges.values(), list(self.layout.nodes.values())]
        points = [self._raw(point) for line in lines for point in line]
        half = max(self._half(v) for v in range(self.graph.n)) + 6
        tall = _BOX / 2 + 6
        across, down = [x for x, _ in points], [y for _, y in points]
        return (min(across) - half, min(down) - tall), (max(across) + half, max(down) + tall)

    def _raw(self, point: Point) -> Point:
        return point[0] * self._column, -point[1] * _ROW

    def _at(self, point: Point) -> Point:
        (left, top), _ = self._corners
        x, y = self._raw(point)
        return x - left, y - top

    def _text(self, v: int) -> str:
        return str(v) if self.graph.node_labels is None else self.graph.node_labels[v]

    def _half(self, v: int) -> float:
        return max(_BOX / 2, _CHARACTER * len(cut(self._text(v), _LABEL)) / 2 + 9)

    def node(self, v: int) -> Html:
        x, y = self._at(self.layout.nodes[v])
        half, text = self._half(v), self._text(v)
        class_ = "o0" if self.graph.node_labels is None else self.classes.get(text, "o0")
        box = element(
            "rect", x=x - half, y=y - _BOX / 2, width=2 * half, height=_BOX, rx=8,
            class_=f"node {class_}",
        )  # fmt: skip
        return Html(box + element("text", cut(text, _LABEL), x=x, y=y + 4.5, class_=class_))

    def edge(self, edge: Edge) -> Html:
        u, v = edge
        points = [self._at(point) for point in self.layout.edges[edge]]
        label = self.graph.edge_labels[edge] if self.graph.edge_labels else None
        class_ = "o0" if label is None else self.classes.get(label, "o0")
        if self.graph.is_acyclic():  # from layer to layer a line arrives horizontally
            (x0, y0), (x1, y1) = points[0], points[-1]
            points[0] = (x0, y0 + self._port(edge, 0))
            points[-1] = (x1 - self._half(v) - 2, y1 + self._port(edge, 1))
            parts = element("path", d=_smooth(points), class_=f"edge {class_}")
        else:
            points = _between_boxes(points[0], points[-1], self._half(u), self._half(v) + 2)
            parts = element("path", d=_straight(points), class_=f"edge {class_}")
        if self.graph.directed:
            flat = points if not self.graph.is_acyclic() else [(0.0, 0.0), (1.0, 0.0)]
            head = element("path", d=_head(flat, points[-1]), class_=f"head {class_}")
            parts = Html(parts + head)
        if label is None or not self.large:
            return parts
        return Html(parts + self._edge_label(points, label, class_))

    def _port(self, edge: Edge, end: int) -> float:
        """How far from the middle of its node's side an edge ends, so that lines stay apart."""
        near = 1 if end == 0 else -2  # the point of a line next to that end
        lines = self.layout.edges
        shared = sorted(
            (other for other in lines if other[end] == edge[end]),
            key=lambda other: (-lines[other][near][1], other),
        )
        step = min(9.0, (_BOX - 8) / len(shared))
        return (shared.index(edge) - (len(shared) - 1) / 2) * step

    def _edge_label(self, points: list[Point], text: str, class_: str) -> Html:
        middle = points[(len(points) - 1) // 2 : len(points) // 2 + 1]
        x = sum(p[0] for p in middle) / len(middle)
        y = sum(p[1] for p in middle) / len(middle)
        shown = cut(text, _LABEL)
        half = _CHARACTER * len(shown) / 2 + 4
        back = element("rect", x=x - half, y=y - 10, width=2 * half, height=20, class_="back")
        return Html(back + element("text", shown, x=x, y=y + 4.5, class_=f"on-edge {class_}"))


def _between_boxes(start: Point, end: Point, first: float, second: float) -> list[Point]:
    """The straight line from the border of one node's box to that of the other's."""
    across, down = end[0] - start[0], end[1] - start[1]

    def reach(half: float) -> float:
        sides = [(half, abs(across)), (_BOX / 2 + 2, abs(down))]
        return min((room / way for room, way in sides if way > 1e-9), default=0.0)

    one, two = reach(first), 1 - reach(second)
    return [(start[0] + t * across, start[1] + t * down) for t in (one, two)]


def _straight(points: list[Point]) -> str:
    return "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points)


def _smooth(points: list[Point]) -> str:
    """A path through the points whose pieces leave and arrive horizontally."""
    way = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(y0 - y1) < 0.5:
            way += f"H{x1:.0f}"
            continue
        reach = 0.45 * max(x1 - x0, 0.0)
        way += f"C{x0 + reach:.0f} {y0:.0f} {x1 - reach:.0f} {y1:.0f} {x1:.0f} {y1:.0f}"
    return way


def _head(line: list[Point], tip: Point) -> str:
    """The arrow's head at the end of a line, in its direction."""
    (x0, y0), (x1, y1) = line
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
    across, down = (x1 - x0) / length, (y1 - y0) / length
    back = (tip[0] - 9 * across, tip[1] - 9 * down)
    one = (back[0] - 4.2 * down, back[1] + 4.2 * across)
    two = (back[0] + 4.2 * down, back[1] - 4.2 * across)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (tip, one, two)) + "z"
