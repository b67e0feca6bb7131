"""The search of the linear kernel: bounds of all shapes, then depth first below them, compiled.

Shapes come in the order of their bounds, so the first that can't beat the threshold ends the
search. A call of compiled code returns whenever it has found graphs, so that Python can tell the
excluded and the isomorphic ones, or has explored its share of nodes, so that Python can look at the
clock; the next call goes on where the last one stopped. :class:`DepthFirstRun` is the search of one
block as Python sees it.

Cells (``cells.search``) and declared graphs (``declared.search``) share this search; they differ in
what a variable is and which states it can take.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nasgoat.acquisition.branch.cells.records import Prefixes
from nasgoat.acquisition.branch.message_passing import AnyStack, note_domains
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    MARGIN,
    NODES,
    PAUSED,
    POSITION,
    SHAPE,
    Answers,
    Floats,
    Found,
    Index,
    Integers,
    Potentials,
)
from nasgoat.compiled import Threads, compiled_apart, compiled_inline

_PAUSE = 1_000  # nodes between two looks at the clock, some 10 to 100 ms
_ROUNDS = 2  # of the bound of a shape; one where it is bounded before a look below it
_SCOUTED = 64  # shapes of a large block that are searched first, for good graphs early
_SCOUTING = 4_000  # nodes spent on it at most
Step = Callable[..., Any]
Search = Callable[..., tuple[int, int]]


class Walk(NamedTuple):
    """How the search of one kind of labels moves through its tree.

    All take the problem, the prefixes (None where there are none) and the stack first, where they
    need them; then shape, depth and more.
    """

    open_shape: Step  # begin with a shape, every variable open; False if it has no graph
    forget: Step  # open again what got its state below a depth
    take_state: Step  # give the branching variable a state; False if that leaves no graph


class Steps(NamedTuple):
    """What the search of one kind of labels does at a node of its tree."""

    go_on_listing: Step  # graphs found by the listing under way; -1 if there is none
    find_leaves: Step  # graphs found below a node that is listed; -1 if it is bounded instead
    measure: Step  # sizes of a node
    bound: Step  # its bound
    choose: Step  # the variable to branch on


def make_search(walk: Walk, steps: Steps) -> Search:
    """The depth-first search below structures, for one kind of labels.

    It goes on until graphs better than ``best`` are found, nodes are used up, or all is done. With
    ``rooting`` it bounds the shapes of ``order`` one after another, without a look below: one
    function for both, because the bound would be compiled twice otherwise. Returns how the call
    ended and how many graphs were found: they are in ``answers``.
    """
    go_on_listing, find_leaves, measure, bound, choose = steps
    go_to_next_node = _make_walk(*walk)

    @compiled_apart
    def search(
        problem: Any,
        prefixes: Prefixes | None,
        stack: Any,
        scratch: Any,
        order: Integers,
        roots: Floats,
        rooting: bool,
        best: float,
        pause: int,
        answers: Answers,
    ) -> tuple[int, int]:
        threshold, place = best + MARGIN, stack.place
        stop = place[NODES] + pause
        while place[NODES] < stop:
            found = go_on_listing(problem, stack, scratch, best, answers)
            if found > 0:
                return FOUND, found
            if found == 0:
                continue
            place[NODES] += 1
            turn = go_to_next_node(problem, prefixes, stack, order, roots, rooting, threshold)
            if turn < 0:
                return DONE, 0
            if turn == 0:
                continue
            s, t = place[SHAPE], place[DEPTH] + 1
            if not rooting:
                found = find_leaves(problem, prefixes, stack, scratch, roots, s, t, best, answers)
                if found > 0:
                    return FOUND, found
                if found == 0:
                    continue
            keep = not rooting
            if prefixes is not None:  # those that grow hand down their states
                keep = keep or len(prefixes.states.allowed) > 0
            rounds = np.int64(_ROUNDS if t == 0 and keep else 1)
            sizes = measure(problem, prefixes, stack, scratch, s, t)
            lower = bound(problem, prefixes, stack, scratch, sizes, s, t, rounds, keep, threshold)
            if rooting:
                roots[s] = lower
                if prefixes is not None:
                    note_domains(prefixes, stack, s, lower, threshold)
            elif lower < threshold:
                choose(problem, prefixes, stack, scratch, sizes.open, s, t, threshold)
                order_states(stack, t)
                place[DEPTH] = t
        return PAUSED, 0

    return search


def _make_walk(open_shape: Step, forget: Step, take_state: Step) -> Step:
    """The step to the next choice below the current shape, or to the next shape.

    Returns 1 if there is a node to bound, one below ``DEPTH``; 0 if it is closed; -1 at the end.
    """

    @compiled_apart
    def go_to_next_node(
        problem: Any,
        prefixes: Prefixes | None,
        stack: Any,
        order: Integers,
        roots: Floats,
        rooting: bool,
        threshold: float,
    ) -> int:
        place = stack.place
        t = place[DEPTH]
        if t >= 0:
            forget(stack, t)
            y = stack.next[t]
            if y >= stack.width[t, stack.variable[t]] or stack.order_bound[t, y] >= threshold:
                place[DEPTH] -= 1
                return 0
            stack.next[t] += 1
            x = stack.order[t, y]
            return 1 if take_state(problem, prefixes, stack, place[SHAPE], t, x, threshold) else 0
        if place[POSITION] >= len(order):
            return -1
        s = order[place[POSITION]]
        if not rooting and roots[s] >= threshold:
            return -1
        place[POSITION] += 1
        place[SHAPE] = s
        if open_shape(problem, prefixes, stack, s, threshold):
            return 1
        roots[s] = np.inf
        return 0

    return go_to_next_node


@compiled_inline
def choose_variable(
    stack: AnyStack, potentials: Potentials, t: Index, total: Index, threshold: float
) -> None:
    """Branch on that of the first open variables whose states the bound tells apart best."""
    best = -1.0
    for y in range(total):
        i = potentials.open[y]
        least, worth = np.inf, 0.0
        for c in range(stack.width[t, i]):
            least = min(least, stack.move_bound[t, i, c])
        for c in range(stack.width[t, i]):
            worth += min(stack.move_bound[t, i, c], threshold) - least
        worth /= stack.width[t, i]
        if worth > best:
            best = worth
            stack.variable[t] = i


@compiled_inline
def order_states(stack: AnyStack, t: Index) -> None:
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
    answers: Answers  # the graphs found last
    done: bool = False


class DepthFirstRun:
    """The search of one block as Python sees it: go on, what was found, what is still open.

    First come bounds of all shapes, then a depth-first search below them, best bound first.
    Subclasses say how a shape is searched.
    """

    block: Any  # has ``graph``: labels back into a graph
    most_nodes: int = _PAUSE  # between two looks at the clock
    _problem: Any
    _search: Search

    def __init__(
        self,
        block: Any,
        total: int,
        floor: Callable[[], float],
        threads: Threads,
        scout: bool,
        chosen: Integers | None = None,
    ) -> None:
        """Begin with ``total`` shapes, or with those chosen; see the subclasses for the rest."""
        self.block = block
        self._floor = floor
        self._threads = threads
        self._rooted = 0  # shapes that were bounded in groups
        self._chosen = np.arange(total) if chosen is None else chosen
        self.roots = np.full(total, np.inf)
        self.roots[self._chosen] = -np.inf
        self._workers = [self._make_worker() for _ in range(threads.total)]
        step = max(len(self._chosen) // _SCOUTED, 1) if scout else 1
        self._begin(Phase.SCOUT if scout else Phase.ROOT, self._chosen[::step])

    def _make_worker(self) -> Worker:
        """The arrays of one thread."""
        raise NotImplementedError

    def _bound_next_groups(self) -> bool:
        """Bound some shapes at once, if they can be; False if one at a time is left to do."""
        return False

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._rooted + sum(int(w.stack.place[NODES]) for w in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._phase is Phase.ROOT and self._bound_next_groups():
            return []
        working = [worker for worker in self._workers if not worker.done]
        answers = self._threads.map(lambda worker: self._step(worker, best), working)
        scouted = self._phase is Phase.SCOUT and self.nodes >= _SCOUTING
        if scouted or all(worker.done for worker in self._workers):
            if self._phase is Phase.SEARCH:
                return None
            self._begin_next_phase()
        return [found for answer in answers for found in answer]

    @property
    def bounded(self) -> bool:
        """Whether all shapes have their bounds."""
        return self._phase is Phase.SEARCH

    def _step(self, worker: Worker, best: float) -> list[Found]:
        """Let one worker go on for a while, and return what it found."""
        status, found = self._search(
            self._problem,
            worker.prefixes,
            worker.stack,
            worker.scratch,
            worker.order,
            self.roots,
            self._phase is Phase.ROOT,
            best,
            min(_PAUSE, self.most_nodes),
            worker.answers,
        )
        worker.done = status == DONE
        s, (chosen, values) = int(worker.stack.place[SHAPE]), worker.answers
        return [(s, chosen[x].copy(), float(values[x])) for x in range(found)]

    def _begin_next_phase(self) -> None:
        if self._phase is Phase.SCOUT:
            self._begin(Phase.ROOT, self._chosen)
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
