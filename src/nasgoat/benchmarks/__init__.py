"""Benchmarks: tables of measured errors over published spaces."""

from nasgoat.benchmarks.nasbench101 import NasBench101
from nasgoat.benchmarks.nasbench201 import NasBench201
from nasgoat.benchmarks.nasbench_graph import NasBenchGraph
from nasgoat.benchmarks.registry import (
    Benchmark,
    benchmark,
    benchmark_names,
    import_table,
    list_tables,
)

__all__ = [
    "Benchmark",
    "NasBench101",
    "NasBench201",
    "NasBenchGraph",
    "benchmark",
    "benchmark_names",
    "import_table",
    "list_tables",
]
