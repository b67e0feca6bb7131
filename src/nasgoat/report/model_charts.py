"""What a report says of the model behind the proposals: its fits, and how well it predicts.

How well it predicts comes from leave-one-out predictions (:class:`~nasgoat.surrogate.ModelCheck`),
one set for each fit of the surrogate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nasgoat.bayesopt import Ticket
from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.figures.wording import format_fixed, format_number, format_percent
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels.blocks import BLOCKS
from nasgoat.report.reported_search import ReportedSearch
from nasgoat.surrogate import ModelCheck, Source, TargetScale
from nasgoat.surrogate.model_check import LEAST_CORRELATION, LEVELS
from nasgoat.surrogate.target import scale_sources

#: Symbol and meaning of each hyperparameter.
_HYPERPARAMETERS = {
    "alpha": ("α", "weighs the shortest paths (k_g)"),
    "beta": ("β", "weighs the node labels (k_n)"),
    "gamma": ("γ", "weighs the edge labels (k_e)"),
    "variance": ("σₖ²", "is the variance of the kernel"),
    "noise": ("noise variance", "of the observations, on the scale of the target"),
}


def chart_models(search: ReportedSearch) -> list[Chart]:
    """Rank correlation and coverage over time, and how well the last model knows its own errors."""
    models = search.models
    if not models:
        return []
    charts = [
        _chart_gain(search),
        _chart_correlation(models),
        _chart_coverage(models),
        _chart_calibration(models),
    ]
    return [chart for chart in charts if chart]


def describe_models(search: ReportedSearch) -> str:
    """What the last model has learnt, and how many proposals came from one that had not."""
    last = list(search.models.values())[-1].describe()
    blind = sum(t.proposal.informed is False for t in search.chosen)
    text = f"After the last fit {last}."
    if blind:
        text += (
            f" {blind} of {len(search.chosen)} proposals come from a model that had learnt nothing;"
            " they are marked in the table of proposals, and what is proven of them is only that"
            f" no other graph had a lower {search.value_name} under that model."
        )
    return text + _describe_stand_in(search)


def _describe_stand_in(search: ReportedSearch) -> str:
    """Why nothing is proven of some proposals, where a model without proofs was the better one."""
    said = {i: check.response for i, check in search.models.items() if check.learnt}
    spoken = [t for t in search.chosen if said.get(t.iteration)]
    if not spoken:
        return ""
    count = f"{len(spoken)} of {len(search.chosen)} proposals"
    return f" Nothing is proven of {count}: {said[spoken[0].iteration]}."


def list_forecasts(search: ReportedSearch) -> list[tuple[Ticket, float]]:
    """Proposals with a posterior, each with what came out on the scale of that posterior.

    The scale is the one that the errors known at the time call for. When evaluations end in any
    order it can't be told which those were, and there are none.
    """
    target = search.settings.get("target")
    if not isinstance(target, str) or search.declaration.get("asynchronous"):
        return []
    if not search.objectives.plain:  # each objective has a target of its own
        return []
    found, scales = [], dict[int, TargetScale | None]()
    for ticket in search.done:
        if ticket.proposal.mean is None or ticket.proposal.std is None:
            continue
        if ticket.iteration not in scales:
            scales[ticket.iteration] = _find_scale(search, ticket.iteration, target)
        if (scale := scales[ticket.iteration]) is None:
            continue
        scored = scale.to_target(np.array([ticket.error]))
        if np.isfinite(scored[0]):
            found.append((ticket, float(scored[0])))
    return found


def _find_scale(search: ReportedSearch, iteration: int, target: str) -> TargetScale | None:
    """The scale of full errors before an iteration; None if there were none.

    Where short trainings chose what is trained in full, it depends on these as well.
    """
    told: dict[str, list[tuple[LabeledGraph, float]]] = {"": []}
    told[""] += [(result.graph, result.error) for result in search.known]
    for ticket in search.tickets:
        if ticket.metrics and ticket.iteration < iteration:
            level = "" if ticket.full else str(ticket.fidelity)
            told.setdefault(level, []).append((ticket.graph, ticket.error))
    if not told[""]:
        return None
    sources = [Source(name, *zip(*seen, strict=True)) for name, seen in told.items()]
    return scale_sources(sources, search.stored.space, target)[0]


def _chart_gain(search: ReportedSearch) -> Chart | None:
    """The error of the best so far, and below it how much better any other graph can be."""
    x, high, low = [], [], []
    gains = [ticket.gain for ticket in search.done]
    if gains and (converged := search.stored.status.converged):
        gains[-1] = converged.gain  # measured after the last evaluation
    for i, (ticket, gain) in enumerate(zip(search.done, gains, strict=True)):
        if gain and gain.bound is not None:
            x.append(ticket.number + 1)
            high.append(search.recommendations[i].error)
            low.append(high[-1] - gain.bound)
    if not x:
        return None
    left = format_number(high[-1] - low[-1])
    said = f"In the end no other graph can be better by more than {left}."
    return Chart(
        "The lowest error so far, and what is left to gain below it",
        said,
        Axis("evaluation", integer=True),
        Axis(search.metric),
        [Band(x, low, high, 2), Line(x, high, 2, True, name="lowest so far")],
        heading="What is left to gain.",
        caption="The band holds every graph that was not evaluated, at 2.5 standard deviations of "
        f"a process of its own. {said}",
        identity="gain",
    )


def _chart_correlation(models: Mapping[int, ModelCheck]) -> Chart | None:
    ranked = {x: model.rank_correlation for x, model in models.items()}
    known = {x: value for x, value in ranked.items() if value is not None}
    if not known:
        return None
    values = [*known.values()]
    said = f"From {format_fixed(values[0], 2)} to {format_fixed(values[-1], 2)}."
    chart = _chart_over_time(known, "rank correlation", LEAST_CORRELATION, "nothing learnt below")
    return replace(
        chart,
        title="Leave-one-out rank correlation of the model over the iterations",
        description=said,
        heading="What the model knows.",
        caption="Each evaluated graph is predicted from all others: 1 if they come in the right "
        f"order, about 0 or less if nothing was learnt. {said}",
        identity="model-correlation",
    )


def _chart_coverage(models: Mapping[int, ModelCheck]) -> Chart:
    shares = {x: model.coverage for x, model in models.items()}
    said = f"In the end {format_percent([*shares.values()][-1])}."
    chart = _chart_over_time(shares, "share", 0.95, "right", series=3)
    title = "Share of the errors within two standard deviations over the iterations"
    caption = (
        "Share of the evaluated graphs whose error lies within two standard deviations of its "
        f"prediction from all others; 95 % is right, less is too sure. {said}"
    )
    named = replace(chart, title=title, description=said, heading="Coverage.", caption=caption)
    return replace(named, identity="model-coverage")


def _chart_over_time(
    values: Mapping[int, float], name: str, right: float, said: str, series: int = 1
) -> Chart:
    """A share for each iteration as a line, and a rule at the value that tells good from bad."""
    x, y = [*values], [*values.values()]
    marks: list[Mark] = [Rule(right, said), Line(x, y, series), Points(x, y, series)]
    axes = Axis("iteration", integer=True), Axis(name, also=(0.0, 1.0))
    return Chart(name, "", *axes, marks)


def _chart_calibration(models: Mapping[int, ModelCheck]) -> Chart | None:
    """Share of the errors in each central interval of the last fit against what it should be."""
    shares = list(models.values())[-1].calibration
    if len(shares) != len(LEVELS):
        return None
    return Chart(
        "Calibration of the last model",
        f"The interval that should hold half of the errors holds {format_percent(shares[4])}.",
        Axis("should lie within", also=(0.0, 1.0)),
        Axis("lies within", also=(0.0, 1.0)),
        [Line([0.0, 1.0], [0.0, 1.0], 0, dashed=True), Points([*LEVELS], [*shares], 1)],
        heading="Calibration.",
        caption="Share of the errors within central intervals of their leave-one-out predictions, "
        "last fit. Points below the line: the model is too sure of itself; above: too cautious.",
        identity="model-calibration",
    )


def chart_hyperparameters(search: ReportedSearch) -> list[Chart]:
    """Each hyperparameter of the surrogate, iteration by iteration."""
    return [_chart_fits(search, i, name) for i, name in enumerate(search.fitted_names)]


def _explain_hyperparameter(name: str) -> tuple[str, str]:
    """The symbol of a hyperparameter and what it does; a block's weight has the block's name."""
    if name in BLOCKS:
        return name, f"weighs {BLOCKS[name].summary}"
    return _HYPERPARAMETERS.get(name, (name, "of the surrogate"))


def _chart_fits(search: ReportedSearch, number: int, name: str) -> Chart:
    known = {x: float(values[name]) for x, values in search.fits.items() if name in values}
    x, y = [*known], [*known.values()]
    shown, meaning = _explain_hyperparameter(name)
    return Chart(
        f"Hyperparameter {shown} over the iterations",
        f"From {format_number(y[0])} to {format_number(y[-1])}.",
        Axis("iteration", integer=True),
        Axis(shown, log=min(y) > 0),
        [Line(x, y, 1), Points(x, y, 1)],
        heading=shown,
        caption=f"{meaning}.",
        identity=f"hyperparameter-{number}",
        width=360.0,
        height=250.0,
    )
