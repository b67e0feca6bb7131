"""BANANAS: an ensemble of dense networks on the path encoding, with Thompson sampling.

Source: White et al., AAAI 2021; naszilla.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import Proposal, mutation_candidates
from nasgoat.baselines.dense_network import DenseNetwork, train
from nasgoat.baselines.encodings import path_encoding
from nasgoat.baselines.method import Method, Setup, lowest
from nasgoat.graphs import LabeledGraph

_PARENTS = 5


class EnsembleSearch(Method):
    """Independent Thompson sampling over mutations, on the predictions of an ensemble.

    For every candidate one value is drawn from N(mean, sd) of the members' predictions; the lowest
    are proposed.
    """

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        candidates = mutation_candidates(self.space, self._best(_PARENTS), taken, rng)
        if not candidates:
            return []
        predicted = self._predictions(*self._data(), candidates, rng)
        draws = predicted.mean(axis=0) + predicted.std(axis=0) * rng.standard_normal(
            len(candidates)
        )
        return lowest(candidates, draws, k)

    def _predictions(
        self,
        graphs: list[LabeledGraph],
        errors: NDArray[np.float64],
        candidates: list[LabeledGraph],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """What each member predicts for each candidate, shape (members, candidates)."""
        raise NotImplementedError


class Bananas(EnsembleSearch):
    """The loop with five dense networks of ten layers.

    Args:
        setup: Space, initial design, seed and budget.
        members: Networks in the ensemble.
        layers: Hidden layers of each.
        width: Width of the hidden layers.
        epochs: Passes over the data.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = Bananas(Setup(nasbench201(), initial=5), epochs=10)
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(5))
        5
    """

    def __init__(
        self,
        setup: Setup,
        *,
        members: int = 5,
        layers: int = 10,
        width: int = 20,
        epochs: int = 150,
    ) -> None:
        super().__init__(setup)
        self.members, self.layers, self.width, self.epochs = members, layers, width, epochs

    def _predictions(
        self,
        graphs: list[LabeledGraph],
        errors: NDArray[np.float64],
        candidates: list[LabeledGraph],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        rows = path_encoding(self.space, [*graphs, *candidates])
        widths = (rows.shape[1], *[self.width] * self.layers, 1)
        network = DenseNetwork(widths, self.members)
        theta = train(
            network,
            rows[: len(graphs)],
            errors,
            rng,
            self.epochs,
            batch=32,
            rate=0.01,
            betas=(0.9, 0.99),
            loss="absolute",
        )
        return network.predict(theta, rows[len(graphs) :])[:, :, 0].astype(float)
