"""The report of an experiment: its tables, its figures, and how to repeat it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from nasgoat.errors import ExperimentFileError
from nasgoat.experiments import ExperimentRecords, Table, build_charts, build_tables, summary_of
from nasgoat.figures.charts import Chart
from nasgoat.figures.wording import format_count, format_duration
from nasgoat.report import markup
from nasgoat.report.chart_svg import draw_grid
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.page import Fact, Section, build_page, make_page, show_command

_KINDS = {
    "compare": "comparison of methods",
    "kernels": "comparison of kernels",
    "scale": "scaling of the optimisers",
}
_NUMBER = re.compile(r"\W*[\d–]")  # how a cell with a number begins, brackets and signs aside


def write_experiment_page(records: ExperimentRecords) -> str:
    """The report of an experiment as one HTML file.

    Raises:
        ExperimentFileError: If its records lack what their kind must have.
    """

    def refuse(problem: Exception) -> ExperimentFileError:
        text = f"must hold whole records, got {problem!r}"
        return ExperimentFileError(records.folder, None, "", text)

    return build_page(lambda: _make_page(records), refuse)


def _make_page(records: ExperimentRecords) -> str:
    sections = []
    if records.runs:
        if summary := summary_of(records):
            named = [replace(chart, identity=f"summary-{i}") for i, chart in enumerate(summary)]
            sections.append(Section("summary", "Summary", draw_grid(named)))
        shown = build_tables(records)
        sections.append(Section("tables", "Tables", _show_tables(shown)))
        if charts := build_charts(records):
            sections.append(Section("figures", "Figures", _show_figures(charts, records.kind)))
    sections.append(Section("repeat", "Repeat this experiment", _show_command(records)))
    return make_page(
        records.title or records.name,
        f"nasgoat · {_KINDS.get(records.kind, records.kind)}",
        emphasise(records.description or "An experiment without a description."),
        _list_facts(records),
        sections,
    )


def _list_facts(records: ExperimentRecords) -> list[Fact]:
    seconds = sum(float(run.get("cpu_seconds") or 0.0) for run in records.runs)
    counted = {
        f"{key}s": len({run[key] for run in records.runs if key in run})
        for key in ("benchmark", "method", "kernel", "seed")
    }
    return [
        Fact("finished runs", f"{len(records.runs):,}"),
        *(Fact(name, f"{count:,}") for name, count in counted.items() if count),
        Fact("processor time", format_duration(seconds), "of the runs"),
    ]


def _show_tables(tables: list[Table]) -> Html:
    """The tables, each with its own notes below it; how to read them is said once, at the end."""
    parts: list[Child] = []
    for found in tables:
        parts.append(_show_table(found))
        parts += [element("p", emphasise(note)) for note in found.notes if note]
    if shared := list(dict.fromkeys(found.how for found in tables if found.how)):
        parts.append(element("h3", "How to read these tables") if len(tables) > 1 else None)
        parts += [element("p", emphasise(how)) for how in shared]
    return join(*parts)


def _show_table(found: Table) -> Html:
    columns = [
        markup.Column(name, numeric=i > 0 and all(_NUMBER.match(row[i]) for row in found.rows))
        for i, name in enumerate(found.columns)
    ]
    rows = [[emphasise(cell) for cell in row] for row in found.rows]
    return markup.table(element("b", found.title), columns, rows, found.title, sortable=True)


def emphasise(text: str) -> Html:
    """A text in which ``**words**`` and words between backticks are set off.

    Example:
        >>> emphasise("a **b** <c> `d`")
        'a <b>b</b> &lt;c&gt; <code>d</code>'
    """
    parts: list[Child] = []
    for i, piece in enumerate(re.split(r"(\*\*[^*]+\*\*|`[^`]+`)", text)):
        if i % 2 == 0:  # every second one is marked
            parts.append(piece)
        elif piece.startswith("`"):
            parts.append(element("code", piece[1:-1]))
        else:
            parts.append(element("b", piece[2:-2]))
    return join(*parts)


def _show_figures(charts: dict[str, list[Chart]], kind: str) -> Html:
    parts, class_ = [], "grid thirds" if kind == "kernels" else "grid"
    stem = {"compare": "curves", "kernels": "predictions"}.get(kind, kind)
    for i, (heading, own) in enumerate(charts.items(), start=1):
        named = [replace(chart, identity=f"{stem}-{i}-{j}") for j, chart in enumerate(own)]
        parts.append(element("h3", heading))
        parts.append(draw_grid(named, class_))
    return join(*parts)


def _show_command(records: ExperimentRecords) -> Html:
    again = "It goes on with what is missing and repeats no finished run."
    versions = ((label(k), label(str(v))) for k, v in sorted(records.versions.items()))
    kept = f"{format_count(len(records.runs), 'run')} of kind {records.kind}, name {records.name}."
    declared = json.dumps(records.declaration, indent=1, ensure_ascii=False)
    return join(
        show_command(records.command, again),
        element("h3", "Versions"),
        markup.pairs(versions),
        markup.details("What was declared", markup.code_block(declared, "Declaration")),
        element("p", kept, class_="note"),
    )
