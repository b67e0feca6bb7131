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
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from nasgoat.acquisition.best_graphs import ModelJudge
from nasgoat.acquisition.k_best import KBest, descend
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.child_process import Message
from nasgoat.errors import NasgoatError
from nasgoat.formulations import AcquisitionModel, formulate
from nasgoat.formulations.building import uncollected
from nasgoat.formulations.listed import Listed
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import Report, SolveLimits, SolverMissingError, SolveStatus
from nasgoat.spaces import SearchSpace

#: Largest difference between a model's value of a graph and the surrogate's: rounding of sums of
#: about a hundred products, with room for an ill-conditioned kernel matrix.
RESCORE_TOLERANCE = 1e-5
WARM_SHARE = 0.1  # of the time limit that may go by before the tree starts
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
    limits: SolveLimits
    start: tuple[LabeledGraph, ...] = ()
    seed: int = 0
    listed: Mapping[int, Listed] = field(default_factory=dict)  # by number of nodes, where known


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
    pool = KBest(
        problem.space,
        problem.acquisition,
        problem.k,
        problem.exclude,
        limits.gap,
        on_better=lambda graph, _: send(("better", graph)),
    )
    pool.add(problem.start)
    if len(pool.found) < problem.k:
        descend(pool, np.random.default_rng(problem.seed), seconds=WARM_SHARE * limits.seconds)
    for n in reversed(problem.space.sizes):
        left = limits.seconds - (time.monotonic() - start)
        if left <= 0:
            send(("size", (n, _unproven())))
            continue
        began, listed = time.perf_counter(), problem.listed.get(n)
        if listed is not None and not listed.allowed:
            send(("size", (n, Report(SolveStatus.COMPLETE, pool.cutoff))))
            continue
        with uncollected():
            model = formulate(
                problem.space,
                problem.acquisition,
                problem.formulation,
                n,
                symmetry=True,
                listed=listed,
            )
        built = time.perf_counter() - began
        # A list of structures need not hold graphs that are not below the cut-off.
        below = math.inf if listed is None else pool.cutoff
        known = [best.graph for best in pool.found if best.graph.n == n and best.value < below]
        check_model(model, known, problem.acquisition)
        send(("progress", f"{n} nodes: {model.variables} variables, {model.constraints} rows"))
        report = _search(problem.solver, model, pool, replace(limits, seconds=left), send)
        report = replace(
            report,
            seconds=time.perf_counter() - began,
            build_seconds=report.build_seconds + built,
        )
        send(("size", (n, report)))


def _search(
    solver: str, model: AcquisitionModel, pool: KBest, limits: SolveLimits, send: Send
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
    return Report(SolveStatus.STOPPED, -math.inf)
