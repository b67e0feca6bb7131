"""Speed and memory of the main job, as ratios within one run: ``make benchmark``.

``--fits`` only measures what five proposals take after many observations.

Prints a table; nothing here is asserted in a test, because machines are shared and noisy.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("NASGOAT_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))

import numpy as np  # noqa: E402 - after the number of threads is set

from nasgoat import Catalogue, Optimizer, Settings, benchmark, nasbench101, search  # noqa: E402
from nasgoat.acquisition import random_problem  # noqa: E402
from nasgoat.errors import DataError  # noqa: E402
from nasgoat.surrogate import LinearPosterior  # noqa: E402
from nasgoat.surrogate.posterior import require_known_form  # noqa: E402

OBSERVATIONS = 150
REPEATS = 5


def best_of(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of several timings: the one least disturbed by others."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def row(what: str, value: str, target: str) -> None:
    print(f"{what:<62} {value:>22}   {target}", flush=True)


def build() -> None:
    """Build the NAS-Bench-101 catalogue in a fresh cache and a fresh process."""
    code = (
        "import resource, time\nfrom nasgoat import Catalogue, nasbench101\n"
        "start = time.perf_counter()\nCatalogue(nasbench101())\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(f'{time.perf_counter() - start:.1f} s, {peak:.2f} GiB')"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", code],
            env={**os.environ, "NASGOAT_CACHE": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    row(
        "build the NAS-Bench-101 catalogue (time, peak memory)", done.stdout.strip(), "60 s, 1.5 GB"
    )


def scoring(catalogue: Catalogue, kernel: str, limit: int) -> None:
    """Score all 423,624 cells, beside the bare matrix product of the same shapes."""
    problem = random_problem(nasbench101(), OBSERVATIONS, kernel)
    posterior = require_known_form(problem.acquisition.gp.posterior_)
    on_counts = posterior.fold_to_counts(catalogue.features, 7)
    matrix = on_counts.R if isinstance(on_counts, LinearPosterior) else on_counts.projections
    X = np.random.default_rng(0).random((len(catalogue), len(matrix)))
    out = np.empty((len(X), matrix.shape[1]))
    bare = best_of(lambda: np.matmul(X, matrix, out=out))

    def score() -> None:
        catalogue._scored.clear()  # forget the answer of the round before
        catalogue.score(posterior)

    ours = best_of(score)
    text = f"{ours:.2f} s / {bare:.2f} s = {ours / bare:.2f}x"
    row(f"score the catalogue, {kernel}, t = {OBSERVATIONS} / bare product", text, f"{limit}x")


def runs() -> None:
    """Full searches of 160 evaluations, catalogue built."""
    for name, kernel, limit in (
        ("nb201/cifar10", "linear", "10 s"),
        ("nb201/cifar10", "exponential", "10 s"),
        ("nb201/cifar10", "evidence", "10 s"),
        ("nb201/cifar10", "together", "10 s"),
        ("nb101", "linear", "15 s"),
        ("nb101", "exponential", ""),
        ("nb101", "evidence", ""),
    ):
        try:
            table = benchmark(name)
        except DataError as problem:
            row(f"search {name}, {kernel}", "skipped", str(problem))
            continue
        rng = np.random.default_rng(0)
        start = time.perf_counter()
        search(lambda g: table.query(g, rng), table.space, settings=Settings(kernel=kernel))  # noqa: B023
        row(f"search {name}, {kernel}", f"{time.perf_counter() - start:.1f} s", limit)


def fits() -> None:
    """Seconds of the processor for one ``ask(5)`` after many observations of NAS-Bench-201."""
    table = benchmark("nb201/cifar10")
    Catalogue(table.space)  # built once, before anything is measured
    for count, limit in ((300, ""), (1000, "3 s"), (3000, "15 s")):
        optimizer = Optimizer(table.space, initial=count)
        for cell in table.space.sample(count, np.random.default_rng(0)):
            optimizer.tell(cell, table.mean_error(cell))
        start = time.process_time()
        optimizer.ask(5)
        seconds = time.process_time() - start
        row(f"fit and ask(5), nb201, {count:,} observations", f"{seconds:.1f} s", limit)
    fit_two_objectives()


def fit_two_objectives() -> None:
    """The same for a front of error and latency after 150 observations, the median of five."""
    try:
        table = benchmark("nb201/cifar10+edgegpu")
    except DataError as problem:
        row("two objectives", f"skipped: {problem}", "")
        return
    taken = []
    for seed in range(6):
        optimizer = Optimizer(table.space, seed=seed, minimise=["error", "latency"])
        rng = np.random.default_rng(seed)
        for cell in table.space.sample(150, rng):  # the initial design of the same seed first
            optimizer.tell(cell, table.query(cell, rng))
        start = time.process_time()
        optimizer.ask(5)
        taken.append(time.process_time() - start)
    seconds = np.median(taken[1:])  # the first also loads and compiles
    row("fit and ask(5), nb201, error and latency, 150 observations", f"{seconds:.2f} s", "0.3 s")


def help_page() -> None:
    """``nasgoat --help`` from a cold process."""
    call = [sys.executable, "-m", "nasgoat", "--help"]
    seconds = best_of(lambda: subprocess.run(call, capture_output=True, check=True))  # noqa: S603
    row("nasgoat --help", f"{seconds:.2f} s", "0.5 s")


def main() -> None:
    row("what", "measured", "target")
    fits()
    if "--fits" in sys.argv:
        return
    help_page()
    build()
    catalogue = Catalogue(nasbench101())
    scoring(catalogue, "linear", 3)
    scoring(catalogue, "exponential", 5)
    runs()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row("peak memory of this process", f"{peak:.2f} GiB", "")


if __name__ == "__main__":
    main()
