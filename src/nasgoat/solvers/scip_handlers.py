"""Our constraint handler for SCIP: it scores integral points and adds two kinds of cuts.

The handler sits behind integrality. Each time A and F are integral it hands them to a judge, which
scores the graph exactly with the surrogate, keeps the k best, and names the points to cut off: that
graph under every topological order. No value of the solver ever becomes a value of a proposal, so
its feasibility tolerance can't spoil one. The objective's upper bound follows the k-th best value
(in propagation and enforcement, never inside a check).

At fractional points it adds a tangent of the concave bound of σ: one row, where SCIP's own
treatment of the convex row needs dozens of auxiliary variables. Where structures are columns X and
the labels L of all inner nodes are integral, it adds a label cut (docs/compact-formulation.md),
with
    b_i(L)   the value of the cell with structure i and labels L, as the surrogate computes it
    b_i      a lower bound on the value of every cell with structure i

    lcb ≥ Σ_i b_i(L) X_i - M Σ_v (1 - F[v, L_v]),   M = max_i (b_i(L) - b_i)

At labels L it says what the cells are worth. With another label somewhere the second sum is at
least 1, the right side at most Σ_i b_i X_i, and that is no more than lcb. So it always holds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyscipopt
from pyscipopt import SCIP_RESULT

from nasgoat.formulations.tagged_model import ProgramPart
from nasgoat.formulations.variance_bound import VarianceBound
from nasgoat.solvers import Point, SolveTask
from nasgoat.solvers.scip_model import ScipModel

_INTEGRAL = 1e-6  # SCIP's own feasibility tolerance
BLIND = 50  # points without an LP behind them, in all, before the solve starts again, with care
_TANGENT_EXCESS = 1e-3  # relative violation of a tangent that is worth a row
_LABEL_EXCESS = 1e-4  # violation of a label cut that is worth a row, for values of size 1
_REPORT_EVERY = 2.0  # seconds between two lines of progress
_ROUNDING = 1e-9  # of values, which the surrogate adds up in another order


class GraphHandler(pyscipopt.Conshdlr):
    """Has integral points scored by the judge and keeps the objective below its cut-off."""

    def __init__(self, model: ScipModel, task: SolveTask, one_at_a_time: threading.Lock) -> None:
        self.decisions = {name: model.by_name[name] for name in task.decisions}
        self.objective = model.by_name["lcb"]
        self.tangents = None if model.bound is None else TangentCuts(model, model.bound)
        self.labels = None if model.part is None else LabelCuts(model, model.part)
        self.judge = task.judge
        self.one_at_a_time = one_at_a_time  # held while the judge hears a point
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
        values = self._read_values(solution)
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
        values = self._read_values(None)
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

    def _read_values(self, solution: Any) -> dict[str, float] | None:
        values = {name: self.model.getSolVal(solution, var) for name, var in self.decisions.items()}
        if any(abs(value - round(value)) > _INTEGRAL for value in values.values()):
            return None
        return values

    def _consider(self, values: dict[str, float]) -> list[Point]:
        try:
            with self.one_at_a_time:
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
    """Tells the bound and the number of nodes of a tree from time to time."""

    def __init__(self, tell: Callable[[float, int], None]) -> None:
        self.tell = tell
        self.last = time.monotonic()

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexit(self) -> None:
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        now = time.monotonic()
        if now - self.last >= _REPORT_EVERY:
            self.last = now
            self.tell(self.model.getDualbound(), self.model.getNTotalNodes())


class TangentCuts:
    """Separates the concave bound of σ.

    Args:
        model: A SCIP model with the variables of the bound.
        bound: σ² ≤ a - ‖Bᵀ(z - z̄)‖².
    """

    def __init__(self, model: ScipModel, bound: VarianceBound) -> None:
        self.bound = bound
        self.sigma, self.affine = model.by_name["sigma"], model.by_name["affine"]
        self.z = [model.of(x) for x in bound.z]
        self.variables = [self.sigma, self.affine, *self.z]

    def separate(self, scip: Any) -> bool:
        """Add the tangent at the LP's solution if it cuts that off."""
        z = np.array([scip.getSolVal(None, x) for x in self.z])
        affine = scip.getSolVal(None, self.affine)
        tangent = self.bound.find_tangent(z, affine)
        most = tangent.slope * affine + float(tangent.slopes @ z) + tangent.constant
        if scip.getSolVal(None, self.sigma) <= most + _TANGENT_EXCESS * max(abs(most), 1.0):
            return False
        slopes = [(-slope, x) for slope, x in zip(tangent.slopes.tolist(), self.z, strict=True)]
        terms = [(1.0, self.sigma), (-tangent.slope, self.affine), *slopes]
        _add_cut(scip, "tangent", terms, rhs=tangent.constant)
        return True


class LabelCuts:
    """Separates the label cuts of one part.

    Args:
        model: A SCIP model of the part.
        part: Its columns, floors, labels and exact values.
    """

    def __init__(self, model: ScipModel, part: ProgramPart) -> None:
        self.values = part.values
        self.lcb = model.by_name["lcb"]
        self.columns = [model.of(x) for x in part.columns]
        self.floors = np.array(part.floors)
        self.labels = [[(a, model.of(x)) for a, x in choices] for choices in part.labels]

    def separate(self, scip: Any) -> bool:
        """Add the cut of the LP's labels if they are integral and it is violated."""
        if self.values is None:
            return False
        chosen = []
        for choices in self.labels:
            most, a, x = max(
                ((scip.getSolVal(None, x), a, x) for a, x in choices), key=lambda triple: triple[0]
            )
            if most < 1 - _INTEGRAL:
                return False
            chosen.append((a, x))
        worth = self.values([a for a, _ in chosen]) - _ROUNDING
        share = np.array([scip.getSolVal(None, x) for x in self.columns])
        if scip.getSolVal(None, self.lcb) >= float(worth @ share) - _LABEL_EXCESS:
            return False
        gain = float((worth - self.floors).max())
        prices = [(-value, x) for value, x in zip(worth.tolist(), self.columns, strict=True)]
        terms = [(1.0, self.lcb), *prices, *((-gain, x) for _, x in chosen)]
        _add_cut(scip, "labels", terms, lhs=-gain * len(chosen))
        return True


def _add_cut(
    scip: Any,
    name: str,
    terms: Iterable[tuple[float, Any]],
    lhs: float | None = None,
    rhs: float | None = None,
) -> None:
    """A row lhs ≤ Σ c x ≤ rhs that holds in the whole tree."""
    row = scip.createEmptyRowUnspec(name, lhs=lhs, rhs=rhs, local=False, removable=True)
    scip.cacheRowExtensions(row)
    for coefficient, x in terms:
        scip.addVarToRow(row, x, coefficient)
    scip.flushRowExtensions(row)
    scip.addCut(row, forcecut=True)
    scip.releaseRow(row)
