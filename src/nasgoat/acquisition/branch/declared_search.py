"""Depth-first search for the labels of declared graphs under the linear kernel, compiled.

A node of the search tree is a structure with some of its labels. Nodes get labels before the edges
between them; an edge becomes a variable once both its ends have labels.

Where few labellings of nodes are left, they are listed one by one, which is quicker than to bound
them: a label adds its columns to those of the labels before it. Edges follow once all nodes have
labels; labels of the nodes are dropped if no labels of the edges can make up for what is missing. A
listing can be interrupted at any label.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nasgoat.acquisition.branch.declared_bound import (
    bound_labels,
    load_label_moves,
    load_label_reference,
    measure_rest,
)
from nasgoat.acquisition.branch.declared_domains import is_leaf, may_take, narrow_labels, weigh
from nasgoat.acquisition.branch.declared_structures import LabelledBlock
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    LISTING,
    MARGIN,
    NODE_VARIABLES,
    NODES,
    PAUSED,
    POSITION,
    SHAPE,
    VARIABLES,
    Floats,
    Found,
    Index,
    Integers,
    LabelProblem,
    LabelScratch,
    LabelStack,
    LabelTables,
    new_label_scratch,
    new_label_stack,
)
from nasgoat.acquisition.branch.reference import add_to, dot
from nasgoat.acquisition.branch.search import LinearRun, Phase, Worker, order_states
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
    order_states(stack, t)


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


_STEPS = 100_000  # labels between two looks at the clock
_STEPS_OF_A_NODE = 100  # labels that count as one node of the search tree


@called
def begin_listing(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    t: Index,
    most: tuple[Index, Index],
) -> bool:
    """Whether to list what is below this node; the listing is then ready to begin."""
    shapes, tables = problem.shapes, problem.tables
    n, total = shapes.allowed.shape[1], 0
    many: Index = np.int64(1)
    for i in range(n):
        if stack.label[i] < 0:
            many = min(many * stack.width[t, i], most[0] + 1)
            scratch.listed[total] = i
            total += 1
    if many > most[0]:
        return False
    scratch.turn[NODE_VARIABLES] = total
    many = np.int64(1)
    for e in range(shapes.edges[s] if len(tables.delta) > 1 else 0):
        if stack.label[n + e] < 0:
            scratch.listed[total] = n + e
            total += 1
            many = min(many * len(tables.delta), most[1] + 1)
    if many > most[1]:
        return False
    scratch.turn[VARIABLES] = total
    scratch.turn[LISTING] = 0
    if scratch.turn[NODE_VARIABLES] == 0 and not _is_first(problem, stack, s):
        scratch.turn[LISTING] = -1
    scratch.try_at[0] = 0
    # The column of what is labelled: the reference without its open nodes.
    column = scratch.column[0]
    column[:] = 0.0
    for i in range(n):
        if stack.label[i] >= 0:
            _add_node(problem, stack, column, s, i, i)
    for e in range(shapes.edges[s]):
        x = stack.label[n + e]
        if x >= 0:
            u, v = shapes.ends[s, e, 0], shapes.ends[s, e, 1]
            add_to(column, tables.delta[x, stack.label[u], stack.label[v]])
    return True


@inner
def _add_node(
    problem: LabelProblem, stack: LabelStack, column: Floats, s: Index, i: Index, before: Index
) -> None:
    """Add node i and its pairs with all labelled nodes among the first ones (before i), or all."""
    shapes, tables = problem.shapes, problem.tables
    a = stack.label[i]
    add_to(column, tables.own[a])
    for j in range(before):
        b = stack.label[j]
        if b >= 0 and j != i:
            add_to(column, tables.pair[shapes.pair_class[s, i, j], a, b])


@called
def list_labels(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    best: float,
    chosen: Integers,
    values: Floats,
) -> int:
    """Go on listing until all is listed, ``chosen`` is full or it is time to look at the clock.

    Returns how many graphs better than ``best`` were found.
    """
    n, turn = problem.shapes.allowed.shape[1], scratch.turn
    total, nodes, found = turn[VARIABLES], turn[NODE_VARIABLES], 0
    y = turn[LISTING]
    steps = 0
    while y >= 0 and found < len(values) and steps < _STEPS:
        steps += 1
        if y == total:
            column = scratch.column[y]
            value = column[0] - math.sqrt(dot(column, column))
            if value < best and is_leaf(problem, stack, s):
                values[found] = value
                for i in range(n + problem.shapes.edges[s]):
                    chosen[found, i] = max(stack.label[i], 0)
                found += 1
            y -= 1
            continue
        i = scratch.listed[y]
        if not _take_next(problem, stack, scratch, s, y, i):
            y -= 1
            continue
        _extend_column(problem, stack, scratch, s, y, i)
        if y + 1 == nodes and not _is_first(problem, stack, s):
            continue
        if y + 1 >= nodes and _is_hopeless(problem, stack, scratch, s, y + 1, best):
            continue
        y += 1
        if y < total:
            scratch.try_at[y] = 0
            stack.label[scratch.listed[y]] = -1
    turn[LISTING] = y
    stack.place[NODES] += 1 + steps // _STEPS_OF_A_NODE
    return found


@called
def _take_next(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    i: Index,
) -> bool:
    """Give variable i, the y-th of the listing, its next label; False if it has had all."""
    n, t = problem.shapes.allowed.shape[1], stack.place[DEPTH] + 1
    if i >= n and stack.label[i] >= 0:
        weigh(problem, stack, s, i - n, stack.label[i], -1)
    c = scratch.try_at[y]
    stack.label[i] = -1
    while c < (stack.width[t, i] if i < n else len(problem.rules.weight)):
        x = stack.domain[t, i, c] if i < n else c
        c += 1
        if may_take(problem, stack, s, i, x):
            stack.label[i] = x
            break
    scratch.try_at[y] = c
    if stack.label[i] >= 0 and i >= n:
        weigh(problem, stack, s, i - n, stack.label[i], 1)
    return bool(stack.label[i] >= 0)


@inner
def _extend_column(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    i: Index,
) -> None:
    """The column with the new label of variable i, the y-th of the listing."""
    shapes, column = problem.shapes, scratch.column[y + 1]
    n = shapes.allowed.shape[1]
    column[:] = 0.0
    add_to(column, scratch.column[y])
    if i < n:
        _add_node(problem, stack, column, s, i, n)
    else:
        u, v = shapes.ends[s, i - n, 0], shapes.ends[s, i - n, 1]
        add_to(column, problem.tables.delta[stack.label[i], stack.label[u], stack.label[v]])


@called
def _is_first(problem: LabelProblem, stack: LabelStack, s: Index) -> bool:
    """Whether no automorphism turns the labels of the nodes into a smaller word."""
    shapes = problem.shapes
    for g in range(shapes.symmetry_at[s], shapes.symmetry_at[s + 1]):
        for v in range(shapes.symmetry.shape[1]):
            other = stack.label[shapes.symmetry[g, v]]
            if other < stack.label[v]:
                return False
            if other > stack.label[v]:
                break
    return True


@inner
def _is_hopeless(
    problem: LabelProblem,
    stack: LabelStack,
    scratch: LabelScratch,
    s: Index,
    y: Index,
    best: float,
) -> bool:
    """Whether no labels of the edges left can beat ``best``: the triangle inequality."""
    shapes, reach, column = problem.shapes, problem.tables.reach, scratch.column[y]
    n = shapes.allowed.shape[1]
    mean, length = column[0], math.sqrt(dot(column, column))
    for z in range(y, scratch.turn[VARIABLES]):
        e = scratch.listed[z] - n
        a, b = stack.label[shapes.ends[s, e, 0]], stack.label[shapes.ends[s, e, 1]]
        mean += reach[a, b, 0]
        length += reach[a, b, 1]
    return bool(mean - length >= best + MARGIN)
