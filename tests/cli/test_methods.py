from __future__ import annotations

import json
from pathlib import Path

import pytest

from nasgoat.baselines import methods
from nasgoat.cli.app import run


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
    monkeypatch.setattr("nasgoat.baselines.registry.find_spec", lambda package: None)
    assert run(["search", "--method", "bonas"]) == 2
    assert "pip install 'nasgoat[neural]'" in capsys.readouterr().err
    assert run(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["methods"]
    assert listed["bonas"] == {**listed["bonas"], "available": False, "batch": None}
