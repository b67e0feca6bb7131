"""Charts of experiments: reports and figures show the same ones, and tell their series apart."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from nasgoat.experiments import (
    ExperimentRecords,
    build_charts,
    make_figures,
    read_experiment,
    summary_of,
)
from nasgoat.experiments.compare_charts import make_charts, make_panels
from nasgoat.figures.charts import Band, Chart, Line, Points
from tests.report.experiments import compare

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FOLDERS = [EXPERIMENTS / name for name in ("compare", "ablation", "scale")]


def names(charts: list[Chart]) -> set[str]:
    named = [mark for chart in charts for mark in chart.marks if not isinstance(mark, Band)]
    return {mark.name for mark in named if mark.name}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_figures_and_reports_show_the_same_series(folder: Path) -> None:
    records = read_experiment(folder)
    charts = [chart for found in build_charts(records).values() for chart in found]
    reported = names([*charts, *summary_of(records)])
    figures = make_figures(records).values()
    legends = [legend for figure in figures for legend in figure.legends]
    shown = {text.get_text() for legend in legends for text in legend.get_texts()}
    shown |= {text.get_text() for f in figures for axes in f.axes for text in axes.texts}
    assert shown == reported


@pytest.mark.parametrize("name", ["compare", "ablation"])
def test_curves_are_of_regret_on_a_logarithm_with_names_at_their_ends(name: str) -> None:
    records = read_experiment(EXPERIMENTS / name)
    curves = {k: f for k, f in make_figures(records).items() if "summary" not in k}
    assert curves
    for key, figure in curves.items():
        assert figure.legends == []
        for axes in figure.axes:
            assert len(axes.texts) == len(axes.lines) // 2 > 3  # a line, and one to its name
            assert (axes.get_yscale() == "log") == ("-test" not in key)
            assert 1 <= len(axes.collections) <= 3  # bands
            heights = sorted(text.get_position()[1] for text in axes.texts)
            assert min(b - a for a, b in itertools.pairwise(heights)) > 0.04  # of the panel


def test_a_test_error_that_nobody_measured_leaves_no_panel() -> None:
    figures = make_figures(read_experiment(EXPERIMENTS / "compare"))
    panels = {name: [axes.get_title() for axes in f.axes] for name, f in figures.items()}
    assert len(panels["compare-deterministic"]) == 4
    assert len(panels["compare-deterministic-test"]) == 3
    assert not any("nb101" in title for title in panels["compare-deterministic-test"])
    assert all(axes.lines for f in figures.values() for axes in f.axes)


def test_the_summary_says_how_soon_each_method_arrives(tmp_path: Path) -> None:
    charts = summary_of(compare(tmp_path))
    assert [chart.heading for chart in charts] == [
        "Who arrives first, deterministic.",
        "Who arrives first, noisy.",
    ]
    assert charts[0].y.names[-1] == "goat-e"
    found = {mark.name: mark for mark in charts[0].marks if isinstance(mark, Points)}
    assert set(found) == {"nb201/cifar10", "nb101"}
    # It is there after 5, 6 and 7 evaluations; all others stay above the goal, 0.
    assert sorted(found["nb101"].x)[:2] == [6.0, 41.0]
    assert "nb101 0.000" in charts[0].caption


def test_the_goal_of_a_benchmark_is_what_the_best_reach_in_the_median(tmp_path: Path) -> None:
    records = compare(tmp_path)
    others = tuple(run for run in records.runs if run["method"] != "goat-e")
    chart = summary_of(replace(records, runs=others))[0]
    assert "nb101 0.100" in chart.caption
    soonest = min(min(mark.x) for mark in chart.marks if isinstance(mark, Points))
    assert soonest == 7.0  # the second method after 6, 7 and 8


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_two_lines_of_a_chart_look_the_same(folder: Path) -> None:
    for charts in build_charts(read_experiment(folder)).values():
        for chart in charts:
            lines = [mark for mark in chart.marks if isinstance(mark, Line)]
            looks = {(line.series, line.dashed, line.bold) for line in lines}
            assert len(looks) == len(lines)


def test_ours_have_the_colour_of_their_kernel_where_it_tells_them_apart() -> None:
    charts = build_charts(read_experiment(EXPERIMENTS / "compare"))
    series = {
        mark.name: mark.series
        for found in charts.values()
        for chart in found
        for mark in chart.marks
        if isinstance(mark, Line)
    }
    assert (series["goat-l"], series["paper-l"]) == (2, 2)
    assert (series["goat-e"], series["paper-e"]) == (1, 1)


def few(records: ExperimentRecords, count: int) -> ExperimentRecords:
    """The same records as if fewer methods had been declared."""
    methods = records.declaration["methods"][:count]
    return replace(records, declaration={**records.declaration, "methods": methods})


@pytest.mark.parametrize(("count", "groups"), [(6, 1), (7, 2)])
def test_reports_and_figures_split_many_methods_alike(
    count: int, groups: int, tmp_path: Path
) -> None:
    records = few(compare(tmp_path), count)
    assert len(make_charts(records)) == 2 * groups  # two settings
    # A summary, regret of each group, test error of the first.
    assert len(make_panels(records)) == 1 + 2 * (groups + 1)


def test_a_chart_of_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    records = compare(tmp_path)
    without = [
        chart for found in make_charts(records).values() for chart in found if not chart.marks
    ]
    assert {chart.heading for chart in without} == {"nb101"}
    assert all(chart.marks for found in build_charts(records).values() for chart in found)
    rows = [row for panels in make_panels(records).values() for row in panels.rows]
    assert all(chart.marks for row in rows for chart in row)
