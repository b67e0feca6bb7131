"""Predictions against the truth, with bars of one standard deviation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.figures.drawing import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
_TICKS = (1, 2, 5, 10, 20, 50, 100)


def predictions_figure(
    panels: Mapping[str, tuple[Array, Array, Array]],
    notes: Mapping[str, str] | None = None,
    label: str = "error (%)",
) -> Figure:
    """One panel for each model, all with the same axes, which are logarithmic.

    Args:
        panels: By model: true logarithms, predicted means and standard deviations.
        notes: A short text for each panel.
        label: What is predicted.

    Example:
        >>> truth = np.log([8.0, 9.0, 20.0])
        >>> figure = predictions_figure({"ESP": (truth, truth + 0.1, np.full(3, 0.2))})
        >>> [axes.get_title() for axes in figure.axes]
        ['ESP']
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.7 * len(panels) + 0.4, 3.1), dpi=140)
    truths = np.concatenate([truth for truth, _, _ in panels.values()])
    ends = np.exp(truths.min() - 0.25), np.exp(truths.max() + 0.25)
    for place, (name, values) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), place + 1)
        _draw(axes, values, PALETTE[place % len(PALETTE)])
        _scale(axes, ends)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(f"true {label}", fontsize=9)
        if place == 0:
            axes.set_ylabel(f"predicted {label}", fontsize=9)
        said = (notes or {}).get(name, "")
        axes.text(0.04, 0.95, said, transform=axes.transAxes, va="top", fontsize=8)
    figure.tight_layout()
    return figure


def _draw(axes: Axes, values: tuple[Array, Array, Array], colour: str) -> None:
    truth, mean, std = values
    centre = np.exp(mean)
    bars = np.array([centre - np.exp(mean - std), np.exp(mean + std) - centre])
    axes.errorbar(
        np.exp(truth), centre, bars, fmt="o", markersize=2.4, color=colour, ecolor=colour,
        elinewidth=0.6, alpha=0.45, markeredgewidth=0,
    )  # fmt: skip


def _scale(axes: Axes, ends: tuple[float, float]) -> None:
    """The same logarithmic axis both ways, and the line of equal values."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.plot(ends, ends, color="0.3", linewidth=0.9, zorder=3)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    ticks = [tick for tick in _TICKS if ends[0] <= tick <= ends[1]]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(labelsize=8)
