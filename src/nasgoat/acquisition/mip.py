"""Acquisition optimisation as the paper does it: a mixed-integer program for each number of nodes.

Sizes are solved one after the other; what one finds is the cut-off of the next, and all fill one
pool of the k best graphs. The work happens in a child process with a time and a memory limit.
"""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from nasgoat.acquisition.best_graphs import BestGraphs, ModelJudge
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.local_search import descend
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Proposal, Status
from nasgoat.errors import NasgoatError, SettingError, TooLargeError, UnknownNameError
from nasgoat.formulations import FORMULATIONS, AcquisitionModel, formulate
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import Limits, Outcome, Report, SolverError, SolverMissingError
from nasgoat.solvers.child_process import ChildProcess, Message
from nasgoat.spaces import GraphSpace, SearchSpace
from nasgoat.surrogate.posterior import of_paper_kernel

logger = logging.getLogger(__name__)

SOLVERS = ("scip", "gurobi")
#: Largest difference between a model's value of a graph and the surrogate's: rounding of sums of
#: about a hundred products, with room for an ill-conditioned kernel matrix.
RESCORE_TOLERANCE = 1e-5
#: A graph scored alone and in a batch differs by the order of sums: about 1e-14, or 1e-10 if the
#: kernel matrix is ill-conditioned. Two values this close are one value.
SCORE_ROUNDING = 1e-9
_GRACE = 20.0  # seconds that a solver may overrun its limit before its process is killed
_WARM_SHARE = 0.1  # of the time limit that may go by before the tree starts
_WARM_SECONDS = 3.0  # for branch and bound to find the first graphs
Send = Callable[[Message], None]


@dataclass(frozen=True)
class MipProblem:
    """Everything the child process needs."""

    space: SearchSpace
    acquisition: LowerConfidenceBound
    k: int
    exclude: frozenset[bytes]
    solver: str
    formulation: str
    limits: Limits
    start: tuple[LabeledGraph, ...] = ()
    seed: int = 0


@dataclass
class MipAnswer:
    """What is known so far: graphs, and a report for each size that was worked on."""

    graphs: list[LabeledGraph] = field(default_factory=list)
    reports: dict[int, Report] = field(default_factory=dict)

    @property
    def bound(self) -> float:
        """What every graph outside the pool is worth at least."""
        return min((report.bound for report in self.reports.values()), default=-math.inf)


class MipOptimizer:
    """The k best graphs by mixed-integer programming, with the bound that was proven.

    Args:
        space: The space to optimise over.
        progress: Called with a line of text now and then.
        solver: ``"scip"`` or ``"gurobi"``.
        formulation: ``"compact"`` or ``"paper"``.
        limits: Time, gap, threads, memory and nodes.
        child: Whether to solve in a child process that can be stopped.
        seed: Seed of the local search that finds the first graphs.
        independent: Begin from local search alone. Otherwise a few seconds of branch and bound
            give the first graphs where it applies; the proof is the solver's either way.

    Example:
        >>> from nasgoat import EdgeLabeledSpace, GraphGP
        >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> cells = space.sample(5, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [1.0 + len(cell.edges) for cell in cells])
        >>> pool = MipOptimizer(space, child=False).optimize(LowerConfidenceBound().given(gp), k=2)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap <= 1e-4
        (2, 'optimal', True)
    """

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        solver: str = "scip",
        formulation: str = "compact",
        limits: Limits | None = None,
        child: bool = True,
        seed: int = 0,
        independent: bool = False,
    ) -> None:
        if solver not in SOLVERS:
            raise UnknownNameError("solver", solver, SOLVERS)
        if formulation not in FORMULATIONS:
            raise UnknownNameError("formulation", formulation, FORMULATIONS)
        self.space = space
        self.progress = progress
        self.name = solver
        self.formulation = formulation
        self.limits = limits or Limits()
        self.seed = seed
        seconds = min(_WARM_SECONDS, _WARM_SHARE * self.limits.seconds)
        self._first = None if independent else BranchAndBound(space, time_limit=seconds)
        self.last_: MipAnswer = MipAnswer()
        self._child = ChildProcess(self.limits.memory_mb) if child else None

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded; status and bound say what is proven."""
        if k < 1:
            raise SettingError(f"the number of proposals must be at least 1, got {k}")
        of_paper_kernel(acquisition.gp.posterior_)  # said here, not by a process that dies of it
        start = time.perf_counter()
        problem = MipProblem(
            self.space,
            acquisition,
            k,
            frozenset(exclude),
            self.name,
            self.formulation,
            self.limits,
            self._first_graphs(acquisition, k, exclude),
            self.seed,
        )
        answer = MipAnswer()
        try:
            self._work(problem, answer)
        except SolverError as failure:
            # The graphs found so far stand, without a proof (reliability: fall back, say so).
            logger.warning("%s; going on with the best graphs found so far", failure)
            answer.reports.clear()
        self.last_ = answer
        pool = BestGraphs(self.space, acquisition, k, exclude, self.limits.gap)
        if not answer.graphs:
            descend(pool, np.random.default_rng(self.seed))
        pool.add(answer.graphs)
        return _certified(pool, answer, self.limits.gap, time.perf_counter() - start)

    def _first_graphs(
        self, acquisition: LowerConfidenceBound, k: int, exclude: Collection[bytes]
    ) -> tuple[LabeledGraph, ...]:
        if self._first is None or isinstance(self.space, GraphSpace):
            return ()
        try:
            return tuple(
                proposal.graph for proposal in self._first.optimize(acquisition, k, exclude)
            )
        except (SettingError, TooLargeError) as refusal:
            logger.debug("no first graphs by branch and bound: %s", refusal)
            return ()

    def _work(self, problem: MipProblem, answer: MipAnswer) -> None:
        def take(message: Message) -> None:
            kind, content = message
            if kind == "better":
                answer.graphs.append(content)
            elif kind == "size":
                answer.reports[content[0]] = content[1]
            elif kind == "fault":
                raise ModelError(content)
            elif kind == "missing":
                raise SolverMissingError(content)
            elif kind == "progress" and self.progress is not None:
                self.progress(content)

        if self._child is None:
            solve_sizes(problem, take)
            return
        seconds = problem.limits.seconds + _GRACE
        for message in self._child.run(solve_sizes, (problem,), seconds):
            take(message)


def solve_sizes(problem: MipProblem, send: Send) -> None:
    """Solve one model per number of nodes; tell every better graph and every size's report."""
    try:
        _solve_sizes(problem, send)
    except ModelError as problem_of_ours:
        send(("fault", str(problem_of_ours)))
    except SolverMissingError as missing:
        send(("missing", str(missing)))


def _solve_sizes(problem: MipProblem, send: Send) -> None:
    start = time.monotonic()
    limits = problem.limits
    pool = BestGraphs(problem.space, problem.acquisition, problem.k, problem.exclude, limits.gap)
    pool.on_better = lambda graph, _: send(("better", graph))
    pool.add(problem.start)
    if len(pool.best) < problem.k:
        descend(pool, np.random.default_rng(problem.seed), seconds=_WARM_SHARE * limits.seconds)
    for n in reversed(problem.space.sizes):
        left = limits.seconds - (time.monotonic() - start)
        if left <= 0:
            send(("size", (n, _unproven())))
            continue
        began = time.perf_counter()
        model = formulate(problem.space, problem.acquisition, problem.formulation, n, symmetry=True)
        check_model(model, [graph for _, graph in pool.best if graph.n == n], problem.acquisition)
        built = time.perf_counter() - began
        send(("progress", f"{n} nodes: {model.variables} variables, {model.constraints} rows"))
        report = _search(problem.solver, model, pool, replace(limits, seconds=left), send)
        report = replace(
            report,
            seconds=time.perf_counter() - began,
            build_seconds=report.build_seconds + built,
        )
        send(("size", (n, report)))


def _search(
    solver: str, model: AcquisitionModel, pool: BestGraphs, limits: Limits, send: Send
) -> Report:
    judge = ModelJudge(model, pool)

    def tell(line: str) -> None:
        send(("progress", f"{model.n} nodes: {line}"))

    if solver == "gurobi":
        from nasgoat.solvers.gurobi import search_with_gurobi

        return search_with_gurobi(model.rows, model.decisions(), judge, limits, tell)
    from nasgoat.solvers.scip import search_with_scip

    return search_with_scip(model.rows, model.decisions(), judge, limits, tell)


def check_model(
    model: AcquisitionModel, graphs: Collection[LabeledGraph], acquisition: LowerConfidenceBound
) -> None:
    """Every known graph must be feasible in the model, with the surrogate's value.

    Raises:
        SolverError: If not; the model is then exported, and the message names the file.
    """
    for graph in graphs:
        values = model.encode(graph)
        violated = model.rows.violations(values, RESCORE_TOLERANCE)
        expected = float(acquisition.score([graph])[0])
        if violated or abs(values["lcb"] - expected) > RESCORE_TOLERANCE * max(1.0, abs(expected)):
            found = violated[0] if violated else f"value {values['lcb']} instead of {expected}"
            raise ModelError(
                f"the {model.formulation} model must hold the known graph {graph}, "
                f"got {found}; see {_exported(model)}"
            )


class ModelError(NasgoatError, RuntimeError):
    """A model contradicts the surrogate: a fault of ours that must not pass in silence."""


def _exported(model: AcquisitionModel) -> Path:
    from nasgoat.solvers.scip_model import export

    linear = model.rows.pyomo.component("(exponential)K_xx") is None
    folder = Path(tempfile.mkdtemp(prefix="nasgoat-"))
    return export(model.rows, folder / ("model.lp" if linear else "model.cip"))


def _unproven() -> Report:
    return Report(Outcome.STOPPED, -math.inf, 0.0, 0, 0, 0)


def _certified(pool: BestGraphs, answer: MipAnswer, gap: float, seconds: float) -> Pool:
    """Proposals with what the reports prove about each."""
    complete = bool(answer.reports) and all(
        report.outcome is Outcome.COMPLETE for report in answer.reports.values()
    )
    bound = answer.bound
    proposals = []
    for value, graph in pool.best:
        certificate = _certificate(value, bound, gap, seconds)
        mean, std = (float(x[0]) for x in pool.acquisition.gp.predict([graph]))
        proposals.append(Proposal(graph, certificate, mean, std))
    if not proposals:
        status = Status.EXHAUSTED if complete else Status.HEURISTIC
        return Pool((), Certificate(status, seconds=seconds))
    return Pool(tuple(proposals), proposals[0].certificate)


def _certificate(value: float, bound: float, gap: float, seconds: float) -> Certificate:
    if bound <= -1e19:  # SCIP's infinity is 1e20
        return Certificate(Status.HEURISTIC, value, None, seconds)
    lower = min(value, bound)
    close = value - lower <= gap * abs(value) + SCORE_ROUNDING * max(1.0, abs(value))
    return Certificate(Status.OPTIMAL if close else Status.FEASIBLE, value, lower, seconds)
