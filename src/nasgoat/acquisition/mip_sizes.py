"""One mixed-integer program for each number of nodes, solved one after the other.

This is what the child process of :class:`~nasgoat.acquisition.mip.MipOptimizer` does. What one size
finds is the cut-off of the next, and every known graph must be feasible in the model, with the
surrogate's value, before a solver sees it.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

import numpy as np

from nasgoat.acquisition.costs import LARGEST_PROGRAM, measure_program
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.local_search import descend
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.acquisition.part_sums import Sieve
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.child_process import Message
from nasgoat.errors import GraphError, ModelError, SpaceError
from nasgoat.formulations import AcquisitionModel, formulate
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.formulations.tagged_model import pause_garbage_collection
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import (
    Point,
    Report,
    SolveLimits,
    SolverMissingError,
    SolveStatus,
    SolveTask,
    solve,
)
from nasgoat.spaces import SearchSpace

#: Largest difference between a model's value of a graph and the surrogate's: rounding of sums of
#: about a hundred products, with room for an ill-conditioned kernel matrix.
RESCORE_TOLERANCE = 1e-5
#: A graph scored alone and in a batch differs by the order of sums: about 1e-14, or 1e-10 if the
#: kernel matrix is ill-conditioned. Two values this close are one value.
SCORE_ROUNDING = 1e-9
WARM_SHARE = 0.1  # of the time limit that may go by before the tree starts
_ORDERS = 400  # topological orders of a graph that are cut off at once; others when they turn up
Send = Callable[[Message], None]


@dataclass(frozen=True)
class MipProblem:
    """Everything the child process needs.

    Args:
        space: The space.
        acquisition: What is minimised.
        k: How many graphs are asked for.
        exclude: Keys of graphs that are not wanted.
        solver: ``"scip"`` or ``"gurobi"``.
        formulation: ``"compact"`` or ``"paper"``.
        limits: When to stop.
        start: Graphs that are known to be good.
        seed: Seed of the local search that looks for more of them.
        columns: For each number of nodes, where known, the structures that are worth holding.
        sieve: If given, every graph that it does not dismiss is looked for, and it keeps the best.
    """

    space: SearchSpace
    acquisition: LinearAcquisition
    k: int
    exclude: frozenset[bytes]
    solver: str
    formulation: str
    limits: SolveLimits
    start: tuple[LabeledGraph, ...] = ()
    seed: int = 0
    columns: Mapping[int, StructureColumns] = field(default_factory=dict)
    sieve: Sieve | None = None


@dataclass
class MipAnswer:
    """What is known so far: graphs, and a report for each size that was worked on."""

    graphs: list[LabeledGraph] = field(default_factory=list)
    reports: dict[int, Report] = field(default_factory=dict)

    @property
    def bound(self) -> float:
        """A lower bound on the acquisition value of every graph outside the pool."""
        return min((report.bound for report in self.reports.values()), default=-math.inf)

    @property
    def complete(self) -> bool:
        """Whether every size that was worked on was searched to its end."""
        found = {report.status for report in self.reports.values()}
        return found == {SolveStatus.COMPLETE}

    def take(self, message: Message, progress: Callable[[str], None] | None = None) -> None:
        """Record a message of :func:`solve_sizes`.

        Raises:
            ModelError: If a model contradicts the surrogate.
            SolverMissingError: If the solver is missing.
        """
        kind, content = message
        if kind == "better":
            self.graphs.append(content)
        elif kind == "size":
            self.reports[content[0]] = content[1]
        elif kind == "fault":
            raise ModelError(content)
        elif kind == "missing":
            raise SolverMissingError(content)
        elif kind == "progress" and progress is not None:
            progress(content)

    def certify(self, best: KBest, seconds: float) -> Pool:
        """The best graphs as proposals, with what the reports prove about each."""
        bound, status = self.bound, Status.EXHAUSTED if self.complete else Status.HEURISTIC

        def certify_value(value: float) -> Certificate:
            if bound <= -1e19:  # SCIP's infinity is 1e20
                return Certificate(Status.HEURISTIC, value, None, seconds)
            lower, rounding = min(value, bound), SCORE_ROUNDING * max(1.0, abs(value))
            close = value - lower <= best.gap * abs(value) + rounding
            return Certificate(Status.OPTIMAL if close else Status.FEASIBLE, value, lower, seconds)

        return best.pool(certify_value, Certificate(status, seconds=seconds))


def load_solver(name: str) -> None:
    """Import a solver, for the child process to be ready; one that is missing says so later."""
    with suppress(ImportError):
        import_module(f"nasgoat.solvers.{name}")


def solve_sizes(problem: MipProblem, send: Send) -> None:
    """Solve one model for each number of nodes; send each better graph and a report per size."""
    try:
        _solve_sizes(problem, send)
    except ModelError as problem_of_ours:
        send(("fault", str(problem_of_ours)))
    except SolverMissingError as missing:
        send(("missing", str(missing)))


def _solve_sizes(problem: MipProblem, send: Send) -> None:
    start, limits = time.monotonic(), problem.limits
    pool = _make_pool(problem, send)
    pool.add(problem.start)
    if isinstance(pool, KBest) and len(pool.found) < problem.k:
        with suppress(SpaceError):  # none within the limits, or none found: the programs will say
            descend(pool, np.random.default_rng(problem.seed), seconds=WARM_SHARE * limits.seconds)
    for n in reversed(problem.space.sizes):
        left = limits.seconds - (time.monotonic() - start)
        if left > 0 and measure_program(problem.space, n) <= LARGEST_PROGRAM:
            report = _solve_size(problem, n, pool, replace(limits, seconds=left), send)
        else:
            report = Report(SolveStatus.STOPPED, -math.inf)
        send(("size", (n, report)))


def _make_pool(problem: MipProblem, send: Send) -> KBest | Sieve:
    """What keeps the best graphs, and sends each that it keeps."""
    pool: KBest | Sieve | None = problem.sieve
    if pool is None:
        asked = problem.space, problem.acquisition, problem.k, problem.exclude
        pool = KBest(*asked, problem.limits.gap)
    best = pool if isinstance(pool, KBest) else pool.best
    best.on_better = lambda graph, _: send(("better", graph))
    return pool


def _solve_size(
    problem: MipProblem, n: int, pool: KBest | Sieve, limits: SolveLimits, send: Send
) -> Report:
    """Build, check and solve the model of n nodes."""
    start, columns = time.perf_counter(), problem.columns.get(n)
    if columns is not None and not columns.allowed:
        return Report(SolveStatus.COMPLETE, pool.cutoff)
    asked = (problem.space, problem.acquisition, problem.formulation, n)
    with pause_garbage_collection():
        model = formulate(*asked, symmetry=True, columns=columns)
    built = time.perf_counter() - start
    # A list of structures need not hold graphs that are not below the cut-off.
    below = math.inf if columns is None else pool.cutoff
    known = [best.graph for best in pool.found if best.graph.n == n and best.value < below]
    # A sieve keeps the best of a wider space, and the limits of this one may leave them out.
    known = [graph for graph in known if problem.space.within_limits([graph])[0]]
    check_model(model, known, problem.acquisition)

    def tell(line: str) -> None:
        send(("progress", f"{n} nodes: {line}"))

    tell(f"{model.variables} variables, {model.constraints} rows")
    judge = ModelJudge(model, pool)
    task = SolveTask(
        rows=model.rows, decisions=model.list_decisions(), judge=judge, limits=limits, progress=tell
    )
    report = solve(problem.solver, task)
    seconds, built = time.perf_counter() - start, built + report.build_seconds
    return replace(report, seconds=seconds, build_seconds=built)


class ModelJudge:
    """Turns the points of one model into graphs, scores them, and says what to cut off."""

    def __init__(self, model: AcquisitionModel, pool: KBest | Sieve) -> None:
        self.model = model
        self.pool = pool

    @property
    def cutoff(self) -> float:
        """See :class:`KBest`."""
        return self.pool.cutoff

    def consider(self, values: Mapping[str, float]) -> list[Point]:
        """Score the graph of a point; cut it off under (nearly) all its topological orders."""
        try:
            graph = self.model.decode(values)
        except GraphError:
            # SCIP also asks about points that break rows (checks come before them, and its LP may
            # lack some for a while): such a point is no graph, and those rows deal with it.
            return []
        # A point may exceed a limit within the solver's tolerance: it is cut off, not kept.
        if self.model.space.within_limits([graph])[0]:
            self.pool.add([graph])
        names = self.model.space.names(self.model.n)  # its own point first, then other orders
        return [Point(*names.encode(g)) for g in names.list_orders(graph, _ORDERS)]


def check_model(
    model: AcquisitionModel, graphs: Collection[LabeledGraph], acquisition: LinearAcquisition
) -> None:
    """Every known graph must be feasible in the model, with the surrogate's value.

    Raises:
        ModelError: If not; the model is then exported, and the message names the file.
    """
    for graph in graphs:
        values = model.encode(graph)
        violated = model.rows.list_violations(values, RESCORE_TOLERANCE)
        expected = float(acquisition.score([graph])[0])
        if violated or abs(values["lcb"] - expected) > RESCORE_TOLERANCE * max(1.0, abs(expected)):
            found = violated[0] if violated else f"value {values['lcb']} instead of {expected}"
            raise ModelError(
                f"the {model.formulation} model must hold the known graph {graph}, "
                f"got {found}; see {_export_model(model)}"
            )


def _export_model(model: AcquisitionModel) -> Path:
    from nasgoat.solvers.scip_model import export

    linear = model.rows.pyomo.component("(exponential)K_xx") is None
    folder = Path(tempfile.mkdtemp(prefix="nasgoat-"))
    return export(model.rows, folder / ("model.lp" if linear else "model.cip"))
