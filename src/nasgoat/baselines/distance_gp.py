"""GP-BAYESOPT and NASBOT: Gaussian processes on a distance between graphs.

Notation
    d(x, x')   distance;  k(x, x') = s² exp(-d / ℓ²), s = 1.5, ℓ = 3
    K          kernel matrix of the m observed graphs,  z  their standardised errors
    ν          noise variance, 1e-10

The numbers are those of naszilla, which fits nothing. Where errors are noisy, ν is fitted here.
Sources: ProBO (Neiswanger et al., 2019) and NASBOT (Kandasamy et al., NeurIPS 2018), both as
naszilla runs them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nasgoat.baselines import Data, Graphs, Prediction, PredictorSearch, standardize
from nasgoat.baselines.encodings import encode_adjacency
from nasgoat.baselines.fixed_kernel import compute_likelihood_terms, find_likeliest_noise, predict
from nasgoat.graphs import LabeledGraph

Array = NDArray[np.float64]
_AMPLITUDE, _LENGTH = 1.5, 3.0
NOISE = 1e-5**2
NOISE_BOUNDS = (1e-5, 1.0)  # from what Cholesky needs to all the variance of z


def compute_kernel(distances: Array) -> Array:
    """s² exp(-d / ℓ²).

    Example:
        >>> compute_kernel(np.array([0.0, 9.0])).round(3).tolist()
        [2.25, 0.828]
    """
    values: Array = _AMPLITUDE**2 * np.exp(-distances / _LENGTH**2)
    return values


@dataclass(eq=False, repr=False, kw_only=True)
class DistanceSearch(PredictorSearch):
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

    parents: int = 5
    edits: int = 19
    repetitions: int = 5
    pool: int = 200
    as_published: bool = False

    @abstractmethod
    def measure_distances(self, graphs: list[LabeledGraph], others: list[LabeledGraph]) -> Array:
        """Distances between two lists of graphs, shape (graphs, others)."""

    def fit_noise(self, distances: Array, targets: Array) -> float:
        """The likeliest ν where errors are noisy, else that of the public code."""
        if not self.noisy or self.as_published:
            return NOISE
        K = compute_kernel(distances)
        return find_likeliest_noise(
            lambda v: sum(compute_likelihood_terms(K, targets, v)), NOISE_BOUNDS
        )

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """The posterior of the standardised error."""
        graphs, errors = data
        every = self.measure_distances([*graphs, *candidates], [*graphs])
        among, cross = every[: len(graphs)], every[len(graphs) :]
        y, _, _ = standardize(errors)
        noise = self.fit_noise(among, y)
        known, new = compute_kernel(among), compute_kernel(cross).T
        mean, std = predict(known, new, _AMPLITUDE**2, y, noise)
        return Prediction(mean, std, incumbent=float(y.min()))

    def _draw_candidates(self, taken: set[bytes], rng: np.random.Generator) -> list[LabeledGraph]:
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


class GPBayesOpt(DistanceSearch):
    """GP-BAYESOPT: differing places of the adjacency matrix plus differing operations.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines import Setup
        >>> space = nasbench201()
        >>> method = GPBayesOpt(Setup(space))
        >>> cell = space.from_digits([1, 2, 3, 4, 1, 2])
        >>> method.measure_distances([cell], [space.from_digits([1, 2, 3, 4, 2, 1])]).tolist()
        [[2.0]]
    """

    def measure_distances(self, graphs: list[LabeledGraph], others: list[LabeledGraph]) -> Array:
        """Number of differing entries of the encodings."""
        rows = encode_adjacency(self.space, [*graphs, *others])
        return count_differences(rows[: len(graphs)], rows[len(graphs) :])


class Nasbot(DistanceSearch):
    """NASBOT with naszilla's distance: L1 of sorted in- and out-degrees and of operation counts.

    The original has the OTMANN distance, by optimal transport, and an evolutionary acquisition
    optimiser; the paper's comparison ran naszilla's version. Where edges carry the labels and
    nodes are indexed, the distance is that of operation counts plus differing places.
    """

    def measure_distances(self, graphs: list[LabeledGraph], others: list[LabeledGraph]) -> Array:
        """L1 distances of the summaries, plus differing places where edges carry the labels."""
        every, m = [*graphs, *others], len(graphs)
        rows = self._summarize(every)
        apart: Array = cdist(rows[:m], rows[m:], "cityblock")
        if self.space.edge_vocabulary:
            codes = encode_adjacency(self.space, every)
            apart = apart + count_differences(codes[:m], codes[m:])
        return apart

    def _summarize(self, graphs: list[LabeledGraph]) -> Array:
        """Operation counts and sorted degrees, a row for each graph."""
        batch = self.space.batch(graphs)
        parts = []
        if batch.edge_codes is not None:
            pairs = batch.edge_codes.reshape(len(batch), -1)
            # No edge is an operation of its own, counted once per pair that may carry one.
            counts = _count_labels(pairs, len(self.space.edge_vocabulary))
            parts.append(np.column_stack([-counts.sum(axis=1), counts]))
        if batch.node_codes is not None:
            parts.append(_count_labels(batch.node_codes, len(self.space.node_vocabulary)))
            parts.append(np.sort(batch.adjacency.sum(axis=1), axis=1))
            parts.append(np.sort(batch.adjacency.sum(axis=2), axis=1))
        return np.concatenate(parts, axis=1).astype(float)


def count_differences(rows: Array, others: Array) -> Array:
    """How many entries differ between each row and each of the other rows.

    Example:
        >>> count_differences(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 0.0]])).tolist()
        [[0.0, 2.0]]
    """
    share = cdist(rows, others, "hamming")
    return np.asarray(share * rows.shape[1], dtype=float)


def _count_labels(codes: NDArray[np.int8], labels: int) -> NDArray[np.intp]:
    counts: NDArray[np.intp] = (codes[:, :, None] == np.arange(labels)).sum(axis=1)
    return counts
