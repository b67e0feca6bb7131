"""Exact acquisition optimisation by scoring every graph of the space.

A catalogue lists the space once, with the integer kernel counts of every graph, and keeps them on
disk. It is exact for any kernel and acquisition, and the oracle for every other optimiser.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.catalogue_file import CatalogueArrays, load_or_build
from nasgoat.acquisition.costs import LARGEST_CATALOGUE, Cost, Reason, bound_graphs, shorten
from nasgoat.acquisition.k_best import KBest, Scored
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import Posterior

#: Values closer than this are a tie, broken by the order of the catalogue: floating-point noise
#: between equal feature rows (about 1e-15) must not decide, real differences are far larger.
TIE_DECIMALS = 10
_LISTED_PER_SECOND = 50_000  # graphs that enter a catalogue when it is built


class Catalogue:
    """Scores the whole space and returns its best graphs, proven optimal.

    Args:
        space: The space to list.
        progress: Called with a line of text if the catalogue has to be built.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = Catalogue(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (5, 'optimal', 0.0)
    """

    name = "catalogue"

    def __init__(self, space: SearchSpace, progress: Callable[[str], None] | None = None) -> None:
        self.space = space
        self.features = FeatureMap(space)
        self._arrays: CatalogueArrays = load_or_build(space, self.features, progress)
        self._scored: tuple[Posterior, NDArray[np.float64], NDArray[np.float64]] | None = None

    @staticmethod
    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        """Forecast of listing the space once, and of scoring all of it for a few questions."""
        graphs = bound_graphs(space)
        if graphs > LARGEST_CATALOGUE:
            return Reason(f"up to {shorten(graphs)} graphs, {LARGEST_CATALOGUE:,} can be listed")
        seconds = graphs * (2e-7 if kernel == "linear" else 1.2e-6)
        return Cost(seconds, graphs / _LISTED_PER_SECOND, f"{graphs:,} graphs at most")

    def __len__(self) -> int:
        return len(self._arrays.counts)

    def graph(self, i: int) -> LabeledGraph:
        """The i-th graph of the catalogue."""
        return self._arrays.graph(self.space, i)

    def score(self, posterior: Posterior) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and standard deviation of every graph; kept for the next question."""
        if self._scored is None or self._scored[0] is not posterior:
            mean, std = np.empty(len(self)), np.empty(len(self))
            for n, part in self._arrays.parts.items():
                on_counts = posterior.on_counts(self.features, n)
                mean[part], std[part] = on_counts.mean_std(self._arrays.counts[part])
            self._scored = (posterior, mean, std)
        return self._scored[1:]

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded, with certificate ``optimal``."""
        best = KBest(self.space, acquisition, k, exclude)
        start = time.perf_counter()
        mean, std = self.score(acquisition.gp.posterior_)
        values = acquisition.combine(mean, std)
        best.take_first(
            Scored(self.graph(i), float(values[i]), float(mean[i]), float(std[i]))
            for i in _order_ascending(values, k + len(exclude))
        )
        seconds = time.perf_counter() - start
        return best.pool(
            lambda value: Certificate(Status.OPTIMAL, value, value, seconds),
            Certificate(Status.EXHAUSTED, seconds=seconds),
        )


def _order_ascending(values: NDArray[np.float64], at_least: int) -> Iterator[int]:
    """Places of the values in ascending order, ties by place; at least so many of them."""
    rounded = np.round(values, TIE_DECIMALS)
    at_least = min(at_least, len(values))
    threshold = np.partition(rounded, at_least - 1)[at_least - 1]
    candidates = np.flatnonzero(rounded <= threshold)
    yield from candidates[np.argsort(rounded[candidates], kind="stable")].tolist()
