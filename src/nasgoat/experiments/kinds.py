"""The kinds of experiments: what each measures, how a run of it is done, what is shown of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nasgoat.errors import UnknownNameError
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Chart, Panels
from nasgoat.figures.panels import draw_panels

if TYPE_CHECKING:
    from nasgoat.figures import Figure

#: The modules of each kind: what it measures and how a run is done, its tables, its charts.
_MODULES = {
    "compare": {"study": "compare_study", "tables": "compare_tables", "charts": "compare_charts"},
    "kernels": {"study": "kernel_study", "tables": "kernel_tables", "charts": "kernel_charts"},
    "scale": {"study": "scale_study", "tables": "scale_results", "charts": "scale_results"},
}
KINDS = tuple(_MODULES)


@dataclass(frozen=True)
class Table:
    """A table of text cells, ready to be shown.

    Args:
        title: What it shows.
        columns: Heads of the columns.
        rows: Cells, as many as there are columns in each row.
        notes: Lines to be read with it.

    Example:
        >>> print(Table("Regret", ("method", "median"), (("goat-e", "0.000"),)).markdown())
        **Regret**
        <BLANKLINE>
        | method | median |
        |---|---|
        | goat-e | 0.000 |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table in Markdown, its title in front and its notes behind."""
        lines = [self.columns, *self.rows]
        rows = [f"| {' | '.join(line)} |" for line in lines]
        rows.insert(1, "|" + "---|" * len(self.columns))
        parts = [f"**{self.title}**", "\n".join(rows), *self.notes]
        return "\n\n".join(parts)


def execute(kind: str, settings: dict[str, Any]) -> list[Record]:
    """Do one run: its summary first, then the lines of its details."""
    lines: list[Record] = _module(kind, "study").execute(settings)
    return lines


def tables_of(records: ExperimentRecords) -> list[Table]:
    """The tables of an experiment, from its records alone."""
    tables: list[Table] = _module(records.kind, "tables").make_tables(records)
    return tables


def charts_of(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts of an experiment under the headings they belong to, from its records alone."""
    found: dict[str, list[Chart]] = _module(records.kind, "charts").make_charts(records)
    kept = {heading: [c for c in charts if c.marks] for heading, charts in found.items()}
    return {heading: charts for heading, charts in kept.items() if charts}


def figures_of(records: ExperimentRecords) -> dict[str, Figure]:
    """The figures of an experiment by name, in the order to show them, from its records alone."""
    return {name: draw_panels(panels.rows) for name, panels in _panels(records).items()}


def captions_of(records: ExperimentRecords) -> dict[str, str]:
    """A line about each figure by its name."""
    return {name: panels.caption for name, panels in _panels(records).items()}


def _panels(records: ExperimentRecords) -> dict[str, Panels]:
    panels: dict[str, Panels] = _module(records.kind, "charts").make_panels(records)
    return panels


def _module(kind: str, part: str) -> Any:
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    return import_module(f"nasgoat.experiments.{_MODULES[kind][part]}")
