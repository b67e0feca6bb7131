"""Gurobi, where a licence admits the model: the paper's own solver, with its solution pool.

``PoolSearchMode=2`` asks for the best solutions. The pool counts every topological order of a graph
as a solution of its own, and does not know what is excluded; so it is widened until the judge has
its k graphs and the worst solution of the pool is beyond the cut-off, or nothing is left.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations import TaggedModel
from nasgoat.solvers import Report, SolverError, SolverMissingError, SolveStatus, SolveTask
from nasgoat.solvers.model_rows import read_row, read_variable

_FIRST_POOL = 16
_LARGEST_POOL = 4096


def solve(task: SolveTask) -> Report:
    """Search for points below the judge's cut-off.

    Raises:
        SolverMissingError: If gurobipy is missing or its licence refuses the model.
    """
    gurobi = _import_gurobipy()
    start = time.perf_counter()
    try:
        model, by_name = _build_model(gurobi, task.rows)
        built = time.perf_counter() - start
        chosen = {name: by_name[name] for name in task.decisions}
        report = _widen_pool(gurobi, model, chosen, task, start)
        return replace(
            report,
            seconds=time.perf_counter() - start,
            variables=model.NumVars,
            constraints=model.NumConstrs + model.NumQConstrs,
            build_seconds=built,
        )
    except gurobi.GurobiError as problem:
        if "size-limited" in str(problem) or "licen" in str(problem).lower():
            raise SolverMissingError(
                f"Gurobi's licence must admit the model, got {problem}; use --optimizer scip"
            ) from None
        raise SolverError(f"Gurobi must not fail, got {problem}") from None


def _import_gurobipy() -> Any:
    try:
        import gurobipy
    except ImportError:
        raise SolverMissingError(
            "gurobipy must be installed for Gurobi; pip install 'nasgoat[gurobi]', or use scip"
        ) from None
    return gurobipy


def _widen_pool(
    gurobi: Any, model: Any, chosen: dict[str, Any], task: SolveTask, start: float
) -> Report:
    """Solve with larger and larger pools until the judge needs no more."""
    size, nodes, judge, limits = _FIRST_POOL, 0, task.judge, task.limits
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
            status = SolveStatus.COMPLETE if complete else SolveStatus.STOPPED
            return Report(status, bound, nodes=nodes)
        size *= 4


def _build_model(gurobi: Any, rows: TaggedModel) -> tuple[Any, dict[str, Any]]:
    environment = gurobi.Env(params={"OutputFlag": 0})
    model = gurobi.Model(env=environment)
    of, by_name = {}, {}
    for var in rows.list_variables():
        name, kind, lower, upper = read_variable(var)
        lower, upper = -math.inf if lower is None else lower, math.inf if upper is None else upper
        of[id(var)] = by_name[name] = model.addVar(lower, upper, vtype=kind, name=name)
    for constraint in rows.list_constraints():
        row = read_row(constraint)
        if row.body.nonlinear is not None:
            raise SolverMissingError(
                "the exponential kernel must be solved with SCIP here, got gurobi; "
                "use --optimizer scip"
            )
        coefficients, variables = [c for c, _ in row.body.linear], [x for _, x in row.body.linear]
        body = row.body.constant + gurobi.LinExpr(coefficients, [of[id(x)] for x in variables])
        for c, x, y in row.body.quadratic:
            body = body + c * of[id(x)] * of[id(y)]
        model.addConstr(row.compare(body), name=row.name)
    for objective in rows.pyomo.component_data_objects(pyo.Objective):
        model.setObjective(of[id(objective.expr)], gurobi.GRB.MINIMIZE)
    return model, by_name
