"""One solve of one block, seen from Python: go on, what was found, what is still open."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from nasgoat.acquisition.branch.blocks import Block
from nasgoat.acquisition.branch.bound import new_scratch, new_state_scratch
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    NODES,
    POSITION,
    SHAPE,
    Floats,
    Integers,
    LimitRows,
    Prefixes,
    Problem,
    Scratch,
    Stack,
    Tables,
)
from nasgoat.acquisition.branch.reference import measure_changes, new_stack
from nasgoat.acquisition.branch.search import search
from nasgoat.acquisition.branch.shape_classes import Group
from nasgoat.acquisition.branch.structure_bounds import bound_structures
from nasgoat.acquisition.branch.tables import measure_states

#: A subtree is dropped if its bound exceeds the k-th best value by this: rounding in a bound is
#: about 1e-13, so no better graph is lost to it.
MARGIN = 1e-10
_PAUSE = 1_000  # nodes between two looks at the clock, some 10 to 100 ms
_SCOUTED = 64  # shapes of a large block that are searched first, for good graphs early
_SCOUTING = 4_000  # nodes spent on it at most
Found = tuple[int, Integers, float]  # shape, states, value


Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Threads:
    """Threads that share the work of a run: compiled code and products of matrices run at once.

    Args:
        total: How many.
        pool: Where they come from; None for one thread, the caller's.
    """

    total: int = 1
    pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The function of every item, in this order; one item or no threads: here and now.

        Example:
            >>> Threads().map(abs, [-1, 2])
            [1, 2]
        """
        if self.pool is None or len(items) == 1:
            return [function(item) for item in items]
        return list(self.pool.map(function, items))


#: The caller's thread and no other.
ALONE = Threads()


@functools.cache
def _find_libraries() -> ThreadpoolController:
    """The linear algebra libraries of this process: looking for them takes some 20 ms."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Within it products of matrices take one thread; the search has its own threads.

    On a machine that is busy, a product of 0.06 ms in one thread took 16 ms in two.
    """
    limit: AbstractContextManager[object] = _find_libraries().limit(limits=1, user_api="blas")
    return limit


class _Phase(enum.Enum):
    SCOUT = enum.auto()  # look below a few shapes; proves nothing
    ROOT = enum.auto()  # bound all shapes
    SEARCH = enum.auto()  # look below all that their bounds leave


class BlockRun(Protocol):
    """A search that can be continued."""

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        ...

    @property
    def block(self) -> Block:
        """The shapes that the graphs found last belong to."""
        ...

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        ...

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        ...


@dataclass
class _Worker:
    """The state of one thread."""

    prefixes: Prefixes | None
    stack: Stack
    scratch: Scratch
    order: Integers
    chosen: Integers  # (D, V) states of the graphs found last
    values: Floats  # (D,) their values
    done: bool = False


class LinearRun:
    """Bounds of all shapes, then depth-first search below them, best bound first.

    A large block is scouted before, so that a search that is stopped early has graphs to show.

    Args:
        block: The shapes.
        tables, limits: What the posterior and the space say about them.
        floor: A valid bound on everything, for as long as no better one is known.
        threads: Threads that share the work.
        scout: Whether to look below some shapes first; where there are threads if None.
    """

    def __init__(
        self,
        block: Block,
        tables: Tables,
        limits: LimitRows,
        floor: Callable[[], float],
        threads: Threads = ALONE,
        scout: bool | None = None,
    ) -> None:
        changes = measure_changes(tables, block.shapes, block.classes, block.labels)
        self._tables = tables
        self._states = measure_states(block, tables, changes)
        self._problem = Problem(
            pairs=tables.pairs, shapes=block.shapes, limits=limits, changes=changes
        )
        # Groups whose bounds wait; where limits or prefixes narrow domains, one shape at a time.
        in_step = block.prefix_states is None and not len(limits.cap)
        self._groups = list(block.groups) if in_step else []
        self.block = block
        self._threads = threads
        self._floor = floor
        self._rooted = 0
        self.roots = np.full(len(block.shapes.home), -np.inf)
        scout = threads.total > 1 if scout is None else scout
        self._phase = _Phase.SCOUT if scout else _Phase.ROOT
        every = np.arange(len(self.roots))
        step = max(len(every) // _SCOUTED, 1) if self._phase is _Phase.SCOUT else 1
        self._workers = [self._new_worker() for _ in range(threads.total)]
        self._begin(self._phase, every[::step])

    def _new_worker(self) -> _Worker:
        problem, labels = self._problem, self.block.labels
        variables = max(int(problem.shapes.variables.max()), 1)
        domain = labels
        if self._states is not None:
            domain *= int(np.bincount(self._states.label).max())  # states of one label
        codes, width = len(self._tables.options), problem.pairs.path.shape[-1]
        prefixes = None
        if self._states is not None:
            scratch = new_state_scratch(self._states, variables, labels, domain)
            prefixes = Prefixes(states=self._states, scratch=scratch)
        return _Worker(
            prefixes=prefixes,
            stack=new_stack(variables, labels, width, domain),
            scratch=new_scratch(variables, labels, domain, codes),
            order=np.zeros(0, dtype=np.int64),
            chosen=np.zeros((domain, variables), dtype=np.int64),
            values=np.zeros(domain),
        )

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._rooted + sum(int(w.stack.place[NODES]) for w in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._phase is _Phase.ROOT and self._groups:
            self._bound_next_groups()
            return []
        working = [worker for worker in self._workers if not worker.done]
        answers = self._threads.map(lambda worker: self._step(worker, best), working)
        scouted = self._phase is _Phase.SCOUT and self.nodes >= _SCOUTING
        if scouted or all(worker.done for worker in self._workers):
            if self._phase is _Phase.SEARCH:
                return None
            self._next_phase()
        return [found for answer in answers for found in answer]

    def bounds(self) -> Floats:
        """Bounds of all shapes, without a look below them."""
        while self._phase is not _Phase.SEARCH:
            self.go_on(np.inf)
        return self.roots

    def _bound_next_groups(self) -> None:
        """Bounds of the next groups, one for each thread."""
        chosen = [self._groups.pop() for _ in self._workers[: len(self._groups)]]
        answers = self._threads.map(self._bound_group, chosen)
        for group, bounds in zip(chosen, answers, strict=True):
            self.roots[group.rows] = bounds
            self._rooted += len(bounds)
        if not self._groups:
            self._next_phase()

    def _bound_group(self, group: Group) -> Floats:
        problem = self._problem
        return bound_structures(self._tables, problem.shapes, problem.changes, group)

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        status, found = search(
            self._problem,
            worker.prefixes,
            worker.stack,
            worker.scratch,
            worker.order,
            self.roots,
            self._phase is _Phase.ROOT,
            best,
            MARGIN,
            _PAUSE,
            worker.chosen,
            worker.values,
        )
        worker.done = status == DONE
        s = int(worker.stack.place[SHAPE])
        return [(s, worker.chosen[x].copy(), float(worker.values[x])) for x in range(found)]

    def _next_phase(self) -> None:
        if self._phase is _Phase.SCOUT:
            self._begin(_Phase.ROOT, np.arange(len(self.roots)))
        else:
            self._begin(_Phase.SEARCH, np.argsort(self.roots, kind="stable"))

    def _begin(self, phase: _Phase, order: Integers) -> None:
        """Share the shapes among the workers, in this order."""
        self._phase = phase
        for j, worker in enumerate(self._workers):
            worker.order = order[j :: len(self._workers)].copy()
            worker.done = False
            worker.stack.place[POSITION] = 0
            worker.stack.place[DEPTH] = -1

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._phase is not _Phase.SEARCH:
            return max(float(self.roots.min()), self._floor())
        lowest = np.inf
        for worker in self._workers:
            stack = worker.stack
            waiting = worker.order[stack.place[POSITION] :]
            if len(waiting):
                lowest = min(lowest, float(self.roots[waiting[0]]))
            for t in range(stack.place[DEPTH] + 1):
                if stack.next[t] < stack.width[t, stack.variable[t]]:
                    lowest = min(lowest, float(stack.order_bound[t, stack.next[t]]))
        return max(lowest, self._floor())
