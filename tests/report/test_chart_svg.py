"""Charts as SVG: well-formed, named, and made of what they are given."""

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.report.chart_svg import FULL_WIDTH, draw_chart, draw_figure, draw_legend


def chart(*marks: Mark) -> Chart:
    return Chart("A <chart>", "It says.", Axis("x <axis>"), Axis("y"), marks, identity="c")


def test_a_chart_has_a_name_and_a_description() -> None:
    read = ET.fromstring(draw_chart(chart(Line([0, 1], [0, 1]))))  # noqa: S314
    named = {part.get("id"): part.text for part in read if part.get("id")}
    assert read.get("role") == "img"
    assert [named[i] for i in str(read.get("aria-labelledby")).split()] == ["A <chart>", "It says."]


def test_steps_keep_their_height_until_the_next_point() -> None:
    read = ET.fromstring(draw_chart(chart(Line([0, 1, 2], [3, 2, 1], steps=True))))  # noqa: S314
    way = next(str(p.get("d")) for p in read.iter("path") if "line" in str(p.get("class")))
    places = [tuple(map(float, pair.split())) for pair in way[1:].split("L")]
    assert len(places) == 5
    assert all(0 in (a[0] - b[0], a[1] - b[1]) for a, b in itertools.pairwise(places))


def test_every_point_is_drawn_with_its_text_and_bar() -> None:
    marks = Points([1, 2], [1, 2], titles=["one <", "two"], bars=[(0.5, 1.5), (1.0, 3.0)])
    read = ET.fromstring(draw_chart(chart(marks)))  # noqa: S314
    assert [t.text for t in read.iter("title")] == ["A <chart>", "one <", "two"]
    assert sum("bar" in str(p.get("class")) for p in read.iter("path")) == 2


def test_a_chart_of_nothing_is_still_a_chart() -> None:
    for empty in (chart(), chart(Line([], []), Points([], []), Band([], [], []))):
        read = ET.fromstring(draw_chart(empty))  # noqa: S314
        assert [title.text for title in read.iter("title")] == ["A <chart>"]


def test_a_legend_names_each_series_once_there_are_two() -> None:
    two: list[Mark] = [
        Line([0, 1], [0, 1], name="a & b"),
        Points([0], [1], name="c"),
        Rule(0.5, "rule"),
    ]
    names = draw_legend(chart(*two))
    assert names is not None
    assert [name in names for name in ("a &amp; b", ">c<", "rule")] == [True, True, True]
    assert draw_legend(chart(two[0])) is None


def test_a_wide_figure_scrolls_in_a_box_with_a_name() -> None:
    wide = replace(chart(), width=FULL_WIDTH)
    assert 'role="region" tabindex="0" aria-label="A &lt;chart&gt;"' in draw_figure(wide)
    assert "region" not in draw_figure(chart())


def test_names_stand_beside_the_ends_of_their_lines_and_apart() -> None:
    lines: list[Mark] = [
        Line([0, 1, 2], [3, 0, 0], 1, steps=True, name="first <"),
        Line([0, 1, 2], [3, 1, 0], 2, steps=True, name="second", bold=True),
        Line([0, 1, 2], [3, 2, 2], 3, steps=True, name="third"),
    ]
    direct = replace(chart(*lines), direct=True)
    assert draw_legend(direct) is None
    assert "region" in draw_figure(direct)  # it scrolls where it has no room
    read = ET.fromstring(draw_chart(direct))  # noqa: S314
    texts = [t for t in read.iter("text") if str(t.get("class")).startswith("direct")]
    places = {str(t.text): float(str(t.get("y"))) for t in texts}
    # Two end at 0: the one that was there first is lower, and nothing overlaps.
    assert places["first <"] > places["second"] + 13 > places["third"]
    ends = [float(str(t.get("x"))) + 7.4 * len(str(t.text)) for t in texts]
    assert max(ends) <= 480


def test_an_axis_of_names_has_them_all_as_ticks() -> None:
    names = ("one", "two", "three")
    listed = replace(chart(Points([1, 2], [0, 2])), y=Axis("", names=names))
    read = ET.fromstring(draw_chart(listed))  # noqa: S314
    ticks = [t.text for t in read.iter("text") if str(t.get("class")) == "tick end"]
    assert ticks == [*names]
