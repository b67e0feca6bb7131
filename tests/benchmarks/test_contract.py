"""Every benchmark keeps the contract of benchmarks."""

from nasgoat.benchmarks import benchmark_names
from nasgoat.testing import BenchmarkContract

ALL = benchmark_names()


class TestTables(BenchmarkContract):
    benchmarks = ALL


class TestNoisyTables(BenchmarkContract):
    benchmarks = [name for name in ALL if name.startswith("nb201")]
    noisy = True
