"""Charts side by side in one figure of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nasgoat.figures.charts import MANY_POINTS, Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.figures.colours import LIGHT
from nasgoat.figures.scales import Scale
from nasgoat.figures.wording import make_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = {
    "circle": "o", "ring": "o", "square": "s", "diamond": "D", "triangle": "^", "down": "v",
    "dash": "_", "cross": "x",
}  # fmt: skip
_DASHES = ("--", "-.", ":")  # of dashed lines, by series: colour alone must not tell them apart
_ACROSS, _UP = 1 / 145, 1 / 108  # inches for a pixel of a chart's width and height
_LEGEND_ROW = 0.2  # inches
_LONGEST = 40  # characters of a name
_NAME = 0.2  # inches from one name beside a chart to the next, its frame's height less than its own


def draw_panels(rows: Sequence[Sequence[Chart]]) -> Figure:
    """Rows of charts under one legend; a row of fewer charts has wider ones.

    The vertical range is that of lines, points and rules. Bands may reach beyond it: those of a
    few outliers would press everything else to the ground.

    Example:
        >>> marks = [Line([0, 1], [9.0, 7.5], name="random"), Line([0, 1], [8.0, 7.0], name="goat")]
        >>> chart = Chart("Errors", "", Axis("evaluation"), Axis("error (%)"), marks, "nb201")
        >>> figure = draw_panels([[chart]])
        >>> figure.axes[0].get_title(), [text.get_text() for text in figure.legends[0].get_texts()]
        ('nb201', ['random', 'goat'])
    """
    from matplotlib.figure import Figure

    columns = max(len(row) for row in rows)
    shown = _order_names(mark for row in rows for chart in row for mark in chart.named)
    per_row = min(max(len(shown), 1), 2 * columns + 1)
    room = 0.15 + _LEGEND_ROW * -(-len(shown) // per_row)
    width = max(sum(chart.width for chart in row) for row in rows) * _ACROSS
    height = sum(max(chart.height for chart in row) for row in rows) * _UP
    figure = Figure(figsize=(width + 0.4, height + room), dpi=140)
    fine = math.lcm(*map(len, rows))
    grid = figure.add_gridspec(len(rows), fine)
    handles: dict[str, Any] = {}
    for i, row in enumerate(rows):
        before, width_of_one = "", fine // len(row)
        for j, chart in enumerate(row):
            axes = figure.add_subplot(grid[i, j * width_of_one : (j + 1) * width_of_one])
            handles |= _draw_chart(axes, chart, before)
            before = chart.y.name
    figure.tight_layout(rect=(0, 0, 1, 1 - (room if shown else 0.0) / figure.get_figheight()))
    if shown:
        figure.legend(
            [handles[name] for name in shown], [make_plain(name, _LONGEST) for name in shown],
            loc="upper center", ncols=per_row, frameon=False, fontsize=9, columnspacing=1.4,
        )  # fmt: skip
    return figure


def _order_names(marks: Iterable[Mark]) -> list[str]:
    """The names of a legend: bold lines first, rules last."""
    places: dict[str, int] = {}
    for mark in marks:
        if not isinstance(mark, Band):
            bold = isinstance(mark, Line) and mark.bold
            places.setdefault(mark.name, 0 if bold else 2 if isinstance(mark, Rule) else 1)
    return sorted(places, key=lambda name: places[name])


def _draw_chart(axes: Axes, chart: Chart, left_name: str) -> dict[str, Any]:
    """Draw a chart; the vertical name of its left neighbour is not repeated."""
    if chart.heading.rstrip(".").lower() != chart.y.name:
        title = f"{chart.heading} ({chart.note})" if chart.note else chart.heading
        axes.set_title(make_plain(title, 60), fontsize=10)
    if not chart.marks:
        axes.set_axis_off()
        axes.text(0.5, 0.5, chart.caption, ha="center", va="center", wrap=True, fontsize=9)
        return {}
    across, up = chart.make_scales(bands=False)
    _set_axis(axes, "x", across, chart.x, chart.x.name)
    _set_axis(axes, "y", up, chart.y, chart.y.name if chart.y.name != left_name else "")
    axes.tick_params(labelsize=8)
    drawn = {}
    for mark in chart.marks:
        artist = _draw_mark(axes, mark, up)
        if mark in chart.named:
            drawn[str(getattr(mark, "name", ""))] = artist
    _write_names(axes, chart, up)
    return drawn


def _write_names(axes: Axes, chart: Chart, up: Scale) -> None:
    """The names of lines at their right ends, each in the colour of its line."""
    for line, end, place in chart.place_names(up, _NAME / (chart.height * _UP)):
        look: Any = {"color": LIGHT[line.series], "transform": axes.transAxes}
        axes.plot([1.0, 1.03], [end, place], linewidth=0.7, clip_on=False, **look)
        axes.text(
            1.04, place, make_plain(line.name, 20), fontsize=8, va="center",
            fontweight="bold" if line.bold else "normal", **look,
        )  # fmt: skip


def _set_axis(axes: Axes, which: str, scale: Scale, axis: Axis, name: str) -> None:
    values, texts = zip(*axis.list_ticks(scale), strict=True)
    kind, limits = "log" if scale.log else "linear", (scale.low, scale.high)
    axes.set(**{f"{which}scale": kind, f"{which}lim": limits})
    shown = axes.xaxis if which == "x" else axes.yaxis
    shown.set_label_text(make_plain(name, _LONGEST), fontsize=9)
    shown.set_ticks(values, labels=texts)
    shown.set_ticks([], minor=True)


def _draw_mark(axes: Axes, mark: Mark, up: Scale) -> Any:
    def clip(values: Sequence[float]) -> Any:
        # On a logarithmic axis, zero is drawn at its lower end.
        return np.maximum(values, up.low) if up.log else np.asarray(values)

    if isinstance(mark, Band):
        return axes.fill_between(
            mark.x, clip(mark.low), clip(mark.high), step="post" if mark.steps else None,
            color=LIGHT[mark.series], alpha=0.10, linewidth=0,
        )  # fmt: skip
    if isinstance(mark, Line):
        # Lines to compare with, which have no name, are seen through a cloud of points.
        above = mark.bold or not mark.name
        return axes.plot(
            mark.x, clip(mark.y), color=LIGHT[mark.series],
            drawstyle="steps-post" if mark.steps else "default",
            linestyle=_DASHES[mark.series % 3] if mark.dashed else "-",
            linewidth=2.4 if mark.bold else 1.3, zorder=3 if above else 2,
        )[0]  # fmt: skip
    if isinstance(mark, Points):
        return _draw_points(axes, mark, clip)
    return axes.axhline(mark.y, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)))


def _draw_points(axes: Axes, mark: Points, clip: Any) -> Any:
    colour, middle, bars = LIGHT[mark.series], clip(mark.y), None
    if mark.bars:
        low, high = (clip(ends) for ends in zip(*mark.bars, strict=True))
        bars = [np.maximum(middle - low, 0.0), np.maximum(high - middle, 0.0)]
    size, alpha, edge = (3.0, 0.7, 1.0) if mark.bars else (5.0, 1.0, 1.0)
    if len(mark.x) > MANY_POINTS:
        size, alpha, edge = 2.4, 0.45, 0.0
    return axes.errorbar(
        mark.x, middle, bars, fmt=_MARKERS[mark.shape], color=colour, markersize=size,
        markeredgewidth=edge, markerfacecolor="white" if mark.shape == "ring" else colour,
        elinewidth=0.6, alpha=alpha, zorder=2.6,  # above the frame
        clip_on=bool(mark.bars) or not mark.x,  # a point on the border, as zero is, is shown whole
    )  # fmt: skip
