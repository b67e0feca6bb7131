"""The charts of a search's history."""

from __future__ import annotations

from collections.abc import Callable

from nasgoat.acquisition import Status
from nasgoat.bayesopt import Ticket
from nasgoat.report.charts import Axis, Chart, figure
from nasgoat.report.marks import Line, Mark, Points, Rule
from nasgoat.report.markup import Html, element, join
from nasgoat.report.quantities import number, plural
from nasgoat.report.search_run import SearchRun, error_of, tested_error

_WIDE_RATIO = 3.0  # errors further apart than this are drawn on a logarithmic axis
#: How each certificate is drawn: series, shape and name.
_KINDS = {
    Status.INITIAL: (0, "circle", "initial design"),
    Status.OPTIMAL: (1, "diamond", "proven optimal"),
    Status.FEASIBLE: (5, "square", "bounded"),
    Status.HEURISTIC: (7, "square", "heuristic"),
    Status.EXHAUSTED: (7, "square", "heuristic"),
}
EVALUATION = Axis("evaluation", integer=True)


def history(run: SearchRun, alone: bool) -> Html:
    """Every error, and the lowest so far; a wide chart if it stands alone."""
    errors = [error_of(ticket) for ticket in run.done]
    marks: list[Mark] = [
        Line([t.number + 1 for t in run.done], list(map(error_of, run.leaders)), 2, True,
             name="lowest so far"),
        *by_status(run.done, error_of, lambda t: f"evaluation {t.number + 1}: {error_of(t):.4g}"),
    ]  # fmt: skip
    if run.failed:
        at, top = [t.number + 1 for t in run.failed], [max(errors)] * len(run.failed)
        titles = [f"evaluation {t.number + 1} failed" for t in run.failed]
        marks.append(Points(at, top, 8, "cross", titles, name="failed"))
    if run.benchmark:
        marks.append(Rule(run.benchmark.optimum, "best of the table"))
    chart = Chart(
        "history-error",
        "Error of every evaluation and the lowest so far",
        f"{plural(len(errors), 'evaluation')}; the lowest error goes from {errors[0]:.4g} "
        f"to {min(errors):.4g}.",
        EVALUATION,
        Axis("error", log=min(errors) > 0 and max(errors) > _WIDE_RATIO * min(errors)),
        marks,
        width=992.0 if alone else 480.0,
    )
    what = f": {run.metric}" if run.metric != "error" else ""
    return figure(
        chart, join(element("b", "Errors."), f" One mark for each evaluated graph{what}.")
    )


def regret(run: SearchRun) -> Html | None:
    """How far the best so far is from the best of the table; None without a table."""
    values = [run.regret(ticket) for ticket in run.leaders]
    known = [max(value, 0.0) for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    at = [t.number + 1 for t in run.done]
    reached = next((x for x, value in zip(at, known, strict=True) if value < 1e-9), None)
    said = (
        f"The best of the table is reached at evaluation {reached}."
        if reached
        else f"After {plural(len(at), 'evaluation')} the regret is {number(known[-1])}."
    )
    chart = Chart(
        "history-regret",
        "Regret of the best graph so far",
        said,
        EVALUATION,
        Axis("regret", log=True),
        [Line(at, known, 2, True)],
    )
    why = " Mean error of the best graph so far, less the lowest of the whole table. "
    return figure(chart, join(element("b", "Regret."), why, said))


def tested(run: SearchRun) -> Html | None:
    """Test error of the graph of lowest error so far; None if there is none."""
    pairs = [
        (t.number + 1, tested_error(lead)) for t, lead in zip(run.done, run.leaders, strict=True)
    ]
    known = [(x, y) for x, y in pairs if y is not None]
    if not known or len(known) < len(pairs):
        return None
    chart = Chart(
        "history-test",
        "Test error of the graph of lowest error so far",
        f"It ends at {number(known[-1][1])}.",
        EVALUATION,
        Axis("test error"),
        [Line([x for x, _ in known], [y for _, y in known], 3, True)],
    )
    text = " Of the graph of lowest error so far; the search does not see it."
    return figure(chart, join(element("b", "Test error."), text))


def by_status(
    tickets: list[Ticket], value: Callable[[Ticket], float], title: Callable[[Ticket], str] | None
) -> list[Mark]:
    """One series of points for each kind of certificate."""
    marks: list[Mark] = []
    for series, shape, name in dict.fromkeys(_KINDS.values()):
        own = [t for t in tickets if _KINDS[t.proposal.certificate.status][2] == name]
        if own:
            x, y = [t.number + 1 for t in own], [value(t) for t in own]
            titles = [title(t) for t in own] if title else ()
            marks.append(Points(x, y, series, shape, titles, name=name))
    return marks
