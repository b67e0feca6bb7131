"""Benchmarks: tables of measured errors over published spaces."""

from nasgoat.benchmarks.nasbench101 import NasBench101
from nasgoat.benchmarks.nasbench201 import DATASETS, NasBench201
from nasgoat.benchmarks.protocol import Benchmark
from nasgoat.errors import UnknownNameError


def benchmark_names() -> list[str]:
    """Names that :func:`benchmark` knows."""
    return [*(f"nb201/{dataset}" for dataset in DATASETS), "nb101"]


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
    return NasBench101(noisy=noisy)


__all__ = ["Benchmark", "NasBench101", "NasBench201", "benchmark", "benchmark_names"]
