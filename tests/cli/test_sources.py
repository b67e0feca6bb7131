"""Fidelities and transfer on the command line."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import nasbench201, search
from nasgoat.cli import run
from nasgoat.errors import FileError, SettingError
from nasgoat.surrogate import Source

TRAIN = """
from pathlib import Path

def train(graph, epochs, checkpoint):
    kept = Path(checkpoint) / "epochs"
    before = kept.read_text() if kept.exists() else "0"
    kept.write_text(str(epochs))
    if epochs == 200:
        assert before == "12", before
    return 5.0 + len(graph.edges) + 12 / epochs
"""
SPACE = nasbench201()
CELLS = SPACE.sample(40, np.random.default_rng(3))
ERRORS = [10.0 + len(cell.edges) + float(SPACE.digits(cell)[0]) for cell in CELLS]
SEARCH = ["search", "--space", "nb201", "--no-pictures", "--quiet", "--json"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainings.py").write_text(TRAIN)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = run([*arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out) if code == 0 else err


def test_a_search_with_fidelities_says_what_it_spent(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*SEARCH, "--objective", "trainings:train", "--fidelity", "epochs=12:1,200:3"]
    arguments += ["--evaluations", "4", "--initial", "3", "--report", "run"]
    code, found = call(capsys, *arguments)
    assert code == 0
    by_name = {source["name"]: source for source in found["sources"]}
    assert by_name["epochs 200"]["evaluations"] == found["evaluations"] >= 1
    short = by_name["epochs 12"]["evaluations"]
    assert found["cost"] == pytest.approx(found["evaluations"] + short / 3)
    assert found["cost_to_best"] <= found["cost"] <= 4
    assert found["graphs"] == short
    assert found["saved"] == pytest.approx(short - found["cost"])
    assert len(list(Path("run/checkpoints").iterdir())) == short
    kept = json.loads(Path("run/result.json").read_text())
    assert {each["fidelity"]["value"] for each in kept["partial"]} == {12}
    code, again = call(capsys, *arguments)  # finished before: nothing is evaluated again
    assert again["cost"] == found["cost"]
    code, status = call(capsys, "status", "run", "--json")
    assert status["studies"][0]["finished"]
    assert status["studies"][0]["cost"] == pytest.approx(found["cost"])
    assert [s["name"] for s in status["studies"][0]["sources"]] == ["epochs 200", "epochs 12"]


def test_a_command_finds_fidelity_and_checkpoint_in_its_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("train.sh").write_text(
        'test -d "$NASGOAT_CHECKPOINT" && echo "{\\"error\\": 1.5, \\"e\\": $NASGOAT_FIDELITY}"\n'
    )
    arguments = [*SEARCH, "--command", "sh train.sh", "--fidelity", "epochs=12:1,200:2"]
    code, _ = call(capsys, *arguments, "--evaluations", "2", "--initial", "2", "--report", "run")
    assert code == 0
    kept = json.loads(Path("run/result.json").read_text())
    assert [each["metrics"]["e"] for each in kept["partial"]] == [12, 12]
    assert [each["metrics"]["e"] for each in kept["history"]] == [200]


def write_table(path: Path, errors: Any = ERRORS) -> Path:
    rows = [{"graph": c.to_dict(), "error": e} for c, e in zip(CELLS, errors, strict=True)]
    if path.suffix == ".csv":
        lines = [
            f'"{c.to_json().replace(chr(34), chr(34) * 2)}",{e}'
            for c, e in zip(CELLS, errors, strict=True)
        ]
        path.write_text("graph,error\n" + "\n".join(lines) + "\n")
    else:
        path.write_text(json.dumps(rows))
    return path


def train(cell: Any) -> float:
    return 3 * (10.0 + len(cell.edges) + float(SPACE.digits(cell)[0]))


class TestTransfer:
    @pytest.mark.parametrize("name", ["before.csv", "before.json"])
    def test_a_table_is_a_source(self, tmp_path: Path, name: str) -> None:
        table = write_table(tmp_path / name)
        result = search(train, SPACE, 15, transfer=table, progress=None)
        (use,) = result.spending.sources
        assert (use.name, use.evaluations) == ("before", 0)
        assert use.correlation is not None
        assert use.correlation > 0.5
        alone = search(train, SPACE, 15, progress=None)
        assert result.best.error <= alone.best.error

    def test_an_earlier_run_is_a_source(self, capsys: pytest.CaptureFixture[str]) -> None:
        earlier = [*SEARCH[:4], *SEARCH[4:], "--objective", "short:error", "--report"]
        Path("short.py").write_text("def error(graph):\n    return 5.0 + len(graph.edges)\n")
        call(capsys, *earlier, "first", "--evaluations", "6", "--initial", "6")
        code, found = call(
            capsys, *earlier, "second", "--evaluations", "9", "--initial", "5",
            "--transfer", "first",
        )  # fmt: skip
        assert code == 0
        assert [source["name"] for source in found["sources"]] == ["first"]
        assert found["sources"][0]["correlation"] is not None
        # The source is part of what must be the same.
        Path("first").rename("other")
        code, said = call(
            capsys, *earlier, "second", "--evaluations", "12", "--initial", "5",
            "--transfer", "other",
        )  # fmt: skip
        assert code == 2
        assert "transfer was" in said

    def test_a_graph_outside_the_space_is_refused_with_its_line(self, tmp_path: Path) -> None:
        table = write_table(tmp_path / "before.csv")
        table.write_text(table.read_text() + '"{""n"": 2}",5\n')
        with pytest.raises(FileError, match=r"before\.csv:42: graph must be one of the space"):
            search(train, SPACE, 5, transfer=table, progress=None)

    @pytest.mark.parametrize("error", ["nan", "", "much"])
    def test_an_error_that_is_none_is_refused_with_its_line(
        self, tmp_path: Path, error: str
    ) -> None:
        table = write_table(tmp_path / "before.csv", [error, *ERRORS[1:]])
        with pytest.raises(FileError, match=r"before\.csv:2: error must be a finite number"):
            search(train, SPACE, 5, transfer=table, progress=None)

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("a.csv", "cell,error\n", "must have a column 'graph'"),
            ("a.csv", "graph,error\n", "at least one graph, got none"),
            ("a.json", "{", "must be JSON"),
            ("a.json", '{"best": 1}', "must be a list of objects"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path: Path, name: str, text: str, said: str) -> None:
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match=said):
            search(train, SPACE, 5, transfer=tmp_path / name, progress=None)

    def test_what_is_not_there_is_refused(self) -> None:
        with pytest.raises(SettingError, match="folder of a run or a file, got nowhere"):
            search(train, SPACE, 5, transfer="nowhere", progress=None)

    def test_two_sources_of_one_name_are_told_apart(self) -> None:
        twice = [Source("before", CELLS, ERRORS), Source("before", CELLS[:20], ERRORS[:20])]
        result = search(train, SPACE, 12, transfer=twice, progress=None)
        assert [use.name for use in result.spending.sources] == ["before", "before #2"]


class TestWrongCalls:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--fidelity", "epochs=20,200"], "epochs of nb201 must be among 12, 200, got 20"),
            (["--fidelity", "epochs=12"], "at least two fidelities"),
            (["--fidelity", "epochs=0,200"], "must be positive, got 0"),
            (["--fidelity", "epochs=12,200", "--method", "random"], "method goat, got random"),
            (["--transfer", "nowhere"], "folder of a run or a file"),
            (
                ["--fidelity", "epochs=12,200", "--minimise", "error", "--minimise", "params"],
                "--fidelity must come with one error to minimise and no measured limit",
            ),
            (
                ["--transfer", "known.csv", "--minimise", "error", "--minimise", "params"],
                "--transfer must come with one error to minimise and no measured limit",
            ),
            (
                ["--transfer", "known.csv", "--limit", "params <= 1"],
                "--transfer must come with one error to minimise and no measured limit",
            ),
            (["--fidelity", "epochs=12:0,200:3"], "the cost of a fidelity must be positive, got 0"),
            (["--fidelity", "epochs=12:-1,200:3"], "must be positive, got -1"),
        ],
    )
    def test_they_get_one_line(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
    ) -> None:
        code, err = call(capsys, "search", "--quiet", *arguments)
        assert code == 2
        assert said in err
        assert "Traceback" not in err

    def test_a_budget_below_one_promotion_is_refused(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        shared_data: Path,
    ) -> None:
        monkeypatch.setenv("NASGOAT_DATA", str(shared_data))
        arguments = ["--fidelity", "epochs=12,200", "--evaluations", "1"]
        code, err = call(capsys, "search", "--quiet", *arguments)
        assert code == 2
        assert "at least 1.06 full" in err

    def test_short_trainings_that_are_not_there_say_what_is_missing(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("NASGOAT_DATA", str(tmp_path))
        code, err = call(capsys, "search", "--quiet", "--fidelity", "epochs=12,200")
        assert code == 2
        assert "trainings of 12 epochs must be in an imported table" in err
        assert "nasgoat data import nb201" in err


def test_the_report_shows_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*SEARCH, "--objective", "trainings:train", "--fidelity", "epochs=12:1,200:3"]
    arguments += ["--evaluations", "6", "--initial", "3", "--report", "run"]
    _, found = call(capsys, *arguments)
    call(capsys, "report", "run", "--json")
    page = Path("run/report.html").read_text()
    assert "Table of sources" in page
    assert "epochs 12" in page
    assert "of 6 full evaluations spent" in page
    assert f"evaluation {found['evaluation_of_best']}" in page
    assert "of promoted ones: none with a shorter training only" in page
    proposals = page[page.index("Table of proposals") :]
    assert re.findall(r"<th[^>]*>(?:<[^>]*>)*([^<]+)", proposals)[2] == "epochs"
