"""Sources in the report of a search: what each cost and what it was worth."""

from __future__ import annotations

from nasgoat.bayesopt.spending import Spending
from nasgoat.figures.wording import format_count, format_fixed, format_number
from nasgoat.report import markup
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.reported_search import ReportedSearch


def measure_spending(search: ReportedSearch) -> Spending:
    """What the search spent on each source."""
    best = None if search.best is None else search.best.number
    return Spending.of(search.tickets, best)


def show_sources(search: ReportedSearch) -> Html | None:
    """A table of the sources, and the saving; None where full evaluations are the only one."""
    spending = measure_spending(search)
    if not spending.sources:
        return None
    rows: list[list[Child]] = [
        [
            label(use.name),
            str(use.evaluations) if use.evaluations else "–",
            format_fixed(use.cost, 2) if use.evaluations else "–",
            "–" if use.correlation is None else format_fixed(use.correlation, 2),
            "–" if use.contribution is None else format_fixed(use.contribution, 2),
        ]
        for use in spending.sources
    ]
    names = ("evaluations", "cost", "correlation", "contribution")
    columns = [markup.Column("source", numeric=False), *map(markup.Column, names)]
    caption = (
        "Costs are in full evaluations. The correlation is that with full evaluations, as the last "
        "fit has it; the contribution says how much better full evaluations are predicted, each "
        "from all others, with this source than without it (nats)."
    )
    return join(
        element("p", _describe_saving(spending)) if search.stored.status.cost else None,
        markup.table(caption, columns, rows, "Table of sources"),
    )


def _describe_saving(spending: Spending) -> str:
    until = ""
    if spending.cost_to_best is not None:
        until = f", the best graph after {format_number(spending.cost_to_best)}"
    saved = format_number(max(spending.saved, 0.0))
    return (
        f"The search spent {format_number(spending.cost)} full evaluations{until}. It has seen "
        f"{format_count(spending.graphs, 'graph')}; a full evaluation of each would have cost "
        f"{saved} more."
    )
