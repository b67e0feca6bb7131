"""Benchmarks: tables of measured errors over published spaces."""

from nasgoat.benchmarks.nasbench101 import NasBench101
from nasgoat.benchmarks.nasbench201 import DATASETS, NasBench201
from nasgoat.benchmarks.nasbench_graph import GRAPH_DATASETS, NasBenchGraph
from nasgoat.benchmarks.protocol import Benchmark
from nasgoat.errors import SettingError, UnknownNameError


def benchmark_names() -> list[str]:
    """Names that :func:`benchmark` knows."""
    graphs = (f"nbgraph/{dataset}" for dataset in GRAPH_DATASETS)
    return [*(f"nb201/{dataset}" for dataset in DATASETS), "nb101", *graphs]


def benchmark(name: str, noisy: bool = False) -> Benchmark:
    """A benchmark by its name.

    Args:
        name: One of :func:`benchmark_names`.
        noisy: Answer one training's value per query instead of the mean over trainings.

    Example:
        >>> benchmark("nb201/cifar100").space.count()
        9280
    """
    if name not in benchmark_names():
        raise UnknownNameError("benchmark", name, benchmark_names())
    family, _, dataset = name.partition("/")
    if family == "nb201":
        return NasBench201(dataset, noisy)
    if family == "nb101":
        return NasBench101(noisy=noisy)
    if noisy:
        raise SettingError("noisy must be off for nbgraph: its table has no single trainings")
    return NasBenchGraph(dataset)


__all__ = [
    "Benchmark",
    "NasBench101",
    "NasBench201",
    "NasBenchGraph",
    "benchmark",
    "benchmark_names",
]
