"""What came of a search, in a few sentences and figures, and what each source cost and gave."""

from __future__ import annotations

from nasgoat.bayesopt.recommendation import LUCK, Estimate
from nasgoat.bayesopt.spending import Spending
from nasgoat.figures.wording import (
    format_count,
    format_duration,
    format_fixed,
    format_number,
    format_percent,
)  # fmt: skip
from nasgoat.report import markup
from nasgoat.report.front_charts import describe_objectives, list_front_facts
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.page import Fact
from nasgoat.report.reported_search import ReportedSearch, read_test_error

#: How a state of the search is marked, unless as a warning, and said, unless by its name.
_STATE_MARKS = {"finished": "good", "converged": "good", "exhausted": "good", "failing": "bad"}
#: What is said of kernels that were left open.
_OPEN = {
    "evidence": "chosen by evidence",
    "averaged": "averaged by evidence",
    "together": "averaged equally",
}
_STATE_WORDS = {
    "exhausted": "finished: every graph of the space was proposed",
    "stopped": "not finished",
    "failing": "stopped: the objective fails",
}


def write_lede(search: ReportedSearch) -> Child:
    """What was done and what came of it, in a few sentences."""
    mark = _STATE_MARKS.get(search.state, "warn")
    text = _STATE_WORDS.get(search.state, search.state)
    if converged := search.stored.status.converged:
        text = f"{text}: {converged}" if search.state == "converged" else text
    ended = len(search.done) + len(search.failed)
    budget = search.stored.status.budget
    of = f" of {budget:,}" if budget and budget != ended else ""
    if (cost := search.stored.status.cost) is not None:
        of = f" in full, {cost:.4g} of {budget or '?'} full evaluations spent"
    by = f"The baseline {search.method}"
    if search.ours:
        by = f"Bayesian optimisation with {_describe_kernel(search.settings.get('kernel', '?'))}"
    state, count = element("span", text, class_=f"state {mark}"), format_count(ended, "evaluation")
    said: list[Child] = [state, f" {by}, {count}{of}. "]
    if search.best is None:
        return [*said, "Nothing has been evaluated yet."]
    if not search.objectives.plain:
        return [*said, describe_objectives(search)]
    return [*said, _describe_best(search), _describe_regret(search)]


def _describe_kernel(name: str) -> str:
    return (
        f"shortest-path kernels {_OPEN[name]}"
        if name in _OPEN
        else f"the {name} shortest-path kernel"
    )


def _describe_best(search: ReportedSearch) -> str:
    """The error of the recommended graph: observed, or the mean of several evaluations."""
    best, found = search.best, search.recommended
    if best is None or found is None:
        return ""
    where = f"evaluation {best.number + 1}"
    if not search.noisy:
        return (
            f"The best graph has {search.metric} {format_number(found.error)} and was found at "
            f"{where}."
        )
    lowest = format_number(min(t.error for t in search.done))
    if found.uncertainty is None:
        return (
            f"The lowest {search.metric} that was observed is {lowest}, in one noisy evaluation, "
            f"{where}."
        )
    return (
        f"The recommended graph has {search.metric} {format_number(found.error)}, "
        f"{describe_estimate(found)}; it was found at {where}. The lowest of all observations, "
        f"{lowest}, was one noisy evaluation."
    ) + f" The recommended graph was {LUCK}." * (found.times == 1)


def _describe_regret(search: ReportedSearch) -> str:
    """How far the recommended graph is from the best of its table, if there is one."""
    best = search.best
    regret = None if best is None else search.measure_regret(best)
    if best is None or regret is None or search.benchmark is None:
        return ""
    lead = ""
    if search.noisy:
        mean = format_number(search.benchmark.mean_error(best.graph))
        lead = f" Over all trainings of the table the mean of that graph is {mean}."
    if regret < 1e-9:  # table values are compared with themselves
        return f"{lead} No graph of the table is better."
    return f"{lead} The best of the table is better by {format_number(regret)}."


def describe_estimate(found: Estimate) -> str:
    """How a mean came about, and its interval.

    Example:
        >>> describe_estimate(Estimate(0, 26.5, 0.12, 8))
        'the mean of 8 evaluations (two standard errors around it: 26.260 to 26.740)'
    """
    said = f"the mean of {format_count(found.times, 'evaluation')}"
    if found.times == 1:
        said = "observed once"
    if found.uncertainty is None:
        return said
    low, high = (found.error + side * 2 * found.uncertainty for side in (-1, 1))
    return f"{said} (two standard errors around it: {format_number(low)} to {format_number(high)})"


def list_facts(search: ReportedSearch) -> list[Fact]:
    """The figures that one wants to see first."""
    plain = search.objectives.plain
    facts = _list_errors(search) if plain else list_front_facts(search)
    status = search.stored.status
    others = {"failed": status.failed, "open": status.open}
    more = ", ".join(f"{count} {name}" for name, count in others.items() if count)
    facts.append(Fact("evaluations", f"{len(search.done):,}", more))
    if search.known:
        best = format_number(min(result.error for result in search.known))
        facts.append(Fact("known results", f"{len(search.known):,}", f"the best {best}"))
    if (certified := search.certified) is not None:
        made = f"of {format_count(len(search.chosen), 'proposal')}"
        facts.append(Fact("proven optimal", format_percent(certified), made))
    if models := list(search.models.values()):
        ranked = format_fixed(models[-1].rank_correlation, 2)
        learnt = "rank correlation" if models[-1].learnt else "has learnt nothing"
        facts.append(Fact("model", ranked, learnt))
    size, exact = search.stored.space.size()
    shown = f"{size:,}" if size < 10**9 else f"{float(size):.1e}"
    facts.append(Fact("graphs in the space", shown, "" if exact else "at most"))
    facts.append(Fact("time", format_duration(search.seconds), "evaluations included"))
    return facts


def _list_errors(search: ReportedSearch) -> list[Fact]:
    """Errors of the recommended graph: what was observed, its mean, and what the table knows."""
    best, estimate = search.best, search.recommended
    if best is None or estimate is None:
        return []
    found, facts, table = f"evaluation {best.number + 1}", [], search.benchmark
    if estimate.uncertainty is not None:
        low, high = (estimate.error + side * 2 * estimate.uncertainty for side in (-1, 1))
        said = f"mean of {estimate.times}; {format_number(low)} to {format_number(high)}"
        facts.append(Fact(search.metric, format_number(estimate.error), said))
        lowest = format_number(min(t.error for t in search.done))
        facts.append(Fact("lowest observed", lowest, "one evaluation"))
    else:
        said = f"observed once, {found}" if search.noisy else found
        facts.append(Fact(search.metric, format_number(estimate.error), said))
    if (test := read_test_error(best)) is not None:
        facts.append(Fact("test error of that graph", format_number(test)))
    if table is not None:
        if search.noisy:
            mean = format_number(table.mean_error(best.graph))
            facts.append(Fact("mean of that graph", mean, "all trainings of the table"))
        of = "of that mean; optimum" if search.noisy else "optimum"
        regret = format_number(search.measure_regret(best))
        facts.append(Fact("regret", regret, f"{of} {format_number(table.optimum)}"))
    return facts


def show_sources(search: ReportedSearch) -> Html | None:
    """A table of the sources, and the saving; None where full evaluations are the only one."""
    spending = Spending.of(search.tickets, search.best.number if search.best else None)
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
        until = f", the best graph after {spending.cost_to_best:.4g}"
    return (
        f"The search spent {spending.cost:.4g} full evaluations{until}. It has seen "
        f"{format_count(spending.graphs, 'graph')}; a full evaluation of each would have cost "
        f"{max(spending.saved, 0.0):.4g} more."
    )
