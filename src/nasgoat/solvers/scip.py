"""SCIP: the k best points by exhausting a search tree for each part of the cells.

SCIP never accepts a solution (see :mod:`~nasgoat.solvers.scip_handlers`), so its own gap and primal
bound mean nothing here. A tree is exhausted when nothing that was not considered can be better
than the k-th best. Where a model has parts, each has a tree of its own: every root first, which
exhausts most of them, then always the part with the lowest bound. Trees grow side by side, one in
each thread; SCIP is left to itself meanwhile, and the judge hears one tree at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from nasgoat.formulations.tagged_model import Part, pause_garbage_collection
from nasgoat.solvers.interface import Judge, Point, Progress, Report, SolveStatus, SolveTask
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.solvers.scip_trees import Tree

_SLICE = 0.25  # of the time left that a tree has before the one of lowest bound is chosen anew
_SHORTEST = 5.0  # seconds of such a slice at least


def solve(task: SolveTask) -> Report:
    """Search every tree for points below the judge's cut-off."""
    return _Search(task).run()


class _Search:
    """The trees of one model."""

    def __init__(self, task: SolveTask) -> None:
        self.start = time.perf_counter()
        rows, limits, progress = task.rows, task.limits, task.progress
        self.rows, self.decisions, self.limits = rows, task.decisions, limits
        one_at_a_time = threading.Lock()
        self.judge: Judge = _LockedJudge(task.judge, one_at_a_time)
        self.progress = None if progress is None else _lock_progress(progress, one_at_a_time)
        with pause_garbage_collection():
            self.whole = ScipModel(rows, separated=rows.variance is not None)
        self.built = time.perf_counter() - self.start
        parts: list[Part | None] = [*rows.parts] or [None]
        self.trees: Sequence[Tree] = [Tree(self, part) for part in parts]
        # A limit on nodes is there to be reproducible.
        self.threads = min(limits.threads if limits.nodes < 0 else 1, len(self.trees))
        self._free = threading.Condition()
        self._busy: set[Tree] = set()
        self._failed = False

    @property
    def left(self) -> float:
        """Seconds."""
        return self.limits.seconds - (time.perf_counter() - self.start)

    @property
    def nodes(self) -> int:
        """Nodes of all trees."""
        return sum(tree.nodes for tree in self.trees)

    @property
    def bound(self) -> float:
        """What every point that was not considered is worth at least."""
        return min(tree.bound for tree in self.trees)

    def run(self) -> Report:
        """Roots first, then the lowest bound, until all trees or the limits are exhausted."""
        if self.threads == 1:
            self._work()
            return self._report()
        with ThreadPoolExecutor(self.threads) as pool:
            for worker in [pool.submit(self._work) for _ in range(self.threads)]:
                worker.result()
        return self._report()

    def _work(self) -> None:
        """Grow one tree after the other."""
        while (tree := self._next()) is not None:
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

    def _next(self) -> Tree | None:
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
        complete = all(tree.is_complete for tree in self.trees)
        return Report(
            SolveStatus.COMPLETE if complete else SolveStatus.STOPPED,
            self.judge.cutoff if complete else min(self.bound, self.judge.cutoff),
            time.perf_counter() - self.start,
            self.nodes,
            sum(1 for _ in self.rows.variables()),
            sum(1 for _ in self.rows.constraints()),
            self.built,
        )


class _LockedJudge:
    """A judge that hears one thread at a time."""

    def __init__(self, judge: Judge, lock: threading.Lock) -> None:
        self._judge = judge
        self._lock = lock

    @property
    def cutoff(self) -> float:
        return self._judge.cutoff

    def consider(self, values: Mapping[str, float]) -> list[Point]:
        with self._lock:
            return self._judge.consider(values)


def _lock_progress(progress: Progress, lock: threading.Lock) -> Progress:
    def tell(line: str) -> None:
        with lock:
            progress(line)

    return tell
