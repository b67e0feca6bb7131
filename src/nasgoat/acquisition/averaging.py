"""The lower confidence bound of several surrogates together.

Notation
    w_i          weight of surrogate i, Σ_i w_i = 1
    μ_i, σ_i     its posterior mean and standard deviation of a graph

    μ  = Σ_i w_i μ_i
    σ² = Σ_i w_i (σ_i² + μ_i²) - μ²

These are mean and variance of the mixture of all posteriors: where the surrogates disagree, σ is
large, even if each of them is sure of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    Array,
    LowerConfidenceBound,
    Measure,
)
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP

_SUM = 1e-9  # rounding of the sum of weights


@dataclass(frozen=True, eq=False)
class AveragedBound(Acquisition):
    """μ - √β σ of the mixture of several surrogates that learnt the same targets.

    Only optimisers that score graphs can minimise it.

    Args:
        surrogates: The fitted Gaussian processes, of any kernels.
        weights: A weight for each, at least 0 and 1 together.
        sqrt_beta: √β.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(9, np.random.default_rng(0))
        >>> forms = ("linear", "exponential")
        >>> gps = [GraphGP(nasbench201(), form).fit(cells[:8], range(8)) for form in forms]
        >>> both = AveragedBound(tuple(gps), (0.5, 0.5), 0.0)
        >>> means = [gp.predict(cells[8:])[0][0] for gp in gps]
        >>> bool(np.isclose(both.score(cells[8:])[0], sum(means) / 2))
        True
    """

    surrogates: tuple[GraphGP, ...]
    weights: tuple[float, ...]
    sqrt_beta: float = 3.0

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.surrogates) or not self.weights:
            raise SettingError(
                f"weights must be one for each surrogate, got {len(self.weights)} for "
                f"{len(self.surrogates)} surrogates"
            )
        if min(self.weights) < 0 or abs(sum(self.weights) - 1.0) > _SUM:
            raise SettingError(f"weights must be at least 0 and sum to 1, got {self.weights}")

    @property
    def surrogate(self) -> GraphGP:  # type: ignore[override]
        """The surrogate of largest weight, the first of equals."""
        return self.surrogates[self.weights.index(max(self.weights))]

    @property
    def informed(self) -> bool:
        """Whether one of the surrogates has learnt anything."""
        return any(gp.check_.learnt for gp in self.surrogates)

    def combine(self, mean: Array, std: Array) -> Array:
        """μ - √β σ, given μ and σ of the mixture."""
        return mean - self.sqrt_beta * std

    def mix(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """μ and σ of the mixture, given those of all surrogates, shape (surrogates, B)."""
        weights = np.array(self.weights)
        mu: Array = weights @ mean
        variance = weights @ (np.square(std) + np.square(mean - mu))
        return mu, np.sqrt(variance)

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
        """Mean μ and standard deviation σ of the mixture at each graph."""
        parts = [gp.predict(graphs) for gp in self.surrogates]
        return self.mix(np.stack([mean for mean, _ in parts]), np.stack([std for _, std in parts]))

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The acquisition value of each graph, and μ and σ."""
        mu, sigma = self.predict(graphs)
        return self.combine(mu, sigma), mu, sigma

    def find_moments(self, measure: Measure) -> tuple[Array, Array]:
        """μ and σ of the mixture, given a function that measures one posterior."""
        parts = [measure(LowerConfidenceBound(self.sqrt_beta, gp)) for gp in self.surrogates]
        mean, std = (np.stack(column) for column in zip(*parts, strict=True))
        return self.mix(mean, std)

    def assume_predicted(self, graphs: Sequence[LabeledGraph]) -> Self:
        """A copy of the function, as if these graphs had come out as each surrogate predicts."""
        return replace(
            self, surrogates=tuple(gp.assume_predicted(graphs) for gp in self.surrogates)
        )
