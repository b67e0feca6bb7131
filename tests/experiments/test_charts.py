"""Charts of experiments: reports and figures show the same ones, and tell their series apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from nasgoat.experiments import ExperimentRecords, charts_of, figures_of, read_experiment
from nasgoat.experiments.compare_charts import make_charts, make_panels
from nasgoat.figures.charts import Chart, Line
from tests.report.experiments import compare

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FOLDERS = [EXPERIMENTS / name for name in ("compare", "ablation", "scale")]


def names(charts: list[Chart]) -> set[str]:
    return {mark.name for chart in charts for mark in chart.named}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_figures_and_reports_show_the_same_series(folder: Path) -> None:
    records = read_experiment(folder)
    reported = names([chart for charts in charts_of(records).values() for chart in charts])
    legends = [figure.legends[0] for figure in figures_of(records).values()]
    assert {text.get_text() for legend in legends for text in legend.get_texts()} == reported


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_two_lines_of_a_chart_look_the_same(folder: Path) -> None:
    for charts in charts_of(read_experiment(folder)).values():
        for chart in charts:
            lines = [mark for mark in chart.marks if isinstance(mark, Line)]
            looks = {(line.series, line.dashed, line.bold) for line in lines}
            assert len(looks) == len(lines)


def test_ours_have_the_colour_of_their_kernel_where_it_tells_them_apart() -> None:
    charts = charts_of(read_experiment(EXPERIMENTS / "compare"))
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
    assert len(make_charts(records)) == len(make_panels(records)) == 2 * groups  # two settings


def test_a_chart_of_what_was_not_measured_has_no_marks_and_a_reason(tmp_path: Path) -> None:
    records = compare(tmp_path)
    without = [
        chart for found in make_charts(records).values() for chart in found if not chart.marks
    ]
    assert {(chart.heading, chart.caption) for chart in without} == {("nb101", "not measured")}
    assert all(chart.marks for found in charts_of(records).values() for chart in found)
