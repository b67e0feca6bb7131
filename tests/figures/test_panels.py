"""Charts side by side: everything that a chart describes is drawn by matplotlib too."""

from pathlib import Path

import numpy as np
import pytest

from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Points, Rule
from nasgoat.figures.panels import draw_panels
from nasgoat.report.chart_svg import draw_chart, draw_legend

SHAPES = ("circle", "ring", "square", "diamond", "triangle", "down", "dash", "cross")
MARKS: list[Mark] = [
    Rule(1.0, "best"),
    Band([1, 2, 3], [1, 1, 1], [9, 8, 50], series=2, steps=True),
    Line([1, 2, 3], [4, 3, 2], series=3, steps=True, dashed=True, name="others"),
    Line([1, 2, 3], [3, 2, 1], series=2, steps=True, name="ours", bold=True),
]


def chart(marks: list[Mark], heading: str = "nb201", y: str = "error", log: bool = False) -> Chart:
    axis = Axis(y, log=log)
    return Chart("Errors", "They fall.", Axis("evaluation"), axis, marks, heading, "Text.")


def test_both_drawings_have_the_names_of_a_chart() -> None:
    figure = draw_panels([[chart(MARKS)]])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["ours", "others", "best"]
    assert all(f">{name}<" in str(draw_legend(chart(MARKS))) for name in names)


def test_lines_hold_the_values_and_bands_do_not_widen_the_range() -> None:
    axes = draw_panels([[chart(MARKS)]]).axes[0]
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines[1:]] == [
        [4, 3, 2],
        [3, 2, 1],
    ]
    assert axes.get_ylim()[1] < 5
    assert MARKS[1] in chart(MARKS).marks and chart(MARKS).make_scales()[1].high > 50


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_drawn_by_both(shape: str, tmp_path: Path) -> None:
    marks: list[Mark] = [Points([1, 2], [0.0, 5.0], 1, shape, bars=[(0.0, 1.0), (4.0, 6.0)])]
    draw_panels([[chart(marks, log=True)]]).savefig(tmp_path / "points.png")
    assert shape in draw_chart(chart([Points([1], [1], 1, shape, ["title"])]))


def test_a_chart_of_nothing_says_why() -> None:
    axes = draw_panels([[chart(MARKS), chart([], "nb101")]]).axes
    assert [a.get_title() for a in axes] == ["nb201", "nb101"]
    assert [text.get_text() for text in axes[1].texts] == ["Text."]


def test_a_name_is_not_said_twice() -> None:
    same = chart(MARKS), chart(MARKS), chart(MARKS, "Gap.", y="gap")
    axes = draw_panels([same]).axes
    assert [a.get_ylabel() for a in axes] == ["error", "", "gap"]
    assert [a.get_title() for a in axes] == ["nb201", "nb201", ""]


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    hostile = [Line([0, 1], [1, 2], name=r"$\frac{1}{0}$"), Line([0, 1], [1, 2], name="<" * 500)]
    figure = draw_panels([[chart([*hostile], heading="$x")]])
    figure.savefig(tmp_path / "names.png")  # a name that is read as a formula fails here
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(shown) == 2
    assert "frac" in shown[0]
    assert shown[1].startswith("<<<")
