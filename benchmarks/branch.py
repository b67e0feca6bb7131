"""Seconds and nodes of branch and bound on random problems (``--help`` says which)."""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass

import numpy as np

from nasgoat import (
    GraphGP,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
    darts,
    nasbench101,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import posterior_of

NOISE = 1e-3
WEIGHTS = {"linear": (30.0, 30.0, 10.0), "exponential": (3.0, 3.0, 3.0)}


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
        self.gp.posterior_ = posterior_of(self.gp.kernel, rows, np.full(len(y), NOISE), y)
        return LowerConfidenceBound().given(self.gp)


def one(space: SearchSpace, form: str, t: int, seed: int, limit: float | None) -> str:
    rng = np.random.default_rng(seed)
    graphs = space.sample(t, rng)
    acquisition = Objective(space, form, rng).given(graphs)
    solver = BranchAndBound(space, time_limit=limit)
    solver.optimize(acquisition) if limit is None else None  # load the compiled code
    cpu = time.process_time()
    pool = solver.optimize(acquisition, 5, {space.key(graph) for graph in graphs})
    cpu = time.process_time() - cpu
    certificate = pool.certificate
    return (
        f"{form} | {t} | {seed} | {certificate.status} | {certificate.gap or 0:.2g} | "
        f"{certificate.seconds:.3f} | {cpu:.3f} | {solver.nodes_:,}"
    )


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


def space_of(text: str) -> SearchSpace:
    if text in ("darts", "nb101"):
        return darts() if text == "darts" else nasbench101()
    n, edges, ops = (int(part) for part in text.split(","))
    return NodeLabeledSpace(n, [f"op{i}" for i in range(ops)], max_edges=edges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ["7,9,3", "8,10,3", "9,11,3", "10,12,3", "darts", "7,21,3"]
    parser.add_argument(
        "spaces", nargs="*", default=default, help="nodes,edges,ops | darts | nb101"
    )
    parser.add_argument("--kernel", default="linear", choices=list(WEIGHTS))
    parser.add_argument("--observations", default="50,150")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--run", action="store_true", help="a whole run on NAS-Bench-101")
    options = parser.parse_args()
    if options.run:
        print(whole_run(0))
        return
    print("space | kernel | t | seed | status | gap | seconds | cpu seconds | nodes")
    for text in options.spaces:
        for t in (int(part) for part in options.observations.split(",")):
            for seed in range(options.seeds):
                row = one(space_of(text), options.kernel, t, seed, options.limit)
                print(f"{text} | {row}", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {memory:.0f} MB")


if __name__ == "__main__":
    main()
