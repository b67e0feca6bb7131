"""Local search: climb from the best random graph, restart at a local minimum.

Source: White et al., UAI 2021; naszilla.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines.method import Method, Setup, heuristic
from nasgoat.graphs import LabeledGraph

_STREAM = 3  # of the order in which neighbours are tried


class LocalSearch(Method):
    """Evaluates neighbours in random order and moves at the first improvement.

    A graph whose neighbours are all evaluated is a local minimum: the search restarts from the best
    of ``initial`` new random graphs. Where the search stands follows from what was told.

    Example:
        >>> from nasgoat import nasbench201
        >>> space = nasbench201()
        >>> method = LocalSearch(Setup(space, initial=2))
        >>> for proposal in method.ask(2):
        ...     method.tell(proposal.graph, error=float(len(proposal.graph.edges)))
        >>> best = min(method.observations, key=lambda pair: pair[1])[0]
        >>> space.key(method.ask(1)[0].graph) in {space.key(g) for g in space.neighbours(best)}
        True
    """

    batch: ClassVar[int] = 1

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._starts: list[int] = []  # observations of the present random start
        self._current: int | None = None  # the observation whose neighbours are tried
        self._neighbours: dict[bytes, LabeledGraph] = {}

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Learn the error of a graph, and move if it is better."""
        super().tell(graph, error)
        i = len(self._errors) - 1
        if self._current is None:
            self._starts.append(i)
            if len(self._starts) >= self.initial:
                self._move(min(self._starts, key=lambda start: self._errors[start]))
        elif error < self._errors[self._current]:
            self._move(i)
        if self._current is not None and not self._left(self._seen):
            self._starts, self._current = [], None

    def _move(self, i: int) -> None:
        self._current = i
        found = self.space.neighbours(self._graphs[i])
        # The order depends on the seed and the graph's number, not on when it is asked for.
        order = np.random.default_rng([self.seed, _STREAM, i]).permutation(len(found))
        self._neighbours = {self.space.key(found[j]): found[j] for j in order}

    def _left(self, taken: set[bytes]) -> list[LabeledGraph]:
        return [graph for key, graph in self._neighbours.items() if key not in taken]

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        if self._current is None:
            return []  # random graphs for the next start
        return [heuristic(graph) for graph in self._left(taken)[:k]]
