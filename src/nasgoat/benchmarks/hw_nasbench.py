"""HW-NAS-Bench: latency and energy of NAS-Bench-201's cells on six devices.

The table is ``hw201.npz`` in the data folder: for each dataset and metric a column
``<dataset>/<device>_<metric>`` of 15,625 numbers, in the order of ``nasbench201.py``. Latency is in
milliseconds, energy in millijoules. ``nasgoat data import hw201 PATH`` makes it of the official
``HW-NAS-Bench-v1_0.pickle`` (numbers, lists, tuples, texts and arrays of numbers; anything else is
refused), or of a table ``.csv.xz`` with the columns ``ops`` and ``c10_edgegpu_latency`` and so on,
which is also read where it is (``hw201.csv.xz`` in the data folder).

A latency of -1 is none: the EdgeTPU's compiler refused the cell (its authors say so in issue 11 of
their repository). A query leaves it out, so that a search that needs it sees a failed evaluation.
Source: Li et al., ICLR 2021.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.benchmarks.nasbench201 import CELLS, NasBench201, find_row
from nasgoat.benchmarks.table_files import Columns, ImportedTable
from nasgoat.errors import UnknownNameError
from nasgoat.safe_files import PLAIN_VALUES, load

#: What was measured on each device.
DEVICES: dict[str, tuple[str, ...]] = {
    "edgegpu": ("latency", "energy"),
    "raspi4": ("latency",),
    "edgetpu": ("latency",),
    "pixel3": ("latency",),
    "eyeriss": ("latency", "energy"),
    "fpga": ("latency", "energy"),
}
_OFFICIAL = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "ImageNet16-120"}
_SHORT = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}
_rebuild_array = np._core.multiarray._reconstruct  # type: ignore[attr-defined]
_NUMBERS = replace(
    PLAIN_VALUES,
    values={
        **PLAIN_VALUES.values,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy._core.multiarray", "_reconstruct"): _rebuild_array,
        ("numpy.core.multiarray", "_reconstruct"): _rebuild_array,
    },
)


@dataclass(frozen=True, eq=False)
class HwNasBench(NasBench201):
    """NAS-Bench-201 with the latency, and the energy where there is one, of a device.

    Args:
        dataset: As for :class:`NasBench201`.
        noisy: As for :class:`NasBench201`; what devices take is one number for each cell.
        space: As for :class:`NasBench201`.
        device: One of :data:`DEVICES`.

    Example:
        >>> HwNasBench("cifar10", device="pixle3")
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: device must be one of edgegpu, edgetpu, eyeriss, fpga,
        pixel3, raspi4, got 'pixle3'; did you mean pixel3?
    """

    device: str = "edgegpu"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise UnknownNameError("device", self.device, DEVICES)
        super().__post_init__()
        table = HW201.read()
        measured = {}
        for metric in DEVICES[self.device]:
            column = table[f"{self.dataset}/{self.device}_{metric}"]
            measured[metric] = np.where(column >= 0, column, np.nan)
        object.__setattr__(self, "columns", {**self.columns, **measured})

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return f"nb201/{self.dataset}+{self.device}"


def _list_metrics() -> list[str]:
    return [f"{device}_{metric}" for device, metrics in DEVICES.items() for metric in metrics]


def _list_columns() -> list[str]:
    return [f"{dataset}/{metric}" for dataset in _OFFICIAL for metric in _list_metrics()]


def _read_csv(path: Path) -> Columns:
    columns = {name: np.full(CELLS, np.nan) for name in _list_columns()}
    with lzma.open(path, "rt", newline="") as file:
        rows = csv.reader(file)
        head = next(rows)
        ops = head.index("ops")
        places = {}
        for name in columns:
            dataset, _, metric = name.partition("/")
            places[name] = head.index(f"{_SHORT[dataset]}_{metric}")
        for cells in rows:
            row = int(cells[ops], 5)
            for name, place in places.items():
                columns[name][row] = float(cells[place])
    return _check_whole(columns)


def _read_pickle(path: Path) -> Columns:
    """``{"nasbench201": {dataset: {"config": [{"arch_str": …}, …], "edgegpu_latency": […], …}}}``.

    Lists go by the index of NAS-Bench-201, which the configurations tell.
    """
    with path.open("rb") as file:
        whole: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]] = load(file, _NUMBERS)
    columns = {name: np.full(CELLS, np.nan) for name in _list_columns()}
    for dataset, official in _OFFICIAL.items():
        found = whole["nasbench201"][official]
        rows = [find_row(config["arch_str"]) for config in found["config"]]
        for metric in _list_metrics():
            columns[f"{dataset}/{metric}"][rows] = [float(value) for value in found[metric]]
    return _check_whole(columns)


def _check_whole(columns: Columns) -> Columns:
    for name, column in columns.items():
        if missing := int((~np.isfinite(column)).sum()):
            raise ValueError(f"{missing} cells without {name}")
    return columns


#: The table in the data folder.
HW201 = ImportedTable("hw201", "HW-NAS-Bench", "HW-NAS-Bench-v1_0.pickle", _read_csv, _read_pickle)
