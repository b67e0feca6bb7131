"""Reproducible acquisition problems: the same seed gives the same problem to every optimiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap, ShortestPathKernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP

NOISE = 1e-3  # variance, in units of the standardised target


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
