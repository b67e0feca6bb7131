"""The search for the labels of cells under the linear kernel, compiled.

It goes through structures, or prefixes of structures, as ``branch.search`` says; here are the steps
that are particular to cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import Group
from nasgoat.acquisition.branch.cells.domains import (
    is_consistent,
    keep_affordable,
    keep_supported,
    narrow_domains,
    open_domains,
)
from nasgoat.acquisition.branch.cells.potentials import bound_completions
from nasgoat.acquisition.branch.cells.products import measure_products
from nasgoat.acquisition.branch.cells.records import (
    Changes,
    LimitRows,
    Prefixes,
    Problem,
    Scratch,
    Stack,
    States,
    Tables,
    make_scratch,
    make_stack,
    make_state_scratch,
)
from nasgoat.acquisition.branch.cells.reference import (
    assign,
    evaluate_leaf,
    load_known_labels,
    load_moves,
    load_reference,
    measure_changes,
)
from nasgoat.acquisition.branch.cells.structure_bounds import add_codes, bound_structures
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.cells.tables import measure_states
from nasgoat.acquisition.branch.records import Answers, Floats, Index, Integers, make_answers
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


@compiled_inline
def _open_shape(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, threshold: float
) -> bool:
    """Begin with shape s, every variable open; False if it has no graph."""
    load_reference(problem.pairs.path, problem.shapes, problem.changes, prefixes, stack, s)
    if prefixes is not None:
        load_known_labels(problem.pairs.both, problem.shapes, problem.changes, prefixes, stack, s)
    open_domains(problem.shapes, prefixes, stack, s)
    return _drop_impossible(problem, prefixes, stack, s, np.int64(0))


@compiled_inline
def _forget(stack: Stack, t: Index) -> None:
    """Open the variable of depth t again."""
    stack.states[stack.variable[t]] = -1


@compiled_inline
def _take_state(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    s: Index,
    t: Index,
    x: Index,
    threshold: float,
) -> bool:
    """Give the branching variable of depth t the state x; False if that leaves no graph."""
    assign(problem.pairs.both, problem.shapes, prefixes, stack, s, t, x)
    if not narrow_domains(problem.shapes, prefixes, stack, s, t, threshold):
        return False
    return _drop_impossible(problem, prefixes, stack, s, t + 1)


@compiled_apart
def _drop_impossible(
    problem: Problem, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index
) -> bool:
    """Drop states that no graph can have at depth t; False if a variable has none left."""
    if prefixes is not None and not keep_supported(problem.shapes, prefixes, stack, s, t):
        return False
    return bool(keep_affordable(problem.shapes, problem.limits, prefixes, stack, s, t))


@compiled_inline
def _list_nothing(*_: Any) -> int:
    """Cells are never listed: no listing is under way."""
    return -1


@compiled_inline
def _choose_variable(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    total: Index,
    s: Index,
    t: Index,
    threshold: float,
) -> None:
    """Branch on one of all open variables."""
    load_moves(problem.shapes, problem.changes, prefixes, stack, s, t)
    choose_variable(stack, scratch.potentials, t, total, threshold)


@compiled_apart
def _find_leaves(
    problem: Problem,
    prefixes: Prefixes | None,
    stack: Stack,
    scratch: Scratch,
    roots: Floats,
    s: Index,
    t: Index,
    best: float,
    answers: Answers,
) -> int:
    """Graphs better than ``best`` with at most one variable open; returns how many, or -1."""
    shapes, limits, changes = problem.shapes, problem.limits, problem.changes
    chosen, values = answers.chosen, answers.values
    variables, q = shapes.variables[shapes.home[s]], shapes.last_label[s]
    if variables - t > 1:  # one more has its state at each depth
        return -1
    load_moves(shapes, changes, prefixes, stack, s, t)
    last: Index = np.int64(-1)
    for i in range(variables):
        if stack.states[i] < 0:
            last = i
    found = 0
    for c in range(stack.width[t, last] if last >= 0 else 1):
        x = np.int64(-1)
        if last >= 0:
            x = stack.domain[t, last, c]
            stack.states[last] = x
        fits = keep_affordable(shapes, limits, prefixes, stack, s, t)
        if prefixes is not None and fits:
            fits = is_consistent(shapes, prefixes, stack, s)
        if fits:
            value = evaluate_leaf(stack, prefixes, q, t, last, x)
            if value < best:
                values[found] = value
                for i in range(variables):
                    chosen[found, i] = stack.states[i]
                found += 1
    if last >= 0:
        stack.states[last] = -1
    return found


_walk = Walk(_open_shape, _forget, _take_state)
_search = make_search(
    _walk,
    Steps(
        go_on_listing=_list_nothing,
        find_leaves=_find_leaves,
        measure=measure_products,
        bound=bound_completions,
        choose=_choose_variable,
    ),
)


@compiled
def search(*given: Any) -> tuple[int, int]:
    """The search of cells (see :func:`make_search`)."""
    return _search(*given)


class LinearRun(DepthFirstRun):
    """Bounds of all shapes of cells, then depth-first search below them, best bound first.

    A large block is scouted before, so that a search that is stopped early has graphs to show.

    Args:
        block: The shapes.
        tables, limits: What the posterior and the space say about them.
        floor: A valid bound on everything, for as long as no better one is known.
        threads: Threads that share the work.
        scout: Whether to look below some shapes first; where there are threads if None.
        codes: Of the blocks other than the paper's, for each structure; none if None.
        roots: Bounds of all shapes, where they are known.
        changes: Changes of all classes, where they are known.
        allowed: Which states of each prefix are searched, (S, V, X); all if None. When a prefix
            gets its bound, those that can't lead to better graphs are taken out.
        like: States of another block under the same tables: what is the same is not made again.
    """

    _search = staticmethod(search)

    def __init__(
        self,
        block: CellBlock,
        tables: Tables,
        limits: LimitRows,
        floor: Callable[[], float],
        threads: Threads = ALONE,
        scout: bool | None = None,
        codes: NDArray[np.uint8] | None = None,
        roots: Floats | None = None,
        changes: Changes | None = None,
        allowed: NDArray[np.uint8] | None = None,
        like: States | None = None,
        known_labels: Integers | None = None,
    ) -> None:
        if changes is None:
            changes = measure_changes(tables, block.shapes, block.classes, block.labels)
        if codes is not None:
            changes = changes._replace(given=codes @ tables.codes)
        self._tables = tables
        self.states = measure_states(block, tables, changes, allowed, like, known_labels)
        self._problem = Problem(tables.pairs, block.shapes, limits, changes)
        # Groups whose bounds wait; where limits or prefixes narrow domains, one shape at a time.
        in_step = block.prefix_states is None and not len(limits.cap)
        self._groups = list(block.groups) if in_step and roots is None else []
        if codes is not None:
            self._groups = [add_codes(tables, group, codes) for group in self._groups]
        scout = threads.total > 1 if scout is None else scout
        super().__init__(block, len(block.shapes.home), floor, threads, scout)
        if roots is not None:
            self.roots = roots
            self._begin(Phase.SEARCH, np.argsort(roots, kind="stable"))

    def search_below(self, roots: Floats, threads: Threads) -> None:
        """Go on below the shapes with these bounds, whichever threads bounded them."""
        self.roots, self._threads = roots, threads
        while len(self._workers) < threads.total:
            self._workers.append(self._make_worker())
        self._begin(Phase.SEARCH, np.argsort(roots, kind="stable"))

    def _make_worker(self) -> Worker:
        """A worker with room for the largest shape: its stack, its scratch and its answers."""
        problem, labels = self._problem, self.block.labels
        variables = max(int(problem.shapes.variables.max()), 1)
        domain = labels
        if self.states is not None:
            domain *= int(np.bincount(self.states.label).max())  # states of one label
        codes, width = len(self._tables.options), problem.pairs.path.shape[-1]
        prefixes = None
        if self.states is not None:
            scratch = make_state_scratch(self.states, variables, labels, domain)
            prefixes = Prefixes(states=self.states, scratch=scratch)
        return Worker(
            prefixes=prefixes,
            stack=make_stack(variables, labels, width, domain, problem.shapes.distance.shape[1]),
            scratch=make_scratch(variables, labels, domain, codes),
            order=np.zeros(0, dtype=np.int64),
            answers=make_answers(domain, variables),
        )

    def _bound_next_groups(self) -> bool:
        """Bounds of the next groups, one for each thread; False if there are none."""
        if not self._groups:
            return False
        chosen = [self._groups.pop() for _ in self._workers[: len(self._groups)]]
        answers = self._threads.map(self._bound_group, chosen)
        for group, bounds in zip(chosen, answers, strict=True):
            self.roots[group.rows] = bounds
            self._rooted += len(bounds)
        if not self._groups:
            self._begin_next_phase()
        return True

    def _bound_group(self, group: Group) -> Floats:
        problem = self._problem
        return bound_structures(self._tables, problem.shapes, problem.changes, group)
