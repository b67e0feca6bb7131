"""Prefixes that grow node by node: for dense spaces, whose prefixes are too many to list (Lemma 4).

A *stem* is a prefix of k nodes together with the label of the last inner node; the nodes between
*float* (``stem_tables``). Its bound holds for every graph that begins like it. Stems wait in the
order of their bounds. The best ones first get labels, one node at a time, because a label that is
known takes part in no interaction; when all labels are known, one more node, each class of
isomorphic prefixes once. What a stem becomes inherits the states that its nodes can be in. Prefixes
without floating nodes wait with them, and are searched.

Other modules use :class:`GrowingRun` alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import States, Tables
from nasgoat.acquisition.branch.cells.reference import make_no_changes
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.stem_tables import (
    make_floating_block,
    make_floating_tables,
    split_vectors,
)
from nasgoat.acquisition.branch.cells.structures import CellBlock, list_prefix_states
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Integers
from nasgoat.compiled import Threads
from nasgoat.spaces import CellSpace
from nasgoat.spaces.structures import extend_rows, list_rows, unpack_matrices
from nasgoat.surrogate.posterior import LinearPosterior

_FIRST = 3  # nodes of the stems to begin with
_BOUNDED = 100  # stems between two looks at the clock: one takes up to some ms
_STEMS = 48  # stems that get a label, or a node, at a time
_DIVING = 4  # once in this many turns the deepest stems come first, for good graphs early


class Stem(NamedTuple):
    """A stem that waits; the one with the lowest bound is the least of several."""

    bound: float
    last_label: int  # of the last inner node
    rows: tuple[int, ...]
    known_labels: tuple[int, ...]  # labels of its nodes that are known, -1 for others
    states: bytes  # which states its nodes may be in, as packed bits
    next_variable: int  # the node whose label is next, -1 for none
    label_bound: tuple[float, ...]  # a bound for each label of it


class Stems(NamedTuple):
    """Stems of one size, or whole prefixes, as arrays."""

    rows: Integers  # (S, k)
    last_label: Integers  # (S,)
    bound: Floats  # (S,)
    allowed: NDArray[np.uint8]  # (S, V, X) which states their nodes may be in
    known_labels: Integers  # (S, V) labels that are known, -1 for others
    next_variable: Integers  # (S,) the node whose label is next
    label_bound: Floats  # (S, L) a bound for each of its labels

    def take(self, places: Integers, rows: Integers) -> Stems:
        """Copies of the stems at these places, with the given rows in place of their own."""
        others = {name: column[places] for name, column in self._asdict().items()}
        return Stems(**{**others, "rows": rows})


class GrowingRun:
    """Best-first search over prefixes of graphs with n nodes.

    Args:
        space, n: A space whose structures may grow node by node, and how many nodes graphs have.
        posterior, sqrt_beta: The acquisition.
        floor: A valid bound on everything.
        threads: Threads that share the work.
    """

    def __init__(
        self,
        space: CellSpace,
        n: int,
        posterior: LinearPosterior,
        sqrt_beta: float,
        floor: Callable[[], float],
        threads: Threads,
    ) -> None:
        self._space, self._n, self._floor = space, n, floor
        self._make_tables = partial(make_floating_tables, space, posterior, sqrt_beta, n)
        self._tables: dict[bool, Tables] = {}  # by whether all labels are known
        self._known: dict[bool, States] = {}  # of the first stems under each
        self._threads = threads
        # Labels come before nodes, so a level is how many of both are known beyond the first nodes.
        self._first, self._inner = min(_FIRST, n - 3), n - 3
        self._waiting: list[list[Stem]] = [[] for _ in range(self._inner + n - 1 - self._first)]
        self._run: LinearRun | None = None  # bounds stems, or looks below whole prefixes
        self._bounded: Stems | None = None  # the stems that it bounds
        self.block: CellBlock  # the shapes that the graphs found last belong to
        self._begun, self._turn, self._explored = False, 0, 0
        nothing = np.zeros((0, n - 2), dtype=np.int64)
        self._label = list_prefix_states(len(space.ops), n, nothing).label  # of each state

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._explored + (self._run.nodes if self._run else 0)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if not self._begun:
            self._begin()
            return []
        if self._run is not None:
            found = self._run.go_on(best)
            if found is None or (self._bounded is not None and self._run.bounded):
                self._end(self._run, best)
            return found or []
        level = self._choose_level(best)
        if level is None:
            self._tables.clear()
            self._known.clear()
            return None
        stems = self._take_best(level)
        if level < self._inner:
            fixed = self._fix_next_label(stems, best)
            if len(fixed.rows):
                self._start(fixed)
        elif level + 1 == len(self._waiting):
            self._start(stems, stems.bound)
        else:
            rows, home = extend_rows(stems.rows, self._n - 2, self._space.edge_limit)
            if len(rows):
                self._start(stems.take(home, rows))
        return []

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if not self._begun:
            return self._floor()
        lowest = min((stems[0].bound for stems in self._waiting if stems), default=np.inf)
        if self._run is not None:
            lowest = min(lowest, self._run.open_bound())
        return max(lowest, self._floor())

    def _begin(self) -> None:
        """All stems of the first size, no label of a node known."""
        labels = len(self._space.ops)
        rows = np.concatenate(list(list_rows(self._first, self._space.edge_limit, whole=False)))
        last_label = np.tile(np.arange(labels), len(rows))
        total = len(last_label)
        self._start(
            Stems(
                rows=np.repeat(rows, labels, axis=0),
                last_label=last_label,
                bound=np.full(total, -np.inf),
                allowed=np.ones((total, self._n - 2, len(self._label)), dtype=np.uint8),
                known_labels=np.full((total, self._n - 2), -1),
                next_variable=np.full(total, -1),
                label_bound=np.zeros((total, labels)),
            )
        )
        self._begun = True

    def _choose_level(self, best: float) -> int | None:
        """Which stems are next; None if none is left."""
        for stems in self._waiting:
            if stems and stems[0].bound >= best + MARGIN:
                stems.clear()
        levels = [level for level, stems in enumerate(self._waiting) if stems]
        if not levels:
            return None
        self._turn += 1
        if best == np.inf or self._turn % _DIVING == 0:
            return levels[-1]
        return min(levels, key=lambda level: self._waiting[level][0].bound)

    def _take_best(self, level: int) -> Stems:
        """The stems of a level with the lowest bounds, which wait no longer."""
        waiting = self._waiting[level]
        bound, last_label, rows, known_labels, states, next_variable, label_bound = zip(
            *(heapq.heappop(waiting) for _ in range(min(_STEMS, len(waiting)))), strict=True
        )
        bits = np.array([np.frombuffer(packed, dtype=np.uint8) for packed in states])
        allowed = np.unpackbits(bits, axis=1, count=(self._n - 2) * len(self._label))
        return Stems(
            rows=np.array(rows, dtype=np.int64),
            last_label=np.array(last_label, dtype=np.int64),
            bound=np.array(bound),
            allowed=allowed.reshape(len(bits), self._n - 2, len(self._label)),
            known_labels=np.array(known_labels, dtype=np.int64),
            next_variable=np.array(next_variable, dtype=np.int64),
            label_bound=np.array(label_bound),
        )

    def _fix_next_label(self, stems: Stems, best: float) -> Stems:
        """Copy each stem once for every label of its next node whose bound is below ``best``."""
        place, label = np.nonzero(stems.label_bound < best + MARGIN)
        fixed = stems.take(place, stems.rows[place])
        at, node = np.arange(len(place)), fixed.next_variable
        of_label = self._label == label[:, None]
        fixed.allowed[at, node] &= of_label
        fixed.known_labels[at, node] = label
        return fixed._replace(bound=np.maximum(fixed.bound, fixed.label_bound[at, label]))

    def _start(self, stems: Stems, roots: Floats | None = None) -> None:
        """Look below whole prefixes whose bounds are given as roots, or bound stems."""
        k, lowest = stems.rows.shape[1], float(stems.bound.min())
        matrices = unpack_matrices(stems.rows)
        self.block = make_floating_block(self._space, self._n, matrices, stems.last_label)
        labelled = bool((stems.known_labels[:, 1:] >= 0).all())
        if labelled not in self._tables:
            tables = self._make_tables(labelled)
            self._tables[labelled] = split_vectors(tables, self.block)
        tables = self._tables[labelled]
        self._run = LinearRun(
            self.block,
            tables,
            make_limit_rows(self.block, floating=k < self._n - 2),
            lambda: max(lowest, self._floor()),
            self._threads,
            scout=False,
            roots=roots,
            allowed=stems.allowed,
            like=self._known.get(labelled),
            known_labels=stems.known_labels,
            changes=make_no_changes(tables) if labelled else None,
        )
        if roots is None:
            self._run.most_nodes = _BOUNDED
        if self._run.states is not None:
            self._known.setdefault(labelled, self._run.states)
        self._bounded = stems if roots is None else None

    def _end(self, run: LinearRun, best: float) -> None:
        """Queue the bounded stems that may still lead to a graph better than ``best``."""
        stems, self._run, self._bounded = self._bounded, None, None
        self._explored += run.nodes
        states = run.states
        if stems is None or states is None:
            return
        k = stems.rows.shape[1]
        bounds = np.maximum(run.roots, stems.bound)
        for s in np.flatnonzero(bounds < best + MARGIN).tolist():
            stem = Stem(
                bound=float(bounds[s]),
                last_label=int(stems.last_label[s]),
                rows=tuple(stems.rows[s].tolist()),
                known_labels=tuple(stems.known_labels[s].tolist()),
                states=np.packbits(stems.allowed[s]).tobytes(),
                next_variable=int(states.next_variable[s]),
                label_bound=tuple(states.label_bound[s].tolist()),
            )
            level = sum(label >= 0 for label in stem.known_labels) + k - self._first
            heapq.heappush(self._waiting[level], stem)
