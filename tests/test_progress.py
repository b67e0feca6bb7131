"""Nothing is silent for long: lines on a terminal, and limits that fit a person."""

import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace, Optimizer, Settings, nasbench101, search
from nasgoat.acquisition import Effort, LowerConfidenceBound, make_optimizer
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.cli import run
from nasgoat.errors import SettingError
from nasgoat.progress import say_if_slow, show_progress
from nasgoat.surrogate import GraphGP

SPACE = NodeLabeledSpace((2, 4), ["a", "b"])


def count(graph: LabeledGraph) -> float:
    return 1.0 + len(graph.edges)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_search_in_python_shows_its_progress_on_a_terminal(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    search(count, SPACE, 8, batch=2, initial=4)
    assert ("8 of 8 evaluations, best error 2" in capsys.readouterr().err) is terminal
    search(count, SPACE, 8, batch=2, initial=4, progress=None)
    shown = capsys.readouterr()
    assert shown.err == shown.out == ""


def test_what_is_quick_says_nothing_and_what_is_slow_says_it_once() -> None:
    lines: list[str] = []
    with say_if_slow(lines.append, "quick", seconds=5.0):
        pass
    with say_if_slow(lines.append, "slow", seconds=0.01):
        time.sleep(0.2)
    show_progress("nobody sees this")
    assert lines == ["slow"]


def test_a_slow_fit_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    fit = GraphGP.fit

    def fit_slowly(model: GraphGP, *args: object) -> GraphGP:
        time.sleep(0.3)
        return fit(model, *args)  # type: ignore[arg-type]

    monkeypatch.setattr("nasgoat.progress.PATIENCE", 0.01)
    monkeypatch.setattr(GraphGP, "fit", fit_slowly)
    optimizer = Optimizer(SPACE, initial=3, progress=lines.append)
    for proposal in optimizer.ask(3):
        optimizer.tell(proposal.graph, count(proposal.graph))
    optimizer.ask(1)
    assert "fitting the surrogate to 3 graphs" in lines


def test_a_solver_that_is_slow_to_begin_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("nasgoat.acquisition.mip.say_if_slow", partial(say_if_slow, seconds=0.0))
    optimizer = MipOptimizer(SPACE, lines.append, child=False)
    cells = SPACE.sample(4, np.random.default_rng(0))
    gp = GraphGP(SPACE).fit(cells, [count(cell) for cell in cells])
    optimizer.optimize(LowerConfidenceBound().given(gp))
    assert {"preparing the program", "scip is at work"} <= set(lines)


def test_the_papers_formulation_is_announced_as_slow_from_six_nodes_on() -> None:
    lines: list[str] = []
    effort = Effort(time_limit=1.0, formulation="paper")
    make_optimizer("scip", nasbench101(), lines.append, effort=effort)
    (said,) = lines  # and not what another formulation would take
    assert "slow from 6 nodes on: a question is forecast to take 2000 s or more" in said
    lines.clear()
    make_optimizer("scip", SPACE, lines.append, effort=Effort(formulation="paper"))
    make_optimizer("scip", nasbench101(), lines.append, effort=Effort(formulation="compact"))
    assert not any("slow from" in line for line in lines)


def test_a_question_has_a_minute_unless_it_is_the_papers() -> None:
    assert Settings().time_limit == 60.0
    assert Settings.preset("paper").time_limit == 1800.0
    assert "time_limit" not in Settings().declare()
    branch = Optimizer(nasbench101(), optimizer="branch").acquisition_optimizer
    assert branch.time_limit == 60.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "seconds"),
    [([], 60.0), (["--preset", "paper"], 1800.0), (["--time-limit", "7"], 7.0)],
)
def test_the_command_has_the_same_limits(
    options: list[str], seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["search", "--evaluations", "2", "--report", "run", "--quiet", "--no-pictures"]
    assert run([*call, *options]) == 0
    assert json.loads(Path("run/result.json").read_text())["settings"]["time_limit"] == seconds


@pytest.mark.parametrize(("patience", "said"), [(0.0, True), (3600.0, False)])
def test_getting_ready_is_announced_when_it_takes_long(
    patience: float,
    said: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nasgoat.progress.PATIENCE", patience)

    def be_slow(*args: object) -> None:
        time.sleep(0.2)
        raise SettingError("no such thing")

    monkeypatch.setattr("nasgoat.cli.search_session.make_task", be_slow)
    assert run(["search"]) == 2
    assert ("getting the space and objective ready" in capsys.readouterr().err) is said
