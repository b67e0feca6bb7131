"""Best value against evaluations: medians with a band, one panel for each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
#: Colours that stay apart for readers who see fewer of them (Okabe and Ito), then greys.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00",
    "#7F7F7F", "#B2182B", "#5E3C99", "#4D9221",
)  # fmt: skip
_STYLES = ("-", "--", "-.", ":")
_OURS_WIDTH, _WIDTH = 2.4, 1.3


@dataclass(frozen=True, eq=False)
class Panel:
    """One benchmark.

    Args:
        title: Above the panel.
        label: Of the vertical axis.
        curves: By method: one row per run, one column per evaluation.
        floor: The best value there is; None if it is not known.
        says: Text in place of curves.
    """

    title: str
    label: str
    curves: Mapping[str, Array]
    floor: float | None = None
    says: str = ""


def curves_figure(
    rows: Sequence[Sequence[Panel]], bold: Sequence[str] = (), first: int = 10
) -> Figure:
    """Rows of panels; a line is the median over runs, its band one standard deviation.

    Args:
        rows: The panels.
        bold: Methods to draw with wide lines.
        first: Evaluations to leave out at the left: the initial design.

    Example:
        >>> panel = Panel("nb201", "error", {"random": np.array([[9.0, 8.0], [9.0, 7.0]])}, 7.0)
        >>> figure = curves_figure([[panel]], first=1)
        >>> [line.get_ydata().tolist() for line in figure.axes[0].lines[1:]]
        [[9.0, 7.5]]
    """
    from matplotlib.figure import Figure

    columns = max(len(row) for row in rows)
    figure = Figure(figsize=(3.3 * columns + 0.4, 2.75 * len(rows) + 0.9), dpi=130)
    names = list(dict.fromkeys(n for row in rows for panel in row for n in panel.curves))
    styles = {name: _style(i, name in bold) for i, name in enumerate(names)}
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for row, line_of_axes in zip(rows, grid, strict=True):
        for axes in line_of_axes[len(row) :]:
            axes.set_axis_off()
        for panel, axes in zip(row, line_of_axes[: len(row)], strict=True):
            _draw(axes, panel, styles, first)
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    shown = [name for name in names if name in handles]
    across = min(max(len(shown), 1), 2 * columns + 1)
    lines = -(-len(shown) // across)
    room = (0.15 + 0.2 * lines) / figure.get_figheight()  # inches above the panels
    figure.tight_layout(rect=(0, 0, 1, 1 - room))
    figure.legend(
        [handles[name] for name in shown], shown, loc="upper center", ncols=across, frameon=False,
        fontsize=9, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _style(place: int, ours: bool) -> dict[str, object]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": "-" if ours else _STYLES[place % len(_STYLES)],
        "linewidth": _OURS_WIDTH if ours else _WIDTH,
        "zorder": 3 if ours else 2,
    }


def _draw(axes: Axes, panel: Panel, styles: Mapping[str, Mapping[str, object]], first: int) -> None:
    axes.set_title(panel.title, fontsize=10)
    if panel.says:
        axes.set_axis_off()
        axes.text(0.5, 0.5, panel.says, ha="center", va="center", wrap=True, fontsize=9)
        return
    top: list[float] = []
    if panel.floor is not None:
        axes.axhline(panel.floor, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)))
    for name, values in panel.curves.items():
        x = np.arange(first, values.shape[1] + 1)
        middle = np.median(values, axis=0)[first - 1 :]
        spread = np.std(values, axis=0, ddof=1 if len(values) > 1 else 0)[first - 1 :]
        style = dict(styles[name])
        band = {"step": "post", "color": style["color"], "alpha": 0.10, "linewidth": 0}
        axes.fill_between(x, middle - spread, middle + spread, **band)  # type: ignore[arg-type]
        axes.step(x, middle, where="post", label=name, **style)  # type: ignore[arg-type]
        top.append(float(middle[0]))
    low = panel.floor if panel.floor is not None else axes.get_ylim()[0]
    high = max(top, default=low + 1.0)
    axes.set_ylim(low - 0.06 * (high - low), high + 0.05 * (high - low) + 1e-9)
    axes.set(xlabel="evaluations", ylabel=panel.label)
    axes.tick_params(labelsize=8)
