"""NAS-BOWL: a Gaussian process with a Weisfeiler-Lehman kernel and expected improvement.

Notation
    z      standardised log error, minimised;  z* the incumbent
    K_h    unit-diagonal WL Gram matrix of depth h, chosen by marginal likelihood at each fit
    EI     E[max(z* - z(x), 0)] = σ (u Φ(u) + φ(u)),  u = (z* - μ) / σ

Source: Ru et al., ICLR 2021, and its public code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.stats import norm

from nasgoat.acquisition import Proposal
from nasgoat.acquisition.candidates import mutations_of
from nasgoat.baselines.method import Method, Setup, lowest
from nasgoat.baselines.noise import likeliest_noise, likelihood_terms
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.edges_as_nodes import edges_as_nodes
from nasgoat.kernels.weisfeiler_lehman import wl_gram, wl_histograms
from nasgoat.surrogate.target import TargetScale

Array = NDArray[np.float64]
_DEPTHS = (1, 2, 3)
_NOISE = 1e-3
_NOISE_BOUNDS = (1e-5, 1e-2)
_PARENTS = 10


class NasBowl(Method):
    """Takes the graphs of highest expected improvement from a pool of mutations.

    The noise variance of the standardised target is 1e-3; where errors are noisy it is fitted
    between 1e-5 and 0.01.

    Args:
        setup: Space, initial design, seed and budget.
        pool: Candidates per iteration; where nodes carry the labels half of them are random.
        skip: Edge label that does nothing and is bridged before the kernel is computed.
        as_published: Choose depth (and noise) with the public code's likelihood, whose
            log-determinant has the wrong sign, and take for incumbent the observation of best
            posterior mean.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = NasBowl(Setup(nasbench201(), initial=5))
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(5))
        5
    """

    def __init__(
        self,
        setup: Setup,
        *,
        pool: int = 200,
        skip: str = "skip_connect",
        as_published: bool = False,
    ) -> None:
        super().__init__(setup)
        self.pool, self.skip, self.as_published = pool, skip, as_published

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        candidates = self._candidates(taken, rng)
        if not candidates:
            return []
        graphs, errors = self._data()
        z = TargetScale.of(errors, "log").to_target(errors)
        gram, noise = self._fitted([*graphs, *candidates], z)
        mean, std = _posterior(gram, z, noise)
        m = len(z)
        incumbent = z[np.argmin(mean[:m])] if self.as_published else z.min()
        return lowest(candidates, -expected_improvement(incumbent, mean[m:], std[m:]), k)

    def _candidates(self, taken: set[bytes], rng: np.random.Generator) -> list[LabeledGraph]:
        on_nodes = bool(self.space.node_vocabulary)
        count = self.pool // 2 if on_nodes else self.pool
        pool = mutations_of(self.space, self._best(_PARENTS), count, taken, rng)
        if on_nodes:
            taken = taken | {self.space.key(graph) for graph in pool}
            pool += self.space.sample(self.pool - count, rng, taken)
        return pool

    def _fitted(self, graphs: Sequence[LabeledGraph], z: Array) -> tuple[Array, float]:
        """The Gram matrix of all graphs at the likeliest depth, and the noise."""
        on_nodes = bool(self.space.node_vocabulary)
        labelled = graphs if on_nodes else [edges_as_nodes(g, self.skip) for g in graphs]
        levels = wl_histograms(labelled, max(_DEPTHS))
        found: list[tuple[float, int, Array, float]] = []
        for depth in _DEPTHS:
            gram = wl_gram(levels[: depth + 1], "intersection" if on_nodes else "dot")
            K = gram[: len(z), : len(z)]
            noise = self._noise(K, z)
            found.append((self._loss(K, z, noise), depth, gram, noise))
        _, _, gram, noise = min(found, key=lambda fit: fit[:2])
        return gram, noise

    def _noise(self, K: Array, z: Array) -> float:
        if not self.noisy:
            return _NOISE
        return likeliest_noise(lambda noise: self._loss(K, z, noise), _NOISE_BOUNDS)

    def _loss(self, K: Array, z: Array, noise: float) -> float:
        fit, log_det = likelihood_terms(K, z, noise)
        return fit - log_det if self.as_published else fit + log_det


def expected_improvement(incumbent: float, mean: Array, std: Array) -> Array:
    """E[max(z* - z(x), 0)] for z(x) normal; 0 where nothing is uncertain and nothing is gained.

    Example:
        >>> expected_improvement(0.0, np.array([0.0]), np.array([1.0])).round(4).tolist()
        [0.3989]
    """
    gain = incumbent - mean
    safe = np.maximum(std, 1e-12)  # a zero deviation would divide by zero
    u = gain / safe
    improvement: Array = gain * norm.cdf(u) + safe * norm.pdf(u)
    return improvement


def _posterior(gram: Array, z: Array, noise: float) -> tuple[Array, Array]:
    m = len(z)
    L = cholesky(gram[:m, :m] + noise * np.eye(m), lower=True)
    half = solve_triangular(L, gram[:m], lower=True)
    mean = half.T @ solve_triangular(L, z, lower=True)
    variance = gram.diagonal() - np.einsum("ij,ij->j", half, half)
    return mean, np.sqrt(np.maximum(variance, 0.0))
