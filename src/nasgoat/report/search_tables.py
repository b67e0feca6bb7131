"""What is proven of a search, and its tables: proposals, hyperparameters, failures."""

from __future__ import annotations

from nasgoat.acquisition import Status
from nasgoat.bayesopt import Ticket
from nasgoat.figures.quantities import NOTHING, format_count, format_fixed, format_number
from nasgoat.report.markup import (
    Child,
    Column,
    Html,
    Row,
    code_block,
    cut,
    details,
    element,
    label,
    table,
)
from nasgoat.report.reported_search import ReportedSearch, error_of, sqrt_beta_of, tested_error

_TARGETS = {
    "rank": "the normal score of the error among those known",
    "log": "the standardised logarithm of the error",
    "plain": "the standardised error",
}
_TRACEBACK = 4000  # characters of a traceback, its end


def describe_certificates(search: ReportedSearch) -> str:
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


def tabulate_proposals(search: ReportedSearch) -> Html:
    """Every proposal: what was believed, what is proven, what came out."""
    tested = any(tested_error(t) is not None for t in search.tickets)
    regrets = search.benchmark is not None
    columns = [
        Column("evaluation"),
        Column("iteration"),
        *map(Column, ("mean", "sd", "√β", "LCB", "bound", "gap") if search.ours else ()),
        Column("certificate", numeric=False),
        *([Column("solve (s)")] if search.ours else []),
        Column("error"),
        *([Column("test error")] if tested else []),
        *([Column("regret")] if regrets else []),
    ]
    rows = [
        Row(_list_cells(search, t, tested, regrets), "best" if t is search.best else None)
        for t in search.tickets
    ]
    caption = "Proposals in the order in which they were made. The best is marked."
    if search.ours:
        caption += (
            " Mean, sd, LCB and bound are on the scale of the target; they are of the time of the "
            "proposal, before its evaluation."
        )
    return table(caption, columns, rows, "Table of proposals", sortable=True)


def _list_cells(search: ReportedSearch, ticket: Ticket, tested: bool, regrets: bool) -> list[Child]:
    proposal, certificate = ticket.proposal, ticket.proposal.certificate
    link = element("a", ticket.number + 1, href=f"#cell-{ticket.number + 1}")
    cells: list[Child] = [link, ticket.iteration]
    if search.ours:
        cells += [
            format_fixed(proposal.mean),
            format_fixed(proposal.std),
            format_fixed(sqrt_beta_of(ticket), 2),
        ]
        cells += [
            format_fixed(proposal.lcb),
            format_fixed(certificate.bound),
            _format_gap(certificate.gap),
        ]
    cells.append(element("span", str(certificate.status), class_=str(certificate.status)))
    if search.ours:
        solved = certificate.status is not Status.INITIAL
        cells.append(format_number(certificate.seconds) if solved else NOTHING)
    cells.append(_describe_outcome(ticket))
    if tested:
        cells.append(format_number(tested_error(ticket)))
    if regrets:
        cells.append(format_number(search.regret(ticket)))
    return cells


def _describe_outcome(ticket: Ticket) -> Child:
    if ticket.outcome is None:
        return "not evaluated yet"
    if ticket.outcome.failure is not None:
        return element("span", f"failed: {ticket.outcome.failure.kind}", class_="failed")
    return format_number(error_of(ticket))


def _format_gap(gap: float | None) -> str:
    return "0" if gap == 0 else format_number(gap)


def tabulate_fits(search: ReportedSearch) -> Html | None:
    """The hyperparameters of every fit; None without a surrogate."""
    found = {t.iteration: t.hyperparameters for t in search.tickets if t.hyperparameters}
    if not found:
        return None
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    rows = [
        Row([iteration, *(format_number(values.get(name)) for name in names)])
        for iteration, values in found.items()
    ]
    columns = [Column("iteration"), *map(Column, names)]
    return table("Fitted hyperparameters.", columns, rows, "Table of hyperparameters")


def tabulate_failures(search: ReportedSearch) -> Html:
    """Every failed evaluation with its reason and traceback."""
    rows = []
    for ticket in search.failed:
        failure = ticket.outcome.failure if ticket.outcome else None
        if failure is None:
            continue
        said: list[Child] = [label(failure.reason, 500)]
        if failure.traceback:
            text = failure.traceback.rstrip()[-_TRACEBACK:]
            said.append(details("traceback", code_block(text, "Traceback")))
        link = element("a", ticket.number + 1, href=f"#cell-{ticket.number + 1}")
        rows.append(Row([link, cut(str(failure.kind), 40), said]))
    columns = [
        Column("evaluation"),
        Column("kind", numeric=False),
        Column("reason", numeric=False, long=True),
    ]
    return table("Failed evaluations; they are never learnt from.", columns, rows, "Failures")
