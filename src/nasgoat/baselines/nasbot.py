"""NASBOT with naszilla's distance in place of optimal transport.

The original (Kandasamy et al., NeurIPS 2018) is a Gaussian process on the OTMANN distance with an
evolutionary acquisition optimiser. The paper's comparison ran naszilla's version, which keeps the
loop of GP-BAYESOPT and takes L1 distances of degrees and operation counts. This is that version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nasgoat.baselines.distance_gp import DistanceSearch
from nasgoat.baselines.encodings import adjacency_encoding
from nasgoat.graphs import LabeledGraph


class Nasbot(DistanceSearch):
    """Distance: L1 of sorted in- and out-degrees and of operation counts.

    Where edges carry the labels and nodes are indexed: operation counts plus differing places.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines.method import Setup
        >>> space = nasbench201()
        >>> method = Nasbot(Setup(space))
        >>> cell = space.from_digits([1, 2, 3, 4, 1, 2])
        >>> method.distances([cell], [space.from_digits([1, 2, 3, 4, 2, 1])]).tolist()
        [[2.0]]
    """

    def distances(
        self, graphs: list[LabeledGraph], others: list[LabeledGraph]
    ) -> NDArray[np.float64]:
        """L1 distances of the summaries, plus differing places where edges carry the labels."""
        every, m = [*graphs, *others], len(graphs)
        rows = self._summaries(every)
        apart: NDArray[np.float64] = cdist(rows[:m], rows[m:], "cityblock")
        if self.space.edge_vocabulary:
            codes = adjacency_encoding(self.space, every)
            apart = apart + cdist(codes[:m], codes[m:], "hamming") * codes.shape[1]
        return apart

    def _summaries(self, graphs: list[LabeledGraph]) -> NDArray[np.float64]:
        batch = self.space.batch(graphs)
        parts = []
        if batch.edge_codes is not None:
            pairs = batch.edge_codes.reshape(len(batch), -1)
            # No edge is an operation of its own, counted once per pair that may carry one.
            counts = _counts(pairs, len(self.space.edge_vocabulary))
            parts.append(np.column_stack([-counts.sum(axis=1), counts]))
        if batch.node_codes is not None:
            parts.append(_counts(batch.node_codes, len(self.space.node_vocabulary)))
            parts.append(np.sort(batch.adjacency.sum(axis=1), axis=1))
            parts.append(np.sort(batch.adjacency.sum(axis=2), axis=1))
        return np.concatenate(parts, axis=1).astype(float)


def _counts(codes: NDArray[np.int8], labels: int) -> NDArray[np.intp]:
    counts: NDArray[np.intp] = (codes[:, :, None] == np.arange(labels)).sum(axis=1)
    return counts
