"""The charts of a search's proposals and of its surrogate.

Notation
    μ, σ   posterior mean and standard deviation of a proposal, on the scale of the target
    LCB    μ - √β σ, the acquisition value that a proposal minimises
"""

from __future__ import annotations

from nasgoat.acquisition import Proposal
from nasgoat.report.charts import Axis, Chart, figure
from nasgoat.report.marks import Line, Mark, Points
from nasgoat.report.markup import Html, element, join
from nasgoat.report.quantities import number, percent, plural
from nasgoat.report.search_charts import EVALUATION, by_status
from nasgoat.report.search_run import SearchRun

_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "variance": "σₖ²", "noise": "noise variance"}
_MEANING = {
    "alpha": "weighs the shortest paths (k_g)",
    "beta": "weighs the node labels (k_n)",
    "gamma": "weighs the edge labels (k_e)",
    "variance": "is the variance of the exponential kernel",
    "noise": "of the observations, on the scale of the target",
}


def posterior(run: SearchRun) -> Html | None:
    """Mean, deviation, acquisition value and bound of each proposal; None without a surrogate."""
    known = [(t.number + 1, t.proposal) for t in run.tickets if t.proposal.mean is not None]
    if not known:
        return None
    means = [float(p.mean or 0.0) for _, p in known]
    bars = [_bar(p) for _, p in known]
    marks: list[Mark] = [
        Points([x for x, _ in known], means, 1, "circle", bars=bars, name="mean ± one sd"),
        _present([(x, p.lcb) for x, p in known], 2, "down", "LCB"),
        _present([(x, p.certificate.bound) for x, p in known], 3, "dash", "proven bound"),
    ]
    chart = Chart(
        "posterior",
        "Posterior and acquisition value of every proposal",
        f"{plural(len(known), 'proposal')}; mean with one standard deviation, LCB and bound.",
        EVALUATION,
        Axis("scaled target"),
        marks,
        width=992.0,
        height=320.0,
    )
    text = (
        " What the surrogate believed of each graph when it proposed it, before its evaluation. "
        "The LCB touches its bound where the proposal is proven optimal."
    )
    return figure(chart, join(element("b", "Proposals."), text), wide=True)


def forecast(run: SearchRun) -> Html | None:
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
    chart = Chart(
        "forecast",
        "Posterior mean against what was observed",
        said,
        Axis("observed, scaled target"),
        Axis("posterior mean"),
        [Line(ends, ends, 0, dashed=True), Points(seen, means, 1, "circle", titles, bars)],
    )
    text = " Posterior mean with one sd against the outcome, on the scale of that iteration. "
    return figure(chart, join(element("b", "Forecasts."), text, said))


def solve_seconds(run: SearchRun) -> Html | None:
    """How long each proposal took to find; None if nobody measured."""
    known = [t for t in run.chosen if t.proposal.certificate.seconds > 0]
    if not known:
        return None
    chart = Chart(
        "seconds",
        "Seconds of each acquisition problem",
        f"At most {max(t.proposal.certificate.seconds for t in known):.3g} s.",
        EVALUATION,
        Axis("seconds", log=True),
        by_status(known, lambda t: t.proposal.certificate.seconds, None),
    )
    text = " Time to minimise the acquisition function for each proposal."
    return figure(chart, join(element("b", "Effort."), text))


def gaps(run: SearchRun) -> Html | None:
    """The gap of each proposal that has a bound; None if all are closed."""
    known = [(t, t.proposal.certificate.gap) for t in run.chosen]
    bounded = [(t.number + 1, gap) for t, gap in known if gap is not None]
    if not any(gap > 1e-9 for _, gap in bounded):
        return None
    chart = Chart(
        "gaps",
        "Gap of each proposal",
        f"The largest is {number(max(gap for _, gap in bounded))}.",
        EVALUATION,
        Axis("gap", log=True),
        [Points([x for x, _ in bounded], [gap for _, gap in bounded], 5, "square")],
    )
    text = " (LCB - bound) / |LCB|: how much better another graph might be."
    return figure(chart, join(element("b", "Gaps."), text))


def hyperparameters(run: SearchRun) -> list[Html]:
    """Each hyperparameter of the surrogate, iteration by iteration."""
    fits = {t.iteration: t.hyperparameters for t in run.tickets if t.hyperparameters}
    names = dict.fromkeys(name for values in fits.values() for name in values)
    charts = []
    for i, name in enumerate(names):
        known = [(x, float(values[name])) for x, values in fits.items() if name in values]
        y = [value for _, value in known]
        shown = _GREEK.get(name, name)
        chart = Chart(
            f"hyperparameter-{i}",
            f"Hyperparameter {shown} over the iterations",
            f"From {number(y[0])} to {number(y[-1])}.",
            Axis("iteration", integer=True),
            Axis(shown, log=min(y) > 0),
            [Line([x for x, _ in known], y, 1), Points([x for x, _ in known], y, 1)],
            width=360.0,
            height=250.0,
        )
        meaning = _MEANING.get(name, "")
        charts.append(figure(chart, join(element("b", shown), f" {meaning}".rstrip(), ".")))
    return charts


def _bar(proposal: Proposal) -> tuple[float, float]:
    mean, std = float(proposal.mean or 0.0), float(proposal.std or 0.0)
    return mean - std, mean + std


def _present(pairs: list[tuple[int, float | None]], series: int, shape: str, name: str) -> Points:
    known = [(x, y) for x, y in pairs if y is not None]
    shown = name if known else ""
    return Points([x for x, _ in known], [y for _, y in known], series, shape, name=shown)
