"""The command line: its contract, its exit codes, its one-line errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nasgoat.acquisition import Certificate, Proposal, Status
from nasgoat.bayesopt import Iteration, Ticket
from nasgoat.cli import run
from nasgoat.cli.search_output import ProgressTable
from nasgoat.cli.terminal import quote_command
from nasgoat.evaluation import Outcome
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import nasbench201

SMALL = ["search", "--no-pictures", "--evaluations", "20", "--initial", "5"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_search_prints_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SMALL, "--kernel", "exponential", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert {"best", "regret", "evaluations", "seconds", "certified", "study", "storage"} <= set(
        document
    )
    assert {"graph", "error", "test_error"} <= set(document["best"])
    assert document["evaluations"] == 20
    assert document["certified"] == 1.0
    assert document["regret"] == pytest.approx(document["best"]["error"] - document["optimum"])
    lines = captured.err.splitlines()
    assert "optimiser: catalogue" in lines[1]
    head = next(i for i, line in enumerate(lines) if "best error" in line)
    said = [line for line in lines[head + 1 :] if line.startswith("!")]
    assert len(said) == 2  # though three batches came from a model that had learnt nothing
    assert "has learnt nothing" in said[0]
    assert said[1] == "! the search goes by it all the same, as by any kernel that is named"
    rows = [line.split() for line in lines[head + 1 :] if line not in said]
    assert [row[-3] for row in rows if row[-3].endswith("!")]
    assert rows[0][-2] == "-"
    assert document["model"]["coverage"] == pytest.approx(0.95, abs=0.2)
    assert [row[:2] for row in rows] == [
        ["0", "5"],
        ["1", "10"],
        ["2", "15"],
        ["3", "20"],
    ]


def test_search_shows_the_cell_and_writes_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    call = [*SMALL, "--quiet", "--benchmark", "nb201/cifar100", "--kernel", "exponential"]
    assert run(call) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "├─" in captured.out
    assert "regret" in captured.out
    folder = Path("runs/nb201-cifar100-seed0")
    assert (folder / "best.png").stat().st_size > 1000
    result = json.loads((folder / "result.json").read_text())
    assert len(result["history"]) == 20
    assert result["history"][-1]["certificate"]["status"] == "optimal"
    assert result["history"][-1]["informed"] is False
    assert result["history"][0]["informed"] is None
    assert result["model"] == result["models"][-1]
    assert result["model"]["response"].startswith("the search goes by it all the same")
    assert "model: the model has learnt nothing" in captured.out


@pytest.mark.parametrize("place", [[], ["--report", "out"], ["--storage", "s.db"]])
def test_a_finished_search_is_shown_and_not_paid_for_again(
    place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("costly.py").write_text(
        "def train(graph):\n    open('calls', 'a').write('.')\n    return 1.0 + len(graph.edges)\n"
    )
    task = ["--space", "nb201", "--objective", "costly:train", "--study", "s", *place]
    call = ["search", "--evaluations", "6", "--initial", "4", "--no-pictures", "--json", *task]
    found = []
    for options in ([], [], ["--new"], []):
        assert run([*call, *options]) == 0
        captured = capsys.readouterr()
        found.append(json.loads(captured.out))
    assert Path("calls").read_text() == "." * 12
    assert "finished before: 6 evaluations" in captured.err
    assert "--new begins another run" in captured.err
    assert found[0]["best"] == found[1]["best"]
    key = "study" if "--storage" in place else "report"
    assert [each[key][-2:] == "-2" for each in found] == [False, False, True, True]


def test_a_new_run_is_resumed_without_the_option_that_began_it() -> None:
    Path("brittle.py").write_text("def train(graph):\n    raise ValueError\n")
    task = ["--space", "nb201", "--objective", "brittle:train"]
    assert run(["search", "--evaluations", "6", "--report", "out", "--new", *task]) == 1
    assert "--new" not in quote_command()


def test_a_report_must_be_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("chain.toml").write_text("kind = 'chain'\n")
    for report in ("chain.toml", "chain.toml/deeper"):
        assert run([*SMALL, "--quiet", "--report", report]) == 2
        said = capsys.readouterr().err
        assert "--report must be a folder, got the file" in said
        assert "resume with" not in said
    assert run([*SMALL, "--report", "/"]) == 2
    assert "--report must be a folder with a name, got /" in capsys.readouterr().err


def test_a_run_may_be_in_the_folder_that_the_call_is_made_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    call = ["search", "--evaluations", "2", "--initial", "2", "--quiet", "--report", "."]
    assert run(call) == run([*call, "--new"]) == 0
    assert (here / "result.json").exists()
    assert (tmp_path / "here-2" / "result.json").exists()


def test_a_refused_method_leaves_no_study(capsys: pytest.CaptureFixture[str]) -> None:
    Path("flat.py").write_text("def train(graph):\n    return 1.0 + len(graph.edges)\n")
    task = ["--space", "molecules", "--objective", "flat:train", "--report", "out"]
    assert run(["search", "--method", "tpe", *task]) == 2
    assert "must have a space of cells" in capsys.readouterr().err
    assert not Path("out").exists()


def test_search_is_deterministic_by_seed_and_noise_changes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    documents = []
    for options in ([], [], ["--seed", "2"], ["--noisy"]):
        assert run([*SMALL, "--quiet", "--json", *options]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0]["best"] == documents[1]["best"]
    assert documents[0]["best"] != documents[2]["best"]
    assert documents[0]["best"]["error"] != documents[3]["best"]["error"]


def test_noise_leaves_the_kernel_to_the_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel that may know nothing proposes worse than random, with repeats as without."""
    Path("flat.py").write_text("def train(graph):\n    return 1.0 + len(graph.edges)\n")
    space = (
        '[space]\nkind = "node-labelled"\nnodes = [2, 5]\nmax_edges = 6\nops = ["conv", "pool"]\n'
    )
    Path("small.toml").write_text(space)
    task = ["--space", "small.toml", "--objective", "flat:train", "--evaluations", "15"]
    kernels = []
    for folder, options in {"calm": [], "noisy": ["--repeats", "5"]}.items():
        call = ["search", *task, "--report", folder, "--quiet", "--json", "--no-pictures"]
        assert run([*call, *options]) == 0
        kernels.append(json.loads(capsys.readouterr().out)["settings"]["kernel"])
    assert kernels == ["evidence", "evidence"]


def test_one_evaluation_is_no_luck_where_repeats_agree(capsys: pytest.CaptureFixture[str]) -> None:
    score = 'def train(graph):\n    return 9.0 - graph.node_labels.count("conv")\n'
    Path("exact.py").write_text(score)
    space = '[space]\nkind = "node-labelled"\nnodes = [2, 6]\nops = ["conv", "pool"]\n'
    Path("small.toml").write_text(space)
    task = ["--space", "small.toml", "--objective", "exact:train", "--evaluations", "15"]
    assert run(["search", *task, "--repeats", "5", "--report", "exact", "--no-pictures"]) == 0
    shown = capsys.readouterr().out
    assert "± 0.000 (1 evaluation)" in shown
    assert "evaluated once" not in shown


def test_the_papers_settings_are_one_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SMALL, "--quiet", "--json", "--preset", "paper", "--kernel", "exponential"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["batch_strategy"] == "top"
    assert settings["sqrt_beta"] == 3.0
    assert settings["target"] == "log"
    assert settings["kernel"] == "exponential"


def test_solve_prints_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["solve", "--space", "nb101", "--nodes", "5", "--observations", "20", "--top", "3"]
    assert run([*call, "--optimizer", "catalogue", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "optimal"
    assert document["gap"] == 0
    values = [proposal["lcb"] for proposal in document["proposals"]]
    assert values == sorted(values)
    assert document["bound"] == values[0]
    assert len(values) == 3
    assert run(call) == 0
    assert "optimal by catalogue" in capsys.readouterr().out


def test_space_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["space", "count", "nb201"]) == 0
    assert capsys.readouterr().out == "9280\n"
    assert run(["space", "count", "nb201-all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"count": 15625}
    assert run(["space", "check", "nb101", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 423624
    assert run(["space", "check", "nb201"]) == 0
    assert "9,280" in capsys.readouterr().out
    assert run(["space", "sample", "nb201", "--count", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["graphs"]) == 2
    assert run(["space", "sample", "nb101"]) == 0
    assert capsys.readouterr().out.count("input") == 3
    assert run(["space", "draw", "nb201", "--output", "cell.svg"]) == 0
    assert Path("cell.svg").stat().st_size > 1000
    cell = nasbench201().from_digits([1, 1, 1, 1, 1, 1]).to_json()
    assert run(["space", "draw", "nb201", "--graph", cell, "--json"]) == 0
    assert Path("graph.png").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["search", "--benchmark", "nb201/cifar"], "did you mean nb201/cifar10"),
        (["search", "--kernel", "linaer"], "did you mean linear"),
        (["search", "--optimizer", "catalog"], "did you mean catalogue"),
        (["search", "--preset", "papers"], "did you mean paper"),
        (["search", "--evaluations", "0"], "at least 1"),
        (["search", "--evaluations", "many"], "valid integer"),
        (["search", "--benhcmark", "x"], "No such option"),
        (["serach"], "No such command"),
        (["space", "count", "nb102"], "did you mean nb101"),
        (["space", "sample", "nb201", "--count", "-1"], "at least 0, got -1"),
        (["space", "draw", "nb201", "--graph", "{}"], "a graph must be JSON like"),
        (
            ["space", "draw", "nb201", "--graph", '{"nodes": 2, "edges": [[0, 5]]}'],
            "edges must join the nodes 0..1, got 0 -> 5",
        ),
        (["solve", "--space", "nb101", "--nodes", "9"], "from 2 to 7 in this space, got 9"),
        (["solve", "--observations", "0"], "at least 1"),
        (["solve", "--top", "0", "--nodes", "4"], "at least 1, got 0"),
    ],
)
def test_a_wrong_call_gets_one_line_and_exit_code_2(
    call: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(call) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    error = captured.err.splitlines()[-1]
    assert error.startswith("nasgoat: ")
    assert message in error
    assert "Traceback" not in captured.err


def test_help_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "sklearn", "matplotlib", "networkx", "pynauty")
    code = (
        "import sys\nfrom nasgoat.cli import run\nrun(['--help'])\n"
        f"assert not [m for m in {heavy} if m in sys.modules], 'heavy imports'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "search" in done.stdout


def test_a_noisy_search_says_how_sure_its_best_error_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    noisy = ["search", "--noisy", "--evaluations", "40", "--no-pictures"]
    assert run([*noisy, "--report", str(tmp_path / "run")]) == 0
    captured = capsys.readouterr()
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    statuses = [each["certificate"]["status"] for each in result["history"]]
    assert statuses.count("repeat") >= 3
    assert "optimal/repeat" not in captured.err  # a batch is as proven as its new proposals
    assert result["best"]["uncertainty"] > 0
    assert f"± {result['best']['uncertainty']:.3f} (" in captured.out
    assert result["lowest"] <= result["best"]["error"]
    assert run(["status", str(tmp_path / "run"), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["studies"][0]["best"]
    names = ("error", "uncertainty", "evaluations")
    assert [best[name] for name in names] == [result["best"][name] for name in names]
    assert best["number"] + 1 == result["evaluation_of_best"]
    assert run(["status", str(tmp_path / "run")]) == 0
    assert (
        f"best         {best['error']:.3f} ± {best['uncertainty']:.3f} (" in capsys.readouterr().out
    )


def test_a_lucky_recommendation_and_a_model_that_is_too_sure_are_said_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["search", "--noisy", "--evaluations", "15", "--no-pictures"]
    assert run([*command, "--report", str(tmp_path / "noisy")]) == 0
    shown = capsys.readouterr().out
    assert "(1 evaluation)" in shown
    assert "evaluated once: the lowest of many noisy errors is partly luck" in shown
    assert "too sure of itself" not in shown
    monkeypatch.setattr("nasgoat.surrogate.model_check.LEAST_COVERAGE", 1.1)
    command = ["search", "--evaluations", "20", "--no-pictures"]
    assert run([*command, "--report", str(tmp_path / "exact")]) == 0
    shown = capsys.readouterr().out
    assert "model: the model ranks graphs that it has not seen" in shown
    assert "it is too sure of itself: " in shown
    assert "partly luck" not in shown


def test_a_batch_of_several_certificates_keeps_to_its_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = ProgressTable(10, 0, lambda graph: None)
    graph = LabeledGraph.from_edges(2, [(0, 1)])
    for kinds in (["optimal"] * 3, ["heuristic", "optimal", "optimal"], ["feasible", "heuristic"]):
        proposals = [Proposal(graph, Certificate(Status(kind))) for kind in kinds]
        tickets = [
            Ticket(i, 1, proposal, outcome=Outcome.of(2.0)) for i, proposal in enumerate(proposals)
        ]
        iteration = Iteration.of(tickets, tickets, 1.0)
        assert iteration is not None
        table.note_iteration(iteration)
    head, *rows = capsys.readouterr().err.splitlines()
    place = head.index("certificate")
    widths = {len(row) for row in rows}
    assert widths == {len(head)}
    shown = [row[place : place + len("certificate")].strip() for row in rows]
    assert shown == ["optimal", "2/3 optimal", "0/2 optimal"]
