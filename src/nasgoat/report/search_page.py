"""The report of a search."""

from __future__ import annotations

import json

from nasgoat.bayesopt import Ticket
from nasgoat.errors import NasgoatError, StudyError
from nasgoat.figures.charts import Chart
from nasgoat.figures.quantities import duration, number, percent, plural
from nasgoat.report import search_charts, search_tables
from nasgoat.report.cells import cell, gallery, legend, operation_classes
from nasgoat.report.chart_svg import figure
from nasgoat.report.markup import Child, Html, code_block, cut, element, join, label
from nasgoat.report.page import Fact, Section, page
from nasgoat.report.search_run import SearchRun, error_of, tested_error
from nasgoat.spaces import to_toml

_STATES = {
    "finished": ("good", "finished"),
    "exhausted": ("good", "finished: every graph of the space was proposed"),
    "running": ("warn", "running"),
    "interrupted": ("warn", "interrupted"),
    "stopped": ("warn", "not finished"),
    "failing": ("bad", "stopped: the objective fails"),
}
_TARGETS = {
    "rank": "the normal score of the error among those known",
    "log": "the standardised logarithm of the error",
    "plain": "the standardised error",
}


def search_page(run: SearchRun) -> str:
    """The report of a search as one HTML file.

    Raises:
        StudyError: If what the study holds makes no sense.
    """
    try:
        return _page(run)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as problem:
        if isinstance(problem, NasgoatError):
            raise
        raise StudyError(
            f"the study {run.stored.status.study!r} must be sound, got {problem!r}"
        ) from None


def _page(run: SearchRun) -> str:
    labels = [*run.stored.space.node_vocabulary, *run.stored.space.edge_vocabulary]
    classes = operation_classes(labels)
    sections = [_best(run, run.best, classes)] if run.best else []
    if run.done:
        sections.append(Section("history", "History", _history(run)))
    if run.tickets:
        sections.append(Section("proposals", "Proposals and certificates", _proposals(run)))
    if charts := search_charts.chart_hyperparameters(run):
        sections.append(Section("surrogate", "The surrogate over time", _surrogate(run, charts)))
    if run.failed:
        sections.append(Section("failures", "Failures", search_tables.failures(run)))
    if run.tickets:
        shown = join(legend(classes, run.stored.space.edge_vocabulary), gallery(run, classes))
        sections.append(Section("gallery", "Gallery of cells", shown))
    sections.append(Section("space", "The search space", _space(run)))
    sections.append(Section("repeat", "Repeat this search", _repeat(run)))
    return page(
        f"Search of {cut(run.objective_name, 120)}",
        "nasgoat · search report",
        _lede(run),
        _facts(run),
        sections,
    )


def _lede(run: SearchRun) -> Child:
    kind, text = _STATES[run.state]
    done = plural(len(run.done) + len(run.failed), "evaluation")
    budget = run.stored.status.budget
    of = f" of {budget:,}" if budget and budget != len(run.done) + len(run.failed) else ""
    by = f"The baseline {run.method}"
    if run.ours:
        kernel = run.settings.get("kernel", "?")
        by = f"Bayesian optimisation with the {kernel} shortest-path kernel"
    said: list[Child] = [element("span", text, class_=f"state {kind}"), f" {by}, {done}{of}. "]
    if run.best is None:
        return [*said, "Nothing has been evaluated yet."]
    said.append(
        f"The best graph has {run.metric} {number(error_of(run.best))} and was found at "
        f"evaluation {run.best.number + 1}."
    )
    regret = run.regret(run.best)
    if regret is not None:
        reached = regret < 1e-9
        said.append(
            " No graph of the table is better."
            if reached
            else f" The best of the table is better by {number(regret)}."
        )
    return said


def _facts(run: SearchRun) -> list[Fact]:
    best, facts = run.best, []
    if best:
        facts.append(Fact(run.metric, number(error_of(best)), f"evaluation {best.number + 1}"))
        if (test := tested_error(best)) is not None:
            facts.append(Fact("test error of that graph", number(test)))
        if (regret := run.regret(best)) is not None and run.benchmark:
            facts.append(Fact("regret", number(regret), f"optimum {number(run.benchmark.optimum)}"))
    status = run.stored.status
    more = ", ".join(
        f"{count} {name}"
        for count, name in ((status.failed, "failed"), (status.open, "open"))
        if count
    )
    facts.append(Fact("evaluations", f"{len(run.done):,}", more))
    if (certified := run.certified) is not None:
        made = f"of {plural(len(run.chosen), 'proposal')}"
        facts.append(Fact("proven optimal", percent(certified), made))
    size, exact = run.stored.space.size()
    shown = f"{size:,}" if size < 10**9 else f"{float(size):.1e}"
    facts.append(Fact("graphs in the space", shown, "" if exact else "at most"))
    facts.append(Fact("time", duration(run.seconds), "evaluations included"))
    return facts


def _best(run: SearchRun, best: Ticket, classes: dict[str, str]) -> Section:
    title = f"The best cell, evaluation {best.number + 1}"
    picture = cell(best.graph, classes, "best-cell", title, large=True)
    same = [t for t in run.done if error_of(t) == error_of(best)]
    ties = f" {plural(len(same) - 1, 'other graph')} came out equal." if len(same) > 1 else ""
    metrics = (best.outcome.metrics if best.outcome else None) or {}
    pairs = [
        join(element("dt", label(name)), element("dd", label(_plain(value), 200)))
        for name, value in sorted(metrics.items())
        if name != "error"
    ]
    stored = json.dumps(best.graph.to_dict())
    body = join(
        element("div", picture, class_="hero", tabindex=0, role="region", aria_label=title),
        element("p", f"Found at evaluation {best.number + 1}, iteration {best.iteration}.{ties}"),
        element("dl", pairs, class_="pairs") if pairs else None,
        element(
            "details",
            element("summary", "The graph as JSON"),
            code_block(stored, "The best graph as JSON"),
        ),
    )
    return Section("best", "The best cell", body)


def _history(run: SearchRun) -> Html:
    known = (search_charts.chart_regret(run), search_charts.chart_test_error(run))
    others = [chart for chart in known if chart]
    charts = [search_charts.chart_errors(run, not others), *others]
    return element("div", map(figure, charts), class_="grid")


def _proposals(run: SearchRun) -> Html:
    parts: list[Child] = [element("p", _certified(run))]
    wide = search_charts.chart_proposals(run)
    known = (
        search_charts.chart_forecasts(run),
        search_charts.chart_seconds(run),
        search_charts.chart_gaps(run),
    )
    figures = [figure(wide, wide=True)] if wide else []
    figures += [figure(chart) for chart in known if chart]
    if figures:
        parts.append(element("div", figures, class_="grid"))
    return join(*parts, search_tables.proposals(run))


def _certified(run: SearchRun) -> str:
    if not run.ours:
        return f"{run.method} has no surrogate of ours and proves nothing about its proposals."
    chosen = run.chosen
    if not chosen:
        return "Only the initial design has been proposed so far."
    proven = sum(t.proposal.certificate.certified for t in chosen)
    if not proven:
        return (
            f"None of {plural(len(chosen), 'proposal')} after the initial design is proven optimal."
        )
    lead = "All" if proven == len(chosen) else f"{proven} of"
    target = _TARGETS.get(str(run.settings.get("target")), "the target")
    return (
        f"{lead} {plural(len(chosen), 'proposal')} after the initial design are proven optimal: no "
        "graph of the space that had not been evaluated had a lower confidence bound LCB = mean − "
        f"√β sd. The scale is that of the target: {target}."
    )


def _surrogate(run: SearchRun, charts: list[Chart]) -> Html:
    kernel = run.settings.get("kernel", "?")
    intro = element("p", f"Hyperparameters of the {kernel} kernel after each fit.")
    values = element("details", element("summary", "The numbers"), search_tables.fits(run))
    return join(intro, element("div", map(figure, charts), class_="grid small"), values)


def _space(run: SearchRun) -> Html:
    space = run.stored.space
    size, exact = space.size()
    counted = f"{size:,} graphs" if exact else f"At most {float(size):.3g} graphs"
    toml = element(
        "details",
        element("summary", "The declaration as TOML"),
        code_block(to_toml(space), "The space as TOML"),
    )
    described = space.describe()
    text = described[:1].upper() + described[1:]
    return join(element("p", label(text, 2000), "."), element("p", f"{counted}."), toml)


def _repeat(run: SearchRun) -> Html:
    status, stored = run.stored.status, run.stored
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
        "seed": run.declaration.get("seed"),
        "method": run.method,
        **{name.replace("_", " "): _plain(value) for name, value in run.settings.items()},
        "optimiser": run.declaration.get("optimizer"),
        "initial design": run.declaration.get("initial"),
        "batch": run.declaration.get("batch") or "one by one, as workers are free",
        "begun": stored.started and f"{stored.started:%Y-%m-%d %H:%M:%S}",
        "last result": stored.ended and f"{stored.ended:%Y-%m-%d %H:%M:%S}",
        "left behind and repeated": stored.orphans or None,
        "version": stored.version,
    }
    pairs = [
        join(element("dt", name), element("dd", label(str(value), 500)))
        for name, value in facts.items()
        if value is not None
    ]
    return join(*parts, element("dl", pairs, class_="pairs"))


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
