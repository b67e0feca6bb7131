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
from typing import Any

import numpy as np

from nasgoat.acquisition.branch.declared.bound import (
    add_labelled_edges,
    bound_labels,
    measure_labels,
)
from nasgoat.acquisition.branch.declared.domains import is_leaf, may_take, narrow_labels, weigh
from nasgoat.acquisition.branch.declared.records import (
    LISTING,
    NODE_VARIABLES,
    VARIABLES,
    DeclaredProblem,
    DeclaredRows,
    DeclaredScratch,
    DeclaredStack,
    DeclaredSummary,
    DeclaredTables,
    know_nothing,
    make_declared_scratch,
    make_declared_stack,
)
from nasgoat.acquisition.branch.declared.structures import DeclaredBlock
from nasgoat.acquisition.branch.records import (
    DEPTH,
    MARGIN,
    NODES,
    SHAPE,
    Answers,
    Floats,
    Index,
    Integers,
    add_to,
    dot,
    make_answers,
)
from nasgoat.acquisition.branch.search import (
    DepthFirstRun,
    Phase,
    Steps,
    Walk,
    Worker,
    choose_variable,
    make_search,
)
from nasgoat.compiled import ALONE, Threads, compiled, compiled_apart, compiled_inline

#: Labels between two looks at the clock, and those that count as one node of the search tree.
_STEPS, _STEPS_OF_A_NODE = 100_000, 100
#: Labellings of nodes, and of edges, up to which they are listed.
_LISTED = (64, 100_000)
_ANSWERS = 64  # graphs that one call hands over


@compiled_inline
def _open_structure(
    problem: DeclaredProblem, _: None, stack: DeclaredStack, s: Index, threshold: float
) -> bool:
    """Begin with structure s, every variable open; False if it has no graph."""
    stack.label[:] = -1
    return narrow_labels(problem, stack, s, np.int64(0), threshold)


@compiled_inline
def _forget(stack: DeclaredStack, t: Index) -> None:
    """Open all variables that got their labels below depth t."""
    for i in range(len(stack.label)):
        if stack.label[i] >= 0 and stack.since[i] > t:
            stack.label[i] = -1


@compiled_inline
def _take_label(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    s: Index,
    t: Index,
    x: Index,
    threshold: float,
) -> bool:
    """Give the branching variable of depth t the label x; False if that leaves no graph."""
    i = stack.variable[t]
    stack.label[i], stack.since[i] = x, t + 1
    return narrow_labels(problem, stack, s, t + 1, threshold)


@compiled_inline
def _choose_variable(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    total: Index,
    s: Index,
    t: Index,
    threshold: float,
) -> None:
    """Branch on an open node, on an edge only if there is none."""
    n, opened, nodes = problem.shapes.allowed.shape[1], scratch.potentials.open, 0
    while nodes < total and opened[nodes] < n:
        nodes += 1
    choose_variable(stack, scratch.potentials, t, nodes if nodes > 0 else total, threshold)


@compiled_inline
def _find_leaves(
    problem: DeclaredProblem,
    _: None,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    roots: Floats,
    s: Index,
    t: Index,
    best: float,
    answers: Answers,
) -> int:
    """Begin to list what is below a node, if that is little; -1 if it is not."""
    if not _begin_listing(problem, stack, scratch, s, t):
        return -1
    scratch.bound[0] = roots[s]
    if t > 0:
        scratch.bound[0] = stack.order_bound[t - 1, stack.next[t - 1] - 1]
    return 0


@compiled_apart
def _begin_listing(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index, t: Index
) -> bool:
    """Whether to list what is below this node; the listing is then ready to begin."""
    shapes, tables, most = problem.shapes, problem.tables, scratch.most
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
    if len(problem.summary.given) > 0:
        add_to(column, problem.summary.given[s])
    for i in range(n):
        if stack.label[i] >= 0:
            _add_node(problem, stack, column, s, i, i)
    add_labelled_edges(problem, stack, column, s)
    return True


@compiled_inline
def _add_node(
    problem: DeclaredProblem,
    stack: DeclaredStack,
    column: Floats,
    s: Index,
    i: Index,
    before: Index,
) -> None:
    """Add node i and its pairs with all labelled nodes among the first ones (before i), or all."""
    shapes, tables = problem.shapes, problem.tables
    a = stack.label[i]
    add_to(column, tables.own[a])
    for j in range(before):
        b = stack.label[j]
        if b >= 0 and j != i:
            add_to(column, tables.pair[shapes.pair_class[s, i, j], a, b])


@compiled_apart
def _list_labels(
    problem: DeclaredProblem,
    stack: DeclaredStack,
    scratch: DeclaredScratch,
    best: float,
    answers: Answers,
) -> int:
    """Go on listing until all is listed, ``answers`` are full or it is time to look at the clock.

    Returns how many graphs better than ``best`` were found, -1 if no listing is under way.
    """
    s, n, turn = stack.place[SHAPE], problem.shapes.allowed.shape[1], scratch.turn
    total, nodes, found = turn[VARIABLES], turn[NODE_VARIABLES], 0
    chosen, values = answers.chosen, answers.values
    y = turn[LISTING]
    if y < 0:
        return -1
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
        if not _take_next(problem, stack, scratch, s, y):
            y -= 1
            continue
        _extend_column(problem, stack, scratch, s, y)
        if y + 1 == nodes and not _is_first(problem, stack, s):
            continue
        if y + 1 >= nodes and _is_hopeless(problem, stack, scratch, y + 1, best):
            continue
        y += 1
        if y < total:
            scratch.try_at[y] = 0
            stack.label[scratch.listed[y]] = -1
    turn[LISTING] = y
    stack.place[NODES] += 1 + steps // _STEPS_OF_A_NODE
    return found


@compiled_apart
def _take_next(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index, y: Index
) -> bool:
    """Give the y-th variable of the listing its next label; False if it has had all."""
    i, n, t = scratch.listed[y], problem.shapes.allowed.shape[1], stack.place[DEPTH] + 1
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


@compiled_inline
def _extend_column(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, s: Index, y: Index
) -> None:
    """The column with the new label of the y-th variable of the listing."""
    shapes, column, i = problem.shapes, scratch.column[y + 1], scratch.listed[y]
    n = shapes.allowed.shape[1]
    column[:] = 0.0
    add_to(column, scratch.column[y])
    if i < n:
        _add_node(problem, stack, column, s, i, n)
    else:
        u, v = shapes.ends[s, i - n, 0], shapes.ends[s, i - n, 1]
        add_to(column, problem.tables.delta[stack.label[i], stack.label[u], stack.label[v]])


@compiled_apart
def _is_first(problem: DeclaredProblem, stack: DeclaredStack, s: Index) -> bool:
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


@compiled_inline
def _is_hopeless(
    problem: DeclaredProblem, stack: DeclaredStack, scratch: DeclaredScratch, y: Index, best: float
) -> bool:
    """Whether no labels of the edges left can beat ``best``: the triangle inequality."""
    shapes, reach, column = problem.shapes, problem.tables.reach, scratch.column[y]
    s = stack.place[SHAPE]
    n = shapes.allowed.shape[1]
    mean, length = column[0], math.sqrt(dot(column, column))
    for z in range(y, scratch.turn[VARIABLES]):
        e = scratch.listed[z] - n
        a, b = stack.label[shapes.ends[s, e, 0]], stack.label[shapes.ends[s, e, 1]]
        mean += reach[a, b, 0]
        length += reach[a, b, 1]
    return bool(mean - length >= best + MARGIN)


_search = make_search(
    Walk(_open_structure, _forget, _take_label),
    Steps(
        go_on_listing=_list_labels,
        find_leaves=_find_leaves,
        measure=measure_labels,
        bound=bound_labels,
        choose=_choose_variable,
    ),
)


@compiled
def search_declared(*given: Any) -> tuple[int, int]:
    """The search of declared graphs (see :func:`make_search`)."""
    return _search(*given)


class DeclaredRun(DepthFirstRun):
    """Bounds of all structures, then depth-first search below them, best bound first.

    Args:
        block: The structures.
        tables: What the posterior says about them.
        floor: A valid bound on everything, for as long as no better one is known.
        threads: Threads that share the work.
        listed: Labellings of nodes, and of edges, up to which they are listed.
        held: What is known of all graphs that are looked for; nothing if None.
        rows: Limits in place of the block's, where more than these are held.
        chosen: Structures to search; all if None.
    """

    _search = staticmethod(search_declared)

    def __init__(
        self,
        block: DeclaredBlock,
        tables: DeclaredTables,
        floor: Callable[[], float],
        threads: Threads = ALONE,
        listed: tuple[int, int] = _LISTED,
        held: DeclaredSummary | None = None,
        rows: DeclaredRows | None = None,
        chosen: Integers | None = None,
    ) -> None:
        held, rows = held or know_nothing(tables), rows or block.rows
        self._problem = DeclaredProblem(
            shapes=block.shapes, rules=block.rules, rows=rows, tables=tables, summary=held
        )
        self._listed = listed
        super().__init__(block, len(block.adjacency), floor, threads, scout=False, chosen=chosen)

    def _make_worker(self) -> Worker:
        tables, shapes = self._problem.tables, self._problem.shapes
        domain = max(len(tables.delta), shapes.allowed.shape[2])
        variables = self.block.n + shapes.ends.shape[1]
        return Worker(
            prefixes=None,
            stack=make_declared_stack(variables, domain, self.block.n),
            scratch=make_declared_scratch(variables, domain, tables, self._listed),
            order=np.zeros(0, dtype=np.int64),
            answers=make_answers(_ANSWERS, variables),
        )

    def search_below(self, roots: Floats) -> None:
        """Begin the depth-first search below all structures, the lowest of these bounds first."""
        self.roots = roots
        self._begin(Phase.SEARCH, np.argsort(roots, kind="stable"))

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        lowest = super().open_bound()
        for worker in self._workers:
            if worker.scratch.turn[LISTING] >= 0:
                lowest = min(lowest, float(worker.scratch.bound[0]))
        return max(lowest, self._floor())
