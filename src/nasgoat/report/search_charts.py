"""The charts of a search: its history, its proposals and its surrogate.

Notation
    μ, σ   posterior mean and standard deviation of a proposal, on the scale of the target
    LCB    μ - √β σ, the acquisition value that a proposal minimises by default
    value  that of another acquisition function, which need not be on the scale of the target
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nasgoat.acquisition import Proposal, Status
from nasgoat.bayesopt import Ticket
from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.figures.wording import format_count, format_number, format_percent
from nasgoat.report.chart_svg import FULL_WIDTH
from nasgoat.report.model_charts import list_forecasts
from nasgoat.report.reported_search import ReportedSearch, read_test_error

_WIDE_RATIO = 3.0  # errors further apart than this are drawn on a logarithmic axis
#: How each certificate is drawn: series, shape and name.
_KINDS = {
    Status.INITIAL: (0, "circle", "initial design"),
    Status.OPTIMAL: (1, "diamond", "proven optimal"),
    Status.FEASIBLE: (5, "square", "bounded"),
    Status.HEURISTIC: (7, "square", "heuristic"),
    Status.EXHAUSTED: (7, "square", "heuristic"),
    Status.REPEAT: (3, "circle", "repeated"),
}
_EVALUATION = Axis("evaluation", integer=True)


def chart_history(search: ReportedSearch) -> list[Chart]:
    """What came out: errors, and regret and test error of the best so far where they are known."""
    others = [chart for chart in (_chart_regret(search), _chart_test_error(search)) if chart]
    return [_chart_errors(search, alone=not others), *others] if search.done else []


def chart_proposals(search: ReportedSearch) -> list[Chart]:
    """What was believed of each proposal, and what it took to find it, where that is known."""
    makers = (_chart_posterior, _chart_values, _chart_forecasts, _chart_seconds, _chart_gaps)
    return [chart for make in makers if (chart := make(search))]


def _chart_errors(search: ReportedSearch, alone: bool) -> Chart:
    """Every error, and the lowest so far; a wide chart if it stands alone."""
    errors = [ticket.error for ticket in search.done]
    at, lowest = [t.number + 1 for t in search.done], np.minimum.accumulate(errors).tolist()
    titles = [f"evaluation {t.number + 1}: {t.error:.4g}" for t in search.done]
    marks: list[Mark] = [Line(at, lowest, 2, True, name="lowest so far")]
    if search.recommendations[-1].uncertainty is not None:
        marks = _draw_recommended(search, at)
    marks += _group_by_status(search.done, errors, titles)
    if at := [t.number + 1 for t in search.failed]:
        titles = [f"evaluation {x} failed" for x in at]
        marks.append(Points(at, [max(errors)] * len(at), 8, "cross", titles, name="failed"))
    if search.benchmark:
        best = "lowest mean of the table" if search.noisy else "best of the table"
        marks.append(Rule(search.benchmark.optimum, best))
    caption = f"One mark for each {'evaluation' if search.noisy else 'evaluated graph'}"
    caption += f": {search.metric}." if search.metric != "error" else "."
    if search.noisy:
        caption += " Errors are noisy: one may lie below the mean of the best graph."
    if search.recommendations[-1].uncertainty is not None:
        caption += " Band: two standard errors of the mean."
    return Chart(
        "Error of every evaluation and the lowest so far",
        f"{format_count(len(errors), 'evaluation')}; the lowest error goes from {errors[0]:.4g} "
        f"to {min(errors):.4g}.",
        _EVALUATION,
        Axis("error", log=min(errors) > 0 and max(errors) > _WIDE_RATIO * min(errors)),
        marks,
        heading="Errors.",
        caption=caption,
        identity="history-error",
        width=FULL_WIDTH if alone else Chart.width,
    )


def _draw_recommended(search: ReportedSearch, at: Sequence[int]) -> list[Mark]:
    """The mean error of what would be recommended, within two standard errors where known."""
    found = search.recommendations
    known = [(x, e) for x, e in zip(at, found, strict=True) if e.uncertainty is not None]
    low, high = (
        [e.error + side * 2 * (e.uncertainty or 0.0) for _, e in known] for side in (-1, 1)
    )
    means = [e.error for e in found]
    return [
        Band([x for x, _ in known], low, high, 2, steps=True),
        Line(at, means, 2, True, name="mean of the recommended graph"),
    ]


def _chart_regret(search: ReportedSearch) -> Chart | None:
    """How far the best so far is from the best of the table; None without a table."""
    if search.benchmark is None or not search.done:
        return None
    known = [max(search.measure_regret(ticket) or 0.0, 0.0) for ticket in search.leaders]
    at = [t.number + 1 for t in search.done]
    reached = next((x for x, value in zip(at, known, strict=True) if value < 1e-9), None)
    said = f"After {format_count(len(at), 'evaluation')} the regret is {format_number(known[-1])}."
    if reached:
        said = f"The best of the table is reached at evaluation {reached}."
    return Chart(
        "Regret of the best graph so far",
        said,
        _EVALUATION,
        Axis("regret", log=True),
        [Line(at, known, 2, True)],
        heading="Regret.",
        caption=f"Mean error of the best graph so far, less the lowest of the whole table. {said}",
        identity="history-regret",
    )


def _chart_test_error(search: ReportedSearch) -> Chart | None:
    """Test error of the best graph so far; None if there is none."""
    at, values = [t.number + 1 for t in search.done], list(map(read_test_error, search.leaders))
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Chart(
        "Test error of the best graph so far",
        f"It ends at {format_number(known[-1])}.",
        _EVALUATION,
        Axis("test error"),
        [Line(at, known, 3, True)],
        heading="Test error.",
        caption="Of the best graph so far; the search does not see it.",
        identity="history-test",
    )


def _chart_posterior(search: ReportedSearch) -> Chart | None:
    """Mean and deviation of each proposal, with LCB and bound where these are minimised.

    None without a surrogate.
    """
    known = _list_believed(search)
    if not known:
        return None
    posteriors = _draw_posteriors([*known], [*known.values()])
    marks, said = [replace(posteriors, name="mean ± one sd")], "mean with one standard deviation"
    caption = (
        "What the surrogate believed of each graph when it proposed it, before its evaluation."
    )
    if search.value_name == "LCB":
        marks += _draw_values(known, "LCB")
        said += ", LCB and bound"
        caption += " The LCB touches its bound where the proposal is proven optimal."
    else:
        caption += " Bars: one standard deviation."
    return Chart(
        "Posterior of every proposal",
        f"{format_count(len(known), 'proposal')}; {said}.",
        _EVALUATION,
        Axis("scaled target"),
        marks,
        heading="Proposals.",
        caption=caption,
        identity="posterior",
        width=FULL_WIDTH,
        height=320.0,
    )


def _chart_values(search: ReportedSearch) -> Chart | None:
    """Acquisition value and bound of each proposal; None if they stand with the posterior."""
    known = {x: p for x, p in _list_believed(search).items() if p.lcb is not None}
    if not known or search.value_name == "LCB":
        return None
    return Chart(
        "Acquisition value of every proposal, and its bound",
        f"{format_count(len(known), 'proposal')}; value and bound.",
        _EVALUATION,
        Axis("acquisition value"),
        _draw_values(known, "value"),
        heading="Values.",
        caption=f"Value of the acquisition function ({search.acquisition}) at each proposal; the "
        "function is another one each time. The value touches its bound where the proposal is "
        "proven optimal.",
        identity="values",
        width=FULL_WIDTH,
    )


def _list_believed(search: ReportedSearch) -> dict[int, Proposal]:
    """The proposals that a surrogate believed something of, by the numbers of evaluations."""
    return {t.number + 1: t.proposal for t in search.tickets if t.proposal.mean is not None}


def _draw_values(known: dict[int, Proposal], name: str) -> list[Points]:
    """Acquisition values under a name, and the bounds that are proven."""
    return [
        _keep_known({x: p.lcb for x, p in known.items()}, 2, "down", name),
        _keep_known({x: p.certificate.bound for x, p in known.items()}, 3, "dash", "proven bound"),
    ]


def _chart_forecasts(search: ReportedSearch) -> Chart | None:
    """What the surrogate expected against what came out; None without a surrogate."""
    pairs = list_forecasts(search)
    if len(pairs) < 3:
        return None
    seen, titles = [value for _, value in pairs], [f"evaluation {t.number + 1}" for t, _ in pairs]
    points = replace(_draw_posteriors(seen, [t.proposal for t, _ in pairs]), titles=titles)
    within = sum(abs((t.proposal.mean or 0.0) - y) <= 2 * (t.proposal.std or 0.0) for t, y in pairs)
    ends = [min(*points.y, *seen), max(*points.y, *seen)]
    share = format_percent(within / len(pairs))
    said = f"{share} of {len(pairs)} lie within two standard deviations."
    if search.noisy:
        said += " They hold no noise, and each outcome does: expect fewer than 95 %."
    return Chart(
        "Posterior mean against what was observed",
        said,
        Axis("observed, scaled target"),
        Axis("posterior mean"),
        [Line(ends, ends, 0, dashed=True), points],
        heading="Forecasts.",
        caption="Posterior mean with one sd against the outcome, on the scale of that iteration. "
        + said,
        identity="forecast",
    )


def _chart_seconds(search: ReportedSearch) -> Chart | None:
    """How long each proposal took to find; None if nobody measured."""
    known = [t for t in search.chosen if t.proposal.certificate.seconds > 0]
    seconds = [t.proposal.certificate.seconds for t in known]
    if not known:
        return None
    return Chart(
        "Seconds of each acquisition problem",
        f"At most {max(seconds):.3g} s.",
        _EVALUATION,
        Axis("seconds", log=True),
        _group_by_status(known, seconds),
        heading="Effort.",
        caption="Time to minimise the acquisition function for each proposal.",
        identity="seconds",
    )


def _chart_gaps(search: ReportedSearch) -> Chart | None:
    """The gap of each proposal that has a bound; None if all are closed."""
    gaps = {t.number + 1: t.proposal.certificate.gap for t in search.chosen}
    points = _keep_known(gaps, 5, "square")
    if not any(gap > 1e-9 for gap in points.y):
        return None
    name = search.value_name
    return Chart(
        "Gap of each proposal",
        f"The largest is {format_number(max(points.y))}.",
        _EVALUATION,
        Axis("gap", log=True),
        [points],
        heading="Gaps.",
        caption=f"({name} - bound) / |{name}|: how much better another graph might be.",
        identity="gaps",
    )


def _draw_posteriors(x: Sequence[float], proposals: Sequence[Proposal]) -> Points:
    """Posterior means with bars of one standard deviation."""
    believed = [(float(p.mean or 0.0), float(p.std or 0.0)) for p in proposals]
    bars = [(mean - std, mean + std) for mean, std in believed]
    return Points(x, [mean for mean, _ in believed], 1, "circle", bars=bars)


def _keep_known(values: dict[int, float | None], series: int, shape: str, name: str = "") -> Points:
    known = {x: y for x, y in values.items() if y is not None}
    return Points([*known], [*known.values()], series, shape, name=name if known else "")


def _group_by_status(
    tickets: Sequence[Ticket], values: Sequence[float], titles: Sequence[str] = ()
) -> list[Mark]:
    """One series of points for each kind of certificate."""
    marks: list[Mark] = []
    for series, shape, name in dict.fromkeys(_KINDS.values()):
        own = [i for i, t in enumerate(tickets) if _KINDS[t.proposal.certificate.status][2] == name]
        if own:
            x, y = [tickets[i].number + 1 for i in own], [values[i] for i in own]
            texts = [titles[i] for i in own] if titles else ()
            marks.append(Points(x, y, series, shape, texts, name=name))
    return marks
