"""Branch and bound under each acquisition function: searches and processor seconds of a question.

The table of docs/acquisition-functions.md: random problems, the five best graphs, observed graphs
excluded, structures listed and code compiled before. ``--several``: a batch of five with two
objectives, by the catalogue and by branch and bound, and whether they agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Sequence
from copy import copy

import numpy as np

from nasgoat import darts, nasbench101, nasbench201
from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Catalogue,
    Chebyshev,
    Constrained,
    HypervolumeImprovement,
    LinearAcquisition,
    Pool,
    SeveralAcquisition,
    Turn,
    find_acquisition,
    list_acquisitions,
    random_problem,
)
from nasgoat.acquisition.branch import BranchAndBound, runs
from nasgoat.spaces import SearchSpace

ROWS = [
    ("NAS-Bench-101", nasbench101(), "linear"),
    ("DARTS", darts(), "linear"),
    ("NAS-Bench-101", nasbench101(), "exponential"),
]

SEVERAL = [
    ("NAS-Bench-201", nasbench201(), "linear"),
    ("NAS-Bench-201", nasbench201(), "exponential"),
    ("NAS-Bench-101", nasbench101(), "linear"),
    ("NAS-Bench-101", nasbench101(), "exponential"),
]

FUNCTIONS = ("chebyshev", "constrained", "hypervolume")


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


def measure_several(
    space: SearchSpace,
    optimizer: AcquisitionOptimizer,
    kernel: str,
    seed: int,
    wanted: Collection[str],
) -> dict[str, tuple[float, list[float]]]:
    """Processor seconds and values of a batch of five with two objectives, 150 observations each.

    Chebyshev: five weightings, one graph each. Limited: the best graph under five limits.
    Hypervolume: one graph after the other, each of which takes those before it to come out as
    predicted. Both objectives are random functions; a batch shares what an optimiser keeps of them,
    and the next batch begins anew.
    """
    problems = [random_problem(space, 150, kernel, seed=2 * seed + i) for i in range(2)]
    parts, taken = [problem.acquisition for problem in problems], set(problems[0].observed)
    sample = space.sample(500, np.random.default_rng(seed))
    values = np.stack([part.score(sample) for part in parts])
    weights = np.linspace(0.1, 0.9, 5)
    new = [renew(part) for part in parts], [renew(part) for part in parts]
    batches: dict[str, list[SeveralAcquisition]] = {
        "chebyshev": [Chebyshev(new[0], [w, 1 - w], values.min(axis=1).tolist()) for w in weights],
        "constrained": [
            Constrained(new[1], [float(np.quantile(values[1], q))])
            for q in (0.01, 0.05, 0.1, 0.2, 0.5)
        ],
    }
    found = {}
    for name, functions in batches.items():
        if name not in wanted:
            continue
        start = time.process_time()
        pools = [optimizer.optimize(function, 1, taken) for function in functions]
        seconds = time.process_time() - start
        found[name] = seconds, [pool[0].lcb or 0.0 for pool in pools]
    if "hypervolume" in wanted:
        found["hypervolume"] = fill_batch(space, optimizer, parts, taken)
    return found


def renew(part: LinearAcquisition) -> LinearAcquisition:
    """The same part with a posterior of which no optimiser knows anything."""
    gp = copy(part.gp)
    gp.posterior_ = copy(gp.posterior_)
    return part.given(gp)


def fill_batch(
    space: SearchSpace,
    optimizer: AcquisitionOptimizer,
    parts: Sequence[LinearAcquisition],
    taken: set[bytes],
) -> tuple[float, list[float]]:
    """Processor seconds and values of five graphs that gain most hypervolume."""
    graphs = parts[0].gp.graphs_
    observed = np.column_stack([part.predict(graphs)[0] for part in parts])
    reference = observed.max(axis=0) + 0.1 * np.ptp(observed, axis=0)
    function = HypervolumeImprovement(parts, observed, reference.tolist())
    start, values = time.process_time(), list[float]()
    for _ in range(5):
        (best,) = optimizer.optimize(function, 1, taken)
        values.append(best.lcb or 0.0)
        taken = taken | {space.key(best.graph)}
        function = function.assume_predicted([best.graph])
    return time.process_time() - start, values


def compare_several(seeds: int, kernels: Collection[str], wanted: Collection[str]) -> None:
    """The table of several objectives: a batch of five by catalogue and by branch and bound."""
    print("| space | kernel | function | catalogue, s | branch and bound, s | largest difference |")
    print("|---|---|---|---|---|---|")
    for label, space, kernel in SEVERAL:
        if kernel not in kernels:
            continue
        search = BranchAndBound(space, None, threads=1)
        search.load_code(kernel != "linear")
        search.prepare(kernel != "linear")
        if kernel != "linear":
            runs.load_joint()
        engines: list[AcquisitionOptimizer] = [Catalogue(space), search]
        rows: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(seeds):
            asked = kernel, seed, wanted
            listed, searched = (measure_several(space, each, *asked) for each in engines)
            for name, (seconds, values) in listed.items():
                apart = np.abs(np.array(values) - searched[name][1]).max()
                rows.setdefault(name, []).append((seconds, searched[name][0], float(apart)))
        for name, measured in rows.items():
            one, two, apart = zip(*measured, strict=True)
            times = f"{span(list(one))} | {span(list(two))} | {max(apart):.1g}"
            print(f"| {label} | {kernel} | `{name}` | {times} |", flush=True)


def span(values: list[float]) -> str:
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--observations", type=int, default=50)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--several", action="store_true", help="two objectives instead of one")
    parser.add_argument("--kernels", nargs="+", default=["linear", "exponential"])
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS, help="of several objectives")
    options = parser.parse_args()
    if options.several:
        compare_several(options.seeds, options.kernels, options.functions)
        return
    print("| space | kernel | function | searches | seconds | largest gap |")
    print("|---|---|---|---|---|---|")
    for label, space, kernel in ROWS:
        search = Counting(space, None, options.limit, threads=1)
        search.load_code(kernel != "linear")
        search.prepare(kernel != "linear")
        for name in list_acquisitions():
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
