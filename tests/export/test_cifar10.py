"""The example for GPUs, run for real on tiny images: through the command line, and cut off."""

import json
from pathlib import Path

import numpy as np
import pytest

from nasgoat import nasbench201
from nasgoat.cli import run

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIFAR10_DATA", "tiny")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)


def test_a_search_trains_cells_and_leaves_checkpoints_in_its_folder() -> None:
    call = ["search", "--space", "nb201", "--objective", "examples.cifar10:train", "--quiet"]
    size = ["--evaluations", "4", "--initial", "3", "--no-pictures", "--report", "run"]
    assert run([*call, *size, "--gpus", "1"]) == 0
    history = json.loads(Path("run/result.json").read_text())["history"]
    assert len(history) == 4
    assert all(0.0 <= row["metrics"]["error"] <= 100.0 for row in history)
    assert {row["metrics"]["data"] for row in history} == {"tiny"}
    assert len(list(Path("run/checkpoints").glob("*.pt"))) == 4


def test_a_training_that_was_cut_off_goes_on_to_the_same_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from examples import cifar10

    cell = nasbench201().sample(1, np.random.default_rng(1))[0]
    monkeypatch.setenv("NASGOAT_FOLDER", "unbroken")
    whole = cifar10.train(cell)
    monkeypatch.setenv("NASGOAT_FOLDER", "broken")
    keep = cifar10.Training.keep

    def keep_and_stop(training: cifar10.Training) -> None:
        keep(training)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(cifar10.Training, "keep", keep_and_stop)
        cifar10.train(cell)
    rest = cifar10.train(cell)
    assert (whole["epochs_of_this_call"], rest["epochs_of_this_call"]) == (2.0, 1.0)
    assert rest["error"] == whole["error"]
    assert rest["test_error"] == whole["test_error"]
