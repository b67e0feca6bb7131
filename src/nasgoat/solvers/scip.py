"""SCIP: one search tree for the k best points.

A constraint handler sits behind integrality. Each time A and F are integral it hands them to a
judge, which scores the graph exactly with the surrogate, keeps the k best, and names the points to
cut off: that graph under every topological order. The nonlinear rows only serve to bound; no value
of the solver ever becomes a value of a proposal, so its feasibility tolerance can't spoil one. The
objective's upper bound follows the k-th best value (in propagation and enforcement, never inside
a check). The tree is exhausted when nothing that was not considered can be better.

SCIP never accepts a solution, so its own gap and primal bound mean nothing here.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import Any

import pyscipopt
from pyscipopt import SCIP_RESULT

from nasgoat.formulations import TaggedModel
from nasgoat.solvers.limits import Judge, Limits, Outcome, Point, Progress, Report, SolverError
from nasgoat.solvers.scip_model import ScipModel

logger = logging.getLogger(__name__)

_INTEGRAL = 1e-6  # SCIP's own feasibility tolerance
_BLIND = 50  # of such points in all before the solve starts again, with care
_REPORT_EVERY = 2.0  # seconds between two lines of progress
_COMPLETE = ("infeasible", "optimal")
_STOPPED = (
    "timelimit",
    "memlimit",
    "nodelimit",
    "totalnodelimit",
    "userinterrupt",
    "stallnodelimit",
)


class _GraphHandler(pyscipopt.Conshdlr):
    """Hands integral decisions to the judge and keeps the objective below its cut-off."""

    def __init__(self, decisions: dict[str, Any], objective: Any, judge: Judge) -> None:
        self.decisions = decisions
        self.objective = objective
        self.judge = judge
        self.applied = float("inf")
        self.blind = 0  # points that no LP stood behind
        self.failure: Exception | None = None  # SCIP drops what a callback raises

    def constrans(self, sourceconstraint: Any) -> dict[str, Any]:
        return {}

    def conslock(self, constraint: Any, locktype: Any, up: int, down: int) -> None:
        for var in self.decisions.values():
            self.model.addVarLocks(var, up + down, up + down)

    def conscheck(self, constraints: Any, solution: Any, *_: Any) -> dict[str, Any]:
        values = self._values(solution)
        if values is not None:
            self._consider(values)
        return {"result": SCIP_RESULT.INFEASIBLE}

    def consenfolp(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool
    ) -> dict[str, Any]:
        return self._enforce()

    def consenfops(
        self, constraints: Any, nuseful: int, infeasible: bool, objinf: bool
    ) -> dict[str, Any]:
        # A pseudo-solution may break rows, so that it is no graph: only the LP knows them.
        result = self._enforce()
        if result["result"] != SCIP_RESULT.INFEASIBLE:
            return result
        self.blind += 1
        if self.blind > _BLIND:
            self.model.interruptSolve()
        return {"result": SCIP_RESULT.SOLVELP}

    def consprop(self, constraints: Any, nuseful: int, nmarked: int, timing: Any) -> dict[str, Any]:
        return {"result": SCIP_RESULT.REDUCEDDOM if self._tighten() else SCIP_RESULT.DIDNOTFIND}

    def _enforce(self) -> dict[str, Any]:
        values = self._values(None)
        if values is None:
            return {"result": SCIP_RESULT.INFEASIBLE}
        points = self._consider(values)
        self._tighten()
        for ones, zeros in points:
            differ = pyscipopt.quicksum(
                [1 - self.decisions[name] for name in ones]
                + [self.decisions[name] for name in zeros]
            )
            self.model.addCons(differ >= 1, removable=True)
        # No point to cut off: it broke rows of the model, and those will deal with it.
        return {"result": SCIP_RESULT.CONSADDED if points else SCIP_RESULT.INFEASIBLE}

    def _values(self, solution: Any) -> dict[str, float] | None:
        values = {name: self.model.getSolVal(solution, var) for name, var in self.decisions.items()}
        if any(abs(value - round(value)) > _INTEGRAL for value in values.values()):
            return None
        return values

    def _consider(self, values: dict[str, float]) -> list[Point]:
        try:
            return self.judge.consider(values)
        except Exception as problem:
            self.failure = problem
            self.model.interruptSolve()
            return []

    def _tighten(self) -> bool:
        cutoff = self.judge.cutoff
        if cutoff >= self.applied:
            return False
        self.applied = cutoff
        infeasible, tightened = self.model.tightenVarUbGlobal(self.objective, cutoff)
        return bool(infeasible or tightened)


class _ProgressEvents(pyscipopt.Eventhdlr):
    """Tells bound and nodes from time to time, and lets the caller stop the solve."""

    def __init__(self, progress: Progress, judge: Judge) -> None:
        self.progress = progress
        self.judge = judge
        self.last = time.monotonic()

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexit(self) -> None:
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        now = time.monotonic()
        if now - self.last >= _REPORT_EVERY:
            self.last = now
            bound, best = self.model.getDualbound(), self.judge.cutoff
            gap = max(best - bound, 0.0) / max(abs(best), 1e-9)
            self.progress(
                f"cut-off {best:.6g}  bound {bound:.6g}  gap {100 * gap:.2f} %  "
                f"nodes {self.model.getNTotalNodes()}"
            )


def search_with_scip(
    rows: TaggedModel,
    decisions: list[str],
    judge: Judge,
    limits: Limits,
    progress: Progress | None = None,
) -> Report:
    """Search the whole tree for points below the judge's cut-off.

    Args:
        rows: The model, with an objective that is the variable ``lcb``.
        decisions: Names of the binary variables that determine a point.
        judge: Scores points, keeps the best, and sets the cut-off.
        limits: When to stop.
        progress: Called with a line of text now and then.
    """
    start = time.perf_counter()
    report = None
    for careful in (False, True):
        left = limits.seconds - (time.perf_counter() - start)
        if left <= 0:
            break
        try:
            report = _solve(
                rows, decisions, judge, replace(limits, seconds=left), progress, careful
            )
            break
        except _NumericalTroubleError as trouble:
            logger.info("SCIP had numerical trouble (%s)%s", trouble, "" if careful else "; again")
    return report or Report(
        Outcome.STOPPED, -math.inf, time.perf_counter() - start, 0, *_size(rows)
    )


def _solve(
    rows: TaggedModel,
    decisions: list[str],
    judge: Judge,
    limits: Limits,
    progress: Progress | None,
    careful: bool,
) -> Report:
    start = time.perf_counter()
    model = ScipModel(rows)
    scip, objective = model.scip, model.by_name["lcb"]
    built = time.perf_counter() - start
    handler = _GraphHandler({name: model.by_name[name] for name in decisions}, objective, judge)
    scip.includeConshdlr(
        handler,
        "graphs",
        "judges integral graphs",
        enfopriority=-10,  # after integrality (0), before nonlinear rows (-60)
        chckpriority=10**6,  # before anything else: a check only takes note
        propfreq=1,
        eagerfreq=-1,
        needscons=True,
        maxprerounds=0,
    )
    scip.markDoNotMultaggrVar(objective)  # its bound must stay changeable
    scip.addPyCons(scip.createCons(handler, "graphs"))
    if progress is not None:
        scip.includeEventhdlr(_ProgressEvents(progress, judge), "progress", "reports progress")
    _settings(scip, limits)
    if careful:
        scip.setEmphasis(pyscipopt.SCIP_PARAMEMPHASIS.NUMERICS)
    if judge.cutoff < math.inf:
        scip.chgVarUb(objective, judge.cutoff)
        handler.applied = judge.cutoff
    try:
        scip.optimize()
    except Exception as problem:  # PySCIPOpt raises bare exceptions
        if handler.failure is None:
            raise _NumericalTroubleError(str(problem)) from None
    if handler.blind > _BLIND and handler.failure is None:
        raise _NumericalTroubleError("no LP could be solved")
    if handler.failure is not None:
        raise SolverError("a graph of the model must be in the space") from handler.failure
    return _report(scip, judge, time.perf_counter() - start, built, rows)


class _NumericalTroubleError(Exception):
    """SCIP gave up on a linear program."""


def _settings(scip: Any, limits: Limits) -> None:
    scip.setParam("limits/time", limits.seconds)
    scip.setParam("limits/memory", limits.memory_mb)
    scip.setParam("limits/totalnodes", limits.nodes)
    # The handler cuts points off one by one: reductions that keep only one optimum are unsound.
    scip.setParam("misc/allowweakdualreds", False)
    scip.setParam("misc/allowstrongdualreds", False)
    scip.setParam("misc/usesymmetry", 0)
    scip.setParam("presolving/maxrestarts", 0)
    # On cells of 6 and 7 nodes probing and general-purpose cuts cost more time than they
    # save (one problem each; docs/compact-formulation.md). Cuts for nonlinear rows stay on.
    scip.setParam("propagating/probing/maxprerounds", 0)
    scip.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    # Two thirds of the time went into strong branching: fewer iterations, no propagation.
    scip.setParam("branching/relpscost/inititer", 30)
    scip.setParam("branching/relpscost/maxproprounds", 0)
    # Good graphs are known from local search before the tree starts.
    scip.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)


def _report(scip: Any, judge: Judge, seconds: float, built: float, rows: TaggedModel) -> Report:
    status = scip.getStatus()
    if status not in (*_COMPLETE, *_STOPPED):
        raise SolverError(f"SCIP must end with a known status, got {status!r}")
    complete = status in _COMPLETE
    bound = judge.cutoff if complete else min(float(scip.getDualbound()), judge.cutoff)
    return Report(
        Outcome.COMPLETE if complete else Outcome.STOPPED,
        bound,
        seconds,
        int(scip.getNTotalNodes()),
        *_size(rows),
        built,
    )


def _size(rows: TaggedModel) -> tuple[int, int]:
    return sum(1 for _ in rows.variables()), sum(1 for _ in rows.constraints())
