"""Regularised evolution.

The population starts as the initial design. Each step draws a tournament from it, mutates the
winner and evaluates the child; over its size the population loses its worst member (or its oldest).
Source: Real et al., AAAI 2019; naszilla.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines.method import Method, Setup, heuristic
from nasgoat.errors import UnknownNameError

REMOVALS = ("worst", "oldest")
_TRIES = 10  # mutations of one tournament's winner before the next tournament
_TOURNAMENTS = 100  # for each child at most; then a random graph takes its place


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
        >>> method = Evolution(Setup(nasbench201(), initial=5))
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=float(len(proposal.graph.edges)))
        >>> method.ask(1)[0].graph in nasbench201()
        True
    """

    batch: ClassVar[int] = 1

    def __init__(
        self,
        setup: Setup,
        *,
        population: int = 30,
        tournament: int = 10,
        remove: str = "worst",
    ) -> None:
        super().__init__(setup)
        if remove not in REMOVALS:
            raise UnknownNameError("remove", remove, REMOVALS)
        self.population = population
        self.tournament = tournament
        self.remove = remove

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
                    children.append(heuristic(child))
                    break
            if len(children) == k:
                break
        return children
