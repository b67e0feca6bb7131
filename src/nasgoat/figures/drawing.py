"""Pictures of labelled graphs: with matplotlib, and in plain text for a terminal."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from nasgoat.figures.layout import Layout, Point, chain_order, lay_out
from nasgoat.graphs import LabeledGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

#: Okabe and Ito's palette: told apart with any colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_ENDS = "#5F6B7A"  # input and output
_LINE = "#44505C"
_UNIT = 1.75  # inches between two layers
_HALF_HEIGHT = 0.12  # of a node's box, in units of the layout
_CHARACTER, _PADDING = 0.08, 0.08  # inches: a letter of a node's text, the border around it
_NARROWEST, _LONGEST = 5, 24  # characters of a column and of a label in plain text
_CHAIN, _LINE_LENGTH = 4, 80  # nodes of a chain, and characters of its lines, in plain text
_LABEL_LENGTH = 18  # longer labels are cut: a hostile or careless name must not blow up the figure


def draw(graph: LabeledGraph, title: str | None = None) -> Figure:
    """A figure of the graph, left to right, operations on its nodes or edges.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> figure = draw(cell, title="A cell")
        >>> figure.axes[0].get_title()
        'A cell'
    """
    from matplotlib.figure import Figure

    layout = lay_out(graph)
    figure = Figure(figsize=(1.2 + _UNIT * layout.width, 1.2 + 0.95 * layout.height), dpi=150)
    axes = figure.add_subplot()
    draw_on(axes, graph, layout)
    if title:
        axes.set_title(make_plain(title, 80), fontsize=11, color="#222222")
    figure.tight_layout()
    return figure


def save(graph: LabeledGraph, path: str | FilePath, title: str | None = None) -> None:
    """Write a picture of the graph; the file's ending chooses the format (png, svg, pdf)."""
    draw(graph, title).savefig(path, facecolor="white")


def draw_on(axes: Axes, graph: LabeledGraph, layout: Layout | None = None) -> None:
    """Draw the graph into axes of a larger figure."""
    layout = layout or lay_out(graph)
    colours = _choose_colours(graph)
    for (u, v), points in layout.edges.items():
        label = None if graph.edge_labels is None else graph.edge_labels[u, v]
        colour = _LINE if label is None else colours[label]
        straight = layout.style != "layers"
        course = _cut_at_box(points, _node_text(graph, v), straight) if graph.directed else points
        _draw_edge(axes, _make_path(course, straight), colour, graph.directed)
        if label is not None:
            _draw_edge_label(axes, points, label, colour)
    for v, point in layout.nodes.items():
        text = _node_text(graph, v)
        ends = graph.node_labels is None or text in ("input", "output")
        _draw_node(axes, point, text, _ENDS if ends else colours[text])
    _set_frame(axes, layout)


def make_plain(text: str, longest: int = _LABEL_LENGTH) -> str:
    """Text that matplotlib shows as it is: one line, cut, no mathematics, no control characters."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    return shown.replace("\\", "\\\\").replace("$", r"\$")


def _node_text(graph: LabeledGraph, v: int) -> str:
    return str(v) if graph.node_labels is None else graph.node_labels[v]


def _cut_at_box(points: list[Point], text: str, straight: bool) -> list[Point]:
    """The line up to the border of the box around the text, so that its arrow head shows."""
    (x0, y0), (x1, y1) = points[-2:]
    half = (_CHARACTER * min(len(text), _LABEL_LENGTH) / 2 + _PADDING) / _UNIT
    if not straight:
        return [*points[:-1], (x1 - half, y1)]
    sides = ((half, abs(x1 - x0)), (_HALF_HEIGHT, abs(y1 - y0)))
    share = min((room / way for room, way in sides if way > room), default=0.0)
    return [*points[:-1], (x1 - share * (x1 - x0), y1 - share * (y1 - y0))]


def _choose_colours(graph: LabeledGraph) -> dict[str, str]:
    labels = set(graph.node_labels or ()) | set((graph.edge_labels or {}).values())
    operations = sorted(labels - {"input", "output"})
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(operations)}


def _draw_node(axes: Axes, point: Point, text: str, colour: str) -> None:
    axes.text(
        *point,
        make_plain(text),
        ha="center",
        va="center",
        fontsize=9.5,
        color="white",
        fontweight="bold",
        zorder=3,
        bbox={"boxstyle": "round,pad=0.45", "facecolor": colour, "edgecolor": "white", "lw": 1.5},
    )


def _draw_edge(axes: Axes, path: Path, colour: str, directed: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        path=path,
        arrowstyle="-|>" if directed else "-",
        mutation_scale=13,
        lw=1.7,
        color=colour,
        zorder=1,
    )
    axes.add_patch(arrow)


def _draw_edge_label(axes: Axes, points: list[Point], label: str, colour: str) -> None:
    middle = np.array(points[(len(points) - 1) // 2 : len(points) // 2 + 1]).mean(axis=0)
    axes.text(
        middle[0],
        middle[1],
        make_plain(label),
        ha="center",
        va="center",
        fontsize=8,
        color=colour,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"},
    )


def _make_path(points: list[Point], straight: bool) -> Path:
    """A path through the points: straight, or of pieces that leave and arrive horizontally."""
    from matplotlib.path import Path

    if straight:
        return Path(points)
    vertices: list[Point] = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        reach = 0.45 * (x1 - x0)
        vertices += [(x0 + reach, y0), (x1 - reach, y1), (x1, y1)]
    return Path(vertices, [Path.MOVETO] + [Path.CURVE4] * (len(vertices) - 1))


def _set_frame(axes: Axes, layout: Layout) -> None:
    lines = [*layout.edges.values(), list(layout.nodes.values())]
    points = np.array([point for line in lines for point in line])
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    axes.set_xlim(left - 0.55, right + 0.55)
    axes.set_ylim(low - 0.55, high + 0.55)
    axes.axis("off")


def ladder(graph: LabeledGraph) -> str:
    """The graph as text, one column per node and one row per edge; a chain goes on in one line.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)], ["input", "conv", "output"])
        >>> print(ladder(cell))
        input  conv   output
          │      │      │
          ├─────▶│      │
          ├──────┼─────▶│
          │      ├─────▶│
        >>> chain = [(0, 1), (1, 2), (2, 3)]
        >>> print(ladder(LabeledGraph.from_edges(4, chain, edge_labels=["conv", "id", "pool"])))
        (0) ─ conv ─▶ (1) ─ id ─▶ (2) ─ pool ─▶ (3)
    """
    chain = chain_order(graph)
    if chain is not None and graph.n >= _CHAIN:
        return _write_chain(graph, chain)
    ordered = graph.sorted_topologically() if graph.is_acyclic() else graph
    names = _name_columns(ordered)
    labels = {edge: _shorten(x) for edge, x in (ordered.edge_labels or {}).items()}
    # Each column holds its name; each edge's label fits between its two columns.
    widths = [max(len(name), _NARROWEST) + 2 for name in names]
    for (u, v), label in labels.items():
        lack = len(label) + 6 - sum(widths[min(u, v) : max(u, v)])
        widths[min(u, v)] += max(lack, 0)
    starts = [sum(widths[:v]) for v in range(ordered.n)]
    bars = [start + 2 for start in starts]
    head = "".join(name.ljust(width) for name, width in zip(names, widths, strict=True))
    rows = [
        _write_row(bars, edge, labels.get(edge, ""), ordered.directed) for edge in ordered.edges
    ]
    return "\n".join([head.rstrip(), _write_row(bars, None, "", True), *rows])


def _name_columns(graph: LabeledGraph) -> list[str]:
    if graph.node_labels is None:
        return [f"({v})" for v in range(graph.n)]
    return [_shorten(label) for label in graph.node_labels]


def _shorten(label: str) -> str:
    text = "".join(c if c.isprintable() else "?" for c in label)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _write_row(bars: list[int], edge: tuple[int, int] | None, label: str, directed: bool) -> str:
    line = [" "] * (bars[-1] + 1)
    for bar in bars:
        line[bar] = "│"
    if edge is not None:
        left, right = sorted((bars[edge[0]], bars[edge[1]]))
        for x in range(left + 1, right):
            line[x] = "┼" if line[x] == "│" else "─"
        line[left], line[right] = ("├", "│") if directed else ("├", "┤")
        if directed:
            head, arrow = (right - 1, "▶") if edge[0] < edge[1] else (left + 1, "◀")
            line[head] = arrow
            if edge[0] > edge[1]:
                line[left], line[right] = "│", "┤"
        if label:
            text = f" {label} "
            line[left + 2 : left + 2 + len(text)] = text
    return "".join(line)


def _write_chain(graph: LabeledGraph, chain: list[int]) -> str:
    """A chain node by node; where a line would grow too long, it goes on in the next one."""
    labels = graph.edge_labels or {}
    lines = [f"({chain[0]})"]
    for edge in pairwise(chain):
        step = f" ─ {_shorten(labels[edge])} ─▶ ({edge[1]})"
        if len(lines[-1]) + len(step) > _LINE_LENGTH:
            lines.append("   ")
        lines[-1] += step
    return "\n".join(lines)
