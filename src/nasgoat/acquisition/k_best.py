"""The k best graphs that an optimiser has found so far, and the pool of proposals made of them.

Proofs and local search (:mod:`~nasgoat.acquisition.local_search`) fill the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.lower_confidence_bound import Acquisition
from nasgoat.acquisition.proposals import Certificate, Pool, Proposal
from nasgoat.errors import SettingError, SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

#: Values of a search and of the surrogate must agree to this; rounding is about 1e-12.
AGREEMENT = 1e-7
#: Values closer than this are a tie, broken by their order: floating-point noise
#: between equal feature rows (about 1e-15) must not decide, real differences are far larger.
TIE_DECIMALS = 10


@dataclass(frozen=True)
class Scored:
    """A graph with its acquisition value and, where the surrogate was asked, its posterior."""

    graph: LabeledGraph
    value: float
    mean: float | None = None
    std: float | None = None


@dataclass(eq=False)
class KBest:
    """Keeps the k graphs of lowest finite acquisition value, each once up to isomorphism.

    Of graphs with the same value, the one that came first comes first and is kept longest.

    Args:
        space: The space.
        acquisition: Scores graphs exactly.
        k: How many to keep.
        exclude: Keys of graphs that must not be kept.
        gap: Relative distance below the k-th best value at which a graph is of no interest.
        on_better: Called with every graph that is kept, and its value.

    Example:
        >>> from nasgoat import GraphGP, LowerConfidenceBound, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> best = KBest(space, LowerConfidenceBound(0.0, gp), k=2)
        >>> values = best.add(cells)
        >>> [scored.value for scored in best.found] == sorted(values)[:2]
        True
    """

    space: SearchSpace
    acquisition: Acquisition
    k: int
    exclude: Collection[bytes] = ()
    gap: float = 0.0
    on_better: Callable[[LabeledGraph, float], None] | None = None
    found: list[Scored] = field(default_factory=list, init=False)  # best first
    _values: dict[bytes, float] = field(default_factory=dict, init=False)  # of all that came

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"the number of proposals must be at least 1, got {self.k}")
        if not isinstance(self.exclude, set | frozenset):
            self.exclude = frozenset(self.exclude)

    @property
    def cutoff(self) -> float:
        """The k-th best value less the gap; infinite as long as there are fewer than k."""
        if len(self.found) < self.k:
            return float("inf")
        worst = self.found[-1].value
        return worst - self.gap * abs(worst)

    @property
    def seen_new(self) -> bool:
        """Whether any graph came that is not excluded."""
        return any(key not in self.exclude for key in self._values)

    def add(self, graphs: Iterable[LabeledGraph]) -> list[float]:
        """Score graphs of the space, keep the best and return the values of all."""
        given = list(graphs)
        keys = [self.space.key(graph) for graph in given]
        new = {
            key: graph for key, graph in zip(keys, given, strict=True) if key not in self._values
        }
        if new:
            for key, scored in zip(new, self._score(list(new.values())), strict=True):
                self._keep(key, scored)
        return [self._values[key] for key in keys]

    def offer(self, graph: LabeledGraph, value: float) -> None:
        """Keep a graph, if it is within the limits, by the value that a search found.

        :meth:`rescore` compares the values of those that were kept with the surrogate's.
        """
        key = self.space.key(graph)
        if key not in self._values and (not self.space.all_limits or graph in self.space):
            self._keep(key, Scored(graph, value))

    def take_first(self, ascending: Iterable[Scored]) -> None:
        """Keep the first k of graphs that are given in ascending order of their values."""
        for scored in ascending:
            if self.space.key(scored.graph) not in self.exclude:
                self.found.append(scored)
                if len(self.found) == self.k:
                    break
        if self.found:
            self._add_posterior()

    def rescore(self) -> None:
        """Give the graphs the surrogate's own values and posterior.

        Raises:
            SurrogateError: If one differs from the value by which the graph was offered.
        """
        if not self.found:
            return
        rescored = self._score([scored.graph for scored in self.found])
        for offered, scored in zip(self.found, rescored, strict=True):
            if not abs(offered.value - scored.value) <= AGREEMENT * (1 + abs(scored.value)):
                raise SurrogateError(
                    "the search and the surrogate must agree on a graph's value, got "
                    f"{offered.value!r} and {scored.value!r} for {scored.graph.to_json()}"
                )
        self.found = sorted(rescored, key=lambda scored: scored.value)

    def pool(self, certify: Callable[[float], Certificate], none: Certificate) -> Pool:
        """The graphs as proposals.

        Args:
            certify: The certificate of a graph, given its value.
            none: The certificate of the pool if no graph was kept.
        """
        informed = self.acquisition.informed
        parts = self.acquisition.predict_parts([scored.graph for scored in self.found])
        proposals = tuple(
            Proposal(kept.graph, certify(kept.value), kept.mean, kept.std, informed, part)
            for kept, part in zip(self.found, parts, strict=True)
        )
        return Pool(proposals, proposals[0].certificate if proposals else none)

    def _score(self, graphs: list[LabeledGraph]) -> list[Scored]:
        columns = (column.tolist() for column in self.acquisition.assess(graphs))
        return [Scored(*row) for row in zip(graphs, *columns, strict=True)]

    def _add_posterior(self) -> None:
        mean, std = self.acquisition.predict([scored.graph for scored in self.found])
        self.found = [
            replace(scored, mean=float(mean[i]), std=float(std[i]))
            for i, scored in enumerate(self.found)
        ]

    def _keep(self, key: bytes, scored: Scored) -> None:
        self._values[key] = scored.value
        least = self.found[-1].value if len(self.found) == self.k else inf
        if key in self.exclude or scored.value >= least:  # what a limit forbids is infinite
            return
        self.found.append(scored)
        self.found.sort(key=lambda kept: kept.value)
        del self.found[self.k :]
        if self.on_better is not None:
            self.on_better(scored.graph, scored.value)


def order_ascending(values: NDArray[np.float64], at_least: int) -> list[int]:
    """Places of the values in ascending order, ties by place; at least this many of them."""
    rounded = np.round(values, TIE_DECIMALS)
    at_least = min(at_least, len(values))
    threshold = np.partition(rounded, at_least - 1)[at_least - 1]
    candidates = np.flatnonzero(rounded <= threshold)
    places: list[int] = candidates[np.argsort(rounded[candidates], kind="stable")].tolist()
    return places
