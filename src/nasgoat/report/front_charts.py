"""The front of a search of several objectives: charts, the cells on it, and a table.

Every point of the front is a link: hovered over or reached with the tab key, its cell is drawn
beside the chart; without scripts all cells stand there.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.bayesopt import Ticket
from nasgoat.bayesopt.front import (
    find_knee,
    find_reference,
    hypervolume,
    list_front,
    measure_progress,
)
from nasgoat.figures.charts import Axis, Chart, Line, Mark, Points
from nasgoat.figures.wording import cut, format_count, format_number
from nasgoat.report import markup
from nasgoat.report.cells import draw_card, draw_operation_legend
from nasgoat.report.chart_svg import FULL_WIDTH, draw_figure
from nasgoat.report.markup import Child, Html, element, join, label
from nasgoat.report.page import Fact
from nasgoat.report.proposals import link_to_cell
from nasgoat.report.reported_search import ReportedSearch

_LONGEST = 30  # characters of a name on an axis
_MOST_CELLS = 60  # drawn beside a chart: a longer front is shown in part
_REACH = 3.0  # of the front's range: evaluations further beyond it are not drawn
_WIDTH, _HEIGHT = 640.0, 420.0  # pixels of a chart with cells beside it


def list_front_tickets(search: ReportedSearch) -> list[Ticket]:
    """The proposals on the front, by the first objective."""
    evaluated = [ticket.metrics or {} for ticket in search.done]
    return [search.done[i] for i in list_front(search.objectives, evaluated)]


def find_knee_ticket(search: ReportedSearch) -> Ticket | None:
    """The proposal where the front bends most."""
    front = list_front_tickets(search)
    place = find_knee([_pick(search, t) for t in front]) if front else None
    return None if place is None else front[place]


def _list_feasible(search: ReportedSearch) -> list[Ticket]:
    """The evaluations that keep every limit."""
    return [t for t in search.done if search.objectives.is_feasible(t.metrics or {})]


def _pick(search: ReportedSearch, ticket: Ticket) -> tuple[float, ...]:
    return search.objectives.pick(ticket.metrics or {})


def show_front(search: ReportedSearch, classes: dict[str, str]) -> Html | None:
    """The section of the front; None where a single value is minimised."""
    if not search.objectives.several or not search.done:
        return None
    front = list_front_tickets(search)
    if not front:
        return join(element("p", "No evaluation keeps every limit: there is no front."))
    cells = [_draw_cell(search, ticket, classes) for ticket in front[:_MOST_CELLS]]
    pairs = combinations(range(len(search.objectives.names)), 2)
    charts = [draw_figure(chart_front(search, front, *pair)) for pair in pairs]
    legend = draw_operation_legend(classes, search.stored.space.edge_vocabulary)
    picked = element("div", cells, legend, class_="front-cells", aria_live="polite")
    return join(
        element("p", _describe_front(search, front)),
        element("div", element("div", charts, class_="front-charts"), picked, class_="front"),
        draw_figure(chart_hypervolume(search)),
        _tabulate_front(search, front),
    )


def chart_front(search: ReportedSearch, front: list[Ticket], across: int, up: int) -> Chart:
    """Two of the objectives of every evaluation; those on the front are links to their cells."""
    names = search.objectives.names
    at = partial(_place, search, across, up)
    on_front = {ticket.number for ticket in front}
    knee = find_knee_ticket(search)
    kept = _list_feasible(search)
    within = {ticket.number for ticket in kept}
    broken = [t for t in search.done if t.number not in within]
    rest = [t for t in kept if t.number not in on_front]
    far = len(rest) + len(broken)
    rest, broken = (_keep_near(search, front, tickets, across, up) for tickets in (rest, broken))
    far -= len(rest) + len(broken)
    marks: list[Mark] = []
    if rest:
        marks.append(Points(*at(rest), 0, "circle", _write_titles(search, rest), name="dominated"))
    if broken:
        titles = _write_titles(search, broken)
        marks.append(Points(*at(broken), 7, "cross", titles, name="breaks a limit"))
    if len(names) == 2:
        marks.append(Line(*at(front), 1, True))
    others = [t for t in front if t is not knee]
    for tickets, shape, name in (
        (others, "diamond", "front"),
        ([knee] if knee else [], "square", "knee"),
    ):
        if tickets:
            links = [f"#front-{t.number + 1}" for t in tickets]
            titles = _write_titles(search, tickets)
            series = 1 if name == "front" else 2
            marks.append(Points(*at(tickets), series, shape, titles, name=name, links=links))
    x, y = cut(names[across], _LONGEST), cut(names[up], _LONGEST)
    return Chart(
        f"Front of {x} and {y}",
        f"{format_count(len(front), 'evaluation')} on the front, of {len(search.done)}.",
        Axis(x),
        Axis(y),
        marks,
        heading="Front.",
        caption="One mark for each evaluated graph. Hover over a point of the front, or reach it "
        "with the tab key, to see its cell."
        + f" {format_count(far, 'evaluation')} further out not shown."
        * bool(far),
        identity=f"front-{across}-{up}",
        width=_WIDTH,
        height=_HEIGHT,
    )


def _keep_near(
    search: ReportedSearch, front: list[Ticket], tickets: list[Ticket], across: int, up: int
) -> list[Ticket]:
    """Those within reach of the front: what lies far out would squeeze it into a corner."""
    values = np.array([_pick(search, t) for t in front])[:, [across, up]]
    spread = np.ptp(values, axis=0)
    most = values.max(axis=0) + _REACH * np.where(spread > 0, spread, np.inf)
    return [t for t in tickets if (np.array(_pick(search, t))[[across, up]] <= most).all()]


def _place(
    search: ReportedSearch, across: int, up: int, tickets: list[Ticket]
) -> tuple[list[float], list[float]]:
    values = [_pick(search, ticket) for ticket in tickets]
    return [row[across] for row in values], [row[up] for row in values]


def _write_titles(search: ReportedSearch, tickets: list[Ticket]) -> list[str]:
    return [f"evaluation {t.number + 1}: {_write_values(search, t)}" for t in tickets]


def _write_values(search: ReportedSearch, ticket: Ticket) -> str:
    values = zip(search.objectives.names, _pick(search, ticket), strict=True)
    return ", ".join(f"{cut(name, _LONGEST)} {format_number(value)}" for name, value in values)


def chart_hypervolume(search: ReportedSearch) -> Chart:
    """The hypervolume after each evaluation, up to the reference point of the last front."""
    kept = _list_feasible(search)
    points = [_pick(search, t) for t in kept]
    reference = find_reference(points)
    covered = measure_progress(points, reference)
    corner = ", ".join(format_number(value) for value in reference)
    return Chart(
        "Hypervolume of the front so far",
        f"It ends at {format_number(covered[-1])}.",
        Axis("evaluation", integer=True),
        Axis("hypervolume"),
        [Line([t.number + 1 for t in kept], covered, 1, True)],
        heading="Hypervolume.",
        caption=f"Volume between the front so far and the point ({corner}), a tenth of the last "
        "front's range beyond its worst values.",
        identity="front-hypervolume",
        width=FULL_WIDTH,
    )


def _describe_front(search: ReportedSearch, front: list[Ticket]) -> str:
    knee, names = find_knee_ticket(search), search.objectives.names
    said = f"Of {format_count(len(search.done), 'evaluation')}, {len(front)} "
    said += f"{'is' if len(front) == 1 else 'are'} on the front: no other is at least as good in "
    said += f"{' and '.join(names)} and better in one of them."
    if knee is not None:
        said += f" The front bends most at evaluation {knee.number + 1}."
    return said


def _draw_cell(search: ReportedSearch, ticket: Ticket, classes: dict[str, str]) -> Html:
    """The cell of a point of the front, with its values."""
    place = f"front-{ticket.number + 1}"
    picture = draw_card(ticket.graph, classes, place, f"Cell of evaluation {ticket.number + 1}")
    more = element("a", f"evaluation {ticket.number + 1}", href=f"#cell-{ticket.number + 1}")
    said = element("figcaption", element("b", _write_values(search, ticket)), " · ", more)
    return element("figure", picture, said, id=place, class_="front-cell")


def _tabulate_front(search: ReportedSearch, front: list[Ticket]) -> Html:
    """Every evaluation on the front with all its numbers."""
    first = list(search.objectives.names)
    known = {n for t in front for n, x in (t.metrics or {}).items() if isinstance(x, int | float)}
    names = [*first, *sorted(known - {*first})]
    knee = find_knee_ticket(search)
    rows: list[list[Child]] = [
        [
            link_to_cell(ticket),
            *(format_number((ticket.metrics or {}).get(name)) for name in names),
        ]
        for ticket in front
    ]
    columns = [markup.Column("evaluation"), *(markup.Column(cut(n, _LONGEST)) for n in names)]
    caption = "The front, by the first objective." + " The knee is marked." * (knee is not None)
    best = next((i for i, ticket in enumerate(front) if ticket is knee), None)
    return markup.table(caption, columns, rows, "Table of the front", sortable=True, best=best)


def list_front_facts(search: ReportedSearch) -> list[Fact]:
    """The figures of a front or of measured limits that one wants to see first."""
    objectives, best = search.objectives, search.best
    if best is None:
        return []
    facts = []
    kept = _list_feasible(search)
    if objectives.several and kept:
        points = [_pick(search, t) for t in kept]
        covered = hypervolume(points, find_reference(points))
        count = len(find_nondominated(points))
        facts.append(Fact("on the front", str(count), f"hypervolume {format_number(covered)}"))
    for i, name in enumerate(objectives.names):
        lowest = min(kept or search.done, key=lambda t, i=i: _pick(search, t)[i])  # type: ignore[misc]
        value = format_number(_pick(search, lowest)[i])
        facts.append(
            Fact(f"lowest {cut(name, _LONGEST)}", value, f"evaluation {lowest.number + 1}")
        )
    if objectives.limits:
        said = " and ".join(limit.text for limit in objectives.limits)
        facts.append(Fact("keep the limits", f"{len(kept)} of {len(search.done)}", cut(said, 60)))
    return facts


def describe_objectives(search: ReportedSearch) -> Child:
    """What came of several objectives or measured limits, in a sentence or two."""
    objectives, best = search.objectives, search.best
    if best is None:
        return ""
    limits = " and ".join(limit.text for limit in objectives.limits)
    if limits and not objectives.is_feasible(best.metrics or {}):
        return label(f"No evaluation keeps {limits}.", 200)
    under = f" under {limits}" if limits else ""
    if objectives.several:
        front = format_count(len(list_front_tickets(search)), "evaluation")
        names = " and ".join(objectives.names)
        return label(f"The front of {names}{under} has {front}.", 200)
    value = format_number(_pick(search, best)[0])
    return label(
        f"The best graph{under} has {objectives.names[0]} {value}, evaluation {best.number + 1}.",
        200,
    )
