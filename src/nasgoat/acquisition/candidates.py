"""Acquisition optimisation by scoring a pool of candidates: what most of the field does.

:class:`Sampling` and :class:`Mutation` score a few hundred graphs and return the best of them,
without a bound. They are here so that the worth of global optimisation can be measured with
everything else equal.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import Acquisition
from nasgoat.acquisition.proposals import Certificate, Cost, Pool, Proposal, Reason, Status
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

PER_PARENT = 100
ENOUGH = 100  # no further parent once there are this many candidates
_TRIES = 20  # rounds over the parents until there are enough candidates
_MORE = 5  # mutations of a parent in every round after the first
_STREAM = 2  # keeps these random numbers apart from those of the initial design


@dataclass(frozen=True)
class _Wanted:
    """What a pool is drawn for: a question, graphs to leave out, and until when."""

    acquisition: Acquisition
    exclude: set[bytes]
    rng: np.random.Generator
    deadline: float


class _PoolOptimizer(ABC):
    """Scores a pool of candidates; a subclass says where they come from.

    Args:
        space: The space that they are graphs of.
        progress: Not used; every optimiser takes it.
        size: Number of graphs in the pool.
        seed: Seed of the pools.
        time_limit: Seconds after which no further candidate is looked for.
    """

    name: str

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        size: int = 200,
        seed: int = 0,
        time_limit: float = inf,
    ) -> None:
        if size < 1:
            raise SettingError(f"the size of the pool must be at least 1, got {size}")
        self.space = space
        self.size = size
        self.seed = seed
        self.time_limit = time_limit

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs of a pool that leaves out the excluded ones."""
        best = KBest(self.space, acquisition, k, exclude)  # refuses wrong calls first
        start = time.perf_counter()
        # The number of excluded graphs grows with the search, so that each pool is a new one.
        rng = np.random.default_rng([self.seed, _STREAM, len(exclude)])
        deadline = start + self.time_limit
        candidates = self._draw(_Wanted(acquisition, set(exclude), rng, deadline))
        if len(candidates) < k:
            taken = set(exclude) | {self.space.key(graph) for graph in candidates}
            candidates += self.space.sample(k - len(candidates), rng, taken)
        best.add(candidates)
        seconds = time.perf_counter() - start
        return best.pool(
            lambda value: Certificate(Status.HEURISTIC, value, None, seconds),
            # Without a candidate the space is used up; none that a limit allows proves nothing.
            Certificate(Status.HEURISTIC if candidates else Status.EXHAUSTED, seconds=seconds),
        )

    @staticmethod
    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        """Forecast of scoring a few hundred candidates, which proves nothing."""
        return Cost(0.1 * questions, said="a few hundred candidates, without a proof", exact=False)

    @abstractmethod
    def _draw(self, wanted: _Wanted) -> list[LabeledGraph]:
        """Distinct graphs to score, as many as are found until a deadline."""


class Sampling(_PoolOptimizer):
    """The best of a pool of random graphs: ``size`` of them, by default 200.

    Example:
        >>> from nasgoat import GraphGP, LowerConfidenceBound, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = Sampling(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap is None
        (5, 'heuristic', True)
    """

    name = "sampling"

    def _draw(self, wanted: _Wanted) -> list[LabeledGraph]:
        return self.space.sample_until(wanted.deadline, self.size, wanted.rng, wanted.exclude)


class Mutation(_PoolOptimizer):
    """The best of a pool of mutations of the best observed graphs.

    Every observed graph may be a parent, the best first; each is mutated 50 times until the pool is
    full.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> problem = random_problem(nasbench201(), observations=10)
        >>> len(Mutation(nasbench201()).optimize(problem.acquisition, 5, problem.observed))
        5
    """

    name = "mutation"
    per_parent: ClassVar[int] = 50

    def _draw(self, wanted: _Wanted) -> list[LabeledGraph]:
        found = draw_mutations(
            self.space,
            wanted.acquisition.list_observed(),
            wanted.exclude,
            wanted.rng,
            self.per_parent,
            self.size,
            wanted.deadline,
        )
        return found[: self.size]


def draw_mutations(
    space: SearchSpace,
    best: Sequence[LabeledGraph],
    exclude: Collection[bytes],
    rng: np.random.Generator,
    per_parent: int = PER_PARENT,
    enough: int = ENOUGH,
    deadline: float = inf,
) -> list[LabeledGraph]:
    """Distinct mutations of the best graphs, parent by parent, until there are enough.

    Args:
        space: The space to stay in.
        best: The parents, best first.
        exclude: Keys of graphs that must not be candidates.
        rng: Source of randomness.
        per_parent: Mutations of each parent.
        enough: No further parent is taken once this many candidates were found.
        deadline: Of ``time.perf_counter``, after which no further parent is taken.

    Example:
        >>> from nasgoat import nasbench201
        >>> rng = np.random.default_rng(0)
        >>> parents = nasbench201().sample(5, rng)
        >>> pool = draw_mutations(nasbench201(), parents, set(), rng)
        >>> len(pool) >= 100, len(pool) == len(set(pool))
        (True, True)
    """
    seen = set(exclude)
    found: list[LabeledGraph] = []
    for parent in best:
        if len(found) >= enough or time.perf_counter() > deadline:
            break
        found += _take_new(space, space.variants(parent, per_parent, rng), seen)
    return found


def mutate_in_turn(
    space: SearchSpace,
    best: Sequence[LabeledGraph],
    count: int,
    exclude: Collection[bytes],
    rng: np.random.Generator,
) -> list[LabeledGraph]:
    """Distinct mutations of the graphs in turn; fewer if they keep repeating.

    Example:
        >>> from nasgoat import nasbench201
        >>> rng = np.random.default_rng(0)
        >>> parents = nasbench201().sample(10, rng)
        >>> len(mutate_in_turn(nasbench201(), parents, 200, set(), rng))
        200
    """
    seen = set(exclude)
    found: list[LabeledGraph] = []
    for attempt in range(_TRIES * len(best)):
        share = -(-count // len(best)) if attempt < len(best) else _MORE
        children = space.variants(best[attempt % len(best)], share, rng)
        found += _take_new(space, children, seen)
        if len(found) >= count:
            return found[:count]
    return found


def _take_new(
    space: SearchSpace, graphs: Iterable[LabeledGraph], seen: set[bytes]
) -> list[LabeledGraph]:
    """The graphs whose keys were not seen before, each once; their keys are seen then."""
    new = []
    for graph in graphs:
        key = space.key(graph)
        if key not in seen:
            seen.add(key)
            new.append(graph)
    return new


def find_best_of(acquisition: Acquisition, graphs: Sequence[LabeledGraph]) -> Proposal:
    """The best of some graphs: every one is scored, so it is proven."""
    values, mean, std = acquisition.assess(graphs)
    i = int(np.argmin(values))
    value = float(values[i])
    proof = Certificate(Status.OPTIMAL, value, value)
    return Proposal(graphs[i], proof, float(mean[i]), float(std[i]), acquisition.informed)
