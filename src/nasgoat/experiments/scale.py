"""How the optimisers scale: seconds, gap and model size against the number of nodes.

The problems are those of ``nasgoat solve``: n nodes, at most n + 2 edges, three operations, random
observations. Every method gets the same problem; ratios between methods are read off one run. On a
busy machine read the seconds of processor time, not those of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nasgoat.acquisition import AcquisitionOptimizer, Pool, make_optimizer, random_problem
from nasgoat.errors import SettingError
from nasgoat.solvers import Limits
from nasgoat.spaces import NodeLabeledSpace

OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")
EDGES_MORE = 2  # edges that a graph may have more than nodes


@dataclass(frozen=True)
class ScaleRecord:
    """One method on one problem."""

    method: str
    nodes: int
    observations: int
    kernel: str
    top: int
    seed: int
    status: str
    value: float | None
    bound: float | None
    gap: float | None
    seconds: float
    cpu_seconds: float
    build_seconds: float | None = None
    variables: int | None = None
    constraints: int | None = None
    tree_nodes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True)
class ScaleStudy:
    """What to measure.

    Args:
        methods: ``scip/compact``, ``scip/paper``, ``gurobi/compact`` or the name of an optimiser.
        nodes: Numbers of nodes.
        observations: Numbers t of observations.
        kernel: Form of the kernel.
        top: How many best graphs.
        seeds: Seeds of the problems.
        limits: Of the mixed-integer methods.

    Example:
        >>> study = ScaleStudy(methods=("catalogue",), nodes=(3, 4), observations=(5,), top=1)
        >>> [(r.nodes, r.status, r.gap) for r in study.run()]
        [(3, 'optimal', 0.0), (4, 'optimal', 0.0)]
    """

    methods: Sequence[str] = ("scip/compact",)
    nodes: Sequence[int] = (5, 6, 7)
    observations: Sequence[int] = (50,)
    kernel: str = "linear"
    top: int = 5
    seeds: Sequence[int] = (0,)
    limits: Limits = field(default_factory=lambda: Limits(seconds=600.0))

    def run(self, progress: Callable[[str], None] | None = None) -> Iterable[ScaleRecord]:
        """Measure method by method on each problem, smallest first."""
        for n in self.nodes:
            space = NodeLabeledSpace(nodes=(n, n), ops=OPERATIONS, max_edges=n + EDGES_MORE)
            for t in self.observations:
                for seed in self.seeds:
                    problem = random_problem(space, t, self.kernel, seed=seed)
                    for method in self.methods:
                        if progress is not None:
                            progress(f"n = {n}, t = {t}, seed {seed}: {method}")
                        optimizer = _optimizer(method, space, self.limits, self.kernel)
                        start = time.process_time()
                        pool = optimizer.optimize(problem.acquisition, self.top, problem.observed)
                        used = time.process_time() - start
                        yield self._record(method, n, t, seed, pool, optimizer, used)

    def _record(
        self,
        method: str,
        n: int,
        t: int,
        seed: int,
        pool: Pool,
        optimizer: AcquisitionOptimizer,
        used: float,
    ) -> ScaleRecord:
        # The last proposal carries the bound on everything outside the pool.
        certificate = pool[-1].certificate if len(pool) else pool.certificate
        record = ScaleRecord(
            method,
            n,
            t,
            self.kernel,
            self.top,
            seed,
            str(certificate.status),
            pool.certificate.value,
            certificate.bound,
            certificate.gap,
            pool.certificate.seconds,
            used,
        )
        answer = getattr(optimizer, "last_", None)
        report = None if answer is None else answer.reports.get(n)
        if report is None:
            return record
        return replace(
            record,
            build_seconds=report.build_seconds,
            variables=report.variables,
            constraints=report.constraints,
            tree_nodes=report.nodes,
        )


def _optimizer(
    method: str, space: NodeLabeledSpace, limits: Limits, kernel: str
) -> AcquisitionOptimizer:
    solver, _, formulation = method.partition("/")
    if method == "branch":
        from nasgoat.acquisition.branch import BranchAndBound
        from nasgoat.acquisition.branch.warm_up import warm_up

        warm_up(kernel != "linear")  # compiling is no part of what is compared
        return BranchAndBound(space, time_limit=limits.seconds)
    if not formulation:
        return make_optimizer(method, space)
    if solver not in ("scip", "gurobi"):
        raise SettingError(
            f"a method with a formulation must be scip/... or gurobi/..., got {method!r}"
        )
    from nasgoat.acquisition.mip import MipOptimizer

    # In this process: the start of a child is no part of what is compared.
    return MipOptimizer(space, solver=solver, formulation=formulation, limits=limits, child=False)


def ratios(records: Sequence[ScaleRecord], of: str, to: str) -> dict[str, float]:
    """Processor seconds of one method over those of another, on the problems that both solved.

    Example:
        >>> study = ScaleStudy(methods=("catalogue",), nodes=(3,), observations=(5,), top=1)
        >>> ratios(list(study.run()), "catalogue", "catalogue")
        {'n = 3, t = 5, seed 0': 1.0}
    """
    by_problem: dict[str, dict[str, ScaleRecord]] = {}
    for record in records:
        name = f"n = {record.nodes}, t = {record.observations}, seed {record.seed}"
        by_problem.setdefault(name, {})[record.method] = record
    return {
        name: found[of].cpu_seconds / found[to].cpu_seconds
        for name, found in by_problem.items()
        if of in found and to in found
    }
