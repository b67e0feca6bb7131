"""``nasgoat search --stop-when``: what decided the end is said alike wherever a search is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from nasgoat.cli import run

# ImageNet16-120 is in the package, and 15 is left to gain after 30 evaluations of it.
SEARCH = ["search", "--benchmark", "nb201/imagenet16-120", "--no-pictures", "--report", "run"]
STOP = ["--stop-when", "gain <= 15", "--patience", "1", "--least-evaluations", "20"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read_status(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["status", "run", "--json"]) == 0
    status: dict[str, Any] = json.loads(capsys.readouterr().out)["studies"][0]
    return status


def test_the_gain_that_decided_is_in_terminal_json_status_and_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SEARCH, *STOP, "--evaluations", "80"]) == 0
    said = capsys.readouterr().err.splitlines()[-1]
    result = json.loads(Path("run/result.json").read_text())
    assert result["stop"] == "converged" and result["evaluations"] < 80
    bound = result["gain"]["bound"]
    assert bound <= 15 < min(gain["bound"] or 99 for gain in result["gains"][:-1])
    assert result["gains"][-1] == result["gain"] == result["converged"]["gain"]
    assert said == f"stopped: gain {bound:.4g} <= 15, 1 iteration"

    status = read_status(capsys)
    assert status["finished"] and status["converged"] == result["converged"]
    assert run(["status", "run"]) == 0
    shown = capsys.readouterr().out
    assert f": converged, gain {bound:.4g} <= 15, 1 iteration" in shown
    assert "resume with" not in shown

    assert run(["report", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "converged"
    page = Path("run/report.html").read_text()
    assert f"converged: gain {bound:.4g} &lt;= 15, 1 iteration" in page
    assert f"no other graph can be better by more than {bound:.3f}" in page

    more = str(result["evaluations"] + 5)  # without the rule the search goes on
    assert run([*SEARCH, "--evaluations", more, "--quiet"]) == 0
    status = read_status(capsys)
    assert status["converged"] is None and status["complete"] == int(more)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--patience", "3"], "--patience must come with --stop-when, got 3 alone"),
        (["--least-evaluations", "9"], "--least-evaluations must come with --stop-when"),
        ([*STOP[:2], "--patience", "0"], "--patience must be at least 1, got 0"),
        ([*STOP[:2], "--least-evaluations", "0"], "--least-evaluations must be at least 1, got 0"),
        ([*STOP[:2], "--least-evaluations", "500"], "must be below --evaluations 20, got 500"),
        ([*STOP, "--evaluations", "90", "--optimizer", "mutation"], "proves a bound, got mutation"),
    ],
)
def test_a_rule_that_could_never_stop_a_search_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SEARCH, "--quiet", "--evaluations", "20", *options]) == 2
    message = capsys.readouterr().err.strip()
    assert said in message and len(message.splitlines()) == 1
    assert not Path("run").exists()


def test_a_budget_below_the_default_number_of_evaluations_costs_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SEARCH, *STOP[:2], "--evaluations", "5", "--quiet"]) == 0
    said = "--stop-when ends no search before 30 evaluations, and this one has 5"
    assert capsys.readouterr().err.startswith(said)
