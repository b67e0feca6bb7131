"""SCIP: the k best points by exhausting a search tree for each part of the cells.

SCIP never accepts a solution (see :mod:`~nasgoat.solvers.scip_handlers`), so its own gap and primal
bound mean nothing here. A tree is exhausted when nothing that was not considered can be better
than the k-th best. Where a model has parts, each has a tree of its own: every root first, which
exhausts most of them, then always the part with the lowest bound. Trees grow side by side, one in
each thread; SCIP is left to itself meanwhile, and the judge hears one tree at a time. A tree starts
again, with SCIP's most careful settings, on numerical trouble; after a second time it is given up,
but for the bound that was proven before.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyscipopt

from nasgoat.formulations.tagged_model import ProgramPart, pause_garbage_collection
from nasgoat.solvers import Report, SolverError, SolveStatus, SolveTask
from nasgoat.solvers.scip_handlers import BLIND, GraphHandler, ProgressEvents
from nasgoat.solvers.scip_model import ScipModel

logger = logging.getLogger(__name__)

_SLICE = 0.25  # of the time left that a tree has before the one of lowest bound is chosen anew
_SHORTEST = 5.0  # seconds of such a slice at least
_COMPLETE = ("infeasible", "optimal")
_STOPPED = (
    "timelimit",
    "memlimit",
    "nodelimit",
    "totalnodelimit",
    "userinterrupt",
    "stallnodelimit",
)


def solve(task: SolveTask) -> Report:
    """Search every tree for points below the judge's cut-off."""
    return _TreeSearch(task).run()


class _TreeSearch:
    """The trees of one model."""

    def __init__(self, task: SolveTask) -> None:
        self.start = time.perf_counter()
        self.task, self.limits, rows = task, task.limits, task.rows
        self.one_at_a_time = threading.Lock()  # for what trees say to the judge and to the caller
        with pause_garbage_collection():
            self.whole = ScipModel(rows, separated=rows.variance is not None)
        self.built = time.perf_counter() - self.start
        parts: list[ProgramPart | None] = [*rows.parts] or [None]
        self.trees = [_Tree(self, part) for part in parts]
        # A limit on nodes is there to be reproducible.
        self.threads = min(task.limits.threads if task.limits.nodes < 0 else 1, len(self.trees))
        self._free = threading.Condition()
        self._busy: set[_Tree] = set()
        self._failed = False

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return self.limits.seconds - (time.perf_counter() - self.start)

    @property
    def nodes(self) -> int:
        """Nodes of all trees."""
        return sum(tree.nodes for tree in self.trees)

    def run(self) -> Report:
        """Roots first, then the lowest bound, until all trees or the limits are exhausted."""
        if self.threads == 1:
            self._work()
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                for worker in [pool.submit(self._work) for _ in range(self.threads)]:
                    worker.result()
        return self._report()

    def _work(self) -> None:
        """Grow one tree after the other."""
        while (tree := self._take_next()) is not None:
            root = len(self.trees) > 1 and not tree.is_planted
            alone = sum(t.is_open for t in self.trees) <= self.threads
            seconds = self.left if root or alone else max(_SLICE * self.left, _SHORTEST)
            try:
                tree.grow(seconds, nodes=1 if root else None)
            except BaseException:
                self._failed = True
                raise
            finally:
                with self._free:
                    self._busy.remove(tree)
                    self._free.notify_all()

    def _take_next(self) -> _Tree | None:
        """The tree to grow now, once there is one that no other thread grows."""
        with self._free:
            while not self._is_over():
                idle = [tree for tree in self.trees if tree.is_open and tree not in self._busy]
                if idle:
                    # Roots first: their bound is minus infinity until they are planted.
                    lowest = min(idle, key=lambda tree: (tree.is_planted, tree.bound))
                    self._busy.add(lowest)
                    return lowest
                self._free.wait()
            return None

    def _is_over(self) -> bool:
        exhausted = self._failed or 0 <= self.limits.nodes <= self.nodes
        return self.left <= 0 or exhausted or not any(tree.is_open for tree in self.trees)

    def _report(self) -> Report:
        complete, cutoff = all(tree.is_complete for tree in self.trees), self.task.judge.cutoff
        return Report(
            status=SolveStatus.COMPLETE if complete else SolveStatus.STOPPED,
            bound=cutoff if complete else min(cutoff, *(tree.bound for tree in self.trees)),
            seconds=time.perf_counter() - self.start,
            nodes=self.nodes,
            variables=sum(1 for _ in self.task.rows.list_variables()),
            constraints=sum(1 for _ in self.task.rows.list_constraints()),
            build_seconds=self.built,
        )


class _Tree:
    """The tree of one part, which can grow in slices of time."""

    def __init__(self, search: _TreeSearch, part: ProgramPart | None) -> None:
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
        """Begin a tree: hand the model and what judges its graphs to SCIP."""
        search = self.search
        self.is_planted = True
        # A copy, so that it can start again.
        model = search.whole.copy() if self.part is None else search.whole.copy_part(self.part)
        scip = self._scip = model.scip
        model.set_parameters(search.limits)
        if self._careful:
            scip.setEmphasis(pyscipopt.SCIP_PARAMEMPHASIS.NUMERICS)
        self._handler = GraphHandler(model, search.task, search.one_at_a_time)
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
        if search.task.progress is not None:
            scip.includeEventhdlr(ProgressEvents(self._tell), "progress", "reports progress")

    def _lower_objective(self) -> None:
        """Between slices, and before the first, the objective's bound is set from outside."""
        cutoff, handler = self.search.task.judge.cutoff, self._handler
        if cutoff < handler.applied and self._scip.getStage() == pyscipopt.SCIP_STAGE.PROBLEM:
            self._scip.chgVarUb(handler.objective, cutoff)
            handler.applied = cutoff

    def _start_again(self, trouble: str) -> None:
        again = "" if self._careful else "; again"
        logger.info("SCIP had numerical trouble (%s)%s", trouble, again)
        self.is_stuck, self._careful = self._careful, True
        self._scip = self._handler = None

    def _take_note(self, nodes: int | None) -> None:
        scip, judge = self._scip, self.search.task.judge
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

    def _tell(self, bound: float, nodes: int) -> None:
        """Report the progress of all trees, given the bound and the nodes of this one."""
        others = [tree for tree in self.search.trees if tree is not self]
        bound = min([bound, *(tree.bound for tree in others)])
        nodes += sum(tree.nodes for tree in others)
        task = self.search.task
        best = task.judge.cutoff
        gap = max(best - bound, 0.0) / max(abs(best), 1e-9)
        if task.progress is not None:
            with self.search.one_at_a_time:
                task.progress(
                    f"cut-off {best:.6g}  bound {bound:.6g}  gap {100 * gap:.2f} %  nodes {nodes}"
                )
