"""A Gaussian process whose kernel is a function of a distance between graphs.

Notation
    d(x, x')   distance;  k(x, x') = s² exp(-d / ℓ²), s = 1.5, ℓ = 3
    y          standardised errors,  ν  noise variance, 1e-10

The numbers are those of naszilla's GP-BAYESOPT and NASBOT, which fit nothing. Where errors are
noisy, ν is fitted here.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from nasgoat.acquisition import Proposal
from nasgoat.baselines.method import Method, Setup, lowest, standardized
from nasgoat.baselines.noise import likeliest_noise, likelihood_terms
from nasgoat.errors import SurrogateError
from nasgoat.graphs import LabeledGraph

Array = NDArray[np.float64]
_AMPLITUDE, _LENGTH = 1.5, 3.0
NOISE = 1e-5**2
NOISE_BOUNDS = (1e-5, 1.0)  # from what Cholesky needs to all the variance of y
_JITTERS = tuple(10.0**power for power in range(-10, -2))  # distinct graphs can be at distance 0


def kernel(distances: Array) -> Array:
    """s² exp(-d / ℓ²).

    Example:
        >>> kernel(np.array([0.0, 9.0])).round(3).tolist()
        [2.25, 0.828]
    """
    values: Array = _AMPLITUDE**2 * np.exp(-distances / _LENGTH**2)
    return values


def posterior(
    distances: Array, cross: Array, targets: Array, noise: float = NOISE
) -> tuple[Array, Array]:
    """Mean and standard deviation at new graphs.

    Args:
        distances: Between the observed graphs, shape (m, m).
        cross: Between new and observed graphs, shape (q, m).
        targets: Of the observed graphs, shape (m,).
        noise: ν.

    Example:
        >>> mean, std = posterior(np.zeros((1, 1)), np.array([[0.0], [90.0]]), np.array([1.0]))
        >>> mean.round(3).tolist(), std.round(3).tolist()
        ([1.0, 0.0], [0.0, 1.5])
    """
    L = _factor(kernel(distances) + noise * np.eye(len(distances)))
    half = solve_triangular(L, kernel(cross).T, lower=True)
    mean = half.T @ solve_triangular(L, targets, lower=True)
    variance = _AMPLITUDE**2 - np.einsum("ij,ij->j", half, half)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def _factor(K: Array) -> Array:
    for jitter in (0.0, *_JITTERS):
        try:
            factor: Array = cholesky(K + jitter * np.eye(len(K)), lower=True)
        except LinAlgError:
            continue
        return factor
    raise SurrogateError("the kernel matrix must be positive definite, got a singular one")


class DistanceSearch(Method):
    """Bayesian optimisation with a distance kernel and μ - σ/2 over variations of the best.

    Args:
        setup: Space, initial design, seed and budget.
        parents: How many of the best graphs are varied.
        edits: Largest number of changes to a parent.
        repetitions: Candidates for each parent and number of changes.
        pool: How many of these candidates are scored.
        as_published: Keep ν at 1e-10 where errors are noisy, as the public code does.
    """

    batch: ClassVar[int] = 1
    exploration: ClassVar[float] = 0.5

    def __init__(
        self,
        setup: Setup,
        *,
        parents: int = 5,
        edits: int = 19,
        repetitions: int = 5,
        pool: int = 200,
        as_published: bool = False,
    ) -> None:
        super().__init__(setup)
        self.parents, self.edits, self.repetitions, self.pool = parents, edits, repetitions, pool
        self.as_published = as_published

    def distances(self, graphs: list[LabeledGraph], others: list[LabeledGraph]) -> Array:
        """Distances between two lists of graphs, shape (graphs, others)."""
        raise NotImplementedError

    def fitted_noise(self, distances: Array, targets: Array) -> float:
        """The likeliest ν where errors are noisy, else that of the public code."""
        if not self.noisy or self.as_published:
            return NOISE
        K = kernel(distances)
        return likeliest_noise(lambda v: sum(likelihood_terms(K, targets, v)), NOISE_BOUNDS)

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        candidates = self._varied(taken, rng)
        if not candidates:
            return []
        graphs, errors = self._data()
        every = self.distances([*graphs, *candidates], graphs)
        targets, _, _ = standardized(errors)
        among, cross = every[: len(graphs)], every[len(graphs) :]
        mean, std = posterior(among, cross, targets, self.fitted_noise(among, targets))
        return lowest(candidates, mean - self.exploration * std, k)

    def _varied(self, taken: set[bytes], rng: np.random.Generator) -> list[LabeledGraph]:
        """Distinct graphs about one to ``edits`` changes away from the best ones.

        Of all combinations of parent, number of edits and repetition, ``pool`` at random are made.
        """
        best = self._best(self.parents)
        shape = (len(best), self.edits, self.repetitions)
        chosen = np.zeros(shape, dtype=int)
        chosen.flat[rng.permutation(chosen.size)[: self.pool]] = 1
        seen = set(taken)
        found: list[LabeledGraph] = []
        for parent, edits in np.ndindex(shape[:2]):
            times = int(chosen[parent, edits].sum())
            for graph in self.space.variants(best[parent], times, rng, edits + 1) if times else ():
                key = self.space.key(graph)
                if key not in seen:
                    seen.add(key)
                    found.append(graph)
        return found
