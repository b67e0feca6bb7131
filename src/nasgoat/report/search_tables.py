"""The tables of a search: proposals with their certificates, hyperparameters, failures."""

from __future__ import annotations

from nasgoat.acquisition import Status
from nasgoat.bayesopt import Ticket
from nasgoat.figures.quantities import NOTHING, fixed, number
from nasgoat.report.markup import (
    Child,
    Column,
    Html,
    Row,
    code_block,
    cut,
    element,
    label,
    table,
)
from nasgoat.report.search_run import SearchRun, error_of, sqrt_beta_of, tested_error

_TRACEBACK = 4000  # characters of a traceback, its end


def proposals(run: SearchRun) -> Html:
    """Every proposal: what was believed, what is proven, what came out."""
    tested = any(tested_error(t) is not None for t in run.tickets)
    regrets = run.benchmark is not None
    columns = [
        Column("evaluation"),
        Column("iteration"),
        *map(Column, ("mean", "sd", "√β", "LCB", "bound", "gap") if run.ours else ()),
        Column("certificate", numeric=False),
        *([Column("solve (s)")] if run.ours else []),
        Column("error"),
        *([Column("test error")] if tested else []),
        *([Column("regret")] if regrets else []),
    ]
    rows = [
        Row(_proposal(run, t, tested, regrets), "best" if t is run.best else None)
        for t in run.tickets
    ]
    caption = "Proposals in the order in which they were made. The best is marked."
    if run.ours:
        caption += (
            " Mean, sd, LCB and bound are on the scale of the target; they are of the time of the "
            "proposal, before its evaluation."
        )
    return table(caption, columns, rows, "Table of proposals", sortable=True)


def _proposal(run: SearchRun, ticket: Ticket, tested: bool, regrets: bool) -> list[Child]:
    proposal, certificate = ticket.proposal, ticket.proposal.certificate
    link = element("a", ticket.number + 1, href=f"#cell-{ticket.number + 1}")
    cells: list[Child] = [link, ticket.iteration]
    if run.ours:
        cells += [fixed(proposal.mean), fixed(proposal.std), fixed(sqrt_beta_of(ticket), 2)]
        cells += [fixed(proposal.lcb), fixed(certificate.bound), _gap(certificate.gap)]
    cells.append(element("span", str(certificate.status), class_=str(certificate.status)))
    if run.ours:
        solved = certificate.status is not Status.INITIAL
        cells.append(number(certificate.seconds) if solved else NOTHING)
    cells.append(_outcome(ticket))
    if tested:
        cells.append(number(tested_error(ticket)))
    if regrets:
        cells.append(number(run.regret(ticket)))
    return cells


def _outcome(ticket: Ticket) -> Child:
    if ticket.outcome is None:
        return "not evaluated yet"
    if ticket.outcome.failure is not None:
        return element("span", f"failed: {ticket.outcome.failure.kind}", class_="failed")
    return number(error_of(ticket))


def _gap(gap: float | None) -> str:
    return "0" if gap == 0 else number(gap)


def fits(run: SearchRun) -> Html | None:
    """The hyperparameters of every fit; None without a surrogate."""
    found = {t.iteration: t.hyperparameters for t in run.tickets if t.hyperparameters}
    if not found:
        return None
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    rows = [
        Row([iteration, *(number(values.get(name)) for name in names)])
        for iteration, values in found.items()
    ]
    columns = [Column("iteration"), *map(Column, names)]
    return table("Fitted hyperparameters.", columns, rows, "Table of hyperparameters")


def failures(run: SearchRun) -> Html:
    """Every failed evaluation with its reason and traceback."""
    rows = []
    for ticket in run.failed:
        failure = ticket.outcome.failure if ticket.outcome else None
        if failure is None:
            continue
        said: list[Child] = [label(failure.reason, 500)]
        if failure.traceback:
            text = failure.traceback.rstrip()[-_TRACEBACK:]
            said.append(
                element(
                    "details",
                    element("summary", "traceback"),
                    code_block(text, "Traceback"),
                )
            )
        link = element("a", ticket.number + 1, href=f"#cell-{ticket.number + 1}")
        rows.append(Row([link, cut(str(failure.kind), 40), said]))
    columns = [
        Column("evaluation"),
        Column("kind", numeric=False),
        Column("reason", numeric=False, long=True),
    ]
    return table("Failed evaluations; they are never learnt from.", columns, rows, "Failures")
