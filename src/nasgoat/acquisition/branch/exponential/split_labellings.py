"""Cells with labels on edges under the exponential kernel, one structure after another.

The labellings of each structure are searched in two halves (``split_structure``).
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.cells.domains import EPSILON
from nasgoat.acquisition.branch.exponential.enumeration import ExponentialRun
from nasgoat.acquisition.branch.exponential.kernel_rows import EdgeFactors
from nasgoat.acquisition.branch.exponential.model import ExponentialProblem
from nasgoat.acquisition.branch.exponential.split_structure import StructureSearch
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Run
from nasgoat.acquisition.costs import LARGEST_HALF
from nasgoat.compiled import ALONE, Threads

_MANY_LABELLINGS = 50_000  # of all structures, from which a second thread pays
_MANY_OF_ONE = 20_000  # of one structure, from which halves pay
_KEPT = 256  # structures whose bounds are kept from the first look to the search


class SplitRun:
    """Structure after structure with labelled edges: a look at each, then in order of bounds."""

    def __init__(self, problem: ExponentialProblem, threads: Threads) -> None:
        self._problem, self._threads, self.block = problem, threads, problem.block
        self._roots = problem.roots.copy()  # inf when a structure is done
        self._unseen = np.argsort(problem.roots, kind="stable")[::-1].tolist()
        self._order: list[int] = []  # structures that wait, the lowest last
        self._working: list[StructureSearch] = []
        self._kept: dict[int, StructureSearch] = {}
        self._looked = 0

    @property
    def nodes(self) -> int:
        """Bounds computed and labellings scored so far."""
        return self._looked + sum(structure.looked for structure in self._working)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._unseen:
            return self._look(best)
        while len(self._working) < self._threads.total and self._order:
            s = self._order.pop()
            if self._roots[s] >= best + MARGIN:  # nor is any that waits better
                self._roots[[s, *self._order]] = np.inf
                self._order = []
            else:
                self._working.append(self._kept.pop(s) if s in self._kept else self._begin(s))
        if not self._working:
            return None
        answers = self._threads.map(lambda structure: structure.go_on(best), self._working)
        for structure, answer in zip(self._working, answers, strict=True):
            if answer is None:
                self._roots[structure.shape] = np.inf
                self._looked += structure.looked
        going = zip(self._working, answers, strict=True)
        self._working = [structure for structure, answer in going if answer is not None]
        return [found for answer in answers for found in answer or ()]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        return float(self._roots.min(initial=np.inf))

    def _look(self, best: float) -> list[Found]:
        """Local search in the next structures, and better bounds of them."""
        next_ = [self._unseen.pop() for _ in range(min(self._threads.total, len(self._unseen)))]
        for s in next_:
            if self._roots[s] >= best + MARGIN:
                self._roots[s] = np.inf
        hopeful = [s for s in next_ if self._roots[s] < np.inf]
        found = []
        for search in self._threads.map(self._begin, hopeful):
            found += search.list_first_found(best)
            self._roots[search.shape] = max(self._roots[search.shape], search.lowest)
            if len(self._kept) < _KEPT:
                self._kept[search.shape] = search
            else:
                self._looked += search.looked
        if not self._unseen:
            self._order = [s for s in np.argsort(-self._roots).tolist() if self._roots[s] < np.inf]
        return found

    def _begin(self, s: int) -> StructureSearch:
        return StructureSearch(s, self._problem.model, self._list_factors(s))

    def _list_factors(self, s: int) -> EdgeFactors:
        """The factors and costs of the labels of a structure's edges."""
        factors, limits, power = (
            self._problem.factors,
            self._problem.limits,
            self._problem.model.settings[2],
        )
        total, size = int(self.block.shapes.variables[s]), self.block.shapes.size[s]
        tails, heads = self.block.shapes.ends[s, :total].T
        order = np.lexsort((tails, heads))
        tails, heads = tails[order], heads[order]
        squares = factors.square[size, factors.edge_column[tails, heads]]
        kernel = factors.edge[size, tails, heads] * np.exp(-0.5 * power * squares)[..., None]
        prior = np.exp((1.0 - power) * squares)[..., None]
        return EdgeFactors(
            order=order,
            given=self._measure_paths(s),
            values=np.concatenate([kernel, prior], axis=2),
            cost=limits.state[:, limits.place[s, order]],
            room=limits.cap - limits.shape[:, s] + EPSILON,
        )

    def _measure_paths(self, s: int) -> Floats:
        """Kernel vector and prior variance of the paths alone."""
        shapes, factors, model = self.block.shapes, self._problem.factors, self._problem.model
        n, size, distance = int(shapes.nodes[s]), shapes.size[s], shapes.distance[s]
        at = min(s, len(factors.given) - 1)
        kernel, square = factors.given[at].copy(), float(factors.given_square[at])
        for u in range(n):
            for v in range(u, n):
                if u == v or distance[u, v] > 0:
                    kernel *= factors.path[size, distance[u, v], u, v]
                    square += factors.square[size, factors.path_column[distance[u, v], u, v]]
        power = model.settings[2]
        kernel *= np.exp(-0.5 * power * square)
        return np.append(kernel, model.settings[0] * np.exp((1.0 - power) * square))


def start_labellings(problem: ExponentialProblem, threads: Threads) -> Run:
    """The search that suits the labellings of a block: one by one, or in two halves."""
    block = problem.block
    variables = int(block.shapes.variables.max(initial=0))
    most, half = block.labels**variables, block.labels ** ((variables + 1) // 2)
    if len(problem.roots) * most < _MANY_LABELLINGS:
        threads = ALONE
    on_edges = block.space.labels_on == "edges"
    if on_edges and most > _MANY_OF_ONE and half <= LARGEST_HALF:
        return SplitRun(problem, threads)
    return ExponentialRun(problem, threads)
