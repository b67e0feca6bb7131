"""`nasgoat solve` with the mixed-integer optimisers."""

import json
from pathlib import Path

import pytest

from nasgoat.cli import run

SOLVE = ["solve", "--space", "nb201", "--observations", "10", "--top", "2", "--seed", "1"]


def test_scip_and_the_catalogue_answer_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.lp"
    assert run([*SOLVE, "--optimizer", "scip", "--export", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    scip = json.loads(captured.out)
    assert "variables" in captured.err
    assert "(201_label)one" in path.read_text()
    assert run([*SOLVE, "--optimizer", "catalogue", "--json"]) == 0
    catalogue = json.loads(capsys.readouterr().out)
    assert scip["status"] == "optimal"
    assert scip["variables"] > 0
    assert scip["sizes"]["4"]["outcome"] == "complete"
    for found, expected in zip(scip["proposals"], catalogue["proposals"], strict=True):
        assert found["lcb"] == pytest.approx(expected["lcb"], rel=1e-4)  # the default gap


def test_wrong_options_are_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--gap", "2"], ["--formulation", "full"], ["--time-limit", "0"]):
        assert run([*SOLVE, "--optimizer", "scip", *options]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert run([*SOLVE, "--optimizer", "scip", "--export", "model.txt"]) == 2
    assert "must end in" in capsys.readouterr().err


def test_search_takes_the_same_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = ["search", "--preset", "paper", "--evaluations", "12", "--initial", "10", "--batch"]
    options = ["--time-limit", "60", "--gap", "0.001", "--formulation", "compact", "--threads", "1"]
    folder = ["--report", str(tmp_path / "run"), "--no-pictures", "--json"]
    assert run([*search, "2", "--optimizer", "scip", *options, *folder]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["optimizer"]["name"] == "scip"
    assert document["certified"] == 1.0
    assert "variables" in captured.err  # the solver's own progress
    assert run([*search, "2", "--optimizer", "scip", "--time-limit", "0"]) == 2
    assert "time_limit must be positive" in capsys.readouterr().err
