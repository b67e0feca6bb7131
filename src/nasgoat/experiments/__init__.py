"""Experiments: the paper's tables and figures, from records that a killed session leaves whole.

Here are the results of an experiment of any kind, from its records alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasgoat.errors import UnknownNameError
from nasgoat.experiments.records import ExperimentRecords, is_experiment, read_experiment
from nasgoat.experiments.runner import FinishedRun, Runner, Tally, start_local_processes
from nasgoat.experiments.study import KINDS
from nasgoat.figures import draw_panels
from nasgoat.figures.charts import Chart, Panels
from nasgoat.safe_files import replace_file, write_whole

if TYPE_CHECKING:
    from nasgoat.figures import Figure

__all__ = [
    "ExperimentRecords",
    "FinishedRun",
    "Runner",
    "Table",
    "Tally",
    "build_charts",
    "build_tables",
    "is_experiment",
    "make_captions",
    "make_figures",
    "read_experiment",
    "start_local_processes",
    "summary_of",
    "write_results",
]


@dataclass(frozen=True)
class Table:
    """A table of text cells, ready to be shown.

    Args:
        title: What it shows.
        columns: Heads of the columns.
        rows: Cells, as many as there are columns in each row.
        notes: What is to be said of this table.
        how: How to read it, and every other table of its kind.

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
    how: str = ""

    def markdown(self) -> str:
        """The table in Markdown, its title in front, behind it how to read it and its notes."""
        lines = [self.columns, *self.rows]
        rows = [f"| {' | '.join(line)} |" for line in lines]
        rows.insert(1, "|" + "---|" * len(self.columns))
        parts = [f"**{self.title}**", "\n".join(rows), self.how, *self.notes]
        return "\n\n".join(filter(None, parts))


def build_tables(records: ExperimentRecords) -> list[Table]:
    """The tables of an experiment, from its records alone."""
    tables: list[Table] = _load_modules(records)[0].make_tables(records)
    return tables


def build_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts of an experiment under the headings they belong to, from its records alone."""
    found: dict[str, list[Chart]] = _load_modules(records)[1].make_charts(records)
    kept = {heading: [c for c in charts if c.marks] for heading, charts in found.items()}
    return {heading: charts for heading, charts in kept.items() if charts}


def summary_of(records: ExperimentRecords) -> list[Chart]:
    """The charts to see before anything else; none for kinds whose tables are short."""
    found: list[Chart] = getattr(_load_modules(records)[1], "make_summary", lambda _: [])(records)
    return found


def make_figures(records: ExperimentRecords) -> dict[str, Figure]:
    """The figures of an experiment by name, in the order to show them, from its records alone."""
    return {name: draw_panels(panels.rows) for name, panels in _list_panels(records).items()}


def make_captions(records: ExperimentRecords) -> dict[str, str]:
    """A line about each figure by its name."""
    return {name: panels.caption for name, panels in _list_panels(records).items()}


def write_results(
    folder: Path, figures: Path | None = None, tables_in: Path | None = None
) -> list[Path]:
    """Write tables and figures from the records of an experiment alone.

    Args:
        folder: The experiment's folder.
        figures: The folder of the figures; that of the tables if None.
        tables_in: The folder of the tables; that of the experiment if None.

    Returns:
        The files that were written.
    """
    records = read_experiment(folder)
    tables = build_tables(records)
    document = json.dumps([asdict(table) for table in tables], indent=1, ensure_ascii=False)
    home = tables_in or folder
    written = [home / "tables.md", home / "tables.json"]
    write_whole(written[0], "\n\n".join(table.markdown() for table in tables) + "\n")
    write_whole(written[1], document + "\n")
    target = figures or home
    target.mkdir(parents=True, exist_ok=True)
    captions = make_captions(records)
    for name, figure in make_figures(records).items():
        path = target / f"{name}.png"
        with replace_file(path) as partial:
            figure.savefig(partial, format="png", metadata={"Title": captions.get(name, name)})
        written.append(path)
    return written


def _list_panels(records: ExperimentRecords) -> dict[str, Panels]:
    panels: dict[str, Panels] = _load_modules(records)[1].make_panels(records)
    return panels


def _load_modules(records: ExperimentRecords) -> list[Any]:
    """What makes the tables of an experiment, and what makes its charts."""
    if records.kind not in KINDS:
        raise UnknownNameError("kind", records.kind, KINDS)
    kind = KINDS[records.kind]
    return [import_module(f"nasgoat.experiments.{name}") for name in (kind.tables, kind.charts)]
