"""Acquisition optimisation by scoring a pool of candidates: what most of the field does.

Both optimisers score a few hundred graphs and return the best of them, without a bound. They are
here so that the worth of global optimisation can be measured with everything else equal.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import ClassVar

import numpy as np

from nasgoat.acquisition.candidates import mutation_candidates
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

_STREAM = 2  # keeps these random numbers apart from those of the initial design


class _PoolOptimizer(ABC):
    """Scores a pool of candidates; a subclass says where they come from."""

    name: str

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        size: int = 200,
        seed: int = 0,
    ) -> None:
        if size < 1:
            raise SettingError(f"the size of the pool must be at least 1, got {size}")
        self.space = space
        self.size = size
        self.seed = seed

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs of a pool that leaves out the excluded ones."""
        best = KBest(self.space, acquisition, k, exclude)
        start = time.perf_counter()
        # The number of excluded graphs grows with the search, so that each pool is a new one.
        rng = np.random.default_rng([self.seed, _STREAM, len(exclude)])
        candidates = self._candidates(acquisition, set(exclude), rng)
        if len(candidates) < k:
            taken = set(exclude) | {self.space.key(graph) for graph in candidates}
            candidates += self.space.sample(k - len(candidates), rng, taken)
        best.add(candidates)
        seconds = time.perf_counter() - start
        return best.pool(
            lambda value: Certificate(Status.HEURISTIC, value, None, seconds),
            Certificate(Status.EXHAUSTED, seconds=seconds),
        )

    @abstractmethod
    def _candidates(
        self, acquisition: LowerConfidenceBound, exclude: set[bytes], rng: np.random.Generator
    ) -> list[LabeledGraph]:
        """Distinct graphs to score."""


class Sampling(_PoolOptimizer):
    """The best of a pool of random graphs.

    Args:
        space: The space to sample from.
        progress: Not used; every optimiser takes it.
        size: Number of graphs in the pool.
        seed: Seed of the pools.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = Sampling(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap is None
        (5, 'heuristic', True)
    """

    name = "sampling"

    def _candidates(
        self, acquisition: LowerConfidenceBound, exclude: set[bytes], rng: np.random.Generator
    ) -> list[LabeledGraph]:
        return self.space.sample(self.size, rng, exclude)


class Mutation(_PoolOptimizer):
    """The best of a pool of mutations of the best observed graphs.

    Every observed graph may be a parent, the best first; each is mutated 50 times until the pool is
    full.

    Args:
        space: The space to stay in.
        progress: Not used; every optimiser takes it.
        size: Number of graphs in the pool.
        seed: Seed of the pools.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = Mutation(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status)
        (5, 'heuristic')
    """

    name = "mutation"
    per_parent: ClassVar[int] = 50

    def _candidates(
        self, acquisition: LowerConfidenceBound, exclude: set[bytes], rng: np.random.Generator
    ) -> list[LabeledGraph]:
        gp = acquisition.gp
        order = np.argsort(gp.targets_, kind="stable")
        best = [gp.graphs_[i] for i in order]
        found = mutation_candidates(self.space, best, exclude, rng, self.per_parent, self.size)
        return found[: self.size]
