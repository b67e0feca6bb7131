"""Branch and bound under each acquisition function: searches and processor seconds of a question.

The table of docs/acquisition-functions.md: random problems, the five best graphs, observed graphs
excluded, structures listed and code compiled before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection

from nasgoat import darts, nasbench101
from nasgoat.acquisition import (
    LinearAcquisition,
    Pool,
    Turn,
    acquisition_names,
    find_acquisition,
    random_problem,
)
from nasgoat.acquisition.branch import BranchAndBound

ROWS = [
    ("NAS-Bench-101", nasbench101(), "linear"),
    ("DARTS", darts(), "linear"),
    ("NAS-Bench-101", nasbench101(), "exponential"),
]


class Counting(BranchAndBound):
    """Counts the lower confidence bounds that it minimises."""

    searches = 0

    def _minimize(
        self,
        acquisition: LinearAcquisition,
        k: int,
        exclude: Collection[bytes],
        deadline: float | None,
    ) -> Pool:
        self.searches += 1
        return super()._minimize(acquisition, k, exclude, deadline)


def measure(
    search: Counting, kernel: str, name: str, observations: int, seed: int
) -> tuple[int, float, float]:
    """Searches, processor seconds and gap of one question."""
    problem = random_problem(search.space, observations, kernel, seed=seed)
    function = find_acquisition(name).make(Turn(problem.acquisition.gp, seed=seed))
    before, start = search.searches, time.process_time()
    pool = search.optimize(function, 5, problem.observed)
    seconds = time.process_time() - start
    return search.searches - before, seconds, max(p.certificate.gap or 0.0 for p in pool)


def span(values: list[float]) -> str:
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--observations", type=int, default=50)
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    print("| space | kernel | function | searches | seconds | largest gap |")
    print("|---|---|---|---|---|---|")
    for label, space, kernel in ROWS:
        search = Counting(space, None, options.limit, threads=1)
        search.load_code(kernel != "linear")
        search.prepare(kernel != "linear")
        for name in acquisition_names():
            if find_acquisition(name).explain_unbounded(kernel):
                continue
            found = [
                measure(search, kernel, name, options.observations, seed)
                for seed in range(options.seeds)
            ]
            searches, seconds, gaps = zip(*found, strict=True)
            row = f"{span(list(searches))} | {span(list(seconds))} | {max(gaps):.2g}"
            print(f"| {label} | {kernel} | `{name}` | {row} |", flush=True)


if __name__ == "__main__":
    main()
