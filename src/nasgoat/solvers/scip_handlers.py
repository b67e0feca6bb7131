"""Callbacks of SCIP: graphs go to the judge, the variance is bounded by tangents, progress is told.

The constraint handler sits behind integrality. Each time A and F are integral it hands them to a
judge, which scores the graph exactly with the surrogate, keeps the k best, and names the points to
cut off: that graph under every topological order. No value of the solver ever becomes a value of a
proposal, so its feasibility tolerance can't spoil one. The objective's upper bound follows the
k-th best value (in propagation and enforcement, never inside a check). At fractional points it
adds a tangent of the concave bound of σ: one row, where SCIP's own treatment of the convex row
needs dozens of auxiliary variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyscipopt
from pyscipopt import SCIP_RESULT

from nasgoat.solvers.interface import Judge, Point, Progress
from nasgoat.solvers.scip_cuts import LabelCuts, Tangents
from nasgoat.solvers.scip_model import ScipModel

_INTEGRAL = 1e-6  # SCIP's own feasibility tolerance
BLIND = 50  # points without an LP behind them, in all, before the solve starts again, with care
_REPORT_EVERY = 2.0  # seconds between two lines of progress


class GraphHandler(pyscipopt.Conshdlr):
    """Hands integral decisions to the judge and keeps the objective below its cut-off."""

    def __init__(self, model: ScipModel, decisions: list[str], judge: Judge) -> None:
        self.decisions = {name: model.by_name[name] for name in decisions}
        self.objective = model.by_name["lcb"]
        self.tangents = None if model.bound is None else Tangents(model, model.bound)
        self.labels = None if model.part is None else LabelCuts(model, model.part)
        self.judge = judge
        self.applied = float("inf")
        self.blind = 0  # points that no LP stood behind
        self.failure: Exception | None = None  # SCIP drops what a callback raises

    def constrans(self, sourceconstraint: Any) -> dict[str, Any]:
        return {}

    def conslock(self, constraint: Any, locktype: Any, up: int, down: int) -> None:
        bounded = [] if self.tangents is None else self.tangents.variables
        for var in (*self.decisions.values(), *bounded):
            self.model.addVarLocks(var, up + down, up + down)

    def conssepalp(self, constraints: Any, nusefulconss: int) -> dict[str, Any]:
        added = self.tangents is not None and self.tangents.separate(self.model)
        added |= self.labels is not None and self.labels.separate(self.model)
        return {"result": SCIP_RESULT.SEPARATED if added else SCIP_RESULT.DIDNOTFIND}

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
        # A pseudo-solution may break rows, so that it is no graph: only the LP knows them. Where a
        # slice of time ends inside an LP, or one fails, branching goes on without it.
        result = self._enforce()
        if result["result"] != SCIP_RESULT.INFEASIBLE or self.model.getPseudoBranchCands()[1]:
            return result
        self.blind += 1
        if self.blind > BLIND:
            self.model.interruptSolve()
        return {"result": SCIP_RESULT.SOLVELP}

    def consprop(self, constraints: Any, nuseful: int, nmarked: int, timing: Any) -> dict[str, Any]:
        return {"result": SCIP_RESULT.REDUCEDDOM if self.tighten() else SCIP_RESULT.DIDNOTFIND}

    def _enforce(self) -> dict[str, Any]:
        values = self._values(None)
        if values is None:
            return {"result": SCIP_RESULT.INFEASIBLE}
        points = self._consider(values)
        self.tighten()
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

    def tighten(self) -> bool:
        """Lower the objective's upper bound to the judge's cut-off."""
        cutoff = self.judge.cutoff
        if cutoff >= self.applied:
            return False
        self.applied = cutoff
        infeasible, tightened = self.model.tightenVarUbGlobal(self.objective, cutoff)
        return bool(infeasible or tightened)


class ProgressEvents(pyscipopt.Eventhdlr):
    """Tells bound and nodes from time to time.

    Args:
        progress: Takes the line.
        judge: Knows the cut-off.
        total: From bound and nodes of this solve to those of the whole search.
    """

    def __init__(
        self,
        progress: Progress,
        judge: Judge,
        total: Callable[[float, int], tuple[float, int]],
    ) -> None:
        self.progress = progress
        self.judge = judge
        self.total = total
        self.last = time.monotonic()

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexit(self) -> None:
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        now = time.monotonic()
        if now - self.last >= _REPORT_EVERY:
            self.last = now
            best = self.judge.cutoff
            bound, nodes = self.total(self.model.getDualbound(), self.model.getNTotalNodes())
            gap = max(best - bound, 0.0) / max(abs(best), 1e-9)
            self.progress(
                f"cut-off {best:.6g}  bound {bound:.6g}  gap {100 * gap:.2f} %  nodes {nodes}"
            )
