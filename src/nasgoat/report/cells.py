"""Cells as inline SVG, in the page's colours, and in words for those who can't see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nasgoat.bayesopt import Ticket
from nasgoat.figures.layout import lay_out
from nasgoat.figures.quantities import format_count, format_number
from nasgoat.graphs import LabeledGraph
from nasgoat.report.cell_picture import CellPicture
from nasgoat.report.markup import Html, cut, details, element, join
from nasgoat.report.reported_search import ReportedSearch, error_of

COLOURS = 8  # in the style sheet: classes o1 to o8; o0 is for what is no operation
ENDS = ("input", "output")
_ENLARGED = 1.3  # a large picture, where there is room
_FIRST = 12  # cells of the gallery that are shown at once
_MOST = 300  # drawn at all: a report must stay small enough to be opened


def assign_classes(labels: Sequence[str]) -> dict[str, str]:
    """The class of each operation: the same all over a page.

    Example:
        >>> assign_classes(["conv", "pool"])
        {'conv': 'o1', 'pool': 'o2'}
    """
    operations = [name for name in dict.fromkeys(labels) if name not in ENDS]
    return {name: f"o{i % COLOURS + 1}" for i, name in enumerate(operations)}


def describe_graph(graph: LabeledGraph) -> str:
    """The graph as a sentence.

    Example:
        >>> labels = ["input", "conv", "output"]
        >>> describe_graph(LabeledGraph.from_edges(3, [(0, 1), (1, 2)], labels))
        '3 nodes: 0 input, 1 conv, 2 output; 2 edges: 0 to 1, 1 to 2'
        >>> describe_graph(LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["pool"]))
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
    picture = CellPicture(graph, lay_out(graph), classes, large)
    width, height = picture.size
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", describe_graph(graph), id=f"{identity}-desc"),
        [picture.draw_edge(edge) for edge in graph.edges],
        [picture.draw_node(v) for v in range(graph.n)],
        class_="cell large" if large else "cell",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width * (_ENLARGED if large else 1)),
        height=round(height * (_ENLARGED if large else 1)),
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
    )


def draw_legend(classes: dict[str, str], on_edges: Collection[str]) -> Html:
    """The operations with their colours; those of edges as lines, others as boxes."""
    items = []
    for name, class_ in classes.items():
        way, kind = ("M0 7H18", "edge") if name in on_edges else ("M2 1h14v12H2z", "node")
        mark = element("path", d=way, class_=f"{kind} {class_}")
        swatch = element("svg", mark, class_="swatch", viewBox="0 0 18 14", aria_hidden="true")
        items.append(element("li", swatch, element("bdi", cut(name, 40))))
    return element("ul", items, class_="legend")


def draw_gallery(search: ReportedSearch, classes: dict[str, str]) -> Html:
    """The cells of a search, best first, then what failed or still runs."""
    ranked = sorted(search.done, key=lambda t: (error_of(t), t.number))
    others = [t for t in search.tickets if t.outcome is None or t.outcome.metrics is None]
    tickets = [*ranked, *others]
    drawn = [_draw_item(ticket, classes) for ticket in tickets[:_MOST]]
    parts = [element("ol", drawn[:_FIRST], class_="gallery")]
    if len(drawn) > _FIRST:
        further = f"{format_count(len(drawn) - _FIRST, 'further cell')}, best first"
        parts.append(details(further, element("ol", drawn[_FIRST:], class_="gallery")))
    if len(tickets) > _MOST:
        left = format_count(len(tickets) - _MOST, "cell")
        parts.append(element("p", f"{left} of higher error left out.", class_="note"))
        anchors = [element("span", id=f"cell-{t.number + 1}") for t in tickets[_MOST:]]
        parts.append(element("div", anchors))
    return join(*parts)


def _draw_item(ticket: Ticket, classes: dict[str, str]) -> Html:
    place = f"cell-{ticket.number + 1}"
    picture = draw_cell(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    status = ticket.proposal.certificate.status
    text = join(
        element("b", _describe_outcome(ticket)), f" · evaluation {ticket.number + 1}, {status}"
    )
    return element("li", picture, element("p", text), id=place)


def _describe_outcome(ticket: Ticket) -> str:
    if ticket.outcome is None:
        return "not evaluated yet"
    return "failed" if ticket.outcome.failure else format_number(error_of(ticket))
