"""How large the imported NAS-Bench-101 table is and how fast it opens: python benchmarks/tables.py.

Writes tables of the full size (423,624 cells, made-up numbers) in a temporary folder, with one and
with all four training lengths. Each is opened in a fresh process, so that nothing is warm but the
system's file cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from nasgoat.benchmarks.nasbench101 import hash_module
from nasgoat.benchmarks.nasbench101_files import write_folder
from nasgoat.spaces import nasbench101

CELLS = 423_624
OPENING = """
import time
import numpy as np
from nasgoat import nasbench101
from nasgoat.benchmarks import NasBench101
cell = nasbench101().sample(1, np.random.default_rng(0))[0]
times = [time.perf_counter()]
table = NasBench101()
times.append(time.perf_counter())
table.mean_error(cell)
times.append(time.perf_counter())
table.optimum
times.append(time.perf_counter())
print(*(f"{1e3 * (b - a):.1f}" for a, b in zip(times, times[1:])))
"""


def main() -> None:
    rng = np.random.default_rng(0)
    cell = nasbench101().sample(1, np.random.default_rng(0))[0]  # the one that is looked up
    drawn = [rng.bytes(16) for _ in range(CELLS - 1)]
    hashes = sorted([*drawn, hash_module(cell)])
    hash16 = np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(-1, 16)
    print("| file | size on disk | open | first query | optimum of all cells |")
    print("|---|---|---|---|---|")
    for name, epochs in (("nasbench_only108", [108]), ("nasbench_full", [4, 12, 36, 108])):
        values = rng.uniform(0.8, 0.95, (2, CELLS, len(epochs), 3)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NASGOAT_DATA"] = folder
            table = write_folder(hash16, np.array(epochs), values)
            size = sum(path.stat().st_size for path in Path(table).iterdir()) / 1e6
            found = subprocess.run(  # noqa: S603 - this interpreter, our own text
                [sys.executable, "-c", OPENING], check=True, capture_output=True, text=True
            )
            opened, query, optimum = found.stdout.split()
        print(f"| `{name}` | {size:.1f} MB | {opened} ms | {query} ms | {optimum} ms |")


if __name__ == "__main__":
    main()
