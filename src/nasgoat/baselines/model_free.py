"""Search methods without a model: random search, regularised evolution and local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines import Method, propose_heuristically
from nasgoat.errors import UnknownNameError
from nasgoat.graphs import LabeledGraph

REMOVALS = ("worst", "oldest")
_TRIES = 10  # mutations of one tournament's winner before the next tournament
_TOURNAMENTS = 100  # for each child at most; then a random graph takes its place
_STREAM = 3  # of the order in which local search tries neighbours


class RandomSearch(Method):
    """Draws distinct random graphs.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines import Setup
        >>> method = RandomSearch(Setup(nasbench201(), initial=2))
        >>> for proposal in method.ask(2):
        ...     method.tell(proposal.graph, error=1.0)
        >>> len(method.ask(3))
        3
    """

    batch: ClassVar[int] = 1

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        return []  # random graphs fill what a method leaves


@dataclass(eq=False, repr=False, kw_only=True)
class Evolution(Method):
    """Mutates the winners of tournaments.

    The state follows from what was told: with ``"worst"`` the population is the best
    ``population`` graphs so far, with ``"oldest"`` the last ones.

    Args:
        setup: Space, initial design, seed and budget.
        population: Largest size of the population.
        tournament: Members drawn, with replacement, of which the best is mutated.
        remove: Who leaves: ``"worst"``, as the paper's text says, or ``"oldest"``.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines import Setup
        >>> method = Evolution(Setup(nasbench201(), initial=5))
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=float(len(proposal.graph.edges)))
        >>> method.ask(1)[0].graph in nasbench201()
        True
    """

    batch: ClassVar[int] = 1

    population: int = 30
    tournament: int = 10
    remove: str = "worst"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.remove not in REMOVALS:
            raise UnknownNameError("remove", self.remove, REMOVALS)

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        errors = np.array(self._errors)
        if self.remove == "worst":
            members = np.argsort(errors, kind="stable")[: self.population]
        else:
            members = np.arange(len(errors))[-self.population :]
        taken = set(taken)
        children: list[Proposal] = []
        for _ in range(_TOURNAMENTS * k):
            drawn = rng.choice(members, size=self.tournament)
            winner = self._graphs[drawn[np.argmin(errors[drawn])]]
            for child in self.space.variants(winner, _TRIES, rng):
                key = self.space.key(child)
                if key not in taken:
                    taken.add(key)
                    children.append(propose_heuristically(child))
                    break
            if len(children) == k:
                break
        return children


class LocalSearch(Method):
    """Evaluates neighbours in random order and moves at the first improvement.

    A graph whose neighbours are all evaluated is a local minimum: the search restarts from the best
    of ``initial`` new random graphs. Where the search stands follows from what was told.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines import Setup
        >>> space = nasbench201()
        >>> method = LocalSearch(Setup(space, initial=2))
        >>> for proposal in method.ask(2):
        ...     method.tell(proposal.graph, error=float(len(proposal.graph.edges)))
        >>> best = min(method.observations, key=lambda pair: pair[1])[0]
        >>> space.key(method.ask(1)[0].graph) in {space.key(g) for g in space.neighbours(best)}
        True
    """

    batch: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
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
        if self._current is not None and not self._list_left(set(self._times)):
            self._starts, self._current = [], None

    def _move(self, i: int) -> None:
        self._current = i
        found = self.space.neighbours(self._graphs[i])
        # The order depends on the seed and the graph's number, not on when it is asked for.
        order = np.random.default_rng([self.seed, _STREAM, i]).permutation(len(found))
        self._neighbours = {self.space.key(found[j]): found[j] for j in order}

    def _list_left(self, taken: set[bytes]) -> list[LabeledGraph]:
        return [graph for key, graph in self._neighbours.items() if key not in taken]

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        if self._current is None:
            return []  # random graphs for the next start
        return [propose_heuristically(graph) for graph in self._list_left(taken)[:k]]
