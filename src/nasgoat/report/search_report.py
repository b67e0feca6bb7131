"""The report of a search: its sections, the tables and the gallery in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from nasgoat.bayesopt import Ticket
from nasgoat.bayesopt.known import describe_known
from nasgoat.errors import StudyError
from nasgoat.figures.wording import (
    format_count,
    format_fixed,
    format_number,
)  # fmt: skip
from nasgoat.graphs import LabeledGraph
from nasgoat.report import markup
from nasgoat.report.cells import assign_classes, draw_card, draw_cell, draw_legend
from nasgoat.report.chart_svg import draw_grid
from nasgoat.report.front_charts import show_front
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.model_charts import chart_hyperparameters, chart_models, describe_models
from nasgoat.report.page import Section, build_page, make_page, show_command
from nasgoat.report.reported_search import ReportedSearch, error_of, read_test_error
from nasgoat.report.search_charts import chart_history, chart_proposals
from nasgoat.report.search_head import describe_estimate, list_facts, write_lede
from nasgoat.report.source_table import show_sources
from nasgoat.spaces import to_toml

_TARGETS = {
    "rank": "the normal score of the error among those known",
    "log": "the standardised logarithm of the error",
    "plain": "the standardised error",
}
_TRACEBACK = 4000  # characters of a traceback, its end
_FIRST = 12  # cells of the gallery that are shown at once
_MOST = 300  # drawn at all: a report must stay small enough to be opened


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
    first = search.objectives.names[0]
    title = "The best cell" if search.objectives.plain else f"The best cell by {first}"
    bodies = {
        ("front", "The front"): show_front(search, classes),
        ("best", title): _show_best(search, classes),
        ("history", "History"): draw_grid(history) if history else None,
        ("sources", "Sources"): show_sources(search),
        ("proposals", "Proposals and certificates"): _show_proposals(search),
        ("surrogate", "The surrogate over time"): _show_surrogate(search),
        ("failures", "Failures"): _tabulate_failures(search),
        ("known", "Known results"): _show_known(search, classes),
        ("gallery", "Gallery of cells"): _show_gallery(search, classes),
        ("space", "The search space"): _show_space(search),
        ("repeat", "Repeat this search"): _show_command(search),
    }
    return make_page(
        f"Search of {search.objective_name}",
        "nasgoat · search report",
        write_lede(search),
        list_facts(search),
        [Section(*name, body) for name, body in bodies.items() if body],
    )


def _show_best(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    best = search.best
    if best is None:
        return None
    title = f"The best cell, evaluation {best.number + 1}"
    picture = draw_cell(best.graph, classes, "best-cell", title, large=True)
    same = len({t.graph for t in search.done if error_of(t) == error_of(best)})
    ties = f" {format_count(same - 1, 'other graph')} came out equal." if same > 1 else ""
    metrics = (best.outcome.metrics if best.outcome else None) or {}
    others: list[tuple[Child, Child]] = [
        (label(name), label(_format_value(value), 200))
        for name, value in sorted(metrics.items())
        if name != "error"
    ]
    others = [*_list_estimates(search), *others]
    stored = json.dumps(best.graph.to_dict())
    return join(
        markup.region("div", picture, name=title, class_="hero"),
        element("p", f"Found at evaluation {best.number + 1}, iteration {best.iteration}.{ties}"),
        markup.pairs(others) if others else None,
        markup.details("The graph as JSON", markup.code_block(stored, "The best graph as JSON")),
    )


def _list_estimates(search: ReportedSearch) -> list[tuple[Child, Child]]:
    """What single evaluations of the recommended graph and their mean are, where they differ."""
    best, found = search.best, search.recommended
    if best is None or found is None or not search.noisy:
        return []
    own = [format_number(error_of(t)) for t in search.done if t.graph == best.graph]
    pairs: list[tuple[Child, Child]] = [("observed", ", ".join(own))]
    if found.uncertainty is not None:
        pairs.append(("mean", f"{format_number(found.error)}, {describe_estimate(found)}"))
    if search.benchmark is not None:
        mean = format_number(search.benchmark.mean_error(best.graph))
        pairs.append(("mean of the table", f"{mean}, over all trainings; regret is measured on it"))
    return pairs


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
    if not search.objectives.plain:
        name = search.settings.get("acquisition", "?")
        return (
            f"{lead} {made} after the initial design are proven optimal: no graph of the space "
            f"that had not been evaluated had a lower value of the acquisition function ({name})."
        )
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
            "√β": lambda t: format_fixed(find_sqrt_beta(t), 2),
            "LCB": lambda t: format_fixed(t.proposal.lcb),
            "bound": lambda t: format_fixed(t.proposal.certificate.bound),
            "gap": lambda t: _format_gap(t.proposal.certificate.gap),
        }
    if not search.objectives.plain:
        shown.pop("√β", None)
        shown = {"value" if name == "LCB" else name: column for name, column in shown.items()}
    if search.objectives.limits:
        shown["probability"] = lambda t: format_fixed(t.proposal.probability, 2)
    shown["certificate"] = _show_status
    if search.ours:
        shown["solve (s)"] = _show_seconds
    shown["observed error" if search.noisy else "error"] = _show_outcome
    for other in search.objectives.needed[1:] if not search.objectives.plain else ():
        shown[other] = partial(_show_metric, other)
    if any(read_test_error(t) is not None for t in search.tickets):
        shown["test error"] = lambda t: format_number(read_test_error(t))
    if (table := search.benchmark) is not None:
        if search.noisy:
            shown["mean error"] = lambda t: format_number(table.mean_error(t.graph))
        shown["regret"] = lambda t: format_number(search.regret(t))
    columns = [markup.Column(name, numeric=name != "certificate") for name in shown]
    rows = [[show(t) for show in shown.values()] for t in search.tickets]
    best = next((i for i, t in enumerate(search.tickets) if t is search.best), None)
    caption = "Proposals in the order in which they were made. The best is marked."
    if search.noisy and search.benchmark:
        caption += " The mean error is of all trainings of the table; so is regret."
    if search.ours:
        if search.objectives.limits:
            caption += " Probability: that the limits hold, as it was believed."
        caption += (
            " Mean, sd, LCB and bound are on the scale of the target; they are of the time of the "
            "proposal, before its evaluation."
        )
    return markup.table(caption, columns, rows, "Table of proposals", sortable=True, best=best)


def find_sqrt_beta(ticket: Ticket) -> float | None:
    """√β of the acquisition that proposed a graph: LCB = mean - √β sd."""
    mean, std, lcb = ticket.proposal.mean, ticket.proposal.std, ticket.proposal.lcb
    if mean is None or std is None or lcb is None or std < 1e-9:  # nothing to divide by
        return None
    return (mean - lcb) / std


def _show_metric(name: str, ticket: Ticket) -> str:
    return format_number((ticket.metrics or {}).get(name))


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
    ranked = sorted(search.estimates, key=lambda found: (found.error, found.place))
    again: dict[LabeledGraph, list[Ticket]] = {}
    for ticket in search.done:
        again.setdefault(ticket.graph, []).append(ticket)
    groups = [again[search.done[found.place].graph] for found in ranked]
    groups += [[t] for t in search.tickets if t.outcome is None or t.outcome.metrics is None]
    drawn = [_draw_item(group, classes) for group in groups[:_MOST]]
    parts = [draw_legend(classes, search.stored.space.edge_vocabulary)]
    parts.append(element("ol", drawn[:_FIRST], class_="gallery"))
    if len(drawn) > _FIRST:
        further = f"{format_count(len(drawn) - _FIRST, 'further cell')}, best first"
        parts.append(markup.details(further, element("ol", drawn[_FIRST:], class_="gallery")))
    if len(groups) > _MOST:
        left = format_count(len(groups) - _MOST, "cell")
        parts.append(element("p", f"{left} of higher error left out.", class_="note"))
        anchors = [_mark_place(t) for group in groups[_MOST:] for t in group]
        parts.append(element("div", anchors))
    return join(*parts)


def _show_known(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    """Results that were known before, the best first; None if there were none."""
    if not search.known:
        return None
    ranked = sorted(search.known, key=lambda result: result.error)
    cards = [
        element(
            "li",
            draw_card(result.graph, classes, f"known-{place}", f"Known cell {place}"),
            element("p", element("b", format_number(result.error)), " · known, not evaluated"),
        )
        for place, result in enumerate(ranked[:_FIRST], start=1)
    ]
    found = min(map(error_of, search.done), default=None)
    said = describe_known(search.known, found if search.objectives.plain else None)
    rest = len(ranked) - len(cards)
    shown = f" The best {len(cards)} are shown." if rest else ""
    text = f"{said[:1].upper()}{said[1:]}. They were learnt from and not evaluated.{shown}"
    return join(element("p", text), element("ul", cards, class_="gallery"))


def _draw_item(tickets: Sequence[Ticket], classes: dict[str, str]) -> Html:
    """A cell with what came out; one that was evaluated again with the mean of all."""
    ticket, place = tickets[0], f"cell-{tickets[0].number + 1}"
    picture = draw_card(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    failed = ticket.outcome is not None and ticket.outcome.failure is not None
    said, more = "failed" if failed else _show_outcome(ticket), f"evaluation {ticket.number + 1}"
    if len(tickets) > 1:
        said = format_number(sum(map(error_of, tickets)) / len(tickets))
        more = f"mean of {len(tickets)}, first at {more}"
    more = f" · {more}, {ticket.proposal.certificate.status}"
    others = map(_mark_place, tickets[1:])
    return element("li", picture, element("p", element("b", said), more, others), id=place)


def _mark_place(ticket: Ticket) -> Html:
    """Where a link to an evaluation leads whose cell is drawn elsewhere, or not at all."""
    return element("span", id=f"cell-{ticket.number + 1}")


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
