"""The figures of a comparison: error and test error against evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nasgoat.experiments.compare.results import Scene, curves, scenes
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.figures.curves import Panel, curves_figure

if TYPE_CHECKING:
    from nasgoat.figures import Figure

#: The baselines of the paper's main figure; the others have one of their own.
MAIN = ("random", "gcn", "evolution", "nasbot", "bananas", "nas-bowl")
_CAPTION = (
    "Median over seeds with one standard deviation. Top: mean error of the cell of lowest error so "
    "far. Bottom: test error of the same cell. Dotted: the best cell of the table."
)


def captions(records: ExperimentRecords) -> dict[str, str]:
    """A line for each figure."""
    return dict.fromkeys(_groups(records, scenes(records)), _CAPTION)


def figures(records: ExperimentRecords) -> dict[str, Figure]:
    """One figure per setting and group of methods."""
    found = scenes(records)
    bold = _bold(records)
    first = int(records.declaration["initial"])
    drawn = {}
    for name, (own, methods) in _groups(records, found).items():
        rows = [[_panel(scene, methods, test=False) for scene in own]]
        if any(scene.has_test for scene in own):
            rows.append([_panel(scene, methods, test=True) for scene in own])
        drawn[name] = curves_figure(rows, bold, first)
    return drawn


def _groups(
    records: ExperimentRecords, found: Sequence[Scene]
) -> dict[str, tuple[list[Scene], list[str]]]:
    """The scenes and methods of each figure by its name."""
    declared = records.declaration["methods"]
    ours = [method["name"] for method in declared if method["method"] == "goat"]
    rest = [method["name"] for method in declared if method["name"] not in ours]
    others = [name for name in rest if name not in MAIN]
    split = {"": [*ours, *(n for n in rest if n in MAIN)], "-others": [*ours, *others]}
    if not others or len(declared) <= len(MAIN):
        split = {"": [*ours, *rest]}
    groups = {}
    for setting in dict.fromkeys(scene.setting for scene in found):
        own = [scene for scene in found if scene.setting == setting]
        for suffix, methods in split.items():
            groups[f"{records.name}-{setting}{suffix}"] = (own, methods)
    return groups


def _bold(records: ExperimentRecords) -> list[str]:
    """Our own method with our own settings."""
    ours = [m for m in records.declaration["methods"] if m["method"] == "goat"]
    return [m["name"] for m in ours if m["options"].get("preset", "default") == "default"]


def _panel(scene: Scene, methods: Sequence[str], test: bool) -> Panel:
    found = {name: curves(scene.runs[name], test) for name in methods if name in scene.runs}
    kept = {name: values for name, values in found.items() if values is not None}
    if not kept:
        same = test and "test error" in scene.metric
        why = "its error is the mean test error:\nsee above" if same else "not measured"
        return Panel(scene.benchmark, "", {}, says=why)
    label = "test error (%)" if test else scene.metric.split(" after ")[0] + " (%)"
    least, most = min(map(len, kept.values())), max(map(len, kept.values()))
    seeds = f"{least}" if least == most else f"{least} to {most}"
    title = f"{scene.benchmark} ({seeds} seeds)"
    return Panel(title, label, kept, None if test else scene.optimum)
