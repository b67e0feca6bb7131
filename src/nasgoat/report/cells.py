"""Cells as inline SVG, in the page's colours, and in words for those who can't see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from nasgoat.figures.colours import assign_colours
from nasgoat.figures.layout import lay_out, write_node_text
from nasgoat.figures.lines import (
    STRETCHES,
    Point,
    bend,
    find_end_at_box,
    find_head,
    lay_parallel,
    place_labels,
)
from nasgoat.figures.wording import cut, describe_graph
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.graphs.molecules import BONDS, find_bonds
from nasgoat.report.markup import Html, element, join, label, legend, region

_ENLARGED, _PAGE = 1.3, 980  # a large picture, where a page has room: pixels
_CARD = 250  # pixels of a card of the gallery; a wider picture scrolls
_LABEL, _SMALL_LABEL = 16, 10  # characters of a label in a large and in a small picture
_CHARACTER = 7.6  # width of one of them, 13 high
_ROW = 62.0  # between two rows
_BOX = 30.0  # height of a node
_BOND, _BOND_GAP = 66.0, 6.0  # the length of a bond, and between the lines of a double one
_CAPTION = 24.0  # height of the name of one of several cells


def assign_classes(labels: Sequence[str]) -> dict[str, str]:
    """The class of each operation in the style sheet; o0 is for what is no operation.

    Example:
        >>> assign_classes(["input", "conv3x3", "maxpool3x3", "output"])
        {'conv3x3': 'o5', 'maxpool3x3': 'o8'}
    """
    return {name: f"o{number}" for name, number in assign_colours(labels).items()}


def draw_cell(
    graph: LabeledGraph, classes: dict[str, str], identity: str, title: str, large: bool = False
) -> Html:
    """A picture of a graph.

    Args:
        graph: The graph.
        classes: The class of each operation.
        identity: A name, unique on its page.
        title: What the picture is called.
        large: From left to right, with the labels of its edges.
    """
    return _draw_pictures(
        _list_pictures(graph, classes, large), describe_graph(graph), identity, title
    )


def draw_card(graph: LabeledGraph, classes: dict[str, str], identity: str, title: str) -> Html:
    """A small picture; one that is wider than a card is in a box that scrolls."""
    pictures = _list_pictures(graph, classes, large=False)
    drawn = _draw_pictures(pictures, describe_graph(graph), identity, title)
    wide = max(picture.size[0] for picture in pictures.values())
    return drawn if wide <= _CARD else region("div", drawn, name=title, class_="pan")


def _list_pictures(
    graph: LabeledGraph, classes: dict[str, str], large: bool
) -> dict[str, _CellPicture]:
    """The picture of every cell by its name; "" if there is one."""
    cells = graph.cells or {"": graph}
    return {name: _CellPicture(cell, classes, large) for name, cell in cells.items()}


def _draw_pictures(pictures: dict[str, _CellPicture], said: str, identity: str, title: str) -> Html:
    """Pictures of cells one below the other, each under its name."""
    names = {name: cut(name, _LABEL) for name in pictures}
    width = max(picture.size[0] for picture in pictures.values())
    width = max(width, *(2 * _measure(text) + 8 for text in names.values() if text), 0.0)
    height, drawn = 0.0, []
    for name, picture in pictures.items():
        shown = [
            map(picture.draw_edge, picture.graph.edges),
            map(picture.write_label, picture.labels),
            map(picture.draw_node, range(picture.graph.n)),
        ]
        if name:
            drawn.append(element("text", names[name], x=round(width / 2), y=round(height) + 16))
            height += _CAPTION
            aside = (width - picture.size[0]) / 2
            drawn.append(element("g", *shown, transform=f"translate({aside:.0f} {height:.0f})"))
        else:
            drawn.append(join(*shown))
        height += picture.size[1]
    large = any(picture.large for picture in pictures.values())
    share = _ENLARGED if large and width * _ENLARGED <= _PAGE else 1.0
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", said, id=f"{identity}-desc"),
        drawn,
        class_="cell" + " large" * large + " enlarged" * (share > 1),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width * share),
        height=round(height * share),
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
    )


def draw_operation_legend(classes: dict[str, str], on_edges: Collection[str]) -> Html:
    """The operations with their colours; those of edges as lines, others as boxes."""
    items = []
    orders = {name: order for order, name in BONDS.items() if {*on_edges} <= {*BONDS.values()}}
    for name, class_ in classes.items():
        way, look = "M2 1h14v12H2z", f"node {class_}"
        if name in on_edges:
            lines = lay_parallel((0.0, 7.0), (18.0, 7.0), orders.get(name, 1), 5.0)
            way = "".join(f"M0 {y:g}H18" for (_, y), _ in lines)
            look = "edge o0" if name in orders else f"edge {class_}"
        items.append((element("path", d=way, class_=look), label(name, 40)))
    return legend(items)


class _CellPicture:
    """Where everything of a graph stands, in directions of its own: along its edges and across.

    A large picture runs from left to right. A small one of labelled nodes runs from top to bottom:
    so its labels stay large enough to be read.
    """

    def __init__(self, graph: LabeledGraph, classes: dict[str, str], large: bool) -> None:
        self.graph, self.classes, self.layout = graph, classes, lay_out(graph)
        self.large = large
        self.in_layers = self.layout.style == "layers"
        self.upright = not large and self.in_layers and graph.node_labels is not None
        longest = _LABEL if large else _SMALL_LABEL
        self.texts = [cut(write_node_text(graph, v), longest) for v in range(graph.n)]
        self.halves = [max(_BOX / 2, _measure(text) + 9) for text in self.texts]
        self.bonds = find_bonds(graph)
        shown = graph.edge_labels if large and graph.edge_labels and not self.bonds else {}
        self.labels = {edge: cut(text, _LABEL) for edge, text in shown.items()}
        for stretch in STRETCHES:
            self._settle(stretch)
            self.label_places, hidden = self._place_labels()
            if not hidden:
                break

    def _settle(self, stretch: float) -> None:
        """Choose the distances between nodes, this many times as wide as usual, and the frame."""
        (step, row), reach = self._choose_steps(), self._choose_reach()
        self.steps = stretch * step, row
        along, across = zip(*map(self._scale, self.layout.points), strict=True)
        self.corner = min(along) - reach[0], min(across) - reach[1]
        far = max(along) + reach[0], max(across) + reach[1]
        self.size = self._turn((far[0] - self.corner[0], far[1] - self.corner[1]))

    def _choose_steps(self) -> Point:
        """Between two layers, and between two nodes of a layer: room for the longest label."""
        widest = 2 * max(self.halves)
        if self.bonds is not None:
            return _BOND, _BOND
        if self.upright:
            return 54.0, widest + 12
        if self.labels and self.layout.style == "free":
            step = widest + 2 * max(map(_measure, self.labels.values())) + 44
            return step, 0.8 * step
        if self.labels:
            # A label on an edge from row to row needs room above and below.
            row = _ROW + 24 if self.layout.style == "folded" else _ROW
            return widest + 2 * max(map(_measure, self.labels.values())) + 76, row
        return widest + (30 if self.graph.node_labels is None else 44), _ROW

    def _choose_reach(self) -> Point:
        """From the middle of a node to the border of the picture."""
        half = max(self.halves) + 5
        if not self.in_layers:
            # Where edges go in any direction, a label may lie above or below a node.
            half = max(half, *(_measure(text) + 6 for text in self.labels.values()), 0)
        return (_BOX / 2 + 5, half) if self.upright else (half, _BOX / 2 + 5)

    def _scale(self, point: Point) -> Point:
        return point[0] * self.steps[0], -point[1] * self.steps[1]

    def _locate(self, point: Point) -> Point:
        along, across = self._scale(point)
        return along - self.corner[0], across - self.corner[1]

    def _turn(self, point: Point) -> Point:
        return (point[1], point[0]) if self.upright else point

    def draw_node(self, v: int) -> Html:
        """A node with its label."""
        x, y = self._turn(self._locate(self.layout.nodes[v]))
        half, labels = self.halves[v], self.graph.node_labels
        class_ = "o0" if labels is None else self.classes.get(labels[v], "o0")
        box = element(
            "rect", x=x - half, y=y - _BOX / 2, width=2 * half, height=_BOX, rx=8,
            class_=f"node {class_}",
        )  # fmt: skip
        return join(box, element("text", self.texts[v], x=x, y=y + 4.5, class_=class_))

    def draw_edge(self, edge: Edge) -> Html:
        """An edge with its head."""
        course = self._find_course(edge)
        if self.bonds:
            lines = lay_parallel(course[0], course[-1], self.bonds[edge], _BOND_GAP)
            ways = "".join(self._write_path(list(line)) for line in lines)
            return element("path", d=ways, class_="edge o0")
        class_ = self._find_class(edge)
        points = [self._turn(point) for point in course]
        parts = [element("path", d=self._write_path(course), class_=f"edge {class_}")]
        if self.graph.directed:
            before = (course[-1][0] - 1, course[-1][1]) if self.in_layers else course[0]
            corners = find_head(self._turn(before), points[-1])
            head = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "z"
            parts.append(element("path", d=head, class_=f"head {class_}"))
        return join(*parts)

    def write_label(self, edge: Edge) -> Html:
        """The label of an edge, above all lines."""
        text, (x, y) = self.labels[edge], self.label_places[edge]
        half, class_ = _measure(text) + 4, self._find_class(edge)
        back = {"x": x - half, "y": y - 10, "width": 2 * half}
        return join(
            element("rect", **back, height=20, class_="back"),
            element("text", text, x=x, y=y + 4.5, class_=f"on-edge {class_}"),
        )

    def _find_class(self, edge: Edge) -> str:
        labels = self.graph.edge_labels
        return self.classes.get(labels[edge], "o0") if labels else "o0"

    def _find_course(self, edge: Edge) -> list[Point]:
        """The points of an edge's line, from border to border where that shows."""
        u, v = edge
        points = [self._locate(point) for point in self.layout.edges[edge]]
        first, last = points[0], points[-1]
        if not self.in_layers:
            tall = _BOX / 2 + 2
            start = find_end_at_box(last, first, self.halves[u], tall)
            return [start, find_end_at_box(first, last, self.halves[v] + 2, tall)]
        # From layer to layer a line leaves and arrives in the direction of the layers.
        border = _BOX / 2 if self.upright else self.halves[v]
        points[0] = (first[0], first[1] + self._find_port(edge, 0))
        points[-1] = (last[0] - border - 2, last[1] + self._find_port(edge, 1))
        return points

    def _place_labels(self) -> tuple[dict[Edge, Point], int]:
        """Where the labels of edges stand, and how many boxes are hidden by them."""
        nodes = self.layout.nodes.items()
        taken = [(self._locate(at), (self.halves[v], _BOX / 2)) for v, at in nodes]
        sizes = {edge: (_measure(text) + 4, 10.0) for edge, text in self.labels.items()}
        courses = {edge: self._find_course(edge) for edge in sizes}
        return place_labels(courses, sizes, taken, self.in_layers)

    def _find_port(self, edge: Edge, end: int) -> float:
        """How far from the middle of its node's side an edge ends, so that lines stay apart."""
        near = 1 if end == 0 else -2  # the point of a line next to that end
        lines = self.layout.edges
        shared = sorted(
            (other for other in lines if other[end] == edge[end]),
            key=lambda other: (-lines[other][near][1], other),
        )
        side = 2 * self.halves[edge[end]] if self.upright else _BOX
        step = min(12.0 if self.upright else 9.0, (side - 8) / len(shared))
        return (shared.index(edge) - (len(shared) - 1) / 2) * step

    def _write_path(self, course: list[Point]) -> str:
        """The line of an edge: straight, or curved from layer to layer."""
        way = f"M{self._format(course[0])}"
        for start, end in pairwise(course):
            if not self.in_layers or abs(start[1] - end[1]) < 0.5:
                way += f"L{self._format(end)}"
            else:
                way += "C" + " ".join(map(self._format, (*bend(start, end), end)))
        return way

    def _format(self, point: Point) -> str:
        x, y = self._turn(point)
        return f"{x:.0f} {y:.0f}"


def _measure(text: str) -> float:
    """Half the width of a text."""
    return _CHARACTER * len(text) / 2
