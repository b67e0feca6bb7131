"""``nasgoat search --known``: JSON, status, report, resume, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from nasgoat import LabeledGraph, nasbench201
from nasgoat.benchmarks import NasBench201
from nasgoat.cli import run

SPACE = nasbench201()
CELLS = ["333333", "331313", "222222", "111111", "444444", "123412"]
SEARCH = ["search", "--no-pictures", "--quiet", "--initial", "8", "--batch", "3"]


@pytest.fixture(autouse=True)
def in_a_folder_with_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = NasBench201("cifar10")
    errors = [table.mean_error(SPACE.from_digits([int(d) for d in digits])) for digits in CELLS]
    rows = [f"{digits},{error}" for digits, error in zip(CELLS, errors, strict=True)]
    Path("papers.csv").write_text("\n".join(["digits,error", *rows, ""]))


def read(capsys: pytest.CaptureFixture[str], call: list[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*call, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_known_results_are_in_json_report_and_declaration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = [*SEARCH, "--report", "run", "--known", "papers.csv", "--evaluations"]
    read(capsys, [*call, "4"])
    found = read(capsys, [*call, "8"])  # resumed in the middle of a batch
    whole = read(capsys, [*SEARCH, "--report", "b", "--known", "papers.csv", "--evaluations", "8"])
    assert found["best"] == whole["best"]
    assert found["known"]["results"] == len(CELLS)
    stored = json.loads(Path("run/result.json").read_text())
    known = {SPACE.key(SPACE.from_digits([int(d) for d in digits])) for digits in CELLS}
    assert len(stored["history"]) == 8 and len(stored["known_results"]) == len(CELLS)
    statuses = [e["certificate"]["status"] for e in stored["history"]]
    assert statuses == ["initial"] * 2 + ["optimal"] * 6
    assert not known & {SPACE.key(LabeledGraph.from_json(e["graph"])) for e in stored["history"]}
    assert run(["report", "run"]) == 0
    page = Path("run/report.html").read_text()
    assert "known, not evaluated" in page and "6 known results" in page.lower()
    capsys.readouterr()
    assert run([*SEARCH, "--report", "run", "--evaluations", "8"]) == 2
    assert "known" in capsys.readouterr().err


def test_the_result_of_a_run_is_known_to_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    first = read(capsys, [*SEARCH, "--report", "first", "--evaluations", "9"])
    for place in ("first", "first/result.json"):
        call = [*SEARCH, "--seed", "1", "--evaluations", "3", "--known", place, "--new"]
        found = read(capsys, call)
        assert found["known"]["results"] == 9
        assert found["known"]["best"]["error"] == first["lowest"]


@pytest.mark.parametrize("method", ["random", "evolution", "local-search", "tpe", "nas-bowl"])
def test_other_methods_are_told_what_is_known(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [*SEARCH, "--method", method, "--known", "papers.csv", "--evaluations", "6"]
    found = read(capsys, [*call, "--report", "run"])
    assert found["known"]["results"] == len(CELLS)
    stored = json.loads(Path("run/result.json").read_text())
    known = {SPACE.key(SPACE.from_digits([int(d) for d in digits])) for digits in CELLS}
    seen = {SPACE.key(LabeledGraph.from_json(e["graph"])) for e in stored["history"]}
    assert len(seen) == 6
    assert not known & seen
    assert read(capsys, [*call, "--report", "run"])["best"] == found["best"]  # as it was stored


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--known", "none.csv"], "known must be a folder of a run or a file, got none.csv"),
        (["--known", "bad.csv"], "bad.csv:3: graph must be one of the space"),
    ],
)
def test_what_is_wrong_is_one_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text("digits,error\n333333,9.0\n000000,90.0\n")
    assert run([*SEARCH, *options, "--evaluations", "3"]) == 2
    lines = capsys.readouterr().err.strip().split("\n")
    assert len(lines) == 1 and said in lines[0]
