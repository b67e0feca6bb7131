"""NAS-BOWL: a Gaussian process with a Weisfeiler-Lehman kernel and expected improvement.

Notation
    z      standardised log error, minimised;  z* the incumbent
    K_h    unit-diagonal WL Gram matrix of depth h, chosen by marginal likelihood at each fit

Source: Ru et al., ICLR 2021, and its public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.candidates import mutate_in_turn
from nasgoat.baselines import Data, Graphs, Prediction, PredictorSearch
from nasgoat.baselines.fixed_kernel import compute_likelihood_terms, find_likeliest_noise, predict
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.conversions import turn_edges_into_nodes
from nasgoat.kernels.histogram_kernels import compute_wl_gram, compute_wl_histograms
from nasgoat.surrogate.target import TargetScale

Array = NDArray[np.float64]
_DEPTHS = (1, 2, 3)
_NOISE = 1e-3
_NOISE_BOUNDS = (1e-5, 1e-2)
_PARENTS = 10


@dataclass(eq=False, repr=False, kw_only=True)
class NasBowl(PredictorSearch):
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
    """

    pool: int = 200
    skip: str = "skip_connect"
    as_published: bool = False

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """The posterior of the standardised log error."""
        graphs, errors = data
        z = TargetScale.of(errors, "log").to_target(errors)
        gram, noise = self._fit([*graphs, *candidates], z)
        m = len(z)
        mean, std = predict(gram[:m, :m], gram[:m], gram.diagonal(), z, noise)
        incumbent = z[np.argmin(mean[:m])] if self.as_published else z.min()
        return Prediction(mean[m:], std[m:], incumbent)

    def score(self, prediction: Prediction, rng: np.random.Generator) -> Array:
        """Expected improvement, negated."""
        return -prediction.expected_improvement()

    def _draw_candidates(self, taken: set[bytes], rng: np.random.Generator) -> list[LabeledGraph]:
        on_nodes = bool(self.space.node_vocabulary)
        count = self.pool // 2 if on_nodes else self.pool
        pool = mutate_in_turn(self.space, self._best(_PARENTS), count, taken, rng)
        if on_nodes:
            taken = taken | {self.space.key(graph) for graph in pool}
            pool += self.space.sample(self.pool - count, rng, taken)
        return pool

    def _fit(self, graphs: Sequence[LabeledGraph], z: Array) -> tuple[Array, float]:
        """The Gram matrix of all graphs at the likeliest depth, and the noise."""
        on_nodes = bool(self.space.node_vocabulary)
        labelled = graphs if on_nodes else [turn_edges_into_nodes(g, self.skip) for g in graphs]
        levels = compute_wl_histograms(labelled, max(_DEPTHS))
        found: list[tuple[float, int, Array, float]] = []
        for depth in _DEPTHS:
            gram = compute_wl_gram(levels[: depth + 1], "intersection" if on_nodes else "dot")
            K = gram[: len(z), : len(z)]
            noise = self._fit_noise(K, z)
            found.append((self._measure_loss(K, z, noise), depth, gram, noise))
        _, _, gram, noise = min(found, key=lambda fit: fit[:2])
        return gram, noise

    def _fit_noise(self, K: Array, z: Array) -> float:
        if not self.noisy:
            return _NOISE
        return find_likeliest_noise(lambda noise: self._measure_loss(K, z, noise), _NOISE_BOUNDS)

    def _measure_loss(self, K: Array, z: Array, noise: float) -> float:
        fit, log_det = compute_likelihood_terms(K, z, noise)
        return fit - log_det if self.as_published else fit + log_det
