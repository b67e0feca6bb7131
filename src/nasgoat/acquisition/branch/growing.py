"""Prefixes that grow node by node: for dense spaces, whose prefixes are too many to list.

A *stem* is a prefix of k nodes together with the label of the last inner node; the nodes between
float (``floating``). Its bound holds for every graph that begins like it. Stems wait in the order
of their bounds; the best ones get one more node, each class of isomorphic prefixes once. A stem
that lacks one node only is not extended further: the prefixes that it leads to are searched.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Integers
from nasgoat.acquisition.branch.floating import floating_block, floating_tables, no_limits
from nasgoat.acquisition.branch.limits import limits_of
from nasgoat.acquisition.branch.runs import MARGIN, Found, LinearRun
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.states import states_of
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.spaces.structures import extend_rows, list_rows, matrices_of
from nasgoat.surrogate.posterior import LinearPosterior

_FIRST = 5  # nodes of the stems to begin with
_STEMS = 48  # stems that get a node at a time
_DIVING = 4  # every so many turns the deepest stems come first, for good graphs early
Stem = tuple[float, int, tuple[int, ...]]  # bound, label of the last inner node, rows


class GrowingRun:
    """Best-first search over prefixes of graphs with n nodes.

    Args:
        space: The space.
        n: Nodes of the graphs.
        posterior, sqrt_beta: The acquisition.
        crude: A valid bound on everything.
        pool: Threads to share the work, or None.
        threads: How many.
    """

    def __init__(
        self,
        space: NodeLabeledSpace,
        n: int,
        posterior: LinearPosterior,
        sqrt_beta: float,
        crude: Callable[[], float],
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self._space, self._n, self._crude = space, n, crude
        self._tables = floating_tables(space, posterior, sqrt_beta, n)
        self._threads = (pool, threads)
        self._waiting: list[list[Stem]] = [[] for _ in range(n - 2)]
        self._searched: LinearRun | None = None
        self.block: Block  # the shapes that the graphs found last belong to
        self._begun = False
        self._turn = 0
        self._explored = 0

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._explored + (self._searched.nodes if self._searched else 0)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if not self._begun:
            self._begin(best)
            return []
        if self._searched is not None:
            found = self._searched.go_on(best)
            if found is not None:
                return found
            self._explored += self._searched.nodes
            self._searched = None
        k = self._choose(best)
        if k is None:
            return None
        self._grow(k, best)
        return []

    def _begin(self, best: float) -> None:
        """All stems of the first size."""
        first, labels = min(_FIRST, self._n - 3), len(self._space.ops)
        rows = np.concatenate(list(list_rows(first, self._space.edge_limit, whole=False)))
        tails = np.tile(np.arange(labels), len(rows))
        self._wait(np.repeat(rows, labels, axis=0), tails, np.full(len(tails), -np.inf), best)
        self._begun = True

    def _choose(self, best: float) -> int | None:
        """The number of nodes of the stems that are next."""
        for stems in self._waiting:
            if stems and stems[0][0] >= best + MARGIN:
                stems.clear()
        sizes = [k for k, stems in enumerate(self._waiting) if stems]
        if not sizes:
            return None
        self._turn += 1
        if best == np.inf or self._turn % _DIVING == 0:
            return sizes[-1]
        return min(sizes, key=lambda k: self._waiting[k][0][0])

    def _grow(self, k: int, best: float) -> None:
        """The best stems of k nodes get one more."""
        stems = self._waiting[k]
        chosen = [heapq.heappop(stems) for _ in range(min(_STEMS, len(stems)))]
        parents = np.array([rows for _, _, rows in chosen], dtype=np.int64)
        rows, home = extend_rows(parents, self._n - 2, self._space.edge_limit)
        tails = np.array([tail for _, tail, _ in chosen], dtype=np.int64)[home]
        floors = np.array([bound for bound, _, _ in chosen])[home]
        if not len(rows):
            return
        if k + 1 < self._n - 2:
            self._wait(rows, tails, floors, best)
            return
        self.block = floating_block(self._space, self._n, matrices_of(rows), tails, 0)
        states = states_of(self.block, self._tables)
        floor = max(float(floors.min()), self._crude())
        arguments = (self.block, self._tables, states, limits_of(self.block), lambda: floor)
        self._searched = LinearRun(*arguments, *self._threads, scout=False)

    def _wait(self, rows: Integers, tails: Integers, floors: Floats, best: float) -> None:
        """Bound stems and keep those that may lead to something better than ``best``."""
        k = rows.shape[1]
        block = floating_block(self._space, self._n, matrices_of(rows), tails, self._n - 2 - k)
        arguments = (block, self._tables, states_of(block, self._tables), no_limits(block))
        run = LinearRun(*arguments, self._crude, *self._threads, scout=False)
        bounds = np.maximum(run.bounds(), floors)
        self._explored += len(bounds)
        for s in np.flatnonzero(bounds < best + MARGIN).tolist():
            stem = (float(bounds[s]), int(tails[s]), tuple(rows[s].tolist()))
            heapq.heappush(self._waiting[k], stem)

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if not self._begun:
            return self._crude()
        lowest = min((stems[0][0] for stems in self._waiting if stems), default=np.inf)
        if self._searched is not None:
            lowest = min(lowest, self._searched.open_bound())
        return max(lowest, self._crude())
