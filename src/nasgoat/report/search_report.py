"""The report of a search: its sections, the tables and the gallery in them."""

from __future__ import annotations

import json
from collections.abc import Callable

from nasgoat.bayesopt import Ticket
from nasgoat.errors import StudyError
from nasgoat.figures.wording import (
    format_count,
    format_duration,
    format_fixed,
    format_number,
    format_percent,
)  # fmt: skip
from nasgoat.report import markup
from nasgoat.report.cells import assign_classes, draw_card, draw_cell, draw_legend
from nasgoat.report.chart_svg import draw_grid
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.model_charts import chart_models, describe_models
from nasgoat.report.page import Fact, Section, build_page, make_page, show_command
from nasgoat.report.reported_search import ReportedSearch, error_of, read_test_error, sqrt_beta_of
from nasgoat.report.search_charts import chart_history, chart_hyperparameters, chart_proposals
from nasgoat.spaces import to_toml

_TARGETS = {
    "rank": "the normal score of the error among those known",
    "log": "the standardised logarithm of the error",
    "plain": "the standardised error",
}
_TRACEBACK = 4000  # characters of a traceback, its end
_FIRST = 12  # cells of the gallery that are shown at once
_MOST = 300  # drawn at all: a report must stay small enough to be opened
#: How a state of the search is marked, unless as a warning, and said, unless by its name.
_STATE_MARKS = {"finished": "good", "exhausted": "good", "failing": "bad"}
_STATE_WORDS = {
    "exhausted": "finished: every graph of the space was proposed",
    "stopped": "not finished",
    "failing": "stopped: the objective fails",
}


def search_page(search: ReportedSearch) -> str:
    """The report of a search as one HTML file.

    Raises:
        StudyError: If what the study holds makes no sense.
    """
    name = search.stored.status.study
    return build_page(
        lambda: _make_page(search),
        lambda problem: StudyError(f"the study {name!r} must be sound, got {problem!r}"),
    )


def _make_page(search: ReportedSearch) -> str:
    space = search.stored.space
    classes = assign_classes(space.labels)
    history = chart_history(search)
    bodies = {
        ("best", "The best cell"): _show_best(search, classes),
        ("history", "History"): draw_grid(history) if history else None,
        ("proposals", "Proposals and certificates"): _show_proposals(search),
        ("surrogate", "The surrogate over time"): _show_surrogate(search),
        ("failures", "Failures"): _tabulate_failures(search),
        ("gallery", "Gallery of cells"): _show_gallery(search, classes),
        ("space", "The search space"): _show_space(search),
        ("repeat", "Repeat this search"): _show_command(search),
    }
    return make_page(
        f"Search of {search.objective_name}",
        "nasgoat · search report",
        _write_lede(search),
        _list_facts(search),
        [Section(*name, body) for name, body in bodies.items() if body],
    )


def _write_lede(search: ReportedSearch) -> Child:
    mark = _STATE_MARKS.get(search.state, "warn")
    text = _STATE_WORDS.get(search.state, search.state)
    ended = len(search.done) + len(search.failed)
    budget = search.stored.status.budget
    of = f" of {budget:,}" if budget and budget != ended else ""
    by = f"The baseline {search.method}"
    if search.ours:
        kernel = search.settings.get("kernel", "?")
        by = f"Bayesian optimisation with the {kernel} shortest-path kernel"
    state, count = element("span", text, class_=f"state {mark}"), format_count(ended, "evaluation")
    said: list[Child] = [state, f" {by}, {count}{of}. "]
    if search.best is None:
        return [*said, "Nothing has been evaluated yet."]
    lowest = f"{search.metric} {search.describe_best_error()}"
    found = f"evaluation {search.best.number + 1}"
    said.append(f"The best graph has {lowest} and was found at {found}.")
    regret = search.regret(search.best)
    if regret is not None and regret < 1e-9:
        said.append(" No graph of the table is better.")
    elif regret is not None:
        said.append(f" The best of the table is better by {format_number(regret)}.")
    return said


def _list_facts(search: ReportedSearch) -> list[Fact]:
    best, facts = search.best, []
    if best:
        found = f"evaluation {best.number + 1}"
        facts.append(Fact(search.metric, search.describe_best_error(), found))
        if search.recommended and search.recommended.uncertainty is not None:
            least = min(error_of(t) for t in search.done)
            facts.append(Fact("lowest observed", format_number(least), "one lucky evaluation"))
        if (test := read_test_error(best)) is not None:
            facts.append(Fact("test error of that graph", format_number(test)))
        if (regret := search.regret(best)) is not None and search.benchmark:
            optimum = f"optimum {format_number(search.benchmark.optimum)}"
            facts.append(Fact("regret", format_number(regret), optimum))
    status = search.stored.status
    others = {"failed": status.failed, "open": status.open}
    more = ", ".join(f"{count} {name}" for name, count in others.items() if count)
    facts.append(Fact("evaluations", f"{len(search.done):,}", more))
    if (certified := search.certified) is not None:
        made = f"of {format_count(len(search.chosen), 'proposal')}"
        facts.append(Fact("proven optimal", format_percent(certified), made))
    if models := list(search.models.values()):
        ranked = format_fixed(models[-1].rank_correlation, 2)
        learnt = "rank correlation" if models[-1].learnt else "has learnt nothing"
        facts.append(Fact("model", ranked, learnt))
    size, exact = search.stored.space.size()
    shown = f"{size:,}" if size < 10**9 else f"{float(size):.1e}"
    facts.append(Fact("graphs in the space", shown, "" if exact else "at most"))
    facts.append(Fact("time", format_duration(search.seconds), "evaluations included"))
    return facts


def _show_best(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    best = search.best
    if best is None:
        return None
    title = f"The best cell, evaluation {best.number + 1}"
    picture = draw_cell(best.graph, classes, "best-cell", title, large=True)
    same = sum(error_of(t) == error_of(best) for t in search.done)
    ties = f" {format_count(same - 1, 'other graph')} came out equal." if same > 1 else ""
    metrics = (best.outcome.metrics if best.outcome else None) or {}
    others = [
        (label(name), label(_format_value(value), 200))
        for name, value in sorted(metrics.items())
        if name != "error"
    ]
    stored = json.dumps(best.graph.to_dict())
    return join(
        markup.region("div", picture, name=title, class_="hero"),
        element("p", f"Found at evaluation {best.number + 1}, iteration {best.iteration}.{ties}"),
        markup.pairs(others) if others else None,
        markup.details("The graph as JSON", markup.code_block(stored, "The best graph as JSON")),
    )


def _show_proposals(search: ReportedSearch) -> Html | None:
    if not search.tickets:
        return None
    charts = chart_proposals(search)
    return join(
        element("p", _describe_certificates(search)),
        draw_grid(charts) if charts else None,
        _tabulate_proposals(search),
    )


def _describe_certificates(search: ReportedSearch) -> str:
    """How many proposals are proven optimal, and what that means."""
    if not search.ours:
        return f"{search.method} has no surrogate of ours and proves nothing about its proposals."
    chosen = search.chosen
    if not chosen:
        return "Only the initial design has been proposed so far."
    proven = sum(t.proposal.certificate.certified for t in chosen)
    made = format_count(len(chosen), "proposal")
    if not proven:
        return f"None of {made} after the initial design is proven optimal."
    lead = "All" if proven == len(chosen) else f"{proven} of"
    target = _TARGETS.get(str(search.settings.get("target")), "the target")
    return (
        f"{lead} {made} after the initial design are proven optimal: no graph of the space that "
        "had not been evaluated had a lower confidence bound LCB = mean − √β sd. "
        f"The scale is that of the target: {target}."
    )


def _tabulate_proposals(search: ReportedSearch) -> Html:
    """Every proposal: what was believed, what is proven, what came out."""
    shown: dict[str, Callable[[Ticket], Child]] = {
        "evaluation": _link_to_cell,
        "iteration": lambda t: t.iteration,
    }
    if search.ours:
        shown |= {
            "mean": lambda t: format_fixed(t.proposal.mean),
            "sd": lambda t: format_fixed(t.proposal.std),
            "√β": lambda t: format_fixed(sqrt_beta_of(t), 2),
            "LCB": lambda t: format_fixed(t.proposal.lcb),
            "bound": lambda t: format_fixed(t.proposal.certificate.bound),
            "gap": lambda t: _format_gap(t.proposal.certificate.gap),
        }
    shown["certificate"] = _show_status
    if search.ours:
        shown["solve (s)"] = _show_seconds
    shown["error"] = _show_outcome
    if any(read_test_error(t) is not None for t in search.tickets):
        shown["test error"] = lambda t: format_number(read_test_error(t))
    if search.benchmark is not None:
        shown["regret"] = lambda t: format_number(search.regret(t))
    columns = [markup.Column(name, numeric=name != "certificate") for name in shown]
    rows = [[show(t) for show in shown.values()] for t in search.tickets]
    best = next((i for i, t in enumerate(search.tickets) if t is search.best), None)
    caption = "Proposals in the order in which they were made. The best is marked."
    if search.ours:
        caption += (
            " Mean, sd, LCB and bound are on the scale of the target; they are of the time of the "
            "proposal, before its evaluation."
        )
    return markup.table(caption, columns, rows, "Table of proposals", sortable=True, best=best)


def _link_to_cell(ticket: Ticket) -> Html:
    return element("a", ticket.number + 1, href=f"#cell-{ticket.number + 1}")


def _show_status(ticket: Ticket) -> Html:
    status = str(ticket.proposal.certificate.status)
    shown = element("span", status, class_=status)
    if ticket.proposal.informed is False:
        return join(shown, ", ", element("span", "nothing learnt", class_="failed"))
    return shown


def _show_seconds(ticket: Ticket) -> str:
    certificate = ticket.proposal.certificate
    return format_number(certificate.seconds if certificate.status.optimized else None)


def _format_gap(gap: float | None) -> str:
    return "0" if gap == 0 else format_number(gap)


def _show_outcome(ticket: Ticket) -> Child:
    if ticket.outcome is None:
        return "not evaluated yet"
    if ticket.outcome.failure is not None:
        return element("span", f"failed: {ticket.outcome.failure.kind}", class_="failed")
    return format_number(error_of(ticket))


def _show_surrogate(search: ReportedSearch) -> Html | None:
    """What every fit found and had learnt, as charts and as a table; None without a surrogate."""
    charts = chart_hyperparameters(search)
    if not charts:
        return None
    names = search.fitted_names
    rows: list[list[Child]] = [
        [iteration, *(format_number(values.get(name)) for name in names)]
        for iteration, values in search.fits.items()
    ]
    columns = [markup.Column("iteration"), *map(markup.Column, names)]
    values = markup.table("Fitted hyperparameters.", columns, rows, "Table of hyperparameters")
    kernel, models = search.settings.get("kernel", "?"), chart_models(search)
    return join(
        element("p", describe_models(search)) if models else None,
        draw_grid(models, "grid small") if models else None,
        element("p", f"Hyperparameters of the {kernel} kernel after each fit."),
        draw_grid(charts, "grid small"),
        markup.details("The numbers", values),
    )


def _tabulate_failures(search: ReportedSearch) -> Html | None:
    """Every failed evaluation with its reason and traceback; None if there is none."""
    rows: list[list[Child]] = []
    for ticket in search.failed:
        failure = ticket.outcome.failure if ticket.outcome else None
        if failure is None:
            continue
        said: list[Child] = [label(failure.reason, 500)]
        if failure.traceback:
            text = failure.traceback.rstrip()[-_TRACEBACK:]
            said.append(markup.details("traceback", markup.code_block(text, "Traceback")))
        rows.append([_link_to_cell(ticket), str(failure.kind), said])
    if not rows:
        return None
    columns = [
        markup.Column("evaluation"),
        markup.Column("kind", False),
        markup.Column("reason", False, long=True),
    ]
    return markup.table(
        "Failed evaluations; they are never learnt from.", columns, rows, "Failures"
    )


def _show_gallery(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    """The cells of a search, best first, then what failed or still runs."""
    if not search.tickets:
        return None
    ranked = sorted(search.done, key=lambda t: (error_of(t), t.number))
    others = [t for t in search.tickets if t.outcome is None or t.outcome.metrics is None]
    tickets = [*ranked, *others]
    drawn = [_draw_item(ticket, classes) for ticket in tickets[:_MOST]]
    parts = [draw_legend(classes, search.stored.space.edge_vocabulary)]
    parts.append(element("ol", drawn[:_FIRST], class_="gallery"))
    if len(drawn) > _FIRST:
        further = f"{format_count(len(drawn) - _FIRST, 'further cell')}, best first"
        parts.append(markup.details(further, element("ol", drawn[_FIRST:], class_="gallery")))
    if len(tickets) > _MOST:
        left = format_count(len(tickets) - _MOST, "cell")
        parts.append(element("p", f"{left} of higher error left out.", class_="note"))
        anchors = [element("span", id=f"cell-{t.number + 1}") for t in tickets[_MOST:]]
        parts.append(element("div", anchors))
    return join(*parts)


def _draw_item(ticket: Ticket, classes: dict[str, str]) -> Html:
    place = f"cell-{ticket.number + 1}"
    picture = draw_card(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    failed = ticket.outcome is not None and ticket.outcome.failure is not None
    said = element("b", "failed" if failed else _show_outcome(ticket))
    more = f" · evaluation {ticket.number + 1}, {ticket.proposal.certificate.status}"
    return element("li", picture, element("p", said, more), id=place)


def _show_space(search: ReportedSearch) -> Html:
    space = search.stored.space
    size, exact = space.size()
    counted = f"{size:,} graphs" if exact else f"At most {float(size):.3g} graphs"
    toml = markup.code_block(to_toml(space), "The space as TOML")
    text = space.describe()
    return join(
        element("p", label(text[:1].upper() + text[1:], 2000), "."),
        element("p", f"{counted}."),
        markup.details("The declaration as TOML", toml),
    )


def _show_command(search: ReportedSearch) -> Html:
    status, stored = search.stored.status, search.stored
    after = "starts anew" if status.finished else "goes on where the search stopped"
    again = f"In the same place it {after}; elsewhere it repeats the search."
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
    return join(show_command(status.command, again), markup.pairs(known))


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
