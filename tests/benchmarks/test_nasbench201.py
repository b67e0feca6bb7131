"""The readers of the official files, on small files in the exact official format."""

from __future__ import annotations

import bz2
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat.benchmarks import NasBench201
from nasgoat.benchmarks.nasbench201 import FILE, find_row
from nasgoat.benchmarks.nasbench201_files import import_nasbench201
from nasgoat.errors import DataError

ARCH = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|none~1|skip_connect~2|"


def training(epochs: int, seed: int, accuracies: dict[str, float]) -> dict[str, Any]:
    """A ResultsCount state as the official code saves it."""
    return {
        "name": "infer.tiny",
        "net_state_dict": None,
        "train_acc1es": OrderedDict((i, 10.0 + i) for i in range(epochs)),
        "train_losses": OrderedDict((i, 2.0) for i in range(epochs)),
        "arch_config": {"channel": 16, "num_cells": 5, "arch_str": ARCH, "class_num": 10},
        "params": np.float64(0.8),
        "flop": 100.0,
        "seed": seed,
        "epochs": epochs,
        "latency": [0.01, 0.02],
        "eval_names": list(accuracies),
        "eval_acc1es": {
            f"{name}@{i}": value - (epochs - 1 - i)
            for name, value in accuracies.items()
            for i in range(epochs)
        },
        "eval_times": {},
        "eval_losses": {},
    }


def results(epochs: int) -> dict[str, Any]:
    """An ArchResults state with three seeds of each dataset."""
    sets = {
        "cifar10-valid": {"x-valid": 80.0, "ori-test": 79.0},
        "cifar10": {"ori-test": 90.0},
        "cifar100": {"x-valid": 60.0, "x-test": 61.0, "ori-test": 60.5},
        "ImageNet16-120": {"x-valid": 40.0, "x-test": 41.0, "ori-test": 40.5},
    }
    runs = {
        (dataset, seed): training(epochs, seed, {k: v + i for k, v in accuracies.items()})
        for dataset, accuracies in sets.items()
        for i, seed in enumerate((777, 888, 999))
    }
    return {
        "arch_index": 3,
        "arch_str": ARCH,
        "all_results": runs,
        "dataset_seed": {dataset: [777, 888, 999] for dataset in sets},
        "clear_net_done": True,
    }


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def expect_the_cell(data: Path) -> None:
    with np.load(data / FILE) as table:
        row = find_row(ARCH)
        assert table["cifar10/validation"][row, 1].tolist() == [80.0, 81.0, 82.0]
        assert table["cifar10/test"][row, 1].tolist() == [90.0, 91.0, 92.0]
        assert table["cifar100/validation"][row, 0].tolist() == [60.0, 61.0, 62.0]
        assert table["imagenet16-120/test"][row, 1].tolist() == [41.0, 42.0, 43.0]
        assert np.isnan(table["cifar10/validation"][row - 1]).all()


def test_a_nats_folder_is_read(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "NATS-tss-v1_0-3ffb9-simple"
    folder.mkdir()
    with bz2.open(folder / "meta.pickle.pbz2", "wb") as file:
        pickle.dump({"meta_archs": [ARCH]}, file)
    with bz2.open(folder / "000003.pickle.pbz2", "wb") as file:
        pickle.dump(OrderedDict({"12": results(12), "200": results(200)}), file)
    import_nasbench201(folder)
    expect_the_cell(data)


def test_a_pth_file_is_read(tmp_path: Path, data: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra neural)")
    path = tmp_path / "NAS-Bench-201-v1_1-096897.pth"
    cells = OrderedDict({3: {"less": plain(results(12)), "full": plain(results(200))}})
    whole = {"meta_archs": [ARCH], "arch2infos": cells, "evaluated_indexes": {3}}
    torch.save(whole, path, _use_new_zipfile_serialization=False)  # as the official file is
    import_nasbench201(path)
    expect_the_cell(data)


def plain(state: dict[str, Any]) -> dict[str, Any]:
    for run in state["all_results"].values():
        run["params"] = float(run["params"])
    return state


def test_a_pickle_that_names_code_is_refused(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "nats"
    folder.mkdir()
    with bz2.open(folder / "000000.pickle.pbz2", "wb") as file:
        pickle.dump({"200": Path("x")}, file)
    with pytest.raises(DataError, match="plain values only, got pathlib"):
        import_nasbench201(folder)
    assert not (data / FILE).exists()


def test_foreign_sources_are_refused(tmp_path: Path, data: Path) -> None:
    with pytest.raises(DataError, match="must be the official NAS-Bench-201"):
        import_nasbench201(tmp_path)
    with bz2.open(tmp_path / "000000.pickle.pbz2", "wb") as file:
        pickle.dump({"200": {"arch_str": "|x~0|"}}, file)
    with pytest.raises(DataError, match="must be the official NAS-Bench-201"):
        import_nasbench201(tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "text.pth", "cut.pth", "other.pth"])
def test_files_that_pytorch_can_not_read_are_refused(name: str, tmp_path: Path, data: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / name
    torch.save({"weights": torch.zeros(9)}, path)
    content = path.read_bytes()
    if name != "other.pth":
        path.write_bytes(content[:-60] if name == "cut.pth" else b"hello, this is text\n")
    with pytest.raises(DataError, match=r"must be the official.*got another or a damaged one"):
        import_nasbench201(path)


def test_an_incomplete_import_is_said_when_it_is_used(tmp_path: Path, data: Path) -> None:
    with bz2.open(tmp_path / "000003.pickle.pbz2", "wb") as file:
        pickle.dump({"200": results(200)}, file)
    import_nasbench201(tmp_path)
    with pytest.raises(DataError, match="15624 missing"):
        NasBench201("cifar10")


def test_the_shared_table_has_the_known_optima(shared_data: Path, data: Path) -> None:
    embedded = NasBench201("cifar100")
    import_nasbench201(shared_data / "nb201.csv.xz")
    known = {"cifar10": 91.607, "cifar100": 73.493, "imagenet16-120": 46.733}
    for dataset, validation in known.items():
        assert NasBench201(dataset).optimum == pytest.approx(100 - validation, abs=1e-3)
    table = NasBench201("cifar100")
    rng = np.random.default_rng(0)
    for cell in table.space.sample(20, rng):
        metrics = table.query(cell, rng)
        assert metrics["error"] == pytest.approx(embedded.mean_error(cell), abs=1e-3)
        assert 0 < metrics["test_error"] < 100
