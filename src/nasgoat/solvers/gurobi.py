"""Gurobi, where a licence admits the model: the paper's own solver, with its solution pool.

``PoolSearchMode=2`` asks for the best solutions. The pool counts every topological order of a graph
as a solution of its own, and does not know what is excluded; so it is widened until the judge has
its k graphs and the worst solution of the pool is beyond the cut-off, or nothing is left.
"""

from __future__ import annotations

import math
import time
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from nasgoat.formulations import TaggedModel, entry_name
from nasgoat.solvers.limits import (
    Judge,
    Limits,
    Outcome,
    Progress,
    Report,
    SolverError,
    SolverMissingError,
)

_FIRST_POOL = 16
_LARGEST_POOL = 4096


def search_with_gurobi(
    rows: TaggedModel,
    decisions: list[str],
    judge: Judge,
    limits: Limits,
    progress: Progress | None = None,
) -> Report:
    """Search for points below the judge's cut-off; see :func:`~nasgoat.solvers.scip`.

    Raises:
        SolverMissingError: If gurobipy is missing or its licence refuses the model.
    """
    gurobi = _gurobipy()
    start = time.perf_counter()
    try:
        model, by_name = _gurobi_model(gurobi, rows)
        built = time.perf_counter() - start
        return _widening(
            gurobi,
            model,
            {name: by_name[name] for name in decisions},
            judge,
            limits,
            rows,
            start,
            built,
        )
    except gurobi.GurobiError as problem:
        if "size-limited" in str(problem) or "licen" in str(problem).lower():
            raise SolverMissingError(
                f"Gurobi's licence must admit the model, got {problem}; use --optimizer scip"
            ) from None
        raise SolverError(f"Gurobi must not fail, got {problem}") from None


def _gurobipy() -> Any:
    try:
        import gurobipy
    except ImportError:
        raise SolverMissingError(
            "gurobipy must be installed for Gurobi; pip install 'nasgoat[gurobi]', or use scip"
        ) from None
    return gurobipy


def _widening(
    gurobi: Any,
    model: Any,
    chosen: dict[str, Any],
    judge: Judge,
    limits: Limits,
    rows: TaggedModel,
    start: float,
    built: float,
) -> Report:
    """Solve with larger and larger pools until the judge needs no more."""
    size, nodes = _FIRST_POOL, 0
    model.Params.PoolSearchMode = 2
    model.Params.Threads = limits.threads
    model.Params.MIPGap = limits.gap / 2
    model.Params.PoolGap = math.inf
    model.Params.FeasibilityTol = 1e-9
    model.Params.IntFeasTol = 1e-9
    while True:
        model.Params.PoolSolutions = size
        model.Params.TimeLimit = max(limits.seconds - (time.perf_counter() - start), 0.01)
        model.optimize()
        nodes += int(model.NodeCount)
        worst = -math.inf
        for i in range(model.SolCount):
            model.Params.SolutionNumber = i
            worst = max(worst, float(model.PoolObjVal))
            judge.consider({name: var.Xn for name, var in chosen.items()})
        ended = model.Status in (gurobi.GRB.OPTIMAL, gurobi.GRB.INFEASIBLE)
        enough = model.SolCount < size or worst > judge.cutoff
        if not ended or enough or size >= _LARGEST_POOL:
            complete = ended and enough
            bound = judge.cutoff if complete else min(float(model.PoolObjBound), judge.cutoff)
            return Report(
                Outcome.COMPLETE if complete else Outcome.STOPPED,
                bound,
                time.perf_counter() - start,
                nodes,
                sum(1 for _ in rows.variables()),
                sum(1 for _ in rows.constraints()),
                built,
            )
        size *= 4


def _gurobi_model(gurobi: Any, rows: TaggedModel) -> tuple[Any, dict[str, Any]]:
    environment = gurobi.Env(params={"OutputFlag": 0})
    model = gurobi.Model(env=environment)
    by_id, by_name = {}, {}
    for var in rows.variables():
        kind = "C" if var.is_continuous() else ("B" if var.is_binary() else "I")
        lower = -math.inf if var.lb is None else var.lb
        upper = math.inf if var.ub is None else var.ub
        name = entry_name(var)
        by_id[id(var)] = by_name[name] = model.addVar(lower, upper, vtype=kind, name=name)
    for row in rows.constraints():
        parts = generate_standard_repn(row.body, quadratic=True)
        if parts.nonlinear_expr is not None:
            raise SolverMissingError(
                "the exponential kernel must be solved with SCIP here, got gurobi; "
                "use --optimizer scip"
            )
        body = parts.constant + gurobi.LinExpr(
            list(parts.linear_coefs), [by_id[id(x)] for x in parts.linear_vars]
        )
        for c, (x, y) in zip(parts.quadratic_coefs or (), parts.quadratic_vars or (), strict=True):
            body = body + c * by_id[id(x)] * by_id[id(y)]
        _add_row(gurobi, model, row, body)
    for objective in rows.pyomo.component_data_objects(pyo.Objective):
        model.setObjective(by_id[id(objective.expr)], gurobi.GRB.MINIMIZE)
    return model, by_name


def _add_row(gurobi: Any, model: Any, row: Any, body: Any) -> None:
    lower, upper, name = pyo.value(row.lower), pyo.value(row.upper), entry_name(row)
    if lower is not None and lower == upper:
        model.addConstr(body == lower, name=name)
    elif upper is not None:
        model.addConstr(body <= upper, name=name)
    else:
        model.addConstr(body >= lower, name=name)
