"""The figure of ``nasgoat scale``: seconds, gap and model size against the number of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nasgoat.figures.drawing import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = {
    "cpu_seconds": "processor seconds",
    "gap": "gap",
    "variables": "variables",
    "constraints": "rows",
}
_NO_GAP = 1e-6  # a gap below this is drawn here: the axis is logarithmic


def scaling_figure(
    records: Sequence[Mapping[str, Any]], methods: Sequence[str] | None = None
) -> Figure:
    """One panel for each quantity, one line for each method; hollow where nothing was proven.

    Args:
        records: What was measured.
        methods: All methods, so that each has its colour in several figures; by default those of
            the records.

    Example:
        >>> record = {"method": "scip/compact", "nodes": 5, "cpu_seconds": 1.0, "variables": 300,
        ...           "constraints": 400, "gap": 0.0, "status": "optimal"}
        >>> [axes.get_ylabel() for axes in scaling_figure([record]).axes]
        ['processor seconds', 'gap', 'variables', 'rows']
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(12.5, 3.2), dpi=150)
    methods = list(dict.fromkeys([*(methods or ()), *(str(r["method"]) for r in records)]))
    for place, (key, label) in enumerate(_PANELS.items(), start=1):
        axes = figure.add_subplot(1, len(_PANELS), place)
        for i, method in enumerate(methods):
            own = [r for r in records if r["method"] == method and r[key] is not None]
            colour = PALETTE[i % len(PALETTE)]
            if own:
                x, y = [r["nodes"] for r in own], [r[key] for r in own]
                y = [max(value, _NO_GAP) for value in y] if key == "gap" else y
                axes.plot(x, y, "-", color=colour, label=method)
                filled = [colour if r["status"] == "optimal" else "white" for r in own]
                axes.scatter(x, y, c=filled, edgecolors=colour, zorder=3)
        axes.set(xlabel="nodes", ylabel=label, yscale="log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    lines, names = figure.axes[0].get_legend_handles_labels()
    if lines:
        figure.legend(lines, names, loc="upper center", ncols=len(names), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    return figure
