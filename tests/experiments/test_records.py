"""Records are whole or not there."""

import json
from pathlib import Path

import pytest

from nasgoat.errors import ExperimentFileError
from nasgoat.experiments import is_experiment, read_experiment
from nasgoat.experiments.records import RecordFolder, write_head
from nasgoat.experiments.study import ExperimentRun

RUNS = [ExperimentRun(f"a.seed{i}", {"seed": i}) for i in range(3)]
HEAD = {
    "kind": "scale", "name": "a", "title": "A", "description": "", "declaration": {},
    "command": "nasgoat scale", "versions": {},
}  # fmt: skip


def test_details_alone_make_a_run_known(tmp_path: Path) -> None:
    RecordFolder(tmp_path).keep(RUNS[0], [{"regret": 1.0}, {"kind": "evaluation", "number": 0}])
    again = RecordFolder(tmp_path)  # as after a kill: no summary was written
    assert again.list_missing(RUNS) == RUNS[1:]
    again.write_summary()
    write_head(tmp_path, HEAD)
    records = read_experiment(tmp_path)
    assert [run["regret"] for run in records.runs] == [1.0]
    assert [line["kind"] for line in records.details("a.seed0")] == ["run", "evaluation"]


def test_a_summary_alone_makes_a_run_known(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    folder.keep(RUNS[0], [{"regret": 1.0}, {"kind": "evaluation", "number": 0}])
    folder.write_summary()
    next((tmp_path / "runs").glob("*.jsonl")).unlink()
    write_head(tmp_path, HEAD)
    assert RecordFolder(tmp_path).list_missing(RUNS) == RUNS[1:]
    assert read_experiment(tmp_path).details("a.seed0") == []


def test_a_half_written_run_is_not_there(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    (tmp_path / "runs" / "a.seed0.jsonl.part").write_text('{"run": "a.se')
    assert folder.list_missing(RUNS) == RUNS
    assert RecordFolder(tmp_path).known == {}


def test_other_settings_of_the_same_run_are_refused(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    folder.keep(RUNS[0], [{"regret": 1.0}])
    with pytest.raises(ExperimentFileError, match=r"a\.seed0; choose another folder with --out"):
        folder.list_missing([ExperimentRun("a.seed0", {"seed": 0, "evaluations": 20})])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("experiment.json", "{", "must be whole"),
        ("experiment.json", "[]", "must be whole"),
        ("experiment.json", json.dumps({"format": 2}), "format must be 1"),
        ("summary.jsonl", '{"run": "a"}\nnonsense\n', "summary.jsonl:2: must be a line of JSON"),
        ("summary.jsonl", "3\n", "summary.jsonl:1: must have the key run"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    write_head(tmp_path, HEAD)
    (tmp_path / name).write_text(text)
    with pytest.raises(ExperimentFileError, match=said):
        read_experiment(tmp_path)


def test_a_folder_without_records_is_no_experiment(tmp_path: Path) -> None:
    assert not is_experiment(tmp_path)
    with pytest.raises(ExperimentFileError, match=r"must be a folder with experiment\.json"):
        read_experiment(tmp_path)
