from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nasgoat.baselines.nas_bowl import NasBowl
from nasgoat.bayesopt import Asker
from nasgoat.cli import run
from nasgoat.search_methods import is_available, make_method, methods
from tests.declared_cells import DECLARED_CELLS


def test_methods_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in methods())
    assert run(["methods", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["methods"]) == set(methods())


def test_search_runs_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    call = ["search", "--method", "evolution", "--evaluations", "15", "--report", folder]
    assert run([*call, "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["method"], document["evaluations"]) == ("evolution", 15)
    assert document["settings"] is None


def test_unknown_method_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--method", "banana"]) == 2
    assert "did you mean bananas" in capsys.readouterr().err


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nasgoat.search_methods.find_spec", lambda package: None)
    assert run(["search", "--method", "bonas"]) == 2
    assert "pip install 'nasgoat[neural]'" in capsys.readouterr().err
    assert run(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["methods"]
    assert listed["bonas"] == {**listed["bonas"], "available": False, "batch": None}


@pytest.mark.parametrize("noisy", [False, True])
def test_noisy_reaches_the_method(
    noisy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Asker] = []

    def make(*arguments: Any, **options: Any) -> Asker:
        made.append(make_method(*arguments, **options))
        return made[0]

    monkeypatch.setattr("nasgoat.cli.search_session.make_method", make)
    call = ["search", "--method", "nas-bowl", "--evaluations", "6", "--initial", "6", "-q"]
    assert run([*call, "--report", str(tmp_path / "run"), *(["--noisy"] if noisy else [])]) == 0
    method = made[0]
    assert isinstance(method, NasBowl) and method.noisy is noisy


def test_a_method_that_cannot_search_a_space_is_refused_before_any_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["search", "--method", "tpe", "--space", "molecules", "--command", "false", "-q"]
    assert run([*call, "--report", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith("nasgoat: methods on categorical parameters must")


NODES = DECLARED_CELLS.replace('few = "conv <= 1"', 'shallow = "depth <= 3"')
EDGES = """
[space]
kind = "edge-labelled"
nodes = 4
ops = ["conv", "pool", "skip"]

[limits]
few = "conv + pool <= 4"
"""


@pytest.mark.slow
@pytest.mark.parametrize("space", [NODES, EDGES], ids=["nodes", "edges"])
@pytest.mark.parametrize("name", methods())
def test_every_method_searches_a_declared_space_with_limits(
    name: str, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    if not is_available(name):
        pytest.skip(f"the package that {name} needs is not installed")
    (tmp_path / "edge_count.py").write_text(
        "def error(graph):\n    return 1.0 + len(graph.edges)\n"
    )
    (tmp_path / "mine.toml").write_text(space)
    monkeypatch.chdir(tmp_path)
    call = ["search", "--method", name, "--space", "mine.toml", "--objective", "edge_count:error"]
    call += ["--evaluations", "12", "--initial", "6", "--no-pictures", "--report", "run"]
    assert run([*call, "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["evaluations"], document["failed"]) == (12, 0)


@pytest.mark.parametrize("noisy", [False, True])
def test_a_noisy_search_says_which_error_regret_is_measured_on(
    noisy: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["search", "--method", "random", "--evaluations", "5", "--initial", "5", "--quiet"]
    assert run([*call, "--report", str(tmp_path / "run"), *(["--noisy"] if noisy else [])]) == 0
    shown = capsys.readouterr().out
    assert "the best of the table has 8.393" in shown
    assert ("its mean over all trainings is " in shown) is noisy
