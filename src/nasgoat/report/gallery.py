"""The gallery of a search: its cells, best first."""

from __future__ import annotations

from nasgoat.bayesopt import Ticket
from nasgoat.report.cells import cell
from nasgoat.report.markup import Html, element, join
from nasgoat.report.quantities import number, plural
from nasgoat.report.search_run import SearchRun, error_of

FIRST = 12  # shown at once
MOST = 300  # drawn at all: a report must stay small enough to be opened


def gallery(run: SearchRun, classes: dict[str, str]) -> Html:
    """The cells of a search, best first, then what failed or still runs."""
    ranked = sorted(run.done, key=lambda t: (error_of(t), t.number))
    others = [t for t in run.tickets if t.outcome is None or t.outcome.metrics is None]
    tickets = [*ranked, *others]
    drawn = [_item(ticket, classes) for ticket in tickets[:MOST]]
    parts = [element("ol", drawn[:FIRST], class_="gallery")]
    if len(drawn) > FIRST:
        more = element("summary", f"{plural(len(drawn) - FIRST, 'further cell')}, best first")
        parts.append(element("details", more, element("ol", drawn[FIRST:], class_="gallery")))
    if len(tickets) > MOST:
        left = plural(len(tickets) - MOST, "cell")
        parts.append(element("p", f"{left} of higher error left out.", class_="note"))
        anchors = [element("span", id=f"cell-{t.number + 1}") for t in tickets[MOST:]]
        parts.append(element("div", anchors))
    return join(*parts)


def _item(ticket: Ticket, classes: dict[str, str]) -> Html:
    place = f"cell-{ticket.number + 1}"
    picture = cell(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    status = ticket.proposal.certificate.status
    text = join(element("b", _said(ticket)), f" · evaluation {ticket.number + 1}, {status}")
    return element("li", picture, element("p", text), id=place)


def _said(ticket: Ticket) -> str:
    if ticket.outcome is None:
        return "not evaluated yet"
    return "failed" if ticket.outcome.failure else number(error_of(ticket))
