"""BONAS and the GCN predictor: search methods with graph networks.

BONAS is the loop of BANANAS with graph networks in place of dense ones (Shi et al., NeurIPS 2020),
as naszilla runs it: an ensemble of five networks and candidates by mutation (the paper's table says
sampling).

The GCN predictor (Wen et al., ECCV 2020) is trained once, on random graphs; then the graphs that it
predicts best are evaluated. It has two stages, as in its paper: a classifier that passes graphs of
the better kind, and a regressor that was trained on those alone. The paper's border is 91 %
accuracy on NAS-Bench-101; here it is the median of the random graphs. naszilla has the regressor
only.

The networks, many at once, are those of Wen et al. for BONAS as well.

Notation
    M  networks, B  graphs, n  nodes, L  labels, H  width
    A  (B, n, n)  adjacency with self-loops, rows scaled to sum 1;  A' the same of its transpose;
                  the two are kept as one tensor (B, 2, n, n), and so are W⁺ and W⁻ (M, w, 2 H)
    X  (B, n, L)  one-hot labels, 0 for a missing node

    V_0 = X,  V_{i+1} = ½ ReLU(A V_i W_i⁺) + ½ ReLU(A' V_i W_i⁻)   and dropout
    out = linear(ReLU(linear(mean of V_4 over the nodes)))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

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
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import SINK, SOURCE, turn_edges_into_nodes
from nasgoat.spaces import SearchSpace

_HEAD = 128  # width of the layer behind the mean over nodes
_LOSSES: dict[str, Any] = {"squared": mse_loss, "logistic": binary_cross_entropy_with_logits}
_CHOSEN_SHARE = 20 / 172  # the paper's 172 trained graphs, 20 of which the predictor chose
_CANDIDATES = 50  # per evaluation
_STREAM = 4  # of the GCN predictor's candidates and training, which happen once


@contextmanager
def limit_torch_threads() -> Iterator[None]:
    """PyTorch on one thread: these matrices are small, more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class GraphTensors:
    """Graphs as the network takes them: A and A', X, and each graph's share 1 / n of a node."""

    adjacency: torch.Tensor
    labels: torch.Tensor
    share: torch.Tensor

    @classmethod
    def of(cls, space: SearchSpace, graphs: Sequence[LabeledGraph]) -> GraphTensors:
        """Pack graphs; where edges carry the labels they become nodes first."""
        if space.node_vocabulary:
            batch = space.batch(graphs)
        else:
            vocabulary = (SOURCE, *space.edge_vocabulary, SINK)
            turned = [turn_edges_into_nodes(graph) for graph in graphs]
            batch = GraphBatch.from_graphs(turned, vocabulary)
        exists = batch.exists
        A = (batch.adjacency | np.eye(batch.n, dtype=bool)) & exists[:, :, None]
        codes = np.asarray(batch.node_codes)
        X = codes[:, :, None] == np.arange(len(batch.node_vocabulary))
        share = exists / batch.sizes[:, None]
        both = np.stack([_scale_rows(A), _scale_rows(A.transpose(0, 2, 1))], axis=1)
        arrays = (both, X, share)
        return cls(*(torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32)) for a in arrays))

    def take(self, index: torch.Tensor | NDArray[np.intp]) -> GraphTensors:
        """The graphs at these places; the index may have any shape."""
        return GraphTensors(*(part[index] for part in (self.adjacency, self.labels, self.share)))


def split(graphs: GraphTensors, count: int) -> tuple[GraphTensors, GraphTensors]:
    """The first ``count`` graphs, and the others."""
    every = torch.arange(len(graphs.labels))
    return graphs.take(every[:count]), graphs.take(every[count:])


def _convolve(graphs: GraphTensors, V: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """½ ReLU(A V W⁺) + ½ ReLU(A' V W⁻) of V (M, B, n, w): all nodes of a member in one product."""
    members, width = len(weight), weight.shape[2] // 2
    product = (V.flatten(1, 2) @ weight).reshape(members, *V.shape[1:3], 2, width)
    onward = graphs.adjacency @ product.transpose(2, 3)
    return torch.relu(onward).mean(dim=2)


def _scale_rows(A: NDArray[np.bool_]) -> NDArray[np.float64]:
    total = A.sum(axis=2, keepdims=True)
    scaled: NDArray[np.float64] = A / np.maximum(total, 1)
    return scaled


class GraphNetworks:
    """An ensemble of graph networks with their weights.

    Args:
        labels: Number of node labels.
        members: Number of networks.
        width: Width of the convolutions.
        layers: Number of convolutions.
        dropout: Share of values dropped behind each convolution in training.
        seed: Seed of weights, order and dropout.
    """

    def __init__(
        self,
        labels: int,
        members: int = 1,
        width: int = 144,
        layers: int = 4,
        dropout: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.members, self.dropout = members, dropout
        self.rng = torch.Generator().manual_seed(seed)
        widths = [labels, *[width] * layers]
        pairs = list(pairwise(widths))
        self.convolutions = [
            torch.cat([self._make_weight(a, b), self._make_weight(a, b)], dim=2) for a, b in pairs
        ]
        self.head = [self._make_weight(width, _HEAD), self._make_bias(width, _HEAD)]
        self.out = [self._make_weight(_HEAD, 1), self._make_bias(_HEAD, 1)]

    def parameters(self) -> list[torch.Tensor]:
        """Every weight."""
        return [*self.convolutions, *self.head, *self.out]

    def forward(self, graphs: GraphTensors, training: bool = False) -> torch.Tensor:
        """What each member says of its graphs, shape (M, B).

        The tensors of ``graphs`` have a leading axis of M members, or of 1 for all of them.
        """
        V = graphs.labels
        for weight in self.convolutions:
            V = _convolve(graphs, V, weight)
            if training and self.dropout:
                share = 1 - self.dropout
                V = V * torch.empty_like(V).bernoulli_(share, generator=self.rng).div_(share)
        pooled = (V * graphs.share[..., None]).sum(dim=2)
        hidden = torch.relu(pooled @ self.head[0] + self.head[1])
        return (hidden @ self.out[0] + self.out[1])[..., 0]

    def fit(
        self,
        graphs: GraphTensors,
        targets: NDArray[np.float64],
        epochs: int,
        batch: int,
        rate: float,
        decay: float = 3e-4,
        loss: str = "squared",
    ) -> None:
        """Train with Adam on a cosine schedule; each member has its own order of the data.

        The loss is ``"squared"``, or ``"logistic"`` for targets 0 and 1, of which the network then
        learns the log-odds.
        """
        measure = _LOSSES[loss]
        y = torch.from_numpy(targets.astype(np.float32))
        count = len(y)
        batch = min(batch, count)
        parameters = [parameter.requires_grad_() for parameter in self.parameters()]
        adam = torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, epochs)
        for _ in range(epochs):
            order = torch.rand((self.members, count), generator=self.rng).argsort(dim=1)
            for start in range(0, count - batch + 1, batch):  # a last, smaller batch is dropped
                chosen = order[:, start : start + batch]
                predicted = self.forward(graphs.take(chosen), training=True)
                adam.zero_grad()
                measure(predicted, y[chosen], reduction="none").mean(dim=1).sum().backward()
                adam.step()
            schedule.step()

    def predict(self, graphs: GraphTensors, block: int = 512) -> NDArray[np.float64]:
        """What each member says of each graph, shape (M, B)."""
        parts = []
        with torch.no_grad():
            for start in range(0, len(graphs.labels), block):
                index = torch.arange(start, min(start + block, len(graphs.labels)))
                parts.append(self.forward(graphs.take(index[None])))
        return torch.cat(parts, dim=1).numpy().astype(float)

    def _make_weight(self, a: int, b: int) -> torch.Tensor:
        bound = float(np.sqrt(6.0 / (a + b)))  # Glorot
        return (2 * torch.rand((self.members, a, b), generator=self.rng) - 1) * bound

    def _make_bias(self, a: int, b: int) -> torch.Tensor:
        bound = float(np.sqrt(1.0 / a))
        return (2 * torch.rand((self.members, 1, b), generator=self.rng) - 1) * bound


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
        with limit_torch_threads():
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
        with limit_torch_threads():
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
