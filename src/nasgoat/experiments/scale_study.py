"""How the optimisers scale: seconds, gap and model size against the number of nodes.

The problems are those of ``nasgoat solve``: n nodes, at most n + 2 edges, three operations, random
observations. Every method gets the same problem; ratios between methods are read off one run. On a
busy machine read the seconds of processor time, not those of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, ClassVar

from nasgoat.acquisition import AcquisitionOptimizer, Pool, random_problem
from nasgoat.errors import SettingError
from nasgoat.experiments.optimizers import check_optimizer, timed_optimizer
from nasgoat.experiments.study import (
    Record,
    Run,
    check_least,
    check_names,
    run_id,
    versions,
)
from nasgoat.kernels import FORMS
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

    def to_dict(self) -> Record:
        """A JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True)
class ScaleStudy:
    """What to measure.

    Args:
        methods: ``scip/compact``, ``scip/paper``, ``gurobi/compact`` or the name of an optimiser.
        nodes: Numbers of nodes.
        observations: Numbers t of observations.
        kernels: Forms of the kernel.
        top: How many best graphs.
        seeds: Seeds of the problems.
        time_limit: Seconds at most for each solve.
        gap: Relative gap that counts as optimal.

    Example:
        >>> study = ScaleStudy(methods=("catalogue",), nodes=(3, 4), observations=(5,), top=1)
        >>> [(r.nodes, r.status, r.gap) for r in study.records()]
        [(3, 'optimal', 0.0), (4, 'optimal', 0.0)]
    """

    methods: Sequence[str] = ("scip/compact",)
    nodes: Sequence[int] = (5, 6, 7)
    observations: Sequence[int] = (50,)
    kernels: Sequence[str] = ("linear",)
    top: int = 5
    seeds: Sequence[int] = (0,)
    time_limit: float = 600.0
    gap: float = 1e-4

    kind: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        check_names("kernels", self.kernels, FORMS)
        for method in self.methods:
            check_optimizer(method, "methods")
        check_least({"nodes": min(self.nodes, default=0)}, 2)
        check_least({"observations": min(self.observations, default=0)}, 1)
        check_least({"seeds": min(self.seeds, default=0)}, 0)
        for key in ("top", "time_limit", "gap"):
            if not (value := getattr(self, key)) > 0:
                raise SettingError(f"{key} must be positive, got {value}")

    def runs(self) -> list[Run]:
        """The smallest problems first; every method on a problem before the next one."""
        found = []
        for kernel, n, t, seed, method in product(
            self.kernels, self.nodes, self.observations, self.seeds, self.methods
        ):
            settings = {
                "method": method, "nodes": n, "observations": t, "kernel": kernel, "top": self.top,
                "seed": seed, "time_limit": self.time_limit, "gap": self.gap,
            }  # fmt: skip
            found.append(Run(run_id(kernel, f"n{n}", f"t{t}", method, f"seed{seed}"), settings))
        return found

    def left_out(self) -> list[str]:
        """Nothing: a solver that is missing says so in its run."""
        return []

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def records(self) -> Iterable[ScaleRecord]:
        """Measure now, in this process, and keep nothing."""
        return (_measure(run.settings) for run in self.runs())


def execute(settings: Mapping[str, Any]) -> list[Record]:
    """One run: one line, nothing beyond it."""
    return [{**_measure(settings).to_dict(), "versions": versions()}]


def _measure(settings: Mapping[str, Any]) -> ScaleRecord:
    n, kernel = settings["nodes"], settings["kernel"]
    space = NodeLabeledSpace(nodes=(n, n), ops=OPERATIONS, max_edges=n + EDGES_MORE)
    problem = random_problem(space, settings["observations"], kernel, seed=settings["seed"])
    limits = {"seconds": settings["time_limit"], "gap": settings["gap"]}
    optimizer = timed_optimizer(settings["method"], space, kernel, **limits)
    start = time.process_time()
    pool = optimizer.optimize(problem.acquisition, settings["top"], problem.observed)
    return _make_record(settings, pool, optimizer, time.process_time() - start)


def _make_record(
    settings: Mapping[str, Any], pool: Pool, optimizer: AcquisitionOptimizer, used: float
) -> ScaleRecord:
    # The last proposal carries the bound on everything outside the pool.
    certificate = pool[-1].certificate if len(pool) else pool.certificate
    names = ("method", "nodes", "observations", "kernel", "top", "seed")
    record = ScaleRecord(
        **{name: settings[name] for name in names},
        status=str(certificate.status),
        value=pool.certificate.value,
        bound=certificate.bound,
        gap=certificate.gap,
        seconds=pool.certificate.seconds,
        cpu_seconds=used,
    )
    answer = getattr(optimizer, "last_", None)
    report = None if answer is None else answer.reports.get(settings["nodes"])
    if report is None:
        return record
    return replace(
        record,
        build_seconds=report.build_seconds,
        variables=report.variables,
        constraints=report.constraints,
        tree_nodes=report.nodes,
    )
