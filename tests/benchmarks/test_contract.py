"""Every benchmark keeps the contract of benchmarks."""

from nasgoat.benchmarks import benchmark_names
from nasgoat.testing import BenchmarkContract

#: Those of devices and of NAS-Bench-Macro are in test_devices.py, with their tables.
ALL = [name for name in benchmark_names() if "+" not in name and not name.startswith("macro")]


class TestTables(BenchmarkContract):
    benchmarks = ALL


class TestNoisyTables(BenchmarkContract):
    benchmarks = [name for name in ALL if name.startswith("nb201")]
    noisy = True
