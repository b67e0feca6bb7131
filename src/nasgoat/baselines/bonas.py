"""BONAS: the BANANAS loop with graph networks in place of dense ones.

Source: Shi et al., NeurIPS 2020, as naszilla runs it: an ensemble of five predictor networks and
candidates by mutation (the paper's table says sampling).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.baselines.bananas import EnsembleSearch
from nasgoat.baselines.graph_network import GraphNetworks, GraphTensors, one_thread, split
from nasgoat.baselines.method import Setup, standardized
from nasgoat.graphs import LabeledGraph


class Bonas(EnsembleSearch):
    """Thompson sampling over mutations with five graph networks.

    The public code trains each network for 300 epochs in batches of 7 at rate 1e-4, which takes
    most of an hour for a search on one core. The default here is shorter: fewer epochs, larger
    batches, a higher rate and narrower layers. ``full`` gives the public code's training.

    Args:
        setup: Space, initial design, seed and budget.
        members: Networks in the ensemble.
        epochs: Passes over the data.
        width: Width of the convolutions.
        full: Train as the public code does: width 144, 300 epochs, batches of 7, rate 1e-4.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = Bonas(Setup(nasbench201(), initial=5), epochs=5)
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
        epochs: int = 60,
        width: int = 48,
        full: bool = False,
    ) -> None:
        super().__init__(setup)
        self.members = members
        self.epochs, self.width, self.batch_size, self.rate = epochs, width, 32, 5e-3
        if full:
            self.epochs, self.width, self.batch_size, self.rate = 300, 144, 7, 1e-4

    def _predictions(
        self,
        graphs: list[LabeledGraph],
        errors: NDArray[np.float64],
        candidates: list[LabeledGraph],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        targets, mean, sd = standardized(errors)
        with one_thread():
            observed, new = split(GraphTensors.of(self.space, [*graphs, *candidates]), len(graphs))
            networks = GraphNetworks(
                observed.labels.shape[2], self.members, self.width, seed=int(rng.integers(2**31))
            )
            networks.fit(observed, targets, self.epochs, self.batch_size, self.rate)
            return networks.predict(new) * sd + mean
