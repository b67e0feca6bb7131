"""GP-BAYESOPT: a Gaussian process on the Hamming distance of adjacency encodings.

Source: ProBO (Neiswanger et al., 2019) as naszilla runs it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nasgoat.baselines.distance_gp import DistanceSearch
from nasgoat.baselines.encodings import adjacency_encoding
from nasgoat.graphs import LabeledGraph


class GPBayesOpt(DistanceSearch):
    """Distance: differing places of the adjacency matrix plus differing operations.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines.method import Setup
        >>> space = nasbench201()
        >>> method = GPBayesOpt(Setup(space))
        >>> cell = space.from_digits([1, 2, 3, 4, 1, 2])
        >>> method.distances([cell], [space.from_digits([1, 2, 3, 4, 2, 1])]).tolist()
        [[2.0]]
    """

    def distances(
        self, graphs: list[LabeledGraph], others: list[LabeledGraph]
    ) -> NDArray[np.float64]:
        """Number of differing entries of the encodings."""
        rows = adjacency_encoding(self.space, [*graphs, *others])
        share = cdist(rows[: len(graphs)], rows[len(graphs) :], "hamming")
        return np.asarray(share * rows.shape[1], dtype=float)
