"""Graph convolutional networks, many at once, in PyTorch.

Notation
    M  networks, B  graphs, n  nodes, L  labels, H  width
    A  (B, n, n)  adjacency with self-loops, rows scaled to sum 1;  A' the same of its transpose;
                  the two are kept as one tensor (B, 2, n, n), and so are W⁺ and W⁻ (M, w, 2 H)
    X  (B, n, L)  one-hot labels, 0 for a missing node

    V_0 = X,  V_{i+1} = ½ ReLU(A V_i W_i⁺) + ½ ReLU(A' V_i W_i⁻)   and dropout
    out = linear(ReLU(linear(mean of V_4 over the nodes)))

Source: Wen et al., ECCV 2020 (the neural predictor), whose network BONAS takes too here.
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

from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import SINK, SOURCE, edges_as_nodes
from nasgoat.spaces import SearchSpace

_HEAD = 128  # width of the layer behind the mean over nodes
_LOSSES: dict[str, Any] = {"squared": mse_loss, "logistic": binary_cross_entropy_with_logits}


@contextmanager
def one_thread() -> Iterator[None]:
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
            turned = [edges_as_nodes(graph) for graph in graphs]
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
    """The first so many graphs, and the others."""
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
