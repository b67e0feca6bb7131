"""A bound on every graph of a space, from its features one by one."""

from __future__ import annotations

import numpy as np

from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, Posterior


def crude_bound(features: FeatureMap, posterior: Posterior, sqrt_beta: float) -> float:
    """A lower bound on the acquisition of every graph, from its pairs one by one.

    Linear kernel: superadditivity. Exponential kernel: ``exponential.py``, with the largest Q.
    """
    return min(_crude_bound(features, posterior, sqrt_beta, n) for n in features.space.sizes)


def _crude_bound(features: FeatureMap, posterior: Posterior, sqrt_beta: float, n: int) -> float:
    part = posterior.on_counts(features, n)
    nodes = np.array([s == 0 for s, _, _ in features.path_types])
    paths = len(features.path_types)
    pairs = n * (n - 1) // 2
    if isinstance(part, ExponentialPosterior):
        q = part.squares[:paths].max() * (n + pairs) ** 2
        q += part.squares[paths:].max(initial=0.0) * pairs
        s = np.linalg.solve(part.whitening.T, part.dual)
        factor = np.sqrt((s @ s + sqrt_beta**2) * part.variance)
        return float(-factor * np.exp(min(q / 2, 700.0)))
    if not isinstance(part, LinearPosterior):
        return -np.inf
    alone = np.minimum(part.w - sqrt_beta * np.linalg.norm(part.R, axis=1), 0.0)
    lowest = n * alone[:paths][nodes].min() + pairs * alone[:paths][~nodes].min(initial=0.0)
    return float(lowest + pairs * alone[paths:].min(initial=0.0))
