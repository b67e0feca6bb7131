"""One solve of one block, seen from Python: go on, what was found, what is still open."""

from __future__ import annotations

import enum
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nasgoat.acquisition.branch import search
from nasgoat.acquisition.branch.arrays import (
    Floats,
    Integers,
    Limits,
    Problem,
    Stack,
    States,
    Tables,
    Terms,
    new_stack,
    new_terms,
)
from nasgoat.acquisition.branch.groups import Group
from nasgoat.acquisition.branch.kinds import measured_kinds
from nasgoat.acquisition.branch.quick import quick_bounds
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.threads import mapped

#: A subtree is dropped if its bound exceeds the k-th best value by this: rounding in a bound is
#: about 1e-13, so no better graph is lost to it.
MARGIN = 1e-10
_PAUSE = 1_000  # nodes between two looks at the clock, some 10 to 100 ms
_SCOUTED = 64  # shapes of a large block that are searched first, for good graphs early
_SCOUTING = 4_000  # nodes spent on it at most
Found = tuple[int, Integers, float]  # shape, states, value


class _Phase(enum.Enum):
    SCOUT = enum.auto()  # look below a few shapes; proves nothing
    ROOT = enum.auto()  # bound all shapes
    SEARCH = enum.auto()  # look below all that their bounds leave


class Run(Protocol):
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

    stack: Stack
    terms: Terms
    order: Integers
    chosen: Integers
    values: Floats
    done: bool = False


class LinearRun:
    """Bounds of all shapes, then depth-first search below them, best bound first.

    A large block is scouted before, so that a search that is stopped early has graphs to show.

    Args:
        block: The shapes.
        tables, states, limits: What the posterior and the space say about them.
        crude: A valid bound on everything, for as long as no better one is known.
        pool: Threads to share the work, or None.
        threads: How many.
        scout: Whether to look below some shapes first; where there are threads if None.
    """

    def __init__(
        self,
        block: Block,
        tables: Tables,
        states: States,
        limits: Limits,
        crude: Callable[[], float],
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
        scout: bool | None = None,
    ) -> None:
        kinds = measured_kinds(tables, block.shapes, states, block.labels)
        self._problem = Problem(tables, block.shapes, states, limits, kinds)
        # Groups whose bounds wait; where limits or prefixes narrow domains, one shape at a time.
        quick = not block.prefixes and not len(limits.cap)
        self._groups = list(block.groups) if quick else []
        self.block = block
        self._pool = pool
        self._crude = crude
        self._rooted = 0
        self.roots = np.full(len(block.shapes.home), -np.inf)
        scout = threads > 1 if scout is None else scout
        self._phase = _Phase.SCOUT if scout else _Phase.ROOT
        every = np.arange(len(self.roots))
        step = max(len(every) // _SCOUTED, 1) if self._phase is _Phase.SCOUT else 1
        self._workers = [self._worker(block, tables, states, every) for _ in range(threads)]
        self._begin(self._phase, every[::step])

    @staticmethod
    def _worker(block: Block, tables: Tables, states: States, order: Integers) -> _Worker:
        variables = max(int(block.shapes.variables.max()), 1)
        counts = np.bincount(states.label) if len(states.label) else np.ones(1, dtype=int)
        domain = int(counts.max()) * block.labels if block.prefixes else max(block.labels, 1)
        r = tables.path_vector.shape[-1]
        return _Worker(
            new_stack(variables, block.labels, r, domain),
            new_terms(variables, tables, states, domain),
            order,
            np.zeros((domain, variables), dtype=np.int64),
            np.zeros(domain),
        )

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._rooted + sum(int(w.stack.place[search.NODES]) for w in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._phase is _Phase.ROOT and self._groups:
            self._root()
            return []
        working = [worker for worker in self._workers if not worker.done]
        answers = mapped(self._pool, lambda worker: self._step(worker, best), working)
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

    def _root(self) -> None:
        """Bounds of the next groups, one for each thread."""
        chosen = [self._groups.pop() for _ in self._workers[: len(self._groups)]]
        for group, bounds in zip(
            chosen, mapped(self._pool, self._quick_bounds, chosen), strict=True
        ):
            self.roots[group.rows] = bounds
            self._rooted += len(bounds)
        if not self._groups:
            self._next_phase()

    def _quick_bounds(self, group: Group) -> Floats:
        problem = self._problem
        return quick_bounds(problem.tables, problem.shapes, problem.kinds, group)

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        place = worker.stack.place
        mine = (worker.stack, worker.terms, worker.order, self.roots)
        settings = (self._phase is _Phase.ROOT, best, MARGIN, _PAUSE)
        answers = (worker.chosen, worker.values)
        status, found = search.search(self._problem, *mine, *settings, *answers)
        worker.done = status == search.DONE
        if not found:
            return []
        s = int(worker.order[place[search.POSITION] - 1])
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
            worker.stack.place[search.POSITION] = 0
            worker.stack.place[search.DEPTH] = -1

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._phase is not _Phase.SEARCH:
            return max(float(self.roots.min()), self._crude())
        lowest = np.inf
        for worker in self._workers:
            stack = worker.stack
            position, depth = stack.place[search.POSITION], stack.place[search.DEPTH]
            waiting = worker.order[position:]
            if len(waiting):
                lowest = min(lowest, float(self.roots[waiting[0]]))
            for t in range(depth + 1):
                if stack.next[t] < stack.width[t, stack.variable[t]]:
                    lowest = min(lowest, float(stack.order_bound[t, stack.next[t]]))
        return max(lowest, self._crude())
