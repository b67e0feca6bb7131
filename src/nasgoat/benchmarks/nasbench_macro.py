"""NAS-Bench-Macro: 6,561 chains of eight layers, trained three times each on CIFAR-10.

The table is ``macro.npz`` in the data folder: ``accuracies`` (6561, 3), ``params`` and ``flops``, a
row for each number whose eight digits, in base 3, are the operations of the layers, the first layer
first. ``nasgoat data import macro PATH`` makes it of the official ``nas-bench-macro_cifar10.json``,
or of a table ``.csv.xz`` with the columns ``arch``, ``test_s0`` to ``test_s2``, ``params`` and
``flops``, which is also read where it is (``macro.csv.xz`` in the data folder).
Source: Su et al., CVPR 2021.
"""

from __future__ import annotations

import csv
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.table_files import Columns, ImportedTable
from nasgoat.errors import DataError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import ChainSpace, preset

_LAYERS, _OPERATIONS, _TRAININGS = 8, 3, 3
_CHAINS = _OPERATIONS**_LAYERS
_WEIGHTS = _OPERATIONS ** np.arange(_LAYERS)[::-1]
#: What is known of a chain before it is trained.
_KNOWN = ("params", "flops")
Row = tuple[str, list[float], float, float]


@dataclass(frozen=True, eq=False)
class NasBenchMacro:
    """Test errors of NAS-Bench-Macro on CIFAR-10.

    Parameters and FLOPs are sums of what each operation takes in its layer, so that the space knows
    them as costs (:meth:`~nasgoat.SearchSpace.cost`): they can be limited, and minimised, without a
    model.

    Args:
        noisy: Whether a query answers one training's value instead of the mean over trainings.

    Example:
        >>> if MACRO.find():
        ...     assert round(NasBenchMacro().optimum, 3) == 6.873
    """

    noisy: bool = False
    metric: str = "test error (%)"
    columns: Columns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MACRO.read())

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return "macro/cifar10"

    @cached_property
    def space(self) -> ChainSpace:
        """All chains, with parameters and FLOPs as costs by layer."""
        plain = preset("macro")
        costs = {name: find_costs(self.columns[name], plain.edge_vocabulary) for name in _KNOWN}
        return cast(ChainSpace, plain.constrain(costs=costs))

    @property
    def errors(self) -> NDArray[np.float64]:
        """Test errors (percent) by chain and training, (6561, 3)."""
        return 100.0 - self.columns["accuracies"]

    @cached_property
    def optimum(self) -> float:
        """Smallest mean error of all chains."""
        return float(self.errors.mean(axis=1).min())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The error of one training at random if noisy, else the mean; parameters and FLOPs."""
        row = self._find_row(graph)
        errors = 100.0 - self.columns["accuracies"][row]
        error = rng.choice(errors) if self.noisy else errors.mean()
        return {"error": float(error)} | {k: float(self.columns[k][row]) for k in _KNOWN}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over the three trainings."""
        return float((100.0 - self.columns["accuracies"][self._find_row(graph)]).mean())

    def _find_row(self, graph: LabeledGraph) -> int:
        self.space.check(graph)
        return int((self.space.digits(graph).astype(int) - 1) @ _WEIGHTS)


def find_costs(column: NDArray[np.float64], operations: tuple[str, ...]) -> dict[str, Any]:
    """What each operation adds in each layer to a column that is a sum of such costs.

    Raises:
        DataError: If the column is no such sum.
    """
    table: dict[str, Any] = {"constant": float(column[0])}
    digits = np.arange(_CHAINS)[:, None] // _WEIGHTS % _OPERATIONS
    total = np.full(_CHAINS, column[0])
    for code in range(1, _OPERATIONS):
        by_layer = column[code * _WEIGHTS] - column[0]
        total += (digits == code) @ by_layer
        table[operations[code]] = by_layer.tolist()
    if (total != column).any():
        raise DataError("parameters and FLOPs of NAS-Bench-Macro must add up by layer")
    return table


def _read_csv(path: Path) -> Columns:
    return _arrange(_list_csv(path))


def _read_json(path: Path) -> Columns:
    return _arrange(_list_json(path))


def _list_csv(path: Path) -> Iterator[Row]:
    with lzma.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            accuracies = [float(row[f"test_s{i}"]) for i in range(_TRAININGS)]
            yield row["arch"], accuracies, float(row["params"]), float(row["flops"])


def _list_json(path: Path) -> Iterator[Row]:
    for arch, found in json.loads(path.read_text(encoding="utf-8")).items():
        yield arch, found["test_acc"], found["params"], found["flops"]


def _arrange(rows: Iterator[Row]) -> Columns:
    accuracies = np.full((_CHAINS, _TRAININGS), np.nan)
    params, flops = np.full(_CHAINS, np.nan), np.full(_CHAINS, np.nan)
    for arch, found, size, work in rows:
        if len(arch) != _LAYERS:
            raise ValueError(f"a chain of {len(arch)} layers")
        row = int(arch, _OPERATIONS)
        accuracies[row], params[row], flops[row] = found, size, work
    if missing := int((~np.isfinite(accuracies.sum(axis=1) + params + flops)).sum()):
        raise ValueError(f"{missing} of {_CHAINS} chains missing")
    return {"accuracies": accuracies, "params": params, "flops": flops}


#: The table in the data folder.
MACRO = ImportedTable(
    "macro", "NAS-Bench-Macro", "nas-bench-macro_cifar10.json", _read_csv, _read_json
)
