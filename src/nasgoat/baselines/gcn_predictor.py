"""The GCN predictor: one training on random graphs, then the graphs it predicts best.

Source: Wen et al., ECCV 2020; naszilla.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines.graph_network import GraphNetworks, GraphTensors, one_thread, split
from nasgoat.baselines.method import Method, Setup, heuristic, lowest, standardized

_CHOSEN_SHARE = 20 / 172  # the paper's 172 trained graphs, 20 of which the predictor chose
_CANDIDATES = 50  # per evaluation
_STREAM = 4  # of the candidates and the training, which happen once


class GcnPredictor(Method):
    """Random graphs, one training, then the candidates of lowest predicted error.

    Of the budget, 20/172 goes to predicted graphs. The candidates are 50 random graphs for each
    evaluation of the budget.

    Args:
        setup: Space, initial design, seed and budget.
        epochs: Passes over the data.
        width: Width of the convolutions.
        as_published: Take the first candidates instead of the best, as the public code does by
            mistake: random search.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = GcnPredictor(Setup(nasbench201(), initial=5, evaluations=10), epochs=5)
        >>> for proposal in [*method.ask(5), *method.ask(4)]:
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(1))
        1
    """

    def __init__(
        self,
        setup: Setup,
        *,
        epochs: int = 300,
        width: int = 144,
        as_published: bool = False,
    ) -> None:
        super().__init__(setup)
        self.epochs, self.width, self.as_published = epochs, width, as_published
        self.chosen = int(_CHOSEN_SHARE * self.evaluations)
        self._ranking: list[Proposal] | None = None

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        first = self.evaluations - self.chosen
        if len(taken) < first:
            more = min(k, first - len(taken))
            return [heuristic(graph) for graph in self.space.sample(more, rng, taken)]
        if self._ranking is None:
            self._ranking = self._ranked(first)
        return [p for p in self._ranking if self.space.key(p.graph) not in taken][:k]

    def _ranked(self, first: int) -> list[Proposal]:
        """Random candidates by their predicted error, from the first observations alone."""
        graphs, errors = self._graphs[:first], np.array(self._errors[:first])
        rng = np.random.default_rng([self.seed, _STREAM])
        seen = {self.space.key(graph) for graph in graphs}
        candidates = self.space.sample(_CANDIDATES * self.evaluations, rng, seen)
        if self.as_published or not candidates:
            return [heuristic(graph) for graph in candidates]
        targets, _, _ = standardized(errors)
        with one_thread():
            tensors = GraphTensors.of(self.space, [*graphs, *candidates])
            labels = tensors.labels.shape[2]
            seed = int(rng.integers(2**31))
            network = GraphNetworks(labels, width=self.width, seed=seed)
            observed, new = split(tensors, len(graphs))
            network.fit(observed, targets, self.epochs, batch=7, rate=1e-4)
            predicted = network.predict(new)[0]
        return lowest(candidates, predicted, len(candidates))
