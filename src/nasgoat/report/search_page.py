"""The report of a search."""

from __future__ import annotations

import json

from nasgoat.bayesopt import Ticket
from nasgoat.errors import NasgoatError, StudyError
from nasgoat.figures.charts import Chart
from nasgoat.figures.quantities import format_count, format_duration, format_number, format_percent
from nasgoat.report import search_charts, search_tables
from nasgoat.report.cells import assign_classes, draw_cell, draw_gallery, draw_legend
from nasgoat.report.chart_svg import draw_figure
from nasgoat.report.markup import (
    Child,
    Html,
    code_block,
    cut,
    details,
    element,
    join,
    label,
    pairs,
)
from nasgoat.report.page import Fact, Section, make_page
from nasgoat.report.reported_search import ReportedSearch, error_of, tested_error
from nasgoat.spaces import to_toml

_STATES = {
    "finished": ("good", "finished"),
    "exhausted": ("good", "finished: every graph of the space was proposed"),
    "running": ("warn", "running"),
    "interrupted": ("warn", "interrupted"),
    "stopped": ("warn", "not finished"),
    "failing": ("bad", "stopped: the objective fails"),
}


def search_page(search: ReportedSearch) -> str:
    """The report of a search as one HTML file.

    Raises:
        StudyError: If what the study holds makes no sense.
    """
    try:
        return _make_page(search)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as problem:
        if isinstance(problem, NasgoatError):
            raise
        raise StudyError(
            f"the study {search.stored.status.study!r} must be sound, got {problem!r}"
        ) from None


def _make_page(search: ReportedSearch) -> str:
    labels = [*search.stored.space.node_vocabulary, *search.stored.space.edge_vocabulary]
    classes = assign_classes(labels)
    sections = [_show_best(search, search.best, classes)] if search.best else []
    if search.done:
        sections.append(Section("history", "History", _show_history(search)))
    if search.tickets:
        sections.append(Section("proposals", "Proposals and certificates", _show_proposals(search)))
    if charts := search_charts.chart_hyperparameters(search):
        sections.append(
            Section("surrogate", "The surrogate over time", _show_surrogate(search, charts))
        )
    if search.failed:
        sections.append(Section("failures", "Failures", search_tables.tabulate_failures(search)))
    if search.tickets:
        shown = join(
            draw_legend(classes, search.stored.space.edge_vocabulary), draw_gallery(search, classes)
        )
        sections.append(Section("gallery", "Gallery of cells", shown))
    sections.append(Section("space", "The search space", _show_space(search)))
    sections.append(Section("repeat", "Repeat this search", _show_command(search)))
    return make_page(
        f"Search of {cut(search.objective_name, 120)}",
        "nasgoat · search report",
        _write_lede(search),
        _list_facts(search),
        sections,
    )


def _write_lede(search: ReportedSearch) -> Child:
    kind, text = _STATES[search.state]
    done = format_count(len(search.done) + len(search.failed), "evaluation")
    budget = search.stored.status.budget
    of = f" of {budget:,}" if budget and budget != len(search.done) + len(search.failed) else ""
    by = f"The baseline {search.method}"
    if search.ours:
        kernel = search.settings.get("kernel", "?")
        by = f"Bayesian optimisation with the {kernel} shortest-path kernel"
    said: list[Child] = [element("span", text, class_=f"state {kind}"), f" {by}, {done}{of}. "]
    if search.best is None:
        return [*said, "Nothing has been evaluated yet."]
    lowest = f"{search.metric} {format_number(error_of(search.best))}"
    found = f"evaluation {search.best.number + 1}"
    said.append(f"The best graph has {lowest} and was found at {found}.")
    regret = search.regret(search.best)
    if regret is not None:
        reached = regret < 1e-9
        said.append(
            " No graph of the table is better."
            if reached
            else f" The best of the table is better by {format_number(regret)}."
        )
    return said


def _list_facts(search: ReportedSearch) -> list[Fact]:
    best, facts = search.best, []
    if best:
        facts.append(
            Fact(search.metric, format_number(error_of(best)), f"evaluation {best.number + 1}")
        )
        if (test := tested_error(best)) is not None:
            facts.append(Fact("test error of that graph", format_number(test)))
        if (regret := search.regret(best)) is not None and search.benchmark:
            facts.append(
                Fact(
                    "regret",
                    format_number(regret),
                    f"optimum {format_number(search.benchmark.optimum)}",
                )
            )
    status = search.stored.status
    more = ", ".join(
        f"{count} {name}"
        for count, name in ((status.failed, "failed"), (status.open, "open"))
        if count
    )
    facts.append(Fact("evaluations", f"{len(search.done):,}", more))
    if (certified := search.certified) is not None:
        made = f"of {format_count(len(search.chosen), 'proposal')}"
        facts.append(Fact("proven optimal", format_percent(certified), made))
    size, exact = search.stored.space.size()
    shown = f"{size:,}" if size < 10**9 else f"{float(size):.1e}"
    facts.append(Fact("graphs in the space", shown, "" if exact else "at most"))
    facts.append(Fact("time", format_duration(search.seconds), "evaluations included"))
    return facts


def _show_best(search: ReportedSearch, best: Ticket, classes: dict[str, str]) -> Section:
    title = f"The best cell, evaluation {best.number + 1}"
    picture = draw_cell(best.graph, classes, "best-cell", title, large=True)
    same = [t for t in search.done if error_of(t) == error_of(best)]
    ties = f" {format_count(len(same) - 1, 'other graph')} came out equal." if len(same) > 1 else ""
    metrics = (best.outcome.metrics if best.outcome else None) or {}
    others = [
        (label(name), label(_format_value(value), 200))
        for name, value in sorted(metrics.items())
        if name != "error"
    ]
    stored = json.dumps(best.graph.to_dict())
    body = join(
        element("div", picture, class_="hero", tabindex=0, role="region", aria_label=title),
        element("p", f"Found at evaluation {best.number + 1}, iteration {best.iteration}.{ties}"),
        pairs(others) if others else None,
        details("The graph as JSON", code_block(stored, "The best graph as JSON")),
    )
    return Section("best", "The best cell", body)


def _show_history(search: ReportedSearch) -> Html:
    known = (search_charts.chart_regret(search), search_charts.chart_test_error(search))
    others = [chart for chart in known if chart]
    errors = draw_figure(search_charts.chart_errors(search, not others), wide=not others)
    return element("div", errors, map(draw_figure, others), class_="grid")


def _show_proposals(search: ReportedSearch) -> Html:
    parts: list[Child] = [element("p", search_tables.describe_certificates(search))]
    wide = search_charts.chart_proposals(search)
    known = (
        search_charts.chart_forecasts(search),
        search_charts.chart_seconds(search),
        search_charts.chart_gaps(search),
    )
    figures = [draw_figure(wide, wide=True)] if wide else []
    figures += [draw_figure(chart) for chart in known if chart]
    if figures:
        parts.append(element("div", figures, class_="grid"))
    return join(*parts, search_tables.tabulate_proposals(search))


def _show_surrogate(search: ReportedSearch, charts: list[Chart]) -> Html:
    kernel = search.settings.get("kernel", "?")
    intro = element("p", f"Hyperparameters of the {kernel} kernel after each fit.")
    values = details("The numbers", search_tables.tabulate_fits(search))
    return join(intro, element("div", map(draw_figure, charts), class_="grid small"), values)


def _show_space(search: ReportedSearch) -> Html:
    space = search.stored.space
    size, exact = space.size()
    counted = f"{size:,} graphs" if exact else f"At most {float(size):.3g} graphs"
    toml = details("The declaration as TOML", code_block(to_toml(space), "The space as TOML"))
    described = space.describe()
    text = described[:1].upper() + described[1:]
    return join(element("p", label(text, 2000), "."), element("p", f"{counted}."), toml)


def _show_command(search: ReportedSearch) -> Html:
    status, stored = search.stored.status, search.stored
    parts: list[Child] = []
    if status.command:
        parts.append(element("p", "The command, exactly as it was called last:"))
        parts.append(code_block(status.command, "Command", copy=True))
        after = "starts anew" if status.finished else "goes on where the search stopped"
        parts.append(
            element("p", f"In the same place it {after}; elsewhere it repeats the search.")
        )
    facts = {
        "study": status.study,
        "storage": status.storage,
        "seed": search.declaration.get("seed"),
        "method": search.method,
        **{name.replace("_", " "): _format_value(value) for name, value in search.settings.items()},
        "optimiser": search.declaration.get("optimizer"),
        "initial design": search.declaration.get("initial"),
        "batch": search.declaration.get("batch") or "one by one, as workers are free",
        "begun": stored.started and f"{stored.started:%Y-%m-%d %H:%M:%S}",
        "last result": stored.ended and f"{stored.ended:%Y-%m-%d %H:%M:%S}",
        "left behind and repeated": stored.orphans or None,
        "version": stored.version,
    }
    known = ((name, label(str(value), 500)) for name, value in facts.items() if value is not None)
    return join(*parts, pairs(known))


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
