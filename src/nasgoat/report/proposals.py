"""The proposals of a search: a table of them, and a gallery of their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from nasgoat.bayesopt import Ticket
from nasgoat.figures.wording import format_count, format_fixed, format_number
from nasgoat.graphs import LabeledGraph
from nasgoat.report import markup
from nasgoat.report.cells import draw_card, draw_operation_legend
from nasgoat.report.chart_svg import draw_grid
from nasgoat.report.markup import Child, Html, element, join
from nasgoat.report.reported_search import ReportedSearch, read_test_error
from nasgoat.report.search_charts import chart_proposals

_TARGETS = {
    "rank": "the normal score of the error among those known",
    "log": "the standardised logarithm of the error",
    "plain": "the standardised error",
}
#: What is minimised under the name of an acquisition function.
_FUNCTIONS = {
    "ei": "−log of the expected improvement",
    "thompson": "a function drawn from the posterior, a new one for each graph",
}
#: Cells of a gallery that are shown at once.
FIRST_CELLS = 12
_MOST = 300  # drawn at all: a report must stay small enough to be opened


def show_proposals(search: ReportedSearch) -> Html | None:
    """What was proposed, what is proven of it and what came out; None before the first."""
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
    promoted = ""
    if _find_fidelity(search) is not None:
        promoted = " (of promoted ones: none with a shorter training only)"
    return (
        f"{lead} {made} after the initial design are proven optimal: no graph of the space that "
        f"had not been evaluated{promoted} had a lower {_describe_function(search)}"
    )


def _describe_function(search: ReportedSearch) -> str:
    """What proposals minimise, and on which scale it is where that is the target's."""
    target = _TARGETS.get(str(search.settings.get("target")), "the target")
    if search.value_name == "LCB":
        return f"confidence bound LCB = mean − √β sd. The scale is that of the target: {target}."
    name = search.acquisition
    said = f"{name}: {_FUNCTIONS[name]}" if name in _FUNCTIONS else name
    said = f"value of the acquisition function ({said})."
    if search.objectives.plain:
        said += f" Mean and sd are on the scale of the target: {target}."
    return said


def _find_fidelity(search: ReportedSearch) -> str | None:
    """What is varied between short and full trainings; None if nothing is."""
    levels = (ticket.proposal.fidelity for ticket in search.tickets)
    return next((level.name for level in levels if level is not None), None)


def _show_fidelity(ticket: Ticket) -> str:
    level = ticket.proposal.fidelity
    return "" if level is None else f"{level.value:g}"


def _tabulate_proposals(search: ReportedSearch) -> Html:
    """Every proposal: what was believed, what is proven, what came out."""
    shown: dict[str, Callable[[Ticket], Child]] = {
        "evaluation": link_to_cell,
        "iteration": lambda t: t.iteration,
    }
    if (varied := _find_fidelity(search)) is not None:
        shown[varied] = _show_fidelity
    if search.ours:
        shown |= {
            "mean": lambda t: format_fixed(t.proposal.mean),
            "sd": lambda t: format_fixed(t.proposal.std),
            "√β": lambda t: format_fixed(find_sqrt_beta(t), 2),
            search.value_name: lambda t: format_fixed(t.proposal.lcb),
            "bound": lambda t: format_fixed(t.proposal.certificate.bound),
            "gap": lambda t: _format_gap(t.proposal.certificate.gap),
        }
    if search.value_name != "LCB":
        shown.pop("√β", None)
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
        shown["regret"] = lambda t: format_number(search.measure_regret(t))
    columns = [markup.Column(name, numeric=name != "certificate") for name in shown]
    rows = [[show(t) for show in shown.values()] for t in search.tickets]
    best = next((i for i, t in enumerate(search.tickets) if t is search.best), None)
    caption = "Proposals in the order in which they were made. The best is marked."
    if search.noisy and search.benchmark:
        caption += " The mean error is of all trainings of the table; so is regret."
    if search.ours:
        if search.objectives.limits:
            caption += " Probability: that the limits hold, as it was believed."
        caption += _describe_columns(search)
    return markup.table(caption, columns, rows, "Table of proposals", sortable=True, best=best)


def _describe_columns(search: ReportedSearch) -> str:
    """On which scale the numbers of proposals are, and of when."""
    when = "they are of the time of the proposal, before its evaluation."
    if search.value_name == "LCB":
        return f" Mean, sd, LCB and bound are on the scale of the target; {when}"
    name = search.acquisition
    if search.objectives.plain:
        said = "Mean and sd are on the scale of the target, value and bound are"
        return f" {said} those of the acquisition function ({name}); {when}"
    return (
        f" Mean and sd are of the first value with a model in the acquisition function ({name}), "
        f"on the scale of its target; value and bound are those of the function; {when}"
    )


def find_sqrt_beta(ticket: Ticket) -> float | None:
    """√β of the acquisition that proposed a graph: LCB = mean - √β sd."""
    mean, std, lcb = ticket.proposal.mean, ticket.proposal.std, ticket.proposal.lcb
    if mean is None or std is None or lcb is None or std < 1e-9:  # nothing to divide by
        return None
    return (mean - lcb) / std


def _show_metric(name: str, ticket: Ticket) -> str:
    return format_number((ticket.metrics or {}).get(name))


def link_to_cell(ticket: Ticket) -> Html:
    """A link from the number of an evaluation to its cell in the gallery."""
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
    return format_number(ticket.error)


def show_gallery(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
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
    parts = [draw_operation_legend(classes, search.stored.space.edge_vocabulary)]
    parts.append(element("ol", drawn[:FIRST_CELLS], class_="gallery"))
    if len(drawn) > FIRST_CELLS:
        further = f"{format_count(len(drawn) - FIRST_CELLS, 'further cell')}, best first"
        parts.append(markup.details(further, element("ol", drawn[FIRST_CELLS:], class_="gallery")))
    if len(groups) > _MOST:
        left = format_count(len(groups) - _MOST, "cell")
        parts.append(element("p", f"{left} of higher error left out.", class_="note"))
        anchors = [_mark_place(t) for group in groups[_MOST:] for t in group]
        parts.append(element("div", anchors))
    return join(*parts)


def _draw_item(tickets: Sequence[Ticket], classes: dict[str, str]) -> Html:
    """A cell with what came out; one that was evaluated again with the mean of all."""
    ticket, place = tickets[0], f"cell-{tickets[0].number + 1}"
    picture = draw_card(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    failed = ticket.outcome is not None and ticket.outcome.failure is not None
    said, more = "failed" if failed else _show_outcome(ticket), f"evaluation {ticket.number + 1}"
    if len(tickets) > 1:
        said = format_number(sum(t.error for t in tickets) / len(tickets))
        more = f"mean of {len(tickets)}, first at {more}"
    more = f" · {more}, {ticket.proposal.certificate.status}"
    others = map(_mark_place, tickets[1:])
    return element("li", picture, element("p", element("b", said), more, others), id=place)


def _mark_place(ticket: Ticket) -> Html:
    """Where a link to an evaluation leads whose cell is drawn elsewhere, or not at all."""
    return element("span", id=f"cell-{ticket.number + 1}")
