"""The report of a search: its sections, the tables and the gallery in them."""

from __future__ import annotations

import json

from nasgoat.bayesopt import OPEN_KERNELS
from nasgoat.bayesopt.evidence import STANDS_IN
from nasgoat.bayesopt.known_results import describe_known
from nasgoat.errors import StudyError
from nasgoat.figures.wording import (
    format_count,
    format_number,
)  # fmt: skip
from nasgoat.report import markup
from nasgoat.report.cells import assign_classes, draw_card, draw_cell
from nasgoat.report.chart_svg import draw_grid
from nasgoat.report.front_charts import show_front
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.model_charts import chart_hyperparameters, chart_models, describe_models
from nasgoat.report.page import Section, build_page, make_page, show_command
from nasgoat.report.proposals import FIRST_CELLS, link_to_cell, show_gallery, show_proposals
from nasgoat.report.reported_search import ReportedSearch
from nasgoat.report.search_charts import chart_history
from nasgoat.report.search_summary import describe_estimate, list_facts, show_sources, write_lede
from nasgoat.spaces import to_toml

_TRACEBACK = 4000  # characters of a traceback, its end


def search_page(search: ReportedSearch) -> str:
    """The report of a search as one HTML file.

    Raises:
        StudyError: If what the study holds makes no sense.
    """
    name = search.stored.status.study
    return build_page(
        lambda: _make_page(search),
        lambda problem: StudyError(f"the study {name!r} must be sound, got {problem!r}"),
    )


def _make_page(search: ReportedSearch) -> str:
    space = search.stored.space
    classes = assign_classes(space.labels)
    history = chart_history(search)
    first = search.objectives.names[0]
    title = "The best graph" if search.objectives.plain else f"The best graph by {first}"
    bodies = {
        ("front", "The front"): show_front(search, classes),
        ("best", title): _show_best(search, classes),
        ("history", "History"): draw_grid(history) if history else None,
        ("sources", "Sources"): show_sources(search),
        ("proposals", "Proposals and certificates"): show_proposals(search),
        ("surrogate", "The surrogate over time"): _show_surrogate(search),
        ("failures", "Failures"): _tabulate_failures(search),
        ("known", "Known results"): _show_known(search, classes),
        ("gallery", "Gallery of graphs"): show_gallery(search, classes),
        ("space", "The search space"): _show_space(search),
        ("repeat", "Repeat this search"): _show_command(search),
    }
    return make_page(
        f"Search of {search.objective_name}",
        "nasgoat · search report",
        write_lede(search),
        list_facts(search),
        [Section(*name, body) for name, body in bodies.items() if body],
    )


def _show_best(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    best = search.best
    if best is None:
        return None
    title = f"The best graph, evaluation {best.number + 1}"
    picture = draw_cell(best.graph, classes, "best-cell", title, large=True)
    same = len({t.graph for t in search.done if t.error == best.error})
    ties = f" {format_count(same - 1, 'other graph')} came out equal." if same > 1 else ""
    metrics = best.metrics or {}
    others: list[tuple[Child, Child]] = [
        (label(name), label(_format_value(value), 200))
        for name, value in sorted(metrics.items())
        if name != "error"
    ]
    others = [*_list_estimates(search), *others]
    stored = json.dumps(best.graph.to_dict())
    return join(
        markup.region("div", picture, name=title, class_="hero"),
        element("p", f"Found at evaluation {best.number + 1}, iteration {best.iteration}.{ties}"),
        markup.pairs(others) if others else None,
        markup.details("The graph as JSON", markup.code_block(stored, "The best graph as JSON")),
    )


def _list_estimates(search: ReportedSearch) -> list[tuple[Child, Child]]:
    """What single evaluations of the recommended graph and their mean are, where they differ."""
    best, found = search.best, search.recommended
    if best is None or found is None or not search.noisy:
        return []
    own = [format_number(t.error) for t in search.done if t.graph == best.graph]
    pairs: list[tuple[Child, Child]] = [("observed", ", ".join(own))]
    if found.uncertainty is not None:
        pairs.append(("mean", f"{format_number(found.error)}, {describe_estimate(found)}"))
    if search.benchmark is not None:
        mean = format_number(search.benchmark.mean_error(best.graph))
        pairs.append(("mean of the table", f"{mean}, over all trainings; regret is measured on it"))
    return pairs


def _show_surrogate(search: ReportedSearch) -> Html | None:
    """What every fit found and had learnt, as charts and as a table; None without a surrogate."""
    charts = chart_hyperparameters(search)
    if not charts:
        return None
    names = search.fitted_names
    rows: list[list[Child]] = [
        [iteration, *(format_number(values.get(name)) for name in names)]
        for iteration, values in search.fits.items()
    ]
    columns = [markup.Column("iteration"), *map(markup.Column, names)]
    values = markup.table("Fitted hyperparameters.", columns, rows, "Table of hyperparameters")
    models, kernel = chart_models(search), search.settings.get("kernel", "?")
    of = f"of the {kernel} kernel"
    if kernel in OPEN_KERNELS:
        of = "of the kernel that predicted best"
    elif any(check.response == STANDS_IN for check in search.models.values()):
        of += ", or of the one that stood in for it"
    return join(
        element("p", describe_models(search)) if models else None,
        draw_grid(models, "grid small") if models else None,
        element("p", f"Hyperparameters {of}, after each fit."),
        draw_grid(charts, "grid small"),
        markup.details("The numbers", values),
    )


def _tabulate_failures(search: ReportedSearch) -> Html | None:
    """Every failed evaluation with its reason and traceback; None if there is none."""
    rows: list[list[Child]] = []
    for ticket in search.failed:
        failure = ticket.failure
        if failure is None:
            continue
        said: list[Child] = [label(failure.reason, 500)]
        if failure.traceback:
            text = failure.traceback.rstrip()[-_TRACEBACK:]
            said.append(markup.details("traceback", markup.code_block(text, "Traceback")))
        rows.append([link_to_cell(ticket), str(failure.kind), said])
    if not rows:
        return None
    columns = [
        markup.Column("evaluation"),
        markup.Column("kind", False),
        markup.Column("reason", False, long=True),
    ]
    return markup.table(
        "Failed evaluations; they are never learnt from.", columns, rows, "Failures"
    )


def _show_known(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    """Results that were known before, the best first; None if there were none."""
    if not search.known:
        return None
    ranked = sorted(search.known, key=lambda result: result.error)
    cards = [
        element(
            "li",
            draw_card(result.graph, classes, f"known-{place}", f"Known cell {place}"),
            element("p", element("b", format_number(result.error)), " · known, not evaluated"),
        )
        for place, result in enumerate(ranked[:FIRST_CELLS], start=1)
    ]
    found = min((t.error for t in search.done), default=None)
    said = describe_known(search.known, found if search.objectives.plain else None)
    rest = len(ranked) - len(cards)
    shown = f" The best {len(cards)} are shown." if rest else ""
    text = f"{said[:1].upper()}{said[1:]}. They were learnt from and not evaluated.{shown}"
    return join(element("p", text), element("ul", cards, class_="gallery"))


def _show_space(search: ReportedSearch) -> Html:
    space = search.stored.space
    size, exact = space.size()
    counted = f"{size:,} graphs" if exact else f"At most {float(size):.3g} graphs"
    toml = markup.code_block(to_toml(space), "The space as TOML")
    text = space.describe()
    return join(
        element("p", label(text[:1].upper() + text[1:], 2000), "."),
        element("p", f"{counted}."),
        markup.details("The declaration as TOML", toml),
    )


def _show_command(search: ReportedSearch) -> Html:
    status, stored = search.stored.status, search.stored
    after = "goes on where the search stopped"
    if status.finished:
        after = "shows the result again and evaluates nothing"
    again = f"In the same place it {after}; elsewhere it repeats the search."
    facts = {
        "study": status.study,
        "storage": status.storage,
        "seed": search.declaration.get("seed"),
        "method": search.method,
        **{name.replace("_", " "): _format_value(value) for name, value in search.settings.items()},
        "optimiser": search.declaration.get("optimizer"),
        "initial design": search.declaration.get("initial"),
        "batch": search.declaration.get("batch") or "one by one, as workers are free",
        "begun": stored.started and f"{stored.started:%Y-%m-%d %H:%M:%S}",
        "last result": stored.ended and f"{stored.ended:%Y-%m-%d %H:%M:%S}",
        "left behind and repeated": stored.orphans or None,
        "version": stored.version,
    }
    known = ((name, label(str(value), 500)) for name, value in facts.items() if value is not None)
    return join(show_command(status.command, again), markup.pairs(known))


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
