"""``nasgoat space`` and ``nasgoat search --space FILE.toml``."""

import json
import time
from pathlib import Path

import pytest

from nasgoat.cli import run

LIMITED = """\
[space]
kind = "graph"
direction = "undirected"
connectivity = "connected"
nodes = [1, 4]
node_ops = ["C", "O"]
edge_ops = ["single", "double"]

[space.edge_weights]
double = 2

[space.degree]
C = [0, 4]
O = [0, 2]

[limits]
light = "sum(mass) <= 44"

[costs.mass]
C = 12
O = 16
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "light.toml"
    path.write_text(LIMITED)
    return path


def test_check_says_what_how_large_and_what_it_costs(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["space", "check", str(file)]) == 0
    said = capsys.readouterr().out
    for part in (
        "undirected graphs of 1 to 4 nodes",
        "light: 12*C + 16*O <= 44",
        "catalogue: about",
        "branch: does not apply",
        "s a question, 1 s once; 4 programs, the largest of 4 nodes",
        "auto takes",
    ):
        assert part in said
    assert len(said.splitlines()) < 24
    assert run(["space", "check", "darts", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["count"] == 1037664180
    assert [entry["applies"] for entry in document["optimizers"]] == [False, True, True]


def test_count_sample_describe_and_draw(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["space", "count", str(file)]) == 0
    assert int(capsys.readouterr().out) > 20
    assert run(["space", "sample", str(file), "--json", "-n", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)["graphs"]) == 2
    assert run(["space", "describe", "molecules"]) == 0
    assert "[space.degree]" in capsys.readouterr().out
    assert run(["space", "describe"]) == 0
    assert "nbgraph:" in capsys.readouterr().out
    picture = tmp_path / "graph.svg"
    assert run(["space", "draw", str(file), "--output", str(picture)]) == 0
    assert picture.exists()


def test_a_space_that_is_too_large_to_count_has_a_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.toml"
    path.write_text('[space]\nkind = "node-labelled"\nnodes = [2, 40]\nops = ["a", "b"]\n')
    assert run(["space", "check", str(path)]) == 0
    assert "graphs: at most about 10^2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nodes =", "node =", "light.toml:5: space.node must be one of"),
        ("<= 44", "<= 3", "the limits must leave at least one graph, got none under light"),
        ("sum(mass)", "sum(weight)", "light.toml:17: limits.light"),
    ],
)
def test_a_wrong_file_is_one_line_and_exit_code_2(
    file: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(LIMITED.replace(old, new, 1))
    for call in (["space", "check", str(file)],
                 ["search", "--space", str(file), "--objective", "json:dumps"]):  # fmt: skip
        assert run(call) == 2
        line = capsys.readouterr().err
        assert said in line
        assert line.count("\n") == 1


def test_search_on_a_declared_space(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "weigh.py").write_text("def error(graph):\n    return 9.0 - len(graph.edges)\n")
    monkeypatch.chdir(tmp_path)
    call = ["search", "--space", str(file), "--objective", "weigh:error", "--evaluations", "14",
            "--initial", "6", "--batch", "4", "--report", "run", "--json"]  # fmt: skip
    assert run(call) == 0
    found = json.loads(capsys.readouterr().out)
    labels = found["best"]["graph"]["node_labels"]
    assert sum({"C": 12, "O": 16}[label] for label in labels) <= 44
    assert found["evaluations"] == 14


@pytest.mark.parametrize(
    "declared",
    [
        'kind = "chain"\nlayers = 8\nops = ["a", "b", "c", "d", "e", "f", "g"]',
        'kind = "graph"\nnodes = 100',
        f'kind = "node-labelled"\nnodes = [2, 30]\nops = {[f"o{i}" for i in range(10)]}',
    ],
    ids=["a chain of nine nodes", "a hundred nodes", "thirty nodes"],
)
def test_check_is_quick_in_spaces_of_any_size(
    declared: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.toml"
    file.write_text(f"[space]\n{declared}\n")
    before = time.process_time()
    assert run(["space", "check", str(file)]) == 0
    assert time.process_time() - before < 5.0  # 1 s, and what is imported on the way
    assert "auto takes" in capsys.readouterr().out
