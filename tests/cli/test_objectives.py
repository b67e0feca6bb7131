"""``nasgoat search`` with several objectives and measured limits: table, JSON, storage, status."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from nasgoat.benchmarks import benchmark
from nasgoat.cli import run
from nasgoat.cli.search_task import TableEvaluator

BOTH = ["--minimise", "error", "--minimise", "params"]
SEARCH = ["search", "--no-pictures", "--initial", "5", "--report", "run"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(capsys: pytest.CaptureFixture[str], call: list[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*call, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_search_of_two_objectives_is_stored_shown_and_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = [*SEARCH, *BOTH, "--evaluations"]
    assert run([*call, "12"]) == 0  # in the middle of a batch
    shown = capsys.readouterr()
    assert "best error     best params   front" in shown.err
    said = [line for line in shown.err.splitlines() if line.startswith("! ")]
    assert said[0].startswith("! the model of error has learnt nothing yet (rank correlation ")
    assert said[1] == "! the search goes by it all the same"
    assert "hypervolume: " in shown.out and "front of " in shown.out
    assert run([*call, "20"]) == 0
    found = read(capsys, [*call, "20", "--choose", "params <= 400000"])
    stored = json.loads(Path("run/result.json").read_text())
    points = [tuple(e["metrics"][name] for name in ("error", "params")) for e in found["front"]]
    every = [tuple(e["metrics"][name] for name in ("error", "params")) for e in stored["history"]]
    assert points == sorted(
        p for p in set(every) if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in every)
    )
    assert found["chosen"]["metrics"]["error"] == min(e for e, p in every if p <= 400000)
    assert found["hypervolume"] > 0 and len(found["reference"]) == 2
    assert found["regret"] is None and found["optimum"] is None
    assert len(stored["history"][-1]["parts"]) == 2

    whole = read(capsys, ["search", *BOTH, "--no-pictures", "--initial", "5", "--report", "whole",
                          "--evaluations", "20"])  # fmt: skip
    assert whole["front"] == found["front"]

    study = optuna.load_study(study_name="nb201-cifar10-seed0", storage="sqlite:///run/study.db")
    assert study.metric_names == ["error", "params"]
    assert {tuple(trial.values) for trial in study.best_trials} == set(points)

    state = read(capsys, ["status", "run", "--choose", "params <= 400000"])["studies"][0]
    assert [e["metrics"] for e in state["front"]] == [e["metrics"] for e in found["front"]]
    assert state["chosen"] == found["chosen"]
    assert run(["status", "run"]) == 0
    assert capsys.readouterr().out.count("  front  ") == len(points)


def test_other_objectives_are_refused_with_the_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SEARCH, *BOTH, "--evaluations", "5", "--quiet"]) == 0
    for others, said in {
        ("--minimise", "error", "--minimise", "latency"): "asked ['error', 'latency']",
        (*BOTH, "--limit", "latency <= 5"): "limits was None, asked ['latency <= 5']",
        (): "minimise was ['error', 'params'], asked None",
    }.items():
        assert run([*SEARCH, *others, "--evaluations", "5", "--quiet"]) == 2
        assert said in capsys.readouterr().err


def test_a_measured_limit_shows_its_probability(capsys: pytest.CaptureFixture[str]) -> None:
    call = [*SEARCH, "--limit", "params <= 300000", "--evaluations", "15"]
    assert run(call) == 0
    shown = capsys.readouterr()
    assert "probability" in shown.err
    assert "params <= 300000: " in shown.out
    found = read(capsys, call)
    assert found["best"]["metrics"]["params"] <= 300000 and found["feasible"]
    history = json.loads(Path("run/result.json").read_text())["history"]
    assert all(0 <= e["probability"] <= 1 for e in history[5:])
    study = optuna.load_study(study_name="nb201-cifar10-seed0", storage="sqlite:///run/study.db")
    kept = [max(t.system_attrs["constraints"]) <= 0 for t in study.trials]
    assert kept == [e["metrics"]["params"] <= 300000 for e in history]


def test_a_hard_limit_holds_in_every_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    found = read(capsys, [*SEARCH, "--limit", "nor_conv_3x3 <= 1", "--evaluations", "15", "-q"])
    assert "front" not in found and found["regret"] is None
    history = json.loads(Path("run/result.json").read_text())["history"]
    assert max(e["graph"]["edge_labels"].count("nor_conv_3x3") for e in history) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minimise", "error", "--minimise", "parms"], "did you mean params?"),
        (["--limit", "latncy <= 5"], "what is limited must be one of"),
        (["--limit", "nor_conv_33 <= 2"], "did you mean nor_conv_3x3 or"),
        (["--limit", "latency <= abc"], "a limit must read 'NAME <= NUMBER'"),
        (["--limit", "latency <= "], "a limit must read 'NAME <= NUMBER'"),
        (["--limit", "latency"], "a limit must read 'NAME <= NUMBER'"),
        (["--limit", "nor_conv_3x3[9>9] <= 1"], "the place of a cost must be an edge such as 0>1"),
        (["--limit", "sum(latncy) <= 1"], "the cost of a limit must be one of"),
        (["--limit", "latency < "], "limit"),
        (["--limit", "latency <= 5", "--limit", "latency >= 6"], "some value of latency"),
        ([*BOTH, "--method", "random"], "must come with the method goat, got random"),
        ([*BOTH, "--stop-when", "gain <= 1"], "no --stop-when, got gain <= 1"),
        ([*BOTH, "--noisy", "--repeats", "5"], "--repeats must come with one error to minimise"),
        (["--limit", "params <= 4", "--repeats", "5"], "and no measured limit, got 5"),
        ([*BOTH, "--acquisition", "ei"], "the acquisition of 2 objectives must be one of"),
        ([*BOTH, "--acquisition", "lcb"], "one of chebyshev, epsilon, hypervolume, got 'lcb'"),
        (["--limit", "latency <= 5", "--acquisition", "ei"], "must be lcb for measured limits"),
        (["--acquisition", "chebyshev"], "must come with several objectives"),
        (["--acquisition", "constrained"], "must come with measured limits, got one error"),
        (["--acquisition", "lbc"], "epsilon, hypervolume, lcb, thompson, got 'lbc'; did you mean"),
        ([*BOTH, "--preset", "paper"], "the preset paper has; add --batch-strategy portfolio"),
        (
            ["--optimizer", "branch", "--acquisition", "thompson"],
            "kernel (--kernel linear) for the",
        ),
        ([*BOTH, "--choose", "parms <= 1"], "a value to choose by must be one of"),
        (["--choose", "params < 1"], "a limit must read 'NAME <= NUMBER'"),
    ],
)
def test_what_can_not_be_asked_is_one_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SEARCH, *options, "--quiet"]) == 2
    message = capsys.readouterr().err.strip()
    assert said in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minimise", "error", "--minimise", "latncy"], "mean latency (a cost of the space)?"),
        (["--limit", "cnv <= 2"], "did you mean conv (an operation of the space)?"),
        (["--limit", "egdes <= 2"], "did you mean edges (a count of the space)?"),
        (["--limit", "2*energy <= 2"], "compare one value with a number, got '2*energy <= 2'; let"),
        (["--limit", "energy + delay <= 2"], "compare one value with a number, got 'energy + d"),
        (["--limit", "energy+delay <= 2"], "compare one value with a number, got 'energy+delay"),
        (["--limit", "-energy <= 2"], "compare one value with a number, got '-energy <= 2'; let"),
        (["--minimise", "error,energy"], "got 'error,energy'; name each of several on its own"),
    ],
)
def test_a_name_that_nothing_can_have_costs_no_evaluation(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.toml").write_text(
        '[space]\nkind = "chain"\nlayers = 3\nops = ["conv", "skip"]\n[costs.latency]\nconv = 2.0\n'
    )
    Path("own.py").write_text(
        "def train(chain):\n    open('called', 'w').close()\n    return 1.0\n"
    )
    target = ["--space", "own.toml", "--objective", "own:train", "--quiet"]
    assert run([*SEARCH, *target, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not Path("called").exists() and not Path("run").exists()


def test_nothing_to_choose_costs_a_line_and_not_the_search(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = [*SEARCH, *BOTH, "--evaluations", "5", "--choose", "params <= 1", "--quiet", "--json"]
    assert run(call) == 0
    shown = capsys.readouterr()
    assert "some evaluation must keep params <= 1, got none; the lowest is" in shown.err
    assert json.loads(shown.out)["chosen"] is None
    assert Path("run/result.json").exists()
    assert run(["status", "run", "--choose", "params <= 1"]) == 2


def test_an_objective_that_returns_too_little_is_told_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lacking.py").write_text("def measure(cell):\n    return {'error': 1.0, 'delay': 2.0}\n")
    call = [*SEARCH, "--space", "nb201", "--objective", "lacking:measure", "--quiet"]
    assert run([*call, "--minimise", "error", "--minimise", "latency"]) == 1
    assert "the objective must return 'latency', got ['delay', 'error']" in capsys.readouterr().err


def test_nan_in_one_objective_is_a_failed_evaluation_of_a_search_that_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("broken.py").write_text(
        "def measure(cell):\n"
        "    edges = len(cell.edge_labels)\n"
        "    return {'error': 9.0 - edges, 'latency': float('nan') if edges == 5 else edges}\n"
    )
    call = [*SEARCH, "--space", "nb201", "--objective", "broken:measure", *BOTH[:2]]
    assert run([*call, "--minimise", "latency", "--evaluations", "12", "--initial", "8"]) == 0
    shown = capsys.readouterr()
    assert "failed (value): the latency must be finite, got nan" in shown.out + shown.err
    history = json.loads(Path("run/result.json").read_text())["history"]
    assert 0 < len(history) < 12
    assert all(len(e["graph"]["edge_labels"]) != 5 for e in history)


def test_a_best_that_breaks_a_limit_is_in_brackets_until_one_keeps_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SEARCH, "--limit", "params <= 80000", "--evaluations", "20"]) == 0
    lines = capsys.readouterr().err.splitlines()
    rows = [line.split() for line in lines if line[:10].strip().isdigit()]
    kept = [not row[2].startswith("(") for row in rows]
    assert len(rows) == 4 and kept == sorted(kept) and not kept[0] and kept[-1]
    assert lines.count("( ) no evaluation keeps params <= 80000 yet") == 1


def test_a_best_that_breaks_a_limit_is_not_called_the_best_by_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SEARCH, "--limit", "params <= 1", "--evaluations", "5", "--quiet"]) == 0
    assert "by what it breaks of the limits, evaluation " in capsys.readouterr().out
    assert run(["status", "run"]) == 0
    (line,) = (x for x in capsys.readouterr().out.splitlines() if x.startswith("  best "))
    assert line.endswith("; no evaluation keeps params <= 1, this one breaks it least")


def test_learning_failures_goes_on_and_shows_how_probable_success_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("large.py").write_text(
        "def measure(cell):\n"
        "    edges = len(cell.edge_labels)\n"
        "    if edges > 4:\n"
        "        raise MemoryError('too large')\n"
        "    return 9.0 - edges\n"
    )
    call = [*SEARCH, "--space", "nb201", "--objective", "large:measure", "--learn-failures"]
    assert run([*call, "--evaluations", "16", "--seed", "2"]) == 0
    shown = capsys.readouterr().err
    assert "evaluation 1 failed (memory)" in shown and shown.count("out of memory") > 3
    head = next(line for line in shown.splitlines() if "best error" in line)
    place = head.index("probability")
    rows = [line for line in shown.splitlines() if line[:10].strip().isdigit()]
    shares = [row[place : place + len("probability")].strip() for row in rows]
    assert shares[0] == "-" and len(shares) == 4
    assert all(0 <= float(share) <= 1 for share in shares[1:])


def test_a_table_that_lacks_a_value_of_a_graph_says_so() -> None:
    table = benchmark("nb201/cifar10")
    (graph,) = table.space.sample(1, np.random.default_rng(0))
    failure = TableEvaluator(table, 0, needed=("error", "energy"))(graph, 0).failure
    assert failure is not None
    assert failure.reason == "the table nb201/cifar10 must have energy of the graph, got none"
