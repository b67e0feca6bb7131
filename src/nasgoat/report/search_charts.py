"""The charts of a search: its history, its proposals and its surrogate.

Notation
    μ, σ   posterior mean and standard deviation of a proposal, on the scale of the target
    LCB    μ - √β σ, the acquisition value that a proposal minimises
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nasgoat.acquisition import Proposal, Status
from nasgoat.bayesopt import Ticket
from nasgoat.figures.charts import Axis, Chart, Line, Mark, Points, Rule
from nasgoat.figures.quantities import number, percent, plural
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
_EVALUATION = Axis("evaluation", integer=True)
_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "variance": "σₖ²", "noise": "noise variance"}
_MEANING = {
    "alpha": "weighs the shortest paths (k_g)",
    "beta": "weighs the node labels (k_n)",
    "gamma": "weighs the edge labels (k_e)",
    "variance": "is the variance of the exponential kernel",
    "noise": "of the observations, on the scale of the target",
}


def chart_errors(run: SearchRun, alone: bool) -> Chart:
    """Every error, and the lowest so far; a wide chart if it stands alone."""
    errors = [error_of(ticket) for ticket in run.done]
    at, lowest = [t.number + 1 for t in run.done], [error_of(t) for t in run.leaders]
    titles = [f"evaluation {t.number + 1}: {error_of(t):.4g}" for t in run.done]
    marks: list[Mark] = [
        Line(at, lowest, 2, True, name="lowest so far"),
        *_group_by_status(run.done, errors, titles),
    ]
    if run.failed:
        at, top = [t.number + 1 for t in run.failed], [max(errors)] * len(run.failed)
        titles = [f"evaluation {t.number + 1} failed" for t in run.failed]
        marks.append(Points(at, top, 8, "cross", titles, name="failed"))
    if run.benchmark:
        marks.append(Rule(run.benchmark.optimum, "best of the table"))
    what = f": {run.metric}" if run.metric != "error" else ""
    return Chart(
        "Error of every evaluation and the lowest so far",
        f"{plural(len(errors), 'evaluation')}; the lowest error goes from {errors[0]:.4g} "
        f"to {min(errors):.4g}.",
        _EVALUATION,
        Axis("error", log=min(errors) > 0 and max(errors) > _WIDE_RATIO * min(errors)),
        marks,
        heading="Errors.",
        caption=f"One mark for each evaluated graph{what}.",
        identity="history-error",
        width=992.0 if alone else 480.0,
    )


def chart_regret(run: SearchRun) -> Chart | None:
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


def chart_test_error(run: SearchRun) -> Chart | None:
    """Test error of the graph of lowest error so far; None if there is none."""
    pairs = [
        (t.number + 1, tested_error(lead)) for t, lead in zip(run.done, run.leaders, strict=True)
    ]
    known = [(x, y) for x, y in pairs if y is not None]
    if not known or len(known) < len(pairs):
        return None
    return Chart(
        "Test error of the graph of lowest error so far",
        f"It ends at {number(known[-1][1])}.",
        _EVALUATION,
        Axis("test error"),
        [Line([x for x, _ in known], [y for _, y in known], 3, True)],
        heading="Test error.",
        caption="Of the graph of lowest error so far; the search does not see it.",
        identity="history-test",
    )


def chart_proposals(run: SearchRun) -> Chart | None:
    """Mean, deviation, acquisition value and bound of each proposal; None without a surrogate."""
    known = [(t.number + 1, t.proposal) for t in run.tickets if t.proposal.mean is not None]
    if not known:
        return None
    means = [float(p.mean or 0.0) for _, p in known]
    bars = [_bar(p) for _, p in known]
    marks: list[Mark] = [
        Points([x for x, _ in known], means, 1, "circle", bars=bars, name="mean ± one sd"),
        _keep_known([(x, p.lcb) for x, p in known], 2, "down", "LCB"),
        _keep_known([(x, p.certificate.bound) for x, p in known], 3, "dash", "proven bound"),
    ]
    return Chart(
        "Posterior and acquisition value of every proposal",
        f"{plural(len(known), 'proposal')}; mean with one standard deviation, LCB and bound.",
        _EVALUATION,
        Axis("scaled target"),
        marks,
        heading="Proposals.",
        caption="What the surrogate believed of each graph when it proposed it, before its "
        "evaluation. The LCB touches its bound where the proposal is proven optimal.",
        identity="posterior",
        width=992.0,
        height=320.0,
    )


def chart_forecasts(run: SearchRun) -> Chart | None:
    """What the surrogate expected against what came out; None without a surrogate."""
    pairs = run.forecasts
    if len(pairs) < 3:
        return None
    means = [float(t.proposal.mean or 0.0) for t, _ in pairs]
    seen = [value for _, value in pairs]
    deviations = [float(t.proposal.std or 0.0) for t, _ in pairs]
    within = sum(abs(m - y) <= 2 * s for m, y, s in zip(means, seen, deviations, strict=True))
    ends = [min(*means, *seen), max(*means, *seen)]
    bars = [_bar(t.proposal) for t, _ in pairs]
    titles = [f"evaluation {t.number + 1}" for t, _ in pairs]
    said = f"{percent(within / len(pairs))} of {len(pairs)} lie within two standard deviations."
    return Chart(
        "Posterior mean against what was observed",
        said,
        Axis("observed, scaled target"),
        Axis("posterior mean"),
        [Line(ends, ends, 0, dashed=True), Points(seen, means, 1, "circle", titles, bars)],
        heading="Forecasts.",
        caption="Posterior mean with one sd against the outcome, on the scale of that iteration. "
        + said,
        identity="forecast",
    )


def chart_seconds(run: SearchRun) -> Chart | None:
    """How long each proposal took to find; None if nobody measured."""
    known = [t for t in run.chosen if t.proposal.certificate.seconds > 0]
    if not known:
        return None
    return Chart(
        "Seconds of each acquisition problem",
        f"At most {max(t.proposal.certificate.seconds for t in known):.3g} s.",
        _EVALUATION,
        Axis("seconds", log=True),
        _group_by_status(known, [t.proposal.certificate.seconds for t in known]),
        heading="Effort.",
        caption="Time to minimise the acquisition function for each proposal.",
        identity="seconds",
    )


def chart_gaps(run: SearchRun) -> Chart | None:
    """The gap of each proposal that has a bound; None if all are closed."""
    known = [(t, t.proposal.certificate.gap) for t in run.chosen]
    bounded = [(t.number + 1, gap) for t, gap in known if gap is not None]
    if not any(gap > 1e-9 for _, gap in bounded):
        return None
    return Chart(
        "Gap of each proposal",
        f"The largest is {number(max(gap for _, gap in bounded))}.",
        _EVALUATION,
        Axis("gap", log=True),
        [Points([x for x, _ in bounded], [gap for _, gap in bounded], 5, "square")],
        heading="Gaps.",
        caption="(LCB - bound) / |LCB|: how much better another graph might be.",
        identity="gaps",
    )


def chart_hyperparameters(run: SearchRun) -> list[Chart]:
    """Each hyperparameter of the surrogate, iteration by iteration."""
    fits = {t.iteration: t.hyperparameters for t in run.tickets if t.hyperparameters}
    names = dict.fromkeys(name for values in fits.values() for name in values)
    return [
        _chart_hyperparameter(f"hyperparameter-{i}", name, fits) for i, name in enumerate(names)
    ]


def _chart_hyperparameter(
    identity: str, name: str, fits: Mapping[int, Mapping[str, float]]
) -> Chart:
    known = {x: float(values[name]) for x, values in fits.items() if name in values}
    x, y = [*known], [*known.values()]
    shown = _GREEK.get(name, name)
    return Chart(
        f"Hyperparameter {shown} over the iterations",
        f"From {number(y[0])} to {number(y[-1])}.",
        Axis("iteration", integer=True),
        Axis(shown, log=min(y) > 0),
        [Line(x, y, 1), Points(x, y, 1)],
        heading=shown,
        caption=f"{_MEANING.get(name, 'of the surrogate')}.",
        identity=identity,
        width=360.0,
        height=250.0,
    )


def _bar(proposal: Proposal) -> tuple[float, float]:
    mean, std = float(proposal.mean or 0.0), float(proposal.std or 0.0)
    return mean - std, mean + std


def _keep_known(
    pairs: list[tuple[int, float | None]], series: int, shape: str, name: str
) -> Points:
    known = [(x, y) for x, y in pairs if y is not None]
    shown = name if known else ""
    return Points([x for x, _ in known], [y for _, y in known], series, shape, name=shown)


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
