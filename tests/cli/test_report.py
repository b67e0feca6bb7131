"""``nasgoat report``: where it writes, what it says, what it refuses."""

import json
from pathlib import Path

import pytest

from nasgoat.cli import run
from nasgoat.spaces import nasbench201
from tests.report.documents import assert_sound
from tests.report.experiments import scale
from tests.report.studies import store


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a call that was wrong."""
    assert run(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


def test_the_report_of_a_run_is_in_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    store(Path("here"), nasbench201(), 6)
    assert run(["report", "here"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "wrote here/report.html\n"
    assert_sound(Path("here/report.html").read_text())


def test_json_says_where_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    store(Path("here"), nasbench201(), 6, failed={3: "broken"}, unfinished=1)
    assert run(["report", "here/study.db", "--output", "there/mine.html", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "report": "there/mine.html",
        "bytes": Path("there/mine.html").stat().st_size,
        "kind": "search",
        "study": "demo",
        "storage": "sqlite:///here/study.db",
        "state": "stopped",
        "evaluations": 4,
        "failed": 1,
    }


def test_the_latest_run_is_reported_unless_one_is_named() -> None:
    store(Path("runs/one"), nasbench201(), 3)
    assert run(["report"]) == 0
    assert Path("runs/one/report.html").exists()


def test_a_storage_is_reported_beside_the_caller() -> None:
    store(Path("here"), nasbench201(), 3)
    assert run(["report", "--storage", "sqlite:///here/study.db", "--study", "demo"]) == 0
    assert Path("demo-report.html").exists()


def test_an_earlier_report_is_replaced_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store(Path("here"), nasbench201(), 3)
    assert run(["report", "here"]) == 0
    assert run(["report", "here"]) == 0
    capsys.readouterr()
    Path("thesis.html").write_text("<html>months of work</html>")
    said = error(capsys, "here", "--output", "thesis.html")
    assert "thesis.html; give another --output" in said
    assert Path("thesis.html").read_text() == "<html>months of work</html>"
    Path("folder").mkdir()
    assert "earlier report, got folder" in error(capsys, "here", "--output", "folder")


def test_an_experiment_is_reported_in_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    scale(Path("experiments/sizes"))
    Path("experiments/sizes.toml").write_text("")
    assert run(["report", "experiments/sizes", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["report"] == "experiments/sizes/report.html"
    assert (document["kind"], document["name"], document["runs"]) == ("scale", "scale", 6)
    html = Path("experiments/sizes/report.html").read_text()
    assert_sound(html)
    assert run(["report", "experiments/sizes.toml", "--output", "again.html"]) == 0
    assert Path("again.html").read_text() == html
    capsys.readouterr()
    assert "must have records in other" in error(capsys, "other.toml")
    Path("experiments/sizes/experiment.json").write_text("{")
    assert "must be whole" in error(capsys, "experiments/sizes")


def test_what_is_no_run_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "must be a file, got none" in error(capsys, "nowhere")
    assert "a run must be given" in error(capsys)
    Path("empty").mkdir()
    said = error(capsys, "empty")
    assert "must hold a study.db, got none; name a study in another storage by --storage" in said
    Path("empty/study.db").write_bytes(b"")
    assert "must not be empty" in error(capsys, "empty")
    Path("noise.db").write_bytes(b"no database" * 100)
    assert "must be a SQLite file" in error(capsys, "noise.db")
    store(Path("here"), nasbench201(), 3)
    assert "got 'other'" in error(capsys, "here", "--study", "other")
    content = Path("here/study.db").read_bytes()
    Path("here/study.db").write_bytes(content[: len(content) // 2])
    assert "it was cut off" in error(capsys, "here")


def test_an_output_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    store(Path("here"), nasbench201(), 3)
    Path("file").write_text("")
    assert "must be writable" in error(capsys, "here", "--output", "file/report.html")
    assert not list(Path().glob("**/*.part"))


def test_a_run_that_a_search_left_is_reported_as_it_stands() -> None:
    search = ["search", "--evaluations", "12", "--initial", "5", "--no-pictures"]
    assert run([*search, "--report", "here"]) == 0
    assert run(["report", "here"]) == 0
    html = Path("here/report.html").read_text()
    assert_sound(html)
    assert "nasgoat search --evaluations 12 --initial 5 --no-pictures --report here" in html
    assert "Regret." in html
