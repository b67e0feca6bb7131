"""The search of the linear kernel: bounds of all shapes, then depth first below them, compiled.

Shapes come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call of compiled code returns whenever it has found graphs, so that Python can tell the
excluded and the isomorphic ones, or has explored its share of nodes, so that Python can look at the
clock; the next call goes on where the last one stopped. :class:`LinearRun` is the search of one
block as Python sees it: go on, what was found, what is still open.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nasgoat.acquisition.branch.domains import (
    is_consistent,
    keep_affordable,
    keep_supported,
    narrow_domains,
    open_domains,
)
from nasgoat.acquisition.branch.message_passing import bound_completions
from nasgoat.acquisition.branch.potentials import measure_products
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
    LabelStack,
    LimitRows,
    Potentials,
    Prefixes,
    Problem,
    Scratch,
    Shapes,
    Stack,
    Tables,
    new_scratch,
    new_stack,
    new_state_scratch,
)
from nasgoat.acquisition.branch.reference import (
    assign,
    load_moves,
    load_reference,
    measure_changes,
)
from nasgoat.acquisition.branch.structure_bounds import bound_structures
from nasgoat.acquisition.branch.structures import Block, Group
from nasgoat.acquisition.branch.tables import measure_states
from nasgoat.compiled import ALONE, Threads, called, compiled, inner, merged

_PAUSE = 1_000  # nodes between two looks at the clock, some 10 to 100 ms
_SCOUTED = 64  # shapes of a large block that are searched first, for good graphs early
_SCOUTING = 4_000  # nodes spent on it at most


@compiled
def search(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    order: Integers,
    roots: Floats,
    rooting: bool,
    best: float,
    margin: float,
    pause: int,
    chosen: Integers,
    values: Floats,
) -> tuple[int, int]:
    """Go on until graphs better than ``best`` are found, nodes are used up, or all is done.

    With ``rooting`` it bounds the shapes of ``order`` one after another, without a look below: one
    function for both, because the bound would be compiled twice otherwise. Returns how the call
    ended and how many graphs were found: their states and values are in ``chosen`` and ``values``.
    """
    pairs, shapes, limits, changes = problem
    threshold, stop = best + margin, stack.place[NODES] + pause
    while stack.place[NODES] < stop:
        stack.place[NODES] += 1
        turn = _next_node(problem, prefixes, stack, order, roots, rooting, threshold)
        if turn < 0:
            return DONE, 0
        if turn == 0:
            continue
        s, t = stack.place[SHAPE], stack.place[DEPTH] + 1
        total = shapes.variables[shapes.home[s]] - t  # one more has its state at each depth
        if total <= 1 and not rooting:
            load_moves(shapes, changes, stack, s, t)
            found = _find_leaves(shapes, limits, prefixes, stack, s, t, best, chosen, values)
            if found > 0:
                return FOUND, found
            continue
        rounds = np.int64(0) if rooting else np.int64(1 if t > 0 else 2)
        sizes = measure_products(pairs, shapes, changes, prefixes, stack, scratch, s, t)
        lower = bound_completions(pairs, shapes, prefixes, stack, scratch, sizes, s, t, rounds)
        if rooting:
            roots[s] = lower
        elif lower < threshold:
            load_moves(shapes, changes, stack, s, t)
            _choose_variable(stack, scratch.potentials, t, total, threshold)
            stack.place[DEPTH] = t
    return PAUSED, 0


@called
def _next_node(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    order: Integers,
    roots: Floats,
    rooting: bool,
    threshold: float,
) -> int:
    """Take the next choice below the current shape, or the next shape.

    Returns 1 if there is a node to bound, one below ``DEPTH``; 0 if it is closed; -1 at the end.
    """
    place = stack.place
    if place[DEPTH] >= 0:
        turn = _descend(problem, prefixes, stack, place[SHAPE], place[DEPTH], threshold)
        if turn < 0:
            place[DEPTH] -= 1
        return max(turn, 0)
    if place[POSITION] >= len(order):
        return -1
    s = order[place[POSITION]]
    if not rooting and roots[s] >= threshold:
        return -1
    place[POSITION] += 1
    place[SHAPE] = s
    load_reference(problem.pairs.path, problem.shapes, problem.changes, prefixes, stack, s)
    open_domains(problem.shapes, prefixes, stack, s)
    if _drop_impossible(problem, prefixes, stack, s, np.int64(0)):
        return 1
    roots[s] = np.inf
    return 0


@inner
def _descend(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index, threshold: float
) -> int:
    """The next state of the branching variable of depth t: 1 if it is open to graphs, 0 if not.

    With -1 there is none left that could beat the threshold.
    """
    stack.states[stack.variable[t]] = -1
    y = stack.next[t]
    if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
        return -1
    stack.next[t] += 1
    assign(problem.pairs.both, problem.shapes, prefixes, stack, s, t, stack.order[t, y])
    if not narrow_domains(problem.shapes, prefixes, stack, s, t, threshold):
        return 0
    return 1 if _drop_impossible(problem, prefixes, stack, s, t + 1) else 0


@called
def _drop_impossible(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index
) -> bool:
    """Drop states that no graph can have at depth t; False if a variable has none left."""
    if prefixes is not None and not keep_supported(problem.shapes, prefixes, stack, s, t):
        return False
    return bool(keep_affordable(problem.shapes, problem.limits, stack, s, t))


@merged
def _choose_variable(
    stack: Stack, potentials: Potentials, t: Index, total: Index, threshold: float
) -> None:
    """Branch on the variable whose states the bound tells apart best, its best state first."""
    best = -1.0
    for y in range(total):
        i = potentials.open[y]
        least = np.inf
        for c in range(stack.width[t, i]):
            least = min(least, stack.move_bound[t, i, c])
        worth = 0.0
        for c in range(stack.width[t, i]):
            worth += min(stack.move_bound[t, i, c], threshold) - least
        worth /= stack.width[t, i]
        if worth > best:
            best = worth
            stack.variable[t] = i
    order_states(stack, t)


@merged
def order_states(stack: Stack | LabelStack, t: Index) -> None:
    """Sort the states of the branching variable of depth t, lowest bound first."""
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


@called
def _find_leaves(
    shapes: Shapes,
    limits: LimitRows,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
    t: Index,
    best: float,
    chosen: Integers,
    values: Floats,
) -> int:
    """Graphs better than ``best`` with at most one variable open; returns how many."""
    variables, q = shapes.variables[shapes.home[s]], shapes.last_label[s]
    last = -1
    for i in range(variables):
        if stack.states[i] < 0:
            last = i
    found = 0
    for c in range(stack.width[t, last] if last >= 0 else 1):
        x = np.int64(-1)
        if last >= 0:
            x = stack.domain[t, last, c]
            stack.states[last] = x
        fits = keep_affordable(shapes, limits, stack, s, t)
        if prefixes is not None and fits:
            fits = is_consistent(shapes, prefixes, stack, s)
        if fits:
            value = _evaluate(stack, prefixes, q, t, last, x)
            if value < best:
                values[found] = value
                for i in range(variables):
                    chosen[found, i] = stack.states[i]
                found += 1
    if last >= 0:
        stack.states[last] = -1
    return found


@inner
def _evaluate(
    stack: Stack, prefixes: Prefixes | None, q: Index, t: Index, i: Index, x: Index
) -> float:
    """The value with open variable i in state x (none open: i = -1)."""
    label = x if prefixes is None else prefixes.states.label[x]
    known = i >= 0 and label < stack.move.shape[2]
    square = mean = 0.0
    for e in range(stack.reference.shape[1]):
        entry = stack.reference[t, e]
        if known:
            entry += stack.move[t, i, label, e]
        if prefixes is not None and i >= 0:
            entry += prefixes.states.added[q, x, e]
        if e == 0:
            mean = entry
        else:
            square += entry * entry
    return mean - math.sqrt(square)


class Phase(enum.Enum):
    """What a run is at."""

    SCOUT = enum.auto()  # look below a few shapes; proves nothing
    ROOT = enum.auto()  # bound all shapes
    SEARCH = enum.auto()  # look below all that their bounds leave


@dataclass
class Worker:
    """The state of one thread."""

    prefixes: Prefixes | None
    stack: Any  # the records of the compiled search that works on them
    scratch: Any
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

    block: Any  # has ``graph``: labels back into a graph

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
        self._phase = Phase.SCOUT if scout else Phase.ROOT
        every = np.arange(len(self.roots))
        step = max(len(every) // _SCOUTED, 1) if self._phase is Phase.SCOUT else 1
        self._workers = [self._new_worker() for _ in range(threads.total)]
        self._begin(self._phase, every[::step])

    def _new_worker(self) -> Worker:
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
        return Worker(
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
        if self._phase is Phase.ROOT and self._groups:
            self._bound_next_groups()
            return []
        working = [worker for worker in self._workers if not worker.done]
        answers = self._threads.map(lambda worker: self._step(worker, best), working)
        scouted = self._phase is Phase.SCOUT and self.nodes >= _SCOUTING
        if scouted or all(worker.done for worker in self._workers):
            if self._phase is Phase.SEARCH:
                return None
            self._next_phase()
        return [found for answer in answers for found in answer]

    def bounds(self) -> Floats:
        """Bounds of all shapes, without a look below them."""
        while self._phase is not Phase.SEARCH:
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

    def _step(self, worker: Worker, best: float) -> list[Found]:
        status, found = search(
            self._problem,
            worker.prefixes,
            worker.stack,
            worker.scratch,
            worker.order,
            self.roots,
            self._phase is Phase.ROOT,
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
        if self._phase is Phase.SCOUT:
            self._begin(Phase.ROOT, np.arange(len(self.roots)))
        else:
            self._begin(Phase.SEARCH, np.argsort(self.roots, kind="stable"))

    def _begin(self, phase: Phase, order: Integers) -> None:
        """Share the shapes among the workers, in this order."""
        self._phase = phase
        for j, worker in enumerate(self._workers):
            worker.order = order[j :: len(self._workers)].copy()
            worker.done = False
            worker.stack.place[POSITION] = 0
            worker.stack.place[DEPTH] = -1

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._phase is not Phase.SEARCH:
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
