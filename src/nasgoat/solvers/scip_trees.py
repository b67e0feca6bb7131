"""One search tree of SCIP, which can grow in slices of time.

It starts again, with SCIP's most careful settings, on numerical trouble; after a second time it is
given up, but for the bound that was proven before.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyscipopt

from nasgoat.formulations.tagged_model import Part
from nasgoat.solvers.interface import Judge, Progress, SolveLimits, SolverError
from nasgoat.solvers.scip_handlers import BLIND, GraphHandler
from nasgoat.solvers.scip_model import ScipModel

logger = logging.getLogger(__name__)

_REPORT_EVERY = 2.0  # seconds between two lines of progress
_ABOVE_ALL = 100_000  # SCIP's own branching rules have priorities up to 10,000
_COMPLETE = ("infeasible", "optimal")
_STOPPED = (
    "timelimit",
    "memlimit",
    "nodelimit",
    "totalnodelimit",
    "userinterrupt",
    "stallnodelimit",
)


class Forest(Protocol):
    """What a tree knows of the search it belongs to."""

    whole: ScipModel
    decisions: Sequence[str]
    judge: Judge
    limits: SolveLimits
    progress: Progress | None
    threads: int
    trees: Sequence[Tree]

    @property
    def nodes(self) -> int:
        """Nodes of all trees."""
        ...


class Tree:
    """The tree of one part, which can grow in slices of time."""

    def __init__(self, search: Forest, part: Part | None) -> None:
        self.search = search
        self.part = part
        self.bound = -math.inf
        self.nodes = 0
        self.is_planted = False
        self.is_complete = False
        self.is_stuck = False
        self._careful = False
        self._scip: Any = None
        self._handler: Any = None

    @property
    def is_open(self) -> bool:
        """Whether more time would help."""
        return not (self.is_complete or self.is_stuck)

    def grow(self, seconds: float, nodes: int | None = None) -> None:
        """Search on for some time or some nodes; start again, with care, on numerical trouble."""
        if seconds <= 0 or not self.is_open:
            return
        if self._scip is None:
            self._plant()
        scip, handler, limits = self._scip, self._handler, self.search.limits
        self._lower_objective()
        scip.setParam("limits/time", min(scip.getSolvingTime() + seconds, 1e20))
        left = -1 if limits.nodes < 0 else max(limits.nodes - self.search.nodes, 0) + self.nodes
        allowed = [count for count in (left, nodes) if count is not None and count >= 0]
        scip.setParam("limits/totalnodes", min(allowed, default=-1))
        try:
            (scip.optimize if self.search.threads == 1 else scip.optimizeNogil)()
        except Exception as problem:  # PySCIPOpt raises bare exceptions
            if handler.failure is None:
                self._start_again(str(problem))
                return
        if handler.failure is not None:
            raise SolverError("a graph of the model must be in the space") from handler.failure
        if handler.blind > BLIND:
            self._start_again("no LP could be solved")
            return
        self._take_note(nodes)

    def _plant(self) -> None:
        search = self.search
        self.is_planted = True
        # A copy, so that it can start again.
        model = search.whole.copy() if self.part is None else search.whole.of_part(self.part)
        scip = self._scip = model.scip
        _settings(
            scip, search.limits, tangents=model.bound is not None, parts=self.part is not None
        )
        if self._careful:
            scip.setEmphasis(pyscipopt.SCIP_PARAMEMPHASIS.NUMERICS)
        self._handler = GraphHandler(model, search.decisions, search.judge)
        scip.includeConshdlr(
            self._handler,
            "graphs",
            "judges integral graphs",
            sepapriority=1,
            enfopriority=-10,  # after integrality (0), before nonlinear rows (-60)
            chckpriority=10**6,  # before anything else: a check only takes note
            sepafreq=-1 if model.bound is None else 1,
            propfreq=1,
            eagerfreq=-1,
            needscons=True,
            maxprerounds=0,
        )
        scip.markDoNotMultaggrVar(self._handler.objective)  # its bound must stay changeable
        scip.addPyCons(scip.createCons(self._handler, "graphs"))
        if search.progress is not None:
            events = ProgressEvents(search.progress, search.judge, self._total)
            scip.includeEventhdlr(events, "progress", "reports progress")

    def _lower_objective(self) -> None:
        """Between slices, and before the first, the objective's bound is set from outside."""
        cutoff, handler = self.search.judge.cutoff, self._handler
        if cutoff < handler.applied and self._scip.getStage() == pyscipopt.SCIP_STAGE.PROBLEM:
            self._scip.chgVarUb(handler.objective, cutoff)
            handler.applied = cutoff

    def _start_again(self, trouble: str) -> None:
        logger.info(
            "SCIP had numerical trouble (%s)%s", trouble, "" if self._careful else "; again"
        )
        self.is_stuck, self._careful = self._careful, True
        self._scip = self._handler = None

    def _take_note(self, nodes: int | None) -> None:
        scip, judge = self._scip, self.search.judge
        status = scip.getStatus()
        if status not in (*_COMPLETE, *_STOPPED):
            raise SolverError(f"SCIP must end with a known status, got {status!r}")
        self.nodes = int(scip.getNTotalNodes())
        self.is_complete = status in _COMPLETE
        proven = judge.cutoff if self.is_complete else float(scip.getDualbound())
        self.bound = max(self.bound, proven)  # what a tree that failed had proven stays proven
        # Memory and the caller's own limits are the end of a tree; slices of time are not.
        self.is_stuck = status in ("memlimit", "userinterrupt")
        if not self.is_open:
            self._scip = self._handler = None

    def _total(self, bound: float, nodes: int) -> tuple[float, int]:
        others = [tree for tree in self.search.trees if tree is not self]
        return (
            min([bound, *(tree.bound for tree in others)]),
            nodes + sum(tree.nodes for tree in others),
        )


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


def _settings(scip: Any, limits: SolveLimits, tangents: bool, parts: bool) -> None:
    scip.setParam("limits/memory", limits.memory_mb)
    # The handler cuts points off one by one: reductions that keep only one optimum are unsound.
    scip.setParam("misc/allowweakdualreds", False)
    scip.setParam("misc/allowstrongdualreds", False)
    scip.setParam("misc/usesymmetry", 0)
    scip.setParam("presolving/maxrestarts", 0)
    # On cells of 6 and 7 nodes probing and general-purpose cuts cost more time than they
    # save (docs/compact-formulation.md). This also switches the cuts of nonlinear rows off.
    scip.setParam("propagating/probing/maxprerounds", 0)
    scip.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    scip.setParam("constraints/nonlinear/sepafreq", -1 if tangents else 1)
    scip.setParam("separating/maxstallroundsroot", 100)
    scip.setParam("separating/maxrounds", 3 if tangents and not parts else 1)
    scip.setParam("separating/maxstallrounds", 3)
    if parts:
        # Labels first, the most fractional one: strong branching cost more than it saved.
        scip.setParam("branching/mostinf/priority", _ABOVE_ALL)
        scip.setParam("lp/pricing", "s")  # steepest edge: half the time of SoPlex's own choice
    # Two thirds of the time went into strong branching: fewer iterations, no propagation.
    scip.setParam("branching/relpscost/inititer", 30)
    scip.setParam("branching/relpscost/maxproprounds", 0)
    # Good graphs are known from local search before the tree starts.
    scip.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
