"""Local search over the neighbours of graphs: where proofs start, and what is left without one.

It starts from the best observed graphs, graphs that are given and random ones; the best of these
walk down from neighbour to neighbour. Then the best graphs so far are changed in a few places at a
time and walk down again, until several such rounds in a row bring nothing. Graphs of many nodes
have too many neighbours to look at: of these a random few at a time are taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import Acquisition
from nasgoat.acquisition.proposals import Certificate, Cost, Pool, Reason, Status
from nasgoat.acquisition.several_objectives import SeveralAcquisition
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import is_too_wide

_DRAWS, _OBSERVED, _STARTS = 100, 5, 6  # random graphs, best observed ones, walks at first
_DRAWING = 0.3  # of the time at most, for the first of these
_ROUNDS = 6  # walks from changed graphs, in a row, that bring nothing before the search ends
_KICKS, _KICK = 10, 3  # changed graphs of a round, and changes of each
_LISTED_NODES, _LISTED_MOVES = 12, 4_000  # graphs up to which all neighbours are looked at
_FEW, _PATIENCE = 40, 3  # of larger ones: changed graphs at a time, such times without progress
_SECONDS = 10.0  # of a question, unless told otherwise
_USUAL = 0.5  # seconds of a question, usually
_FILL_SECONDS = 1.0  # of local search, once the time of a proof is up


@dataclass
class _Walker:
    """Walks down from graph to graph until time is up."""

    pool: KBest
    rng: np.random.Generator
    deadline: float

    @property
    def late(self) -> bool:
        return time.perf_counter() > self.deadline

    def draw(self, count: int) -> list[LabeledGraph]:
        """Random graphs, as many as there is time for."""
        now = time.perf_counter()
        until = now + _DRAWING * max(self.deadline - now, 0.0)
        return self.pool.space.sample_until(until, count, self.rng)

    def walk(self, graph: LabeledGraph, value: float) -> tuple[LabeledGraph, float]:
        """The end of a walk to ever better neighbours, and its value."""
        patience = _PATIENCE
        while patience and not self.late:
            every = _has_few_neighbours(self.pool.space, graph)
            near = self._list_near(graph, every)
            if not near:
                break
            values = self.pool.add(near)
            best = int(np.argmin(values))
            if values[best] < value:
                graph, value, patience = near[best], values[best], _PATIENCE
            else:
                patience = 0 if every else patience - 1
        return graph, value

    def _list_near(self, graph: LabeledGraph, every: bool) -> list[LabeledGraph]:
        space = self.pool.space
        return space.neighbours(graph) if every else space.variants(graph, _FEW, self.rng)


def _has_few_neighbours(space: SearchSpace, graph: LabeledGraph) -> bool:
    """Whether all neighbours of a graph can be looked at in a fraction of a second."""
    if not space.indexed:
        return graph.n <= _LISTED_NODES
    return len(graph.edges) * len(space.labels) <= _LISTED_MOVES


def descend(
    pool: KBest,
    rng: np.random.Generator,
    start: Collection[LabeledGraph] = (),
    seconds: float = 10.0,
) -> None:
    """Fill the pool by local search; proves nothing, but sets a good cut-off.

    Args:
        pool: Where graphs go; it knows space, acquisition, and what is excluded.
        rng: Source of randomness.
        start: Graphs to begin with besides the best observed and random ones.
        seconds: Time after which no further step is made.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import Catalogue, random_problem
        >>> problem = random_problem(nasbench201(), 20)
        >>> best = KBest(nasbench201(), problem.acquisition, 3, problem.observed)
        >>> descend(best, np.random.default_rng(0))
        >>> exact = Catalogue(nasbench201()).optimize(problem.acquisition, 3, problem.observed)
        >>> best.found[0].value == exact[0].lcb
        True
    """
    walker = _Walker(pool, rng, time.perf_counter() + seconds)
    observed = [g for g in pool.acquisition.list_observed()[:_OBSERVED] if g in pool.space]
    first = [*start, *observed, *walker.draw(_DRAWS)]
    if not first:
        return
    values = pool.add(first)
    ends = [
        walker.walk(first[i], values[i])
        for i in np.argsort(values, kind="stable")[:_STARTS].tolist()
    ]
    _go_round(walker, *min(ends, key=lambda end: end[1]))


def _go_round(walker: _Walker, graph: LabeledGraph, value: float) -> None:
    """Change the best graph so far in some places and walk down, until that brings nothing more."""
    pool, vain = walker.pool, 0
    while vain < _ROUNDS and not walker.late:
        before = (value, pool.found[-1].value if pool.found else inf)
        source = pool.found[vain % len(pool.found)].graph if pool.found and vain % 2 else graph
        changed = pool.space.variants(source, _KICKS, walker.rng, _KICK)
        values = pool.add(changed)
        end = int(np.argmin(values))
        other, reached = walker.walk(changed[end], values[end])
        if reached < value:
            graph, value = other, reached
        after = (value, pool.found[-1].value if pool.found else inf)
        vain = 0 if after < before else vain + 1


def fill_up(pool: KBest, rng: np.random.Generator, seconds: float = _FILL_SECONDS) -> None:
    """Find graphs until the pool has k, for when a proof ended early; fewer if none are left.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> best = KBest(nasbench201(), random_problem(nasbench201(), 10).acquisition, k=5)
        >>> fill_up(best, np.random.default_rng(0))
        >>> len(best.found)
        5
    """
    if len(pool.found) < pool.k:
        descend(pool, rng, [kept.graph for kept in pool.found], seconds)
    if (missing := pool.k - len(pool.found)) > 0:
        taken = {*pool.exclude, *(pool.space.key(kept.graph) for kept in pool.found)}
        pool.add(pool.space.sample(missing, rng, taken))


def has_too_many_features(acquisition: Acquisition) -> bool:
    """Whether nothing can be proven of it, because its linear kernel has too many features."""
    parts = acquisition.modelled if isinstance(acquisition, SeveralAcquisition) else [acquisition]
    return any(is_too_wide(part.posterior) for part in parts)


def search_locally(
    space: SearchSpace,
    acquisition: Acquisition,
    k: int,
    exclude: Collection[bytes],
    seconds: float,
    seed: int | Sequence[int] = 0,
) -> Pool:
    """The k best graphs that local search finds: for where nothing can be proven in the limits.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> problem = random_problem(nasbench201(), 10)
        >>> pool = search_locally(nasbench201(), problem.acquisition, 5, problem.observed, 1.0)
        >>> len(pool), str(pool.certificate.status)
        (5, 'heuristic')
    """
    start, rng = time.perf_counter(), np.random.default_rng(seed)
    best = KBest(space, acquisition, k, exclude)
    descend(best, rng, seconds=seconds)
    fill_up(best, rng)
    took = time.perf_counter() - start
    return best.pool(
        lambda value: Certificate(Status.HEURISTIC, value, None, took),
        # Without any graph that was not seen the space is used up.
        Certificate(Status.HEURISTIC if best.seen_new else Status.EXHAUSTED, seconds=took),
    )


class LocalSearch:
    """The best graphs that local search finds, without a bound; where nothing can be proven.

    Args:
        space: The space.
        progress: Not used; every optimiser takes it.
        seed: Seed of everything random.
        time_limit: Seconds for one question, ten at most: restarts bring nothing much sooner.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> problem = random_problem(nasbench201(), 10)
        >>> len(LocalSearch(nasbench201()).optimize(problem.acquisition, 5, problem.observed))
        5
    """

    name = "local"

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        seed: int = 0,
        time_limit: float = _SECONDS,
    ) -> None:
        self.space = space
        self.seed = seed
        self.time_limit = min(time_limit, _SECONDS)

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are found."""
        return search_locally(self.space, acquisition, k, exclude, self.time_limit, self.seed)

    @staticmethod
    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        """Forecast of some thousand graphs from neighbour to neighbour."""
        said = "from neighbour to neighbour, without a proof"
        return Cost(_USUAL * questions, said=said, exact=False, local=True)
