"""The front in a report: what is on it, what stands beside it, and how it is picked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.bayesopt.front import find_reference, hypervolume
from nasgoat.evaluation import Outcome
from nasgoat.figures.charts import Line, Points
from nasgoat.report import ReportedSearch, search_page, write_report
from nasgoat.report.front_charts import chart_front, chart_hypervolume, list_front_tickets
from nasgoat.report.search_charts import chart_proposals
from nasgoat.spaces import nasbench201
from tests.report.browser import Browser
from tests.report.studies import OURS, hostile_space, made


def search(space: Any = None, count: int = 40, **more: Any) -> ReportedSearch:
    """A search of two objectives, or more, with an evaluation far out."""
    declaration = {**OURS, "minimise": ["error", "latency"], **more}
    found = made(space or nasbench201(), count, declaration)
    rng, names = np.random.default_rng(1), declaration["minimise"]
    tickets = []
    for ticket in found.tickets:
        values = (1.0 + rng.random(len(names))).tolist()
        if ticket.number == 3:
            values = [50.0] * len(names)
        metrics = {**dict(zip(names, values, strict=True)), "energy": values[0] * 2}
        proposal = replace(ticket.proposal, probability=0.25)
        outcome = Outcome.of(metrics, names)
        tickets.append(replace(ticket, outcome=outcome, proposal=proposal))
    return replace(found, stored=replace(found.stored, tickets=tuple(tickets)))


def values_of(found: ReportedSearch) -> list[tuple[float, ...]]:
    return [found.objectives.pick(ticket.metrics or {}) for ticket in found.done]


def test_the_chart_has_every_point_of_the_front_as_a_link() -> None:
    found = search()
    front = list_front_tickets(found)
    expected = find_nondominated(values_of(found))
    assert [ticket.number for ticket in front] == expected
    chart = chart_front(found, front, 0, 1)
    marks = [mark for mark in chart.marks if isinstance(mark, Points)]
    links = sorted(link for mark in marks for link in mark.links)
    assert links == sorted(f"#front-{place + 1}" for place in expected)
    assert [mark.name for mark in marks] == ["dominated", "front", "knee"]
    assert len(marks[0].x) == len(found.done) - len(expected) - 1  # the one far out is left out
    assert "1 evaluation further out not shown" in chart.caption
    html = search_page(found)
    on_front = f"Of {len(found.done)} evaluations, {len(expected)} are on the front: no other is"
    assert len(expected) > 1 and on_front in html
    for place in expected:
        assert f'id="front-{place + 1}"' in html
        assert f'href="#front-{place + 1}"' in html


def test_what_the_function_of_a_front_says_is_called_a_value() -> None:
    found = search(settings={"target": "rank", "acquisition": "hypervolume"})
    html = search_page(found)
    assert "had a lower value of the acquisition function (hypervolume)." in html
    assert "LCB" not in html
    assert "√β" not in html
    named = [mark.name for mark in chart_proposals(found)[1].marks if isinstance(mark, Points)]
    assert named == ["value", "proven bound"]


def test_the_hypervolume_rises_to_that_of_the_front() -> None:
    found = search()
    (line,) = chart_hypervolume(found).marks
    assert isinstance(line, Line)
    points = values_of(found)
    assert line.y[-1] == pytest.approx(hypervolume(points, find_reference(points)))
    assert list(line.y) == sorted(line.y)


def test_limits_have_a_probability_and_what_breaks_them_is_not_on_the_front() -> None:
    found = search(limits=["energy <= 3"])
    front = list_front_tickets(found)
    assert all((ticket.metrics or {})["energy"] <= 3 for ticket in front)
    html = search_page(found)
    assert "breaks a limit" in html and "probability" in html and "0.25" in html
    assert "No evaluation keeps energy &lt;= 1" in search_page(search(limits=["energy <= 1"]))


def test_three_objectives_make_three_charts_and_one_makes_none() -> None:
    html = search_page(search(minimise=["error", "latency", "size"]))
    assert html.count("<desc id=") >= 3
    assert all(f'id="front-{pair}-title"' in html for pair in ("0-1", "0-2", "1-2"))
    assert 'id="front-heading"' not in search_page(made(nasbench201(), 12))
    single = search_page(search(minimise=["latency"], limits=["energy <= 3"]))
    assert "The best graph by latency" in single


def test_a_point_shows_its_cell_when_hovered_over_or_focused(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "front.html"
    write_report(search_page(search()), path)
    browser.open(path.as_uri())
    shown = "Array.from(document.querySelectorAll('.front-cell'))"
    shown += ".filter(c => getComputedStyle(c).display !== 'none').map(c => c.id)"
    knee = browser.run("document.querySelector('.front g.square a').getAttribute('href')")
    assert [f"#{each}" for each in browser.run(shown)] == [knee]
    links = browser.run(
        "Array.from(document.querySelectorAll('.front svg a')).map(a => a.getAttribute('href'))"
    )
    assert len(links) > 2
    browser.run("document.querySelector('.front svg a').focus()")
    for link in links[:2]:
        assert [f"#{each}" for each in browser.run(shown)] == [link]
        browser.press("Tab", 9)
    browser.run(
        f"document.querySelector('.front svg a[href=\"{links[0]}\"]')"
        ".dispatchEvent(new MouseEvent('mouseenter'))"
    )
    assert [f"#{each}" for each in browser.run(shown)] == links[:1]


def test_hostile_labels_and_names_do_no_harm() -> None:
    names = ["<script>alert(1)</script>", '" onload="alert(2)']
    html = search_page(search(hostile_space(), 16, minimise=names))
    assert "<script>alert(1)" not in html
