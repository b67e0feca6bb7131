"""The figure of a scale study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nasgoat.experiments.records import ExperimentRecords
from nasgoat.figures.scaling import scaling_figure

if TYPE_CHECKING:
    from nasgoat.figures import Figure

_CAPTION = "Seconds, gap and size of the model against the number of nodes; hollow: not proven."


def captions(records: ExperimentRecords) -> dict[str, str]:
    """A line for each figure."""
    return {f"{records.name}-{kernel}": _CAPTION for kernel in records.declaration["kernels"]}


def figures(records: ExperimentRecords) -> dict[str, Figure]:
    """One figure per kernel, of the first seed and number of observations."""
    declared = records.declaration
    drawn = {}
    for kernel in declared["kernels"]:
        wanted = (kernel, declared["observations"][0], declared["seeds"][0])
        own = [r for r in records.runs if (r["kernel"], r["observations"], r["seed"]) == wanted]
        # Records may be older than the declaration, and have methods that it no longer names.
        order = {method: place for place, method in enumerate(declared["methods"])}
        own.sort(key=lambda r: (order.get(r["method"], len(order)), r["method"], r["nodes"]))
        if own:
            drawn[f"{records.name}-{kernel}"] = scaling_figure(own, declared["methods"])
    return drawn
