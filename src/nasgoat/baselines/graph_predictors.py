"""BONAS and the GCN predictor: search methods with graph networks.

BONAS is the loop of BANANAS with graph networks in place of dense ones (Shi et al., NeurIPS 2020),
as naszilla runs it: an ensemble of five networks and candidates by mutation (the paper's table says
sampling).

The GCN predictor (Wen et al., ECCV 2020) is trained once, on random graphs; then the graphs that it
predicts best are evaluated. It has two stages, as in its paper: a classifier that passes graphs of
the better kind, and a regressor that was trained on those alone. The paper's border is 91 %
accuracy on NAS-Bench-101; here it is the median of the random graphs. naszilla has the regressor
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import Proposal
from nasgoat.baselines import (
    Data,
    Graphs,
    Method,
    Prediction,
    PredictorSearch,
    propose_heuristically,
    standardize,
)
from nasgoat.baselines.graph_network import GraphNetworks, GraphTensors, one_thread, split
from nasgoat.graphs import LabeledGraph

_CHOSEN_SHARE = 20 / 172  # the paper's 172 trained graphs, 20 of which the predictor chose
_CANDIDATES = 50  # per evaluation
_STREAM = 4  # of the GCN predictor's candidates and training, which happen once


@dataclass(eq=False, repr=False, kw_only=True)
class Bonas(PredictorSearch):
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
    """

    members: int = 5
    epochs: int = 60
    width: int = 48
    full: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batch_size, self.rate = 32, 5e-3
        if self.full:
            self.epochs, self.width, self.batch_size, self.rate = 300, 144, 7, 1e-4

    def predict(self, data: Data, candidates: Graphs, rng: np.random.Generator) -> Prediction:
        """Mean and spread of the ensemble's predicted errors."""
        graphs, errors = data
        targets, mean, sd = standardize(errors)
        with one_thread():
            observed, new = split(GraphTensors.of(self.space, [*graphs, *candidates]), len(graphs))
            networks = GraphNetworks(
                observed.labels.shape[2], self.members, self.width, seed=int(rng.integers(2**31))
            )
            networks.fit(observed, targets, self.epochs, self.batch_size, self.rate)
            predicted = networks.predict(new) * sd + mean
        return Prediction(predicted.mean(axis=0), predicted.std(axis=0), float(errors.min()))

    def score(self, prediction: Prediction, rng: np.random.Generator) -> NDArray[np.float64]:
        """Thompson sampling."""
        return prediction.draw(rng)


@dataclass(eq=False, repr=False, kw_only=True)
class GcnPredictor(Method):
    """Random graphs, one training, then the candidates of lowest predicted error.

    Of the budget, 20/172 goes to predicted graphs. The candidates are 50 random graphs for each
    evaluation of the budget.

    Args:
        setup: Space, initial design, seed and budget.
        epochs: Passes over the data.
        width: Width of the convolutions.
        two_stages: Classify first. With one stage, as in naszilla, a few graphs of very large error
            take up the whole of the regressor's attention.
        as_published: Take the first candidates instead of the best, as the public code does by
            mistake: random search.
    """

    epochs: int = 300
    width: int = 144
    two_stages: bool = True
    as_published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chosen = int(_CHOSEN_SHARE * self.evaluations)
        self._ranking: list[Proposal] | None = None

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        first = self.evaluations - self.chosen
        if len(taken) < first:
            more = min(k, first - len(taken))
            return [propose_heuristically(graph) for graph in self.space.sample(more, rng, taken)]
        if self._ranking is None:
            self._ranking = self._rank(first)
        return [p for p in self._ranking if self.space.key(p.graph) not in taken][:k]

    def _rank(self, first: int) -> list[Proposal]:
        """Random candidates by their predicted error, from the first observations alone."""
        graphs, errors = self._graphs[:first], np.array(self._errors[:first])
        rng = np.random.default_rng([self.seed, _STREAM])
        seen = {self.space.key(graph) for graph in graphs}
        candidates = self.space.sample(_CANDIDATES * self.evaluations, rng, seen)
        if self.as_published or not candidates:
            return [propose_heuristically(graph) for graph in candidates]
        predicted, admitted = self._predict(graphs, errors, candidates, rng)
        order = np.lexsort((predicted, ~admitted))
        return [propose_heuristically(candidates[i], float(predicted[i])) for i in order]

    def _predict(
        self,
        graphs: Sequence[LabeledGraph],
        errors: NDArray[np.float64],
        candidates: Sequence[LabeledGraph],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The regressor's standardised error of each candidate, and whether it passes the first."""
        good = np.full(len(errors), True)
        if self.two_stages:
            good = errors <= np.median(errors)
        targets, _, _ = standardize(errors[good])
        seeds = rng.integers(2**31, size=2)
        with one_thread():
            tensors = GraphTensors.of(self.space, [*graphs, *candidates])
            observed, new = split(tensors, len(graphs))
            kept = observed.take(np.flatnonzero(good))
            predicted = self._train(kept, targets, int(seeds[0])).predict(new)[0]
            if good.all():
                return predicted, np.full(len(candidates), True)
            first = self._train(observed, good.astype(float), int(seeds[1]), loss="logistic")
            return predicted, first.predict(new)[0] > 0

    def _train(
        self,
        graphs: GraphTensors,
        targets: NDArray[np.float64],
        seed: int,
        loss: str = "squared",
    ) -> GraphNetworks:
        network = GraphNetworks(graphs.labels.shape[2], width=self.width, seed=seed)
        network.fit(graphs, targets, self.epochs, batch=7, rate=1e-4, loss=loss)
        return network
