"""The comparison of kernels."""

from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from pytest import MonkeyPatch

from nasgoat import nasbench201
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.experiments import make_captions, make_figures, read_experiment
from nasgoat.experiments.kernel_models import KERNELS, predict
from nasgoat.experiments.kernel_study import KernelStudy
from nasgoat.experiments.runner import Runner
from nasgoat.experiments.study import Experiment


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", ["fit", 1e-3])
def test_every_kernel_predicts(kernel: str, noise: float | str) -> None:
    settings = {
        "benchmark": "nb201/cifar10", "kernel": kernel, "noise": noise, "train": 30, "test": 40,
        "seed": 0, "cells": "searched",
    }  # fmt: skip
    summary, *lines = KernelStudy.execute(settings)
    assert len(lines) == 40
    truth = np.array([line["truth"] for line in lines])
    mean = np.array([line["mean"] for line in lines])
    assert summary["rmse"] == pytest.approx(np.sqrt(np.mean((truth - mean) ** 2)))
    assert all(line["std"] > 0 for line in lines)
    if kernel != "WL-edge":  # which sees no label
        assert summary["spearman"] > 0.5


def test_kernels_share_their_cells_and_replications_differ() -> None:
    study = KernelStudy(("nb201/cifar10",), kernels=("WL", "SP"), train=10, test=10, seeds=2)
    wl, sp, other, _ = (KernelStudy.execute(run.settings) for run in study.runs())
    assert [line["truth"] for line in wl[1:]] == [line["truth"] for line in sp[1:]]
    assert [line["truth"] for line in wl[1:]] != [line["truth"] for line in other[1:]]


def test_cells_that_no_search_goes_through_can_be_drawn() -> None:
    study = KernelStudy(("nb201/cifar10",), ("SP",), ("searched", "all"), train=20, test=300)
    searched, every = (
        KernelStudy.execute(run.settings)[0] for run in study.runs() if run.settings["seed"] == 0
    )
    assert every["target_sd"] > searched["target_sd"]  # cells that learn nothing are among them


@pytest.mark.slow  # half a minute: all 9,280 cells are drawn
def test_more_cells_than_there_are_is_one_clear_line() -> None:
    study = KernelStudy(("nb201/cifar10",), ("SP",), train=50, test=9_300, seeds=1)
    with pytest.raises(SettingError, match="at most 9280 together, all cells of nb201/cifar10"):
        KernelStudy.execute(study.runs()[0].settings)


def test_as_nas_bowl_draws_cells_come_twice(shared_data: Path, monkeypatch: MonkeyPatch) -> None:
    if not (shared_data / "nb101.npz").exists():
        pytest.skip("the table of NAS-Bench-101 is not here")
    monkeypatch.setenv("NASGOAT_DATA", str(shared_data))
    study = KernelStudy(("nb101",), ("SP",), ("searched", "nas-bowl"), train=50, test=200, seeds=1)
    once, twice = (KernelStudy.execute(run.settings)[0] for run in study.runs())
    assert once["known"] == 0
    assert (
        0.2 < twice["known"] < 0.4
    )  # a third of random cells are small, and there are few of those
    assert twice["spearman"] > once["spearman"]


def test_as_nas_bowl_draws_cells_have_a_path_to_the_output() -> None:
    study = KernelStudy(
        ("nb201/cifar10",), ("SP",), ("nas-bowl", "all"), train=20, test=380, seeds=1
    )
    path, every = (KernelStudy.execute(run.settings)[0] for run in study.runs())
    assert path["known"] == 0
    assert path["target_sd"] < every["target_sd"]


def test_what_a_summary_keeps_is_drawn_without_details(tmp_path: Path) -> None:
    study = KernelStudy(("nb201/cifar10",), ("WL", "SP"), train=20, test=60, seeds=2)
    Runner().measure(Experiment("few", "", "", study), tmp_path)
    assert set(make_figures(read_experiment(tmp_path))) == {"few-nb201-cifar10"}
    rmtree(tmp_path / "runs")
    records = read_experiment(tmp_path)
    (name, figure), *_ = make_figures(records).items()
    assert name == "few-nb201-cifar10-grouped"
    assert [axes.get_title().split()[0] for axes in figure.axes] == ["WL", "SP"]
    assert "each point the mean of 10 cells" in make_captions(records)[name]


def test_a_fixed_noise_is_kept() -> None:
    cells = nasbench201().sample(20, np.random.default_rng(0))
    errors = np.linspace(8.0, 20.0, 20)
    for kernel in KERNELS:
        found = predict(kernel, nasbench201(), cells[:15], errors[:15], cells[15:], noise=0.01)
        assert found.fitted["noise"] == 0.01


def test_unknown_kernels_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean WL"):
        KernelStudy(("nb201/cifar10",), kernels=("WLL",))
