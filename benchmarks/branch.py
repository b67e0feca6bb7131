"""Seconds and nodes of branch and bound on random problems (``--help`` says which)."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from tempfile import TemporaryDirectory

import numpy as np

from nasgoat import (
    GraphGP,
    GraphSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
    darts,
    load_space,
    molecules,
    nasbench101,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import SolveLimits
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import make_posterior

NOISE = 1e-3
WEIGHTS = {
    "linear": (30.0, 30.0, 10.0),
    "exponential": (3.0, 3.0, 3.0),
    "normalised": (3.0, 3.0, 3.0),
}


@dataclass
class Objective:
    """A random linear function of the kernel features with noise."""

    space: SearchSpace
    form: str
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.gp = GraphGP(self.space, ShortestPathKernel(self.form, *WEIGHTS[self.form]))
        self.w = self.rng.normal(size=len(self.gp.features.source))

    def given(self, graphs: list[LabeledGraph]) -> LowerConfidenceBound:
        """The acquisition after observing these graphs, hyperparameters fixed."""
        rows = self.gp.features.rows(graphs)
        y = rows @ self.w
        y = (y - y.mean()) / y.std() + 0.03 * self.rng.normal(size=len(y))
        self.gp.graphs_, self.gp.targets_ = graphs, y
        self.gp.posterior_ = make_posterior(self.gp.kernel, rows, np.full(len(y), NOISE), y)
        return LowerConfidenceBound().given(self.gp)


#: Rows of the table in docs/branch-and-bound.md: space, kernel, observations, time limit.
TABLE = [
    ("7,9,3", "linear", (50, 150), None),
    ("8,10,3", "linear", (50, 150), None),
    ("9,11,3", "linear", (50, 150), None),
    ("10,12,3", "linear", (50, 150), None),
    ("9,11,5", "linear", (50, 150), None),
    ("10,12,5", "linear", (50, 150), 60.0),
    ("7,21,3", "linear", (50, 150), None),
    ("8,28,3", "linear", (50, 150), None),
    ("9,36,3", "linear", (50, 150), 60.0),
    ("9,36,5", "linear", (50, 150), 60.0),
    ("10,45,3", "linear", (50, 150), 60.0),
    ("10,45,5", "linear", (50, 150), 60.0),
    ("darts", "linear", (50, 150), None),
    ("7,9,3", "exponential", (150,), None),
    ("8,10,3", "exponential", (50, 150), None),
    ("9,11,3", "exponential", (50, 150), None),
    ("10,12,3", "exponential", (50, 150), 120.0),
    ("darts", "exponential", (50, 150), 600.0),
]


#: Declared graphs: space, time limit, and the seconds that a question was meant to take.
GRAPHS = [
    ("molecules,5", None, "1 s"),
    ("molecules,6", None, "3 s"),
    ("molecules,7", None, "15 s"),
    ("molecules,8", None, "90 s"),
    ("molecules,9", 300.0, "gap below 10 % in 300 s"),
    ("nbgraph", None, "0.1 s"),
    ("acyclic,7", None, "5 s"),
]


#: Small spaces whose first question has all of a search compiled: space, kernel, its name.
COMPILED = [
    ("6,8,3", "linear", "linear, structures"),
    ("7,21,3", "linear", "linear, prefixes"),
    ("8,28,3", "linear", "linear, prefixes that grow"),
    ("6,8,3", "exponential", "exponential"),
]


@dataclass(frozen=True)
class Measured:
    """One problem: seconds of the clock and of the processor, nodes, gap."""

    seconds: float
    processor: float
    nodes: int
    gap: float
    status: str


def one(space: SearchSpace, form: str, t: int, seed: int, limit: float | None) -> Measured:
    rng = np.random.default_rng(seed)
    graphs = space.sample(t, rng)
    acquisition = Objective(space, form, rng).given(graphs)
    solver = BranchAndBound(space, time_limit=limit)
    if limit is None:
        solver.optimize(acquisition)  # load the compiled code, list the structures
    else:
        solver.load_code(form != "linear")
    return measure(solver, acquisition, {space.key(graph) for graph in graphs})


def measure(
    solver: BranchAndBound, acquisition: LowerConfidenceBound, exclude: set[bytes]
) -> Measured:
    """The five best."""
    cpu = time.process_time()
    pool = solver.optimize(acquisition, 5, exclude)
    cpu = time.process_time() - cpu
    certificate, gap = pool.certificate, pool.certificate.gap or 0.0
    return Measured(certificate.seconds, cpu, solver.nodes_, gap, str(certificate.status))


def table(seeds: int, only: list[str], processor: bool) -> None:
    """The rows of the documentation, ranges over the seeds; each row in a process of its own."""
    print("| space | kernel | t | seconds | of the processor | nodes | largest gap | memory |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for text, form, observations, limit in TABLE:
        for t in observations if not only or text in only else ():
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                found, memory = pool.submit(row, text, form, t, seeds, limit, processor).result()
            print(
                f"| {text} | {form} | {t} | {_range([m.seconds for m in found])} | "
                f"{_range([m.processor for m in found])} | "
                f"{min(m.nodes for m in found):,}–{max(m.nodes for m in found):,} | "
                f"{max(m.gap for m in found):.1%} | {memory:.0f} MB |",
                flush=True,
            )


def graph_table(seeds: int, only: list[str]) -> None:
    """Declared graphs: seconds to list structures, then of a question; each row in a process."""
    print("| space | structures | listing | t | seconds | of the processor | gap | aim |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for text, limit, aim in GRAPHS:
        for t in (50, 150) if not only or text in only else ():
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                found, structures, listing = pool.submit(graph_row, text, t, seeds, limit).result()
            print(
                f"| {text} | {structures:,} | {listing:.2g} | {t} | "
                f"{_range([m.seconds for m in found])} | {_range([m.processor for m in found])} | "
                f"{max(m.gap for m in found):.1%} | {aim} |",
                flush=True,
            )


def graph_row(
    text: str, t: int, seeds: int, limit: float | None
) -> tuple[list[Measured], int, float]:
    """One row: problems, number of structures, processor seconds to list them."""
    space = space_of(text)
    solver = BranchAndBound(space)
    solver.load_code()
    start = time.process_time()
    total = sum(len(block.adjacency) for block in solver.list_declared())
    listing = time.process_time() - start
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        graphs = space.sample(t, rng)
        acquisition = Objective(space, "linear", rng).given(graphs)
        solver.time_limit = limit
        found.append(measure(solver, acquisition, {space.key(graph) for graph in graphs}))
    return found, total, listing


def row(
    text: str, form: str, t: int, seeds: int, limit: float | None, processor: bool
) -> tuple[list[Measured], float]:
    """One row of the table, and the peak memory of this process."""
    if processor:  # what this process has used stands for the clock, all threads together
        time.perf_counter = time.process_time
    return [one(space_of(text), form, t, seed, limit) for seed in range(seeds)], peak_memory()


def peak_memory() -> float:
    """Megabytes, of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def beside_scip(texts: list[str], observations: list[int], seeds: int, limit: float) -> None:
    """Branch and bound and the compact MIP on the same problems, one after the other.

    The MIP comes twice: on its own, and as it is by default, with first graphs and bounds of
    structures from branch and bound. The fastest of five calls of branch and bound counts.
    """
    print("| space | t | seed | branch | MIP on its own | ratio | processor | default | ratio |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for text, t, seed in product(texts, observations, range(seeds)):
        space, rng = space_of(text), np.random.default_rng(seed)
        graphs = space.sample(t, rng)
        acquisition = Objective(space, "linear", rng).given(graphs)
        keys = {space.key(graph) for graph in graphs}
        calls = [one(space, "linear", t, seed, None) for _ in range(5)]
        fast, cpu = min(m.seconds for m in calls), min(m.processor for m in calls)
        cells = [text, str(t), str(seed), f"{1e3 * fast:.1f} ms"]
        for independent in (True, False):
            start = time.process_time()
            solver = MipOptimizer(
                space, limits=SolveLimits(limit, 1e-4), child=False, independent=independent
            )
            certificate = solver.optimize(acquisition, 5, keys)[-1].certificate
            used = time.process_time() - start
            more = "" if str(certificate.status) == "optimal" else "> "
            cells += [f"{more}{certificate.seconds:.1f} s"]
            cells += [f"{more}{certificate.seconds / fast:,.0f}"]
            cells += [f"{more}{used / cpu:,.0f}"] if independent else []
        print(f"| {' | '.join(cells)} |", flush=True)


def _range(values: list[float]) -> str:
    return f"{min(values):.2g}–{max(values):.2g}"


def whole_run(seed: int) -> str:
    """160 evaluations on NAS-Bench-101's space, five at a time; seconds in the acquisition."""
    space, rng = nasbench101(), np.random.default_rng(seed)
    objective = Objective(space, "linear", rng)
    graphs = space.sample(10, rng)
    solver = BranchAndBound(space)
    wall, cpu = 0.0, 0.0
    while len(graphs) < 160:
        acquisition = objective.given(graphs)
        start = time.process_time()
        pool = solver.optimize(acquisition, 5, {space.key(graph) for graph in graphs})
        cpu += time.process_time() - start
        wall += pool.certificate.seconds
        graphs += [proposal.graph for proposal in pool]
    return f"nb101, 160 evaluations: {wall:.2f} s in the acquisition ({cpu:.2f} s of the processor)"


def compilation() -> None:
    """Processor seconds of a first question without a cache of machine code, less a second one."""
    print("| search | processor seconds to compile |\n|---|---|", flush=True)
    for text, form, name in COMPILED:
        with TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # for the child, which loads Numba anew
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                seconds = pool.submit(first_question, text, form).result()
        print(f"| {name} | {seconds:.1f} |", flush=True)


def first_question(text: str, form: str) -> float:
    """Processor seconds that the first question of this process takes longer than the second."""
    space, rng = space_of(text), np.random.default_rng(0)
    acquisition = Objective(space, form, rng).given(space.sample(20, rng))
    solver, clock = BranchAndBound(space), [time.process_time()]
    for _ in range(2):
        solver.optimize(acquisition, 5)
        clock.append(time.process_time())
    return 2 * clock[1] - clock[0] - clock[2]


def space_of(text: str) -> SearchSpace:
    if text in ("darts", "nb101"):
        return darts() if text == "darts" else nasbench101()
    if text == "nbgraph":
        return load_space(text)
    name, _, number = text.partition(",")
    if name == "molecules":
        return replace(molecules(), nodes=(int(number), int(number)))
    if name == "acyclic":
        return GraphSpace(
            int(number), ["op0", "op1", "op2", "op3"], (), "acyclic", "paths", sources=2, sinks=2
        )
    n, edges, ops = (int(part) for part in text.split(","))
    return NodeLabeledSpace(n, [f"op{i}" for i in range(ops)], max_edges=edges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ["7,9,3", "8,10,3", "9,11,3", "10,12,3", "darts", "7,21,3"]
    parser.add_argument(
        "spaces",
        nargs="*",
        default=default,
        help="nodes,edges,ops | darts | nb101 | nbgraph | molecules,nodes | acyclic,nodes",
    )
    parser.add_argument("--kernel", default="linear", choices=list(WEIGHTS))
    parser.add_argument(
        "--weights", help="alpha,beta,gamma of the kernel instead of its usual ones"
    )
    parser.add_argument("--observations", default="50,150")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--run", action="store_true", help="a whole run on NAS-Bench-101")
    parser.add_argument("--scip", action="store_true", help="beside the compact MIP, in one run")
    parser.add_argument("--table", action="store_true", help="the table of the documentation")
    parser.add_argument(
        "--processor", action="store_true", help="limits of the table in processor seconds"
    )
    parser.add_argument("--graphs", action="store_true", help="the table of declared graphs")
    parser.add_argument("--compile", action="store_true", help="time to compile, without a cache")
    options = parser.parse_args()
    observations = [int(part) for part in options.observations.split(",")]
    if options.weights:
        alpha, beta, gamma = (float(part) for part in options.weights.split(","))
        WEIGHTS[options.kernel] = alpha, beta, gamma
    if options.scip:
        texts = options.spaces if options.spaces != default else ["7,9,3", "8,10,3"]
        beside_scip(texts, observations, options.seeds, options.limit or 600.0)
        return
    if options.table:
        only = options.spaces if options.spaces != default else []
        table(options.seeds, only, options.processor)
        return
    if options.graphs:
        graph_table(options.seeds, options.spaces if options.spaces != default else [])
        return
    if options.compile:
        compilation()
        return
    if options.run:
        print(whole_run(0))
        return
    print("space | kernel | t | seed | status | gap | seconds | cpu seconds | nodes")
    for text in options.spaces:
        for t in observations:
            for seed in range(options.seeds):
                m = one(space_of(text), options.kernel, t, seed, options.limit)
                print(
                    f"{text} | {options.kernel} | {t} | {seed} | {m.status} | {m.gap:.2g} | "
                    f"{m.seconds:.3f} | {m.processor:.3f} | {m.nodes:,}",
                    flush=True,
                )
    print(f"peak memory {peak_memory():.0f} MB")


if __name__ == "__main__":
    main()
