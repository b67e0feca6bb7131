"""The lower confidence bound, the acquisition function of the paper: α_LCB = μ - √β_t σ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP


@dataclass(frozen=True, eq=False)
class LowerConfidenceBound:
    """μ(x) - √β · σ(x), to be minimised over graphs x.

    Args:
        sqrt_beta: √β_t; 3 in the paper.
        surrogate: The fitted Gaussian process; :meth:`given` sets it.

    Example:
        >>> LowerConfidenceBound(sqrt_beta=2.0).combine(np.array([1.0]), np.array([0.5])).tolist()
        [0.0]
    """

    sqrt_beta: float = 3.0
    surrogate: GraphGP | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.sqrt_beta < np.inf:
            raise SettingError(f"sqrt_beta must be a number from 0 up, got {self.sqrt_beta!r}")

    def given(self, surrogate: GraphGP) -> LowerConfidenceBound:
        """The same rule on a fitted surrogate."""
        return replace(self, surrogate=surrogate)

    @property
    def gp(self) -> GraphGP:
        """The fitted surrogate, or :class:`SettingError` if none was given."""
        if self.surrogate is None:
            raise SettingError("the acquisition must be given a surrogate; call .given(gp) first")
        return self.surrogate

    def combine(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
        """μ - √β σ, element by element."""
        return mean - self.sqrt_beta * std

    def score(self, graphs: Sequence[LabeledGraph]) -> NDArray[np.float64]:
        """The acquisition value of each graph."""
        return self.combine(*self.gp.predict(graphs))
