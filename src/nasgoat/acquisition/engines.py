"""What an exact optimiser does for functions that it can't minimise itself: an *engine*.

An engine minimises lower confidence bounds over a space, and finds every graph below a cut-off.
:mod:`~nasgoat.acquisition.frontier` and :mod:`~nasgoat.acquisition.relaxation` make exact
optimisers of other functions of it. Branch and bound and the program each have one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from nasgoat.acquisition.k_best import KBest, Scored
from nasgoat.acquisition.lower_confidence_bound import Array, LinearAcquisition
from nasgoat.acquisition.proposals import Pool
from nasgoat.acquisition.several import SeveralAcquisition
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import Posterior

#: Minimises a linear acquisition: how many graphs, what is excluded, and until when.
Solve = Callable[[LinearAcquisition, int, Collection[bytes], float | None], Pool]
#: Of the size of a value: what rounding may change in it.
ROUNDING = 1e-11
_TOGETHER = 24  # graphs that are scored at a time, at least, while others are found


class Minimum(NamedTuple):
    """What minimising a lower confidence bound has proven and found."""

    exclude: frozenset[bytes]  # the graphs that it says nothing of
    bound: float
    graphs: list[LabeledGraph]


@dataclass(eq=False)
class BatchMemory:
    """Minima of single objectives, kept for later questions of the same batch.

    Graphs that are believed to come out as predicted leave every mean as it is and make no
    deviation larger: what a lower confidence bound was at least before, it is after as well.
    """

    _kept: WeakKeyDictionary[Posterior, dict[tuple[type, float], Minimum]] = field(
        default_factory=WeakKeyDictionary
    )

    def recall(self, part: LinearAcquisition, exclude: Collection[bytes]) -> Minimum | None:
        """A minimum that holds for every graph that is not excluded; None if there is none."""
        found = self._kept.get(_find_origin(part), {}).get((type(part), part.sqrt_beta))
        return found if found is not None and found.exclude.issubset(exclude) else None

    def keep(self, part: LinearAcquisition, exclude: Collection[bytes], pool: Pool) -> None:
        """Keep a minimum, if it is proven."""
        bound = pool.certificate.bound
        if bound is not None and all(proposal.certificate.certified for proposal in pool):
            minimum = Minimum(frozenset(exclude), bound, [proposal.graph for proposal in pool])
            kept = self._kept.setdefault(_find_origin(part), {})
            kept[type(part), part.sqrt_beta] = minimum


def _find_origin(part: LinearAcquisition) -> Posterior:
    """The posterior before any graph was believed."""
    return (part.gp.origin or part.gp).posterior_


@dataclass(frozen=True)
class Engine:
    """An exact optimiser of lower confidence bounds.

    Args:
        space: The space that is searched.
        solve: The k best graphs that are not excluded, or as far as it came by the deadline.
        sift: Offers a sieve every graph below its cut-off, which falls meanwhile, until a deadline.
            Returns a bound on what was not looked at; None if all was.
        limited: The same engine within further limits.
        quick: Whether several sifts cost less than one that has to look at many graphs.
        memory: What is known from questions before.
    """

    space: SearchSpace
    solve: Solve
    sift: Callable[[LinearAcquisition, Sieve, float | None], float | None]
    limited: Callable[[Collection[Limit]], Engine]
    quick: bool = True
    memory: BatchMemory = field(default_factory=BatchMemory)

    def limit(self, limits: Collection[Limit]) -> Engine:
        """The same engine within further limits, if there are any."""
        return self.limited(limits) if limits else self


@dataclass
class Sieve:
    """Takes graphs that an engine finds below a cut-off, and keeps the best by their own values.

    Args:
        best: Keeps the k best.
        pieces: Functions that together cover what they are the best of.
        weights: Of the sum of the functions' parts that the engine minimises.
        floor: Lower bounds of the parts.
        level: Sums from which on graphs are left for later.
        most: Graphs after which it gives up: nothing is below its cut-off then.
    """

    best: KBest
    pieces: Sequence[SeveralAcquisition]
    weights: Array
    floor: Array
    level: float = np.inf
    most: float = np.inf
    _caps: dict[float, float] = field(default_factory=dict)  # by the k-th best value
    _waiting: list[LabeledGraph] = field(default_factory=list)
    _seen: int = 0

    @property
    def found(self) -> list[Scored]:
        """The best graphs so far, by their own values."""
        return self.best.found

    def add(self, graphs: Iterable[LabeledGraph]) -> None:
        """Score graphs of the space at once."""
        self.best.add(graphs)

    @property
    def cutoff(self) -> float:
        """What the sum is below wherever the function is below the k-th best value so far.

        No more than the level.
        """
        if len(self._waiting) > max(_TOGETHER, self._seen // 8):  # many at a time is cheaper
            self.flush()
        return -np.inf if self.gave_up else min(self.cap, self.level)

    @property
    def gave_up(self) -> bool:
        """Whether it took too many graphs, so that nothing is proven."""
        return self._seen > self.most

    @property
    def cap(self) -> float:
        """The same whatever the level."""
        value = self.best.cutoff
        if value not in self._caps:
            caps = [cap_sum(piece, self.weights, value, self.floor) for piece in self.pieces]
            self._caps = {value: max(caps)}
        return self._caps[value]

    def offer(self, graph: LabeledGraph, value: float) -> None:
        """Take a graph, if it is within the limits of the space."""
        space = self.best.space
        if not space.all_limits or graph in space:
            self._waiting.append(graph)

    def flush(self) -> None:
        """Score the graphs that wait; only the few that are better need their keys."""
        self._seen += len(self._waiting)
        if self._waiting:
            values = self.best.acquisition.score(self._waiting)
            better = np.flatnonzero(values < self.best.cutoff).tolist()
            self.best.add([self._waiting[i] for i in better])
            self._waiting.clear()


def cap_sum(function: SeveralAcquisition, weights: Array, value: float, floor: Array) -> float:
    """What a sum is below where the function is below a value by more than rounding."""
    if value == np.inf:
        if weights[0] != 0.0:
            return np.inf  # any graph may be among the k best
        value = 1e300  # a limit alone does not need one
    return function.cap_sum(weights, value - ROUNDING * (1.0 + abs(value)), floor)


def is_over(deadline: float | None) -> bool:
    """Whether the time is up."""
    return deadline is not None and time.perf_counter() > deadline
