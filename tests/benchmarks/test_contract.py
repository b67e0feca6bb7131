"""Every benchmark keeps the contract of benchmarks."""

from typing import ClassVar

from nasgoat.benchmarks import Benchmark, list_benchmarks
from nasgoat.testing import BenchmarkContract

#: Those of devices and of NAS-Bench-Macro are in test_devices.py, with their tables.
ALL = [name for name in list_benchmarks() if "+" not in name and not name.startswith("macro")]


class ReadsOnce(BenchmarkContract):
    """To read a table takes longer than most tests of it."""

    tables: ClassVar[dict[tuple[str, bool], Benchmark]] = {}

    def make(self, benchmark: str) -> Benchmark:
        name = (benchmark, self.noisy)
        if name not in self.tables:
            self.tables[name] = super().make(benchmark)
        return self.tables[name]


class TestTables(ReadsOnce):
    benchmarks = ALL


class TestNoisyTables(ReadsOnce):
    benchmarks = [name for name in ALL if name.startswith("nb201")]
    noisy = True
