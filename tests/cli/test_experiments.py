"""The verbs of experiments: small real runs, kills, resumption, plots from records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nasgoat.cli import run
from nasgoat.experiments import read_experiment

COMPARE = """
kind = "compare"
title = "Small"
benchmarks = ["nb201/cifar10"]
methods = ["random", "evolution"]
seeds = 2
evaluations = 15
"""
KERNELS = """
kind = "kernels"
title = "Small"
benchmarks = ["nb201/cifar10"]
kernels = ["WL", "SP"]
train = 10
test = 10
seeds = 2
"""
SCALE = """
kind = "scale"
title = "Small"
methods = ["catalogue", "scip/compact"]
nodes = [3, 4]
observations = [4]
top = 1
"""
VERBS = {"compare": (COMPARE, 4, 2), "kernels": (KERNELS, 4, 1), "scale": (SCALE, 4, 1)}


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(COMPARE)
    return path


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_measures_writes_and_replots(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, runs, figures = VERBS[verb]
    path = tmp_path / "small.toml"
    path.write_text(text)
    assert run([verb, str(path), "--json", "--quiet"]) == 0
    found = document(capsys)
    assert (found["done"], found["left"], len(found["records"])) == (runs, 0, runs)
    folder = tmp_path / "small"
    assert sorted(p.name for p in folder.iterdir() if p.suffix != ".png") == [
        "experiment.json", "runs", "summary.jsonl", "tables.json", "tables.md",
    ]  # fmt: skip
    drawn = sorted(folder.glob("*.png"))
    assert len(drawn) == figures
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in drawn)
    records = read_experiment(folder)
    assert all(record["versions"]["nasgoat"] for record in records.runs)
    assert records.command.startswith(f"nasgoat {verb}")
    before = (folder / "summary.jsonl").read_bytes()
    for path_of_figure in drawn:
        path_of_figure.unlink()
    assert run([verb, str(path), "--plot-only"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("**")
    assert (folder / "tables.md").read_text().strip() == shown.strip()
    assert sorted(folder.glob("*.png")) == drawn
    assert (folder / "summary.jsonl").read_bytes() == before


def test_records_that_git_keeps_are_changed_only_if_they_are_named(
    declared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    some = ["compare", str(declared), "--only", "noisy=false", "--only", "method=random"]
    assert run([*some, "--only", "seed=0"]) == 0
    folder = declared.with_suffix("")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for call in (["init", "-q"], ["add", str(folder)]):
        subprocess.run(["git", "-C", str(declared.parent), *call], check=True)  # noqa: S607
    capsys.readouterr()
    assert run([*some, "--only", "seed=1"]) == 2
    assert f"--out {folder} goes on with them" in capsys.readouterr().err
    assert run(["compare", str(declared), "--plot-only"]) == 0
    assert (tmp_path / "runs" / folder.name / "tables.md").exists()
    now = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert now == before
    assert run([*some, "--only", "seed=1", "--out", str(folder)]) == 0


@pytest.mark.parametrize("spelt", ["false", "False", "FALSE"])
def test_truth_values_are_chosen_in_any_spelling(declared: Path, spelt: str) -> None:
    call = ["compare", str(declared), "--only", f"noisy={spelt}", "--only", "method=random"]
    assert run([*call, "--only", "seed=0"]) == 0


def test_some_runs_only_then_the_rest(declared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(declared), "--only", "method=random", "--only", "seed=0"]) == 0
    said = capsys.readouterr().err
    assert "[1/1] nb201-cifar10.deterministic.random.seed0" in said
    assert run(["compare", str(declared)]) == 0
    said = capsys.readouterr().err
    assert "[4/4]" in said and "[1/4]" not in said
    assert " left" in said


def test_wrong_calls_are_one_line(declared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = {
        ("compare", str(declared), "--only", "method=randm"): "did you mean random",
        ("compare", str(declared), "--only", "methd=random"): "did you mean method",
        ("compare", str(declared), "--only", "method"): "only must be like",
        ("compare", str(declared), "--workers", "0"): "workers must be at least 1",
        ("compare", str(declared), "--workers", "2", "--dask", "tcp://127.0.0.1:1"): "got both",
        ("kernels", str(declared)): "kind must be 'kernels', got 'compare'",
        ("compare", str(declared.with_name("none.toml"))): "must be readable",
        ("compare", str(declared), "--plot-only"): "must be a folder with experiment.json",
        ("scale", "--nodes", "three"): "nodes must be numbers",
        ("scale", str(declared), "--nodes", "3"): "got both",
    }
    for call, said in calls.items():
        assert run(list(call)) == 2, call
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1, call


def test_changed_settings_are_refused(declared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(declared), "--quiet"]) == 0
    declared.write_text(COMPARE.replace("evaluations = 15", "evaluations = 16"))
    assert run(["compare", str(declared), "--quiet"]) == 2
    assert "choose another folder with --out" in capsys.readouterr().err
    declared.write_text(COMPARE.replace("seeds = 2", "seeds = 3"))  # more of the same is fine
    assert run(["compare", str(declared), "--json", "--quiet"]) == 0
    assert len(document(capsys)["records"]) == 6


def test_local_processes_measure_the_same(
    declared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(declared), "--json", "--quiet"]) == 0
    serial = document(capsys)["records"]
    other = str(declared.with_name("other"))
    call = ["compare", str(declared), "--out", other, "--workers", "2", "--json", "--quiet"]
    assert run(call) == 0
    timed = ("seconds", "cpu_seconds", "seconds_per_iteration")
    for one, two in zip(serial, document(capsys)["records"], strict=True):
        assert {k: v for k, v in one.items() if k not in timed} == {
            k: v for k, v in two.items() if k not in timed
        }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_measures_the_same(
    declared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    call = ["compare", str(declared), "--only", "method=evolution", "--only", "seed=0", "--json"]
    assert run([*call, "--quiet"]) == 0
    serial = document(capsys)["records"]
    cluster = distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",  # all that is sent is pickled all the same
        dashboard_address=None,
        host="127.0.0.1",
    )
    with cluster:
        other = ["--out", str(declared.with_name("other")), "--dask", cluster.scheduler_address]
        assert run([*call, *other, "--quiet"]) == 0
    found = document(capsys)["records"]
    assert [r["steps"] for r in found] == [r["steps"] for r in serial]


def test_a_failed_run_is_told_and_tried_again(
    declared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nasgoat.experiments.compare_study import CompareStudy

    execute = CompareStudy.execute

    def fail(settings: dict[str, Any]) -> Any:
        if settings["seed"] == 1:
            raise RuntimeError("no luck")
        return execute(settings)

    with monkeypatch.context() as patch:
        patch.setattr(CompareStudy, "execute", fail)
        assert run(["compare", str(declared)]) == 1
    said = capsys.readouterr().err
    assert "random.seed1 failed: RuntimeError: no luck" in said
    assert "2 runs are left" in said
    assert run(["compare", str(declared), "--quiet"]) == 0


def test_a_killed_experiment_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.toml"
    path.write_text(COMPARE.replace("seeds = 2", "seeds = 200"))
    folder = tmp_path / "small"
    command = [sys.executable, "-m", "nasgoat", "compare", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and len(list((folder / "runs").glob("*.jsonl"))) < 5:
        time.sleep(0.01)
    assert run(["compare", str(path)]) == 2  # a second session is refused
    assert "must not be in use" in capsys.readouterr().err
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = {p.name: p.read_bytes() for p in (folder / "runs").glob("*.jsonl")}
    assert 5 <= len(kept) < 400
    seeds = len(kept) // 2 + 2
    path.write_text(COMPARE.replace("seeds = 2", f"seeds = {seeds}"))
    assert run(["compare", str(path), "--json", "--quiet"]) == 0
    assert document(capsys)["left"] == 0
    after = {p.name: p.read_bytes() for p in (folder / "runs").glob("*.jsonl")}
    assert len(after) == 2 * seeds
    assert all(after[name] == content for name, content in kept.items())


def test_an_interrupted_experiment_says_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(COMPARE.replace("seeds = 2", "seeds = 200"))
    command = [sys.executable, "-m", "nasgoat", "compare", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list((tmp_path / "small/runs").glob("*.jsonl"))) < 2:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "runs are left; the same command goes on with them" in said
    assert (tmp_path / "small" / "tables.md").exists()


def test_minutes_end_a_session(declared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(declared), "--minutes", "0"]) == 0
    assert "4 runs are left" in capsys.readouterr().err


def test_scale_by_options_keeps_its_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["scale", "--nodes", "3,4", "--observations", "4", "--methods", "catalogue", "--json"]
    assert run([*call, "--top", "1", "-q"]) == 0
    found = document(capsys)
    assert [r["nodes"] for r in found["records"]] == [3, 4]
    assert Path(found["folder"]).parent == Path("runs")
    assert run(["scale", "--nodes", "three"]) == 2
    assert "must be numbers" in capsys.readouterr().err
