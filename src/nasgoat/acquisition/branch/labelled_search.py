"""Depth-first search for the labels of nodes and edges under the linear kernel, compiled.

A node of the search tree is a structure with some of its labels. Nodes get labels before the edges
between them; an edge becomes a variable once both its ends have labels. Where few labellings of
nodes are left, they are listed one by one, which is quicker than to bound them: listing adds the
columns of one label at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nasgoat.acquisition.branch.labelled_bound import (
    bound_labels,
    load_label_moves,
    load_label_reference,
    measure_rest,
)
from nasgoat.acquisition.branch.labelled_domains import narrow_labels
from nasgoat.acquisition.branch.labelled_listing import begin_listing, list_labels
from nasgoat.acquisition.branch.labelled_records import (
    LISTING,
    LabelProblem,
    LabelScratch,
    LabelStack,
    LabelTables,
    new_label_scratch,
    new_label_stack,
)
from nasgoat.acquisition.branch.labelled_structures import LabelledBlock
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    MARGIN,
    NODES,
    PAUSED,
    POSITION,
    SHAPE,
    Floats,
    Found,
    Index,
    Integers,
)
from nasgoat.acquisition.branch.search import LinearRun, Phase, Worker
from nasgoat.compiled import ALONE, Threads, called, compiled, inner, merged

_PAUSE = 1_000  # nodes between two looks at the clock
#: Labellings of nodes, and of edges, up to which they are listed.
_LISTED = (64, 100_000)
_ANSWERS = 64  # graphs that one call hands over


@compiled
def search_labels(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    order: Integers,
    roots: Floats,
    rooting: bool,
    best: float,
    margin: float,
    pause: int,
    listed: tuple[int, int],
    chosen: Integers,
    values: Floats,
) -> tuple[int, int]:
    """Go on until graphs better than ``best`` are found, nodes are used up, or all is done.

    With ``rooting`` it bounds the structures of ``order`` one after another, without a look below.
    Returns how the call ended and how many graphs were found.
    """
    threshold, stop, place = best + margin, stack.place[NODES] + pause, stack.place
    while place[NODES] < stop:
        if scratch.turn[LISTING] >= 0:
            found = list_labels(problem, stack, scratch, place[SHAPE], best, chosen, values)
            if found > 0:
                return FOUND, found
            continue
        place[NODES] += 1
        turn = _next_node(problem, stack, order, roots, rooting, threshold)
        if turn < 0:
            return DONE, 0
        if turn == 0:
            continue
        s, t = place[SHAPE], place[DEPTH] + 1
        load_label_reference(problem, stack, scratch, s)
        if not rooting and begin_listing(problem, stack, scratch, s, t, listed):
            scratch.bound[0] = roots[s]
            if t > 0:
                scratch.bound[0] = stack.order_bound[t - 1, stack.next[t - 1] - 1]
            continue
        total = load_label_moves(problem, stack, scratch, s, t)
        omega = measure_rest(problem, stack, scratch, s)
        rounds = np.int64(1 if t > 0 or rooting else 2)
        lower = bound_labels(problem, stack, scratch, s, t, total, omega, rounds)
        if rooting:
            roots[s] = lower
        elif lower < threshold:
            _choose_variable(problem, stack, scratch, t, total, threshold)
            place[DEPTH] = t
    return PAUSED, 0


@called
def _next_node(
    problem: LabelProblem,
    stack: LabelStack,
    order: Integers,
    roots: Floats,
    rooting: bool,
    threshold: float,
) -> int:
    """Take the next choice below the current structure, or the next structure.

    Returns 1 if there is a node to bound, one below ``DEPTH``; 0 if it is closed; -1 at the end.
    """
    place = stack.place
    if place[DEPTH] >= 0:
        t = place[DEPTH]
        _forget(stack, t)
        y = stack.next[t]
        if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
            place[DEPTH] -= 1
            return 0
        stack.next[t] += 1
        stack.label[stack.variable[t]] = stack.order[t, y]
        stack.since[stack.variable[t]] = t + 1
        return 1 if narrow_labels(problem, stack, place[SHAPE], t + 1, threshold) else 0
    if place[POSITION] >= len(order):
        return -1
    s = order[place[POSITION]]
    if not rooting and roots[s] >= threshold:
        return -1
    place[POSITION] += 1
    place[SHAPE] = s
    stack.label[:] = -1
    if narrow_labels(problem, stack, s, np.int64(0), threshold):
        return 1
    roots[s] = np.inf
    return 0


@inner
def _forget(stack: LabelStack, t: Index) -> None:
    """Open all variables that got their labels below depth t."""
    for i in range(len(stack.label)):
        if stack.label[i] >= 0 and stack.since[i] > t:
            stack.label[i] = -1


@merged
def _choose_variable(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    t: Index,
    total: Index,
    threshold: float,
) -> None:
    """Branch on the variable whose states the bound tells apart best, nodes before edges."""
    n, best, opened = problem.shapes.allowed.shape[1], -1.0, scratch.potentials.open
    for y in range(total):
        i = opened[y]
        if i >= n and opened[0] < n:
            break
        least, worth = np.inf, 0.0
        for c in range(stack.width[t, i]):
            least = min(least, stack.move_bound[t, i, c])
        for c in range(stack.width[t, i]):
            worth += min(stack.move_bound[t, i, c], threshold) - least
        worth /= stack.width[t, i]
        if worth > best:
            best = worth
            stack.variable[t] = i
    i = stack.variable[t]
    for c in range(stack.width[t, i]):
        bound, y = stack.move_bound[t, i, c], c
        while y > 0 and stack.order_bound[t, y - 1] > bound:
            stack.order[t, y] = stack.order[t, y - 1]
            stack.order_bound[t, y] = stack.order_bound[t, y - 1]
            y -= 1
        stack.order[t, y] = stack.domain[t, i, c]
        stack.order_bound[t, y] = bound
    stack.next[t] = 0


class LabelledRun(LinearRun):
    """Bounds of all structures, then depth-first search below them, best bound first.

    Args:
        block: The structures.
        tables: What the posterior says about them.
        floor: A valid bound on everything, for as long as no better one is known.
        threads: Threads that share the work.
        listed: Labellings of nodes, and of edges, up to which they are listed.
    """

    def __init__(
        self,
        block: LabelledBlock,
        tables: LabelTables,
        floor: Callable[[], float],
        threads: Threads = ALONE,
        listed: tuple[int, int] = _LISTED,
    ) -> None:
        self.block = block
        self._label_problem = LabelProblem(block.shapes, block.rules, block.rows, tables)
        self._listed = listed
        self._threads, self._floor = threads, floor
        self._groups, self._rooted = [], 0
        self.roots = np.full(len(block.adjacency), -np.inf)
        self._phase = Phase.ROOT
        self._workers = [self._new_worker() for _ in range(threads.total)]
        self._begin(self._phase, np.arange(len(self.roots)))

    def _new_worker(self) -> Worker:
        tables, shapes = self._label_problem.tables, self._label_problem.shapes
        domain = max(len(tables.delta), shapes.allowed.shape[2])
        variables = self.block.n + shapes.ends.shape[1]
        return Worker(
            prefixes=None,
            stack=new_label_stack(variables, domain, self.block.n),
            scratch=new_label_scratch(variables, domain, tables),
            order=np.zeros(0, dtype=np.int64),
            chosen=np.zeros((_ANSWERS, variables), dtype=np.int64),
            values=np.zeros(_ANSWERS),
        )

    def _step(self, worker: Worker, best: float) -> list[Found]:
        status, found = search_labels(
            self._label_problem,
            worker.stack,
            worker.scratch,
            worker.order,
            self.roots,
            self._phase is Phase.ROOT,
            best,
            MARGIN,
            _PAUSE,
            self._listed,
            worker.chosen,
            worker.values,
        )
        worker.done = status == DONE
        s = int(worker.stack.place[SHAPE])
        return [(s, worker.chosen[x].copy(), float(worker.values[x])) for x in range(found)]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        lowest = super().open_bound()
        for worker in self._workers:
            if worker.scratch.turn[LISTING] >= 0:
                lowest = min(lowest, float(worker.scratch.bound[0]))
        return max(lowest, self._floor())
