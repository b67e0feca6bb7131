"""Pictures of labelled graphs: with matplotlib, and in plain text for a terminal."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from nasgoat.figures.colours import LIGHT, assign_colours, list_operations
from nasgoat.figures.layout import Layout, lay_out, order_chain, write_node_text
from nasgoat.figures.lines import (
    STRETCHES,
    Point,
    bend,
    find_end_at_box,
    lay_parallel,
    place_labels,
)
from nasgoat.figures.wording import cut_to_printable, make_plain
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.graphs.molecules import find_bonds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Piece = tuple[str, str | None]  # of a text, with the label it stands for
_LINE = "#44505C"
_UNIT = 1.75  # inches between two layers
_HALF_HEIGHT = 0.12  # of a node's box, in units of the layout
_CHARACTER, _PADDING = 0.08, 0.08  # inches: a letter of a node's text, the border around it
_NARROWEST, _LONGEST = 5, 24  # characters of a column and of a label in plain text
_BOND, _BOND_GAP = 0.7, 0.1  # inches of a bond; between the lines of a double one, in bonds
_CHAIN, _LINE_LENGTH = 4, 80  # nodes of a chain, and characters of its lines, in plain text
_LABEL_LENGTH = 18  # longer labels are cut: a hostile or careless name must not blow up the figure


def draw(graph: LabeledGraph, title: str | None = None, operations: Collection[str] = ()) -> Figure:
    """A figure of the graph, left to right, operations on its nodes or edges.

    An operation has the colour it has in reports, notebooks and terminals; ``operations`` are all
    those of its space, which no colour must be confused with.

    A notebook shows it once, as the value of a cell, whether or not pyplot is used there.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])
        >>> figure = draw(cell, title="A cell")
        >>> figure.axes[0].get_title()
        'A cell'
    """
    operations = [*operations, *list_operations([graph])]
    cells = graph.cells or {"": graph}
    layouts = [_make_room(cell, lay_out(cell)) for cell in cells.values()]
    units = [(_UNIT, 0.95) if find_bonds(c) is None else (_BOND, _BOND) for c in cells.values()]
    widths = [1.2 + unit[0] * x.width for unit, x in zip(units, layouts, strict=True)]
    heights = [1.2 + unit[1] * x.height for unit, x in zip(units, layouts, strict=True)]
    figure = _find_figure_class()(figsize=(max(widths), sum(heights)), dpi=150)
    grid = figure.add_gridspec(len(cells), 1, height_ratios=heights)
    for place, (name, cell) in enumerate(cells.items()):
        axes = figure.add_subplot(grid[place])
        draw_on(axes, cell, layouts[place], operations)
        said = [make_plain(text, 80) for text in (title if place == 0 else "", name) if text]
        if said:
            axes.set_title("\n".join(said), fontsize=11, color="#222222")
    figure.tight_layout()
    return figure


@cache
def _find_figure_class() -> type[Figure]:
    """A figure that IPython can show although pyplot does not know it."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png", facecolor="white")
            return picture.getvalue()

    return ShownFigure


def save(
    graph: LabeledGraph,
    path: str | FilePath,
    title: str | None = None,
    operations: Collection[str] = (),
) -> None:
    """Write a picture of the graph; the file's ending chooses the format (png, svg, pdf)."""
    draw(graph, title, operations).savefig(path, facecolor="white")


def draw_on(
    axes: Axes, graph: LabeledGraph, layout: Layout | None = None, operations: Collection[str] = ()
) -> None:
    """Draw the graph into axes of a larger figure, several cells one below the other."""
    if graph.cells:
        share = 1.0 / len(graph.cells)
        for place, (name, cell) in enumerate(graph.cells.items()):
            inner = axes.inset_axes((0.0, 1.0 - (place + 1) * share, 1.0, 0.85 * share))
            draw_on(inner, cell, None, [*operations, *list_operations([graph])])
            inner.set_title(make_plain(name, 40), fontsize=8, color="#222222")
        axes.axis("off")
        return
    layout = layout or _make_room(graph, lay_out(graph))
    numbers = assign_colours([*operations, *list_operations([graph])])
    colours = {label: LIGHT[number] for label, number in numbers.items()}
    places, _ = _place_labels(graph, layout)
    bonds = find_bonds(graph)
    for edge, points in layout.edges.items():
        if bonds is not None:
            for line in lay_parallel(points[0], points[-1], bonds[edge], _BOND_GAP):
                _draw_edge(axes, list(line), None, True, _LINE)
            continue
        label = None if graph.edge_labels is None else graph.edge_labels[edge]
        colour = _LINE if label is None else colours.get(label, _LINE)
        head = write_node_text(graph, edge[1]) if graph.directed else None
        _draw_edge(axes, points, head, layout.style != "layers", colour)
        if label is not None:
            box: Any = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
            _write(axes, places[edge], label, bbox=box, color=colour, fontsize=8, zorder=2)
    look: Any = {"color": "white", "fontsize": 9.5, "fontweight": "bold", "zorder": 3}
    for v, point in layout.nodes.items():
        text = write_node_text(graph, v)
        colour = colours.get(text, LIGHT[0]) if graph.node_labels else LIGHT[0]
        box = {"boxstyle": "round,pad=0.45", "facecolor": colour, "edgecolor": "white", "lw": 1.5}
        _write(axes, point, text, bbox=box, **look)
    low, high = np.min(layout.points, axis=0) - 0.55, np.max(layout.points, axis=0) + 0.55
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if bonds is not None:
        axes.set_aspect("equal")
    axes.axis("off")


def _make_room(graph: LabeledGraph, layout: Layout) -> Layout:
    """The layout, wider where labels of edges would hide each other."""
    if not graph.edge_labels or find_bonds(graph) is not None:
        return layout
    wider = [layout.stretch(share) for share in STRETCHES]
    return min(wider, key=lambda found: _place_labels(graph, found)[1])


def _place_labels(graph: LabeledGraph, layout: Layout) -> tuple[dict[Edge, Point], int]:
    labels = graph.edge_labels or {}
    small = 0.85  # the width of a letter on an edge, in those of a node
    sizes = {e: (small * _measure(label), _HALF_HEIGHT) for e, label in labels.items()}
    taken = [(at, (_measure(write_node_text(graph, v)), 0.2)) for v, at in layout.nodes.items()]
    return place_labels(layout.edges, sizes, taken, layout.style == "layers")


def _measure(text: str) -> float:
    """Half the width of a text with its border, in units of the layout."""
    return (_CHARACTER * min(len(text), _LABEL_LENGTH) / 2 + _PADDING) / _UNIT


def _write(axes: Axes, point: Point, text: str, **look: Any) -> None:
    axes.text(*point, make_plain(text, _LABEL_LENGTH), ha="center", va="center", **look)


def _draw_edge(
    axes: Axes, points: list[Point], head: str | None, straight: bool, colour: str
) -> None:
    """A line through the points, with a head at the border of the node of that text."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    if head is not None:
        half = _measure(head)
        x, y = points[-1]
        tip = find_end_at_box(points[-2], (x, y), half, _HALF_HEIGHT) if straight else (x - half, y)
        points = [*points[:-1], tip]
    path = Path(points)
    if not straight:
        curve = [p for start, end in pairwise(points) for p in (*bend(start, end), end)]
        path = Path([points[0], *curve], [Path.MOVETO] + [Path.CURVE4] * len(curve))
    style: Any = {"arrowstyle": "-" if head is None else "-|>", "mutation_scale": 13, "lw": 1.7}
    axes.add_patch(FancyArrowPatch(path=path, color=colour, zorder=1, **style))


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
    return "".join(text for text, _ in write_ladder(graph))


def write_ladder(graph: LabeledGraph) -> list[Piece]:
    """The text of :func:`ladder` in pieces, so that a terminal can colour the labels.

    Example:
        >>> write_ladder(LabeledGraph.from_edges(2, [(0, 1)], ["conv", "pool"]))[:3]
        [('conv', 'conv'), ('   ', None), ('pool', 'pool')]
    """
    if graph.cells:
        return _write_cells(graph)
    chain = order_chain(graph)
    if chain is not None and graph.n >= _CHAIN:
        return _write_chain(graph, chain)
    ordered = graph.sorted_topologically() if graph.is_acyclic() else graph
    columns = ordered.node_labels or [f"({v})" for v in range(ordered.n)]
    names = [cut_to_printable(name, _LONGEST) for name in columns]
    labels = ordered.edge_labels or {}
    # Each column holds its name; each edge's label fits between its two columns.
    widths = [max(len(name), _NARROWEST) + 2 for name in names]
    for (u, v), label in labels.items():
        lack = len(cut_to_printable(label, _LONGEST)) + 6 - sum(widths[min(u, v) : max(u, v)])
        widths[min(u, v)] += max(lack, 0)
    bars = [sum(widths[:v]) + 2 for v in range(ordered.n)]
    pieces: list[Piece] = []
    for v, (name, width) in enumerate(zip(names, widths, strict=True)):
        pieces.append((name, ordered.node_labels[v] if ordered.node_labels else None))
        pieces.append((" " * (width - len(name)) if v + 1 < ordered.n else "\n", None))
    rail = "".join("│" if x in bars else " " for x in range(bars[-1] + 1))
    pieces.append((rail, None))
    for u, v in ordered.edges:
        pieces.append(("\n", None))
        pieces += _write_row(rail, bars[u], bars[v], labels.get((u, v)), ordered.directed)
    return pieces


def _write_cells(graph: LabeledGraph) -> list[Piece]:
    """Every cell under its name."""
    pieces: list[Piece] = []
    for name, cell in graph.cells.items():
        before = "\n" if pieces else ""
        pieces += [(f"{before}{name}\n", None), *write_ladder(cell)]
    return pieces


def _write_row(rail: str, start: int, end: int, label: str | None, directed: bool) -> list[Piece]:
    """The row of an edge from one column to another, over the lines of all columns."""
    line, (left, right) = list(rail), sorted((start, end))
    line[left + 1 : right] = ["┼" if c == "│" else "─" for c in line[left + 1 : right]]
    line[start] = "├" if start < end else "┤"
    if not directed:
        line[end] = "├" if start > end else "┤"
    elif start < end:
        line[end - 1] = "▶"
    else:
        line[end + 1] = "◀"
    row = "".join(line)
    if label is None:
        return [(row, None)]
    shown = f" {cut_to_printable(label, _LONGEST)} "
    return [(row[: left + 2], None), (shown, label), (row[left + 2 + len(shown) :], None)]


def _write_chain(graph: LabeledGraph, chain: list[int]) -> list[Piece]:
    """A chain node by node; where a line would grow too long, it goes on in the next one."""
    labels = graph.edge_labels or {}
    pieces: list[Piece] = [(f"({chain[0]})", None)]
    length = len(pieces[0][0])
    for edge in pairwise(chain):
        name = f" {cut_to_printable(labels[edge], _LONGEST)} "
        step: list[Piece] = [(" ─", None), (name, labels[edge]), (f"─▶ ({edge[1]})", None)]
        longer = sum(len(text) for text, _ in step)
        if length + longer > _LINE_LENGTH:
            step.insert(0, ("\n   ", None))
            length = 3
        pieces += step
        length += longer
    return pieces
