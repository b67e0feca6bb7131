"""The report of an experiment: every table and figure, sound and safe, also when unfinished."""

import json
from pathlib import Path

import pytest

from nasgoat.errors import ExperimentFileError
from nasgoat.experiments import build_tables, read_experiment
from nasgoat.report import write_experiment_page
from nasgoat.report.experiment_report import emphasise
from tests.report.documents import assert_sound
from tests.report.experiments import compare, kernels, scale, write


def test_a_comparison_has_its_tables_and_a_chart_for_each_benchmark_and_error(
    tmp_path: Path,
) -> None:
    records = compare(tmp_path)
    page = assert_sound(write_experiment_page(records))
    captions = ["".join(part.itertext()) for part in page.iter("caption")]
    assert len(captions) == len(build_tables(records)) == 6
    headings = ["".join(part.itertext()) for part in page.iter("h3")]
    assert headings == [
        "How to read these tables",
        "Deterministic setting, the paper's main baselines",
        "Noisy setting, the paper's main baselines",
        "Deterministic setting, the other methods",
        "Noisy setting, the other methods",
        "Versions",
    ]
    # Two groups of methods, two settings; nb201 with a test error, nb101 without; two summaries.
    assert len(list(page.iter("figure"))) == 2 * 2 * 3 + 2
    sections = [part.get("id") for part in page.iter("section")]
    assert sections == ["summary", "tables", "figures", "repeat"]


def test_what_is_said_of_a_table_stands_below_it_though_others_say_the_same(
    tmp_path: Path,
) -> None:
    page = assert_sound(write_experiment_page(compare(tmp_path)))
    tables = next(part for part in page.iter("section") if part.get("id") == "tables")
    parts = ["".join(part.itertext()) for part in tables]
    own = [i for i, text in enumerate(parts) if text.startswith("Lowest median regret: goat-e")]
    shown = [i for i, part in enumerate(tables) if part.get("role") == "region"]
    assert own == [i + 1 for i in shown[2:]]  # the two overviews name nobody
    assert len(own) == 4
    assert all("First at the optimum in the median: goat-e, after 6." in parts[i] for i in own)
    assert "First at" not in " ".join(parts[parts.index("How to read these tables") :])


def test_few_methods_share_their_charts(tmp_path: Path) -> None:
    page = assert_sound(write_experiment_page(compare(tmp_path, methods=4, seeds=1)))
    assert len(list(page.iter("figure"))) == 2 * 3 + 2


def test_a_comparison_of_older_runs_without_curves_has_its_tables(tmp_path: Path) -> None:
    compare(tmp_path)
    path = tmp_path / "summary.jsonl"
    runs = [{**json.loads(line), "steps": None} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    page = assert_sound(write_experiment_page(read_experiment(tmp_path)))
    assert not list(page.iter("figure"))
    assert list(page.iter("table"))


def test_kernels_have_a_table_and_a_figure_each(tmp_path: Path) -> None:
    page = assert_sound(write_experiment_page(kernels(tmp_path)))
    assert len(list(page.iter("table"))) == 1
    assert len(list(page.iter("figure"))) == 2


def test_kernels_without_details_have_their_table(tmp_path: Path) -> None:
    page = assert_sound(write_experiment_page(kernels(tmp_path, details=False)))
    assert len(list(page.iter("table"))) == 1
    assert not list(page.iter("figure"))


def test_kernels_are_drawn_from_a_summary_alone(tmp_path: Path) -> None:
    html = write_experiment_page(kernels(tmp_path, details=False, groups=True))
    assert len(list(assert_sound(html).iter("figure"))) == 2
    assert "each point the mean of 10 cells" in html


def test_scaling_draws_hollow_what_was_not_proven(tmp_path: Path) -> None:
    html = write_experiment_page(scale(tmp_path))
    page = assert_sound(html)
    assert len(list(page.iter("figure"))) == 4
    assert 'class="points ring s2"' in html


@pytest.mark.parametrize("make", [compare, kernels, scale])
def test_the_same_records_give_the_same_file(make: object, tmp_path: Path) -> None:
    assert callable(make)
    records = make(tmp_path)
    html = write_experiment_page(records)
    assert html == write_experiment_page(read_experiment(tmp_path))
    assert "<img" not in html
    assert not {"\x00", "\u202e"} & set(html)


def test_an_experiment_that_has_not_begun_can_be_reported(tmp_path: Path) -> None:
    write(tmp_path, "compare", {"methods": [], "benchmarks": [], "settings": []}, [])
    page = assert_sound(write_experiment_page(read_experiment(tmp_path)))
    assert ["".join(part.itertext()) for part in page.iter("h2")] == ["Repeat this experiment"]


def test_records_that_lack_something_are_one_error(tmp_path: Path) -> None:
    compare(tmp_path)
    (tmp_path / "summary.jsonl").write_text('{"run": "a", "benchmark": "nb101", "noisy": false}\n')
    with pytest.raises(ExperimentFileError, match="must hold whole records, got KeyError"):
        write_experiment_page(read_experiment(tmp_path))


def test_stars_that_do_not_pair_are_stars() -> None:
    assert emphasise("2 ** 3 = 8") == "2 ** 3 = 8"
    assert emphasise("**0.1**, <2>") == "<b>0.1</b>, &lt;2&gt;"
