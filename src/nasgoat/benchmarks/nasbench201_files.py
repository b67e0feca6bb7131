"""Official files of NAS-Bench-201, turned into the compact table ``nb201.npz``.

For each dataset it has ``<dataset>/validation`` and ``<dataset>/test`` of shape (15625, 2, 3),
accuracies in percent by cell, 12 or 200 epochs, and training (``nasgoat data import nb201 PATH``).
PATH is ``NAS-Bench-201-v1_1-096897.pth`` (needs PyTorch, read with ``weights_only``), a NATS-Bench
topology folder ``NATS-tss-v1_0-3ffb9-simple`` of ``.pickle.pbz2`` files (plain values only), or a
table ``.csv.xz`` with the columns named below.
"""

from __future__ import annotations

import bz2
import csv
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.nasbench201 import CELLS, EPOCHS, FILE, find_row
from nasgoat.benchmarks.table_files import refuse_damage, write_table
from nasgoat.errors import DataError
from nasgoat.safe_files import PLAIN_VALUES, load

#: For each dataset: (trained as, evaluated on) of its validation and of its test accuracy.
SETS = {
    "cifar10": (("cifar10-valid", "x-valid"), ("cifar10", "ori-test")),
    "cifar100": (("cifar100", "x-valid"), ("cifar100", "x-test")),
    "imagenet16-120": (("ImageNet16-120", "x-valid"), ("ImageNet16-120", "x-test")),
}
_BUDGETS = {"12": 12, "200": 200, "less": 12, "full": 200}
_COLUMNS = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}
_SEEDS = 3
Tables = dict[str, NDArray[np.float32]]


def import_nasbench201(source: Path) -> Path:
    """Turn an official file or folder into the compact table, a file in the data folder.

    Raises:
        DataError: If the source is damaged, of another format, or names anything but plain values.
    """
    names = (f"{dataset}/{kind}" for dataset in SETS for kind in ("validation", "test"))
    tables = {name: np.full((CELLS, len(EPOCHS), _SEEDS), np.nan, np.float32) for name in names}
    expected = "official NAS-Bench-201 .pth file, a NATS-Bench topology folder or a .csv.xz table"
    with refuse_damage(source, f"the {expected}"):
        if source.name.endswith(".csv.xz"):
            _read_csv(source, tables)
        else:
            cells = _read_nats(source) if source.is_dir() else _read_pth(source)
            for budgets in cells:
                _fill(tables, budgets)
        if np.isnan(tables["cifar10/validation"]).all():
            raise ValueError("no cell's validation accuracy")
    return write_table(FILE, tables)


def _fill(tables: Tables, budgets: Mapping[str, Any]) -> None:
    """Enter one cell: a mapping from the budget to its results by (dataset, seed)."""
    for budget, results in budgets.items():
        row, place = find_row(results["arch_str"]), EPOCHS.index(_BUDGETS[str(budget)])
        for dataset, kinds in SETS.items():
            for kind, (trained, evaluated) in zip(("validation", "test"), kinds, strict=True):
                runs = sorted(key for key in results["all_results"] if key[0] == trained)
                for i, key in enumerate(runs[:_SEEDS]):
                    run = results["all_results"][key]
                    name = f"{evaluated}@{int(run['epochs']) - 1}"
                    if name in run["eval_acc1es"]:
                        tables[f"{dataset}/{kind}"][row, place, i] = run["eval_acc1es"][name]


def _read_nats(folder: Path) -> Iterator[Mapping[str, Any]]:
    if not (files := sorted(folder.glob("[0-9]*.pickle.pbz2"))):
        raise ValueError("no files like 000000.pickle.pbz2")
    for path in files:
        with bz2.open(path) as file:
            yield load(file, PLAIN_VALUES)


def _read_pth(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        import torch
    except ImportError:
        raise DataError(
            "a .pth file must be read with PyTorch, got none; pip install 'nasgoat[neural]', "
            "or import the NATS-Bench folder instead"
        ) from None
    try:
        with torch.serialization.safe_globals([set]):
            whole = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # PyTorch raises anything at what is not its own
        raise ValueError(f"PyTorch can't read it: {type(problem).__name__}") from None
    yield from whole["arch2infos"].values()


def _read_csv(path: Path, tables: Tables) -> None:
    with lzma.open(path, "rt", newline="") as file:
        for cell in csv.DictReader(file):
            row = int(cell["ops"], 5)
            for dataset, column in _COLUMNS.items():
                validation, test = (tables[f"{dataset}/{k}"] for k in ("validation", "test"))
                seeds = [cell[f"{column}_val200_s{i}"] for i in range(_SEEDS)]
                validation[row, 1] = [float(value or "nan") for value in seeds]
                # Only means over the trainings are in the table: they stand for one training.
                test[row, 1, 0] = float(cell[f"{column}_test200"])
                validation[row, 0, 0] = float(cell[f"{column}_val12"] or "nan")
                test[row, 0, 0] = float(cell[f"{column}_test12"] or "nan")
