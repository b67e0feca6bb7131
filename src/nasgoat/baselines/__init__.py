"""Baselines: the methods that the paper compares with, on the ask/tell interface.

Here is what they share: the history, the initial design, and the loop around a predictor.

A baseline with a predictor makes candidates, predicts their errors, turns the predictions into
values by an acquisition function and proposes the candidates of lowest value. Everything is
minimised.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nasgoat.acquisition import AskTell, Certificate, Proposal, Status, draw_mutations
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

__all__ = ["Method", "PredictorSearch", "Setup", "propose_lowest"]

Array = NDArray[np.float64]
Graphs = Sequence[LabeledGraph]
EXPLORATION = 0.5  # naszilla's weight of the standard deviation
_PARENTS = 5  # naszilla mutates the best five graphs
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


class Data(NamedTuple):
    """Observed graphs, each once, with their mean errors."""

    graphs: list[LabeledGraph]
    errors: Array


@dataclass(eq=False, repr=False)
class Method(AskTell):
    """A baseline: :meth:`_choose` makes the proposals, random graphs fill up the batch.

    The fields of a subclass that is a dataclass are its options.

    Args:
        setup: Space, initial design, seed, budget and kind of error.
    """

    setup: Setup
    #: Proposals per iteration in the method's own publication.
    batch: ClassVar[int] = 5
    #: Baselines have no Gaussian process of ours to show.
    surrogate: ClassVar[None] = None

    def __post_init__(self) -> None:
        super().__init__(self.setup.space, self.setup.initial, self.setup.seed)
        self.evaluations = self.setup.evaluations
        self.noisy = self.setup.noisy

    def _propose(self, k: int) -> list[Proposal]:
        taken = self._list_taken()
        rng = np.random.default_rng([self.seed, _STREAM, len(taken)])
        proposals = self._choose(k, taken, rng)[:k]
        if len(proposals) < k:
            taken |= {self.space.key(p.graph) for p in proposals}
            left = self.space.sample(k - len(proposals), rng, taken)
            proposals += [propose_heuristically(graph) for graph in left]
        return proposals

    @abstractmethod
    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        """Up to k distinct proposals, none of them taken."""

    def _data(self) -> Data:
        """The observed graphs, each once, with their mean errors."""
        groups: dict[bytes, list[int]] = {}
        for i, graph in enumerate(self._graphs):
            groups.setdefault(self.space.key(graph), []).append(i)
        errors = np.array(self._errors)
        kept = [self._graphs[places[0]] for places in groups.values()]
        return Data(kept, np.array([errors[places].mean() for places in groups.values()]))

    def _best(self, count: int) -> list[LabeledGraph]:
        """The best observed graphs, best first."""
        graphs, errors = self._data()
        return [graphs[i] for i in np.argsort(errors, kind="stable")[:count]]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a predictor says of the candidates, on a scale of its own.

    Args:
        mean: Predicted error of each candidate.
        std: Standard deviation of each prediction.
        incumbent: The observed value to improve on, on the same scale.
    """

    mean: Array
    std: Array
    incumbent: float

    def draw(self, rng: np.random.Generator) -> Array:
        """One draw from N(μ, σ) for each candidate: independent Thompson sampling."""
        return self.mean + self.std * rng.standard_normal(len(self.mean))

    def lower_bound(self) -> Array:
        """The lower confidence bound μ - σ/2."""
        return self.mean - EXPLORATION * self.std

    def expected_improvement(self) -> Array:
        """E[max(z* - z, 0)] of z ~ N(μ, σ): σ (u Φ(u) + φ(u)) with u = (z* - μ) / σ.

        Example:
            >>> found = Prediction(np.array([0.0]), np.array([1.0]), incumbent=0.0)
            >>> found.expected_improvement().round(4).tolist()
            [0.3989]
        """
        gain = self.incumbent - self.mean
        safe = np.maximum(self.std, 1e-12)  # a zero deviation would divide by zero
        u = gain / safe
        improvement: Array = gain * norm.cdf(u) + safe * norm.pdf(u)
        return improvement


@dataclass(eq=False, repr=False)
class PredictorSearch(Method):
    """The loop around a predictor: a subclass says how to predict, and may change the rest.

    Args:
        setup: Space, initial design, seed, budget and kind of error.

    Example:
        >>> from nasgoat import nasbench201, run
        >>> class FewestEdges(PredictorSearch):
        ...     def predict(self, data, candidates, rng):
        ...         edges = np.array([float(len(graph.edges)) for graph in candidates])
        ...         return Prediction(edges, np.ones(len(edges)), data.errors.min())
        >>> method = FewestEdges(Setup(nasbench201()))
        >>> run(method, lambda cell: 5.0 + len(cell.edges), evaluations=30, batch=5).best.error
        8.0
    """

    @abstractmethod
    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Fit the predictor to what was observed, and predict the candidates."""

    def score(self, prediction: Prediction, rng: np.random.Generator) -> Array:
        """The acquisition: a value for each candidate, to be minimised; μ - σ/2 by default."""
        return prediction.lower_bound()

    def _draw_candidates(self, taken: set[bytes], rng: np.random.Generator) -> list[LabeledGraph]:
        """Distinct graphs to choose from, none of them taken; mutations of the best by default."""
        return draw_mutations(self.space, self._best(_PARENTS), taken, rng)

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        candidates = self._draw_candidates(taken, rng)
        if not candidates:
            return []
        prediction = self.predict(self._data(), candidates, rng)
        return propose_lowest(candidates, self.score(prediction, rng), k)


def propose_heuristically(graph: LabeledGraph, value: float | None = None) -> Proposal:
    """A proposal without a bound."""
    return Proposal(graph, Certificate(Status.HEURISTIC, value))


def propose_lowest(graphs: Graphs, values: NDArray[np.floating], k: int) -> list[Proposal]:
    """The k graphs of lowest value, lowest first."""
    order = np.argsort(values, kind="stable")[:k]
    return [propose_heuristically(graphs[i], float(values[i])) for i in order]


def standardize(values: Array) -> tuple[Array, float, float]:
    """Values scaled to mean 0 and standard deviation 1, and the mean and deviation they had.

    Example:
        >>> standardize(np.array([1.0, 3.0]))
        (array([-1.,  1.]), 2.0, 1.0)
    """
    mean, sd = float(values.mean()), float(values.std())
    sd = sd if sd > 1e-12 else 1.0  # constant values: dividing would only amplify rounding
    return (values - mean) / sd, mean, sd
