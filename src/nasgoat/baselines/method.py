"""What the baselines have in common beyond ask and tell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import AskTell, Certificate, Proposal, Status
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

_STREAM = 1  # keeps these random numbers apart from those of the initial design


@dataclass(frozen=True)
class Setup:
    """What every baseline is made with; what is its own comes as keywords beside it.

    Args:
        space: The space to search.
        initial: Random graphs before the method's own proposals, the same for every method.
        seed: Seed of everything random.
        evaluations: Budget of the search, for methods that plan with it.
        noisy: Whether the error of a graph differs from one evaluation to the next, for methods
            with a noise to fit.
    """

    space: SearchSpace
    initial: int = 10
    seed: int = 0
    evaluations: int = 160
    noisy: bool = False


class Method(AskTell):
    """A baseline: proposals come from :meth:`_choose`, and random graphs fill what it leaves.

    Args:
        setup: Space, initial design, seed, budget and kind of error.
    """

    #: Proposals per iteration in the method's own publication.
    batch: ClassVar[int] = 5
    #: Baselines have no Gaussian process of ours to show.
    surrogate: None = None

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup.space, setup.initial, setup.seed)
        self.evaluations = setup.evaluations
        self.noisy = setup.noisy

    def _propose(self, k: int) -> list[Proposal]:
        taken = self._taken()
        rng = np.random.default_rng([self.seed, _STREAM, len(taken)])
        proposals = self._choose(k, taken, rng)[:k]
        if len(proposals) < k:
            taken |= {self.space.key(p.graph) for p in proposals}
            left = self.space.sample(k - len(proposals), rng, taken)
            proposals += [heuristic(graph) for graph in left]
        return proposals

    @abstractmethod
    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        """Up to k distinct proposals, none of them taken."""

    def _data(self) -> tuple[list[LabeledGraph], NDArray[np.float64]]:
        """The observed graphs, each once, with their mean errors."""
        groups: dict[bytes, list[int]] = {}
        for i, graph in enumerate(self._graphs):
            groups.setdefault(self.space.key(graph), []).append(i)
        errors = np.array(self._errors)
        kept = [self._graphs[places[0]] for places in groups.values()]
        return kept, np.array([errors[places].mean() for places in groups.values()])

    def _best(self, count: int) -> list[LabeledGraph]:
        """The best observed graphs, best first."""
        graphs, errors = self._data()
        return [graphs[i] for i in np.argsort(errors, kind="stable")[:count]]


def heuristic(graph: LabeledGraph, value: float | None = None) -> Proposal:
    """A proposal without a bound."""
    return Proposal(graph, Certificate(Status.HEURISTIC, value))


def lowest(graphs: Sequence[LabeledGraph], values: NDArray[np.floating], k: int) -> list[Proposal]:
    """The k graphs of lowest value, lowest first."""
    order = np.argsort(values, kind="stable")[:k]
    return [heuristic(graphs[i], float(values[i])) for i in order]


def standardized(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Values with mean 0 and standard deviation 1, that mean and that deviation.

    Example:
        >>> standardized(np.array([1.0, 3.0]))
        (array([-1.,  1.]), 2.0, 1.0)
    """
    mean, sd = float(values.mean()), float(values.std())
    sd = sd if sd > 1e-12 else 1.0  # constant values: dividing would only amplify rounding
    return (values - mean) / sd, mean, sd
