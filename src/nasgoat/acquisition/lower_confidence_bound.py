"""The lower confidence bound, the acquisition function of the paper: α_LCB = μ - √β_t σ.

:func:`random_problem` makes a lower confidence bound to minimise: the same seed gives the same
problem to every optimiser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap, ShortestPathKernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP, ModelCheck, Posterior

NOISE = 1e-3  # of random problems: variance, in units of the standardised target


@dataclass(frozen=True, eq=False)
class LowerConfidenceBound:
    """μ(x) - √β · σ(x), to be minimised over graphs x.

    What optimisers ask of it: ``posterior`` and ``sqrt_beta`` to bound it or write it as a program,
    ``combine`` to score rows of features, ``predict`` and ``score`` to score graphs, ``informed``
    to mark proposals; ``gp`` for what was observed.

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

    @property
    def posterior(self) -> Posterior:
        """Mean and standard deviation as functions of feature rows: a few arrays."""
        return self.gp.posterior_

    @property
    def informed(self) -> bool | None:
        """Whether the surrogate has learnt anything; None if it was not checked."""
        check: ModelCheck | None = getattr(self.gp, "check_", None)
        return None if check is None else check.learnt

    def combine(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
        """μ - √β σ, element by element."""
        return mean - self.sqrt_beta * std

    def predict(
        self, graphs: Sequence[LabeledGraph]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean μ and standard deviation σ of each graph."""
        return self.gp.predict(graphs)

    def score(self, graphs: Sequence[LabeledGraph]) -> NDArray[np.float64]:
        """The acquisition value of each graph."""
        return self.combine(*self.predict(graphs))


@dataclass(frozen=True, eq=False)
class AcquisitionProblem:
    """A fitted lower confidence bound to minimise, and the keys of the observed graphs."""

    acquisition: LowerConfidenceBound
    observed: frozenset[bytes]


def random_problem(
    space: SearchSpace,
    observations: int = 50,
    kernel: str = "linear",
    sqrt_beta: float = 3.0,
    seed: int = 0,
) -> AcquisitionProblem:
    """Observe random graphs under a random linear function of their features, plus noise.

    Example:
        >>> from nasgoat import nasbench201
        >>> problem = random_problem(nasbench201(), observations=20, seed=1)
        >>> len(problem.observed), problem.acquisition.sqrt_beta
        (20, 3.0)
    """
    if observations < 1:
        raise SettingError(f"observations must be at least 1, got {observations}")
    rng = np.random.default_rng([seed, observations])
    graphs = space.sample(observations, rng)
    rows = FeatureMap(space).rows(graphs)
    values = rows @ rng.standard_normal(rows.shape[1])
    values = values / (values.std() or 1.0) + np.sqrt(NOISE) * rng.standard_normal(len(values))
    surrogate = GraphGP(space, ShortestPathKernel(kernel), noise=NOISE, target="plain")
    surrogate.fit(graphs, values.tolist())
    keys = frozenset(space.key(graph) for graph in graphs)
    return AcquisitionProblem(LowerConfidenceBound(sqrt_beta, surrogate), keys)
