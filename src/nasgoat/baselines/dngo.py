"""DNGO: Bayesian linear regression on the last hidden layer of a dense network.

Source: Snoek et al., ICML 2015, adapted to architectures by naszilla.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import Proposal, mutation_candidates
from nasgoat.baselines.bayesian_linear import BayesianLinear
from nasgoat.baselines.dense_network import DenseNetwork, train
from nasgoat.baselines.encodings import adjacency_encoding
from nasgoat.baselines.method import Method, Setup, lowest, standardized

Array = NDArray[np.float64]
_PARENTS = 5
_EXPLORATION = 0.5


class EncodedSearch(Method):
    """Minimises μ - σ/2 over mutations, with a surrogate on the adjacency encoding.

    Inputs and targets are standardised. With ``as_published`` the public code's slip is kept: an
    argument in the wrong place makes it rank candidates by draws from N(0, σ), without the means.
    """

    as_published: bool = False

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        candidates = mutation_candidates(self.space, self._best(_PARENTS), taken, rng)
        if not candidates:
            return []
        graphs, errors = self._data()
        rows = adjacency_encoding(self.space, [*graphs, *candidates])
        observed = rows[: len(graphs)]
        sd = observed.std(axis=0)
        rows = (rows - observed.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
        targets, _, _ = standardized(errors)
        mean, std = self._predicted(rows[: len(graphs)], targets, rows[len(graphs) :], rng)
        if self.as_published:
            return lowest(candidates, rng.normal(0.0, std), k)
        return lowest(candidates, mean - _EXPLORATION * std, k)

    def _predicted(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of the standardised error at new rows."""
        raise NotImplementedError


class Dngo(EncodedSearch):
    """A network of three tanh layers learns the basis of a Bayesian linear regression.

    Args:
        setup: Space, initial design, seed and budget.
        epochs: Passes over the data.
        as_published: Keep the public code's slip; see :class:`EncodedSearch`.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = Dngo(Setup(nasbench201(), initial=5), epochs=10)
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(5))
        5
    """

    def __init__(
        self,
        setup: Setup,
        *,
        epochs: int = 500,
        as_published: bool = False,
    ) -> None:
        super().__init__(setup)
        self.epochs, self.as_published = epochs, as_published

    def _predicted(
        self, rows: Array, targets: Array, new: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        network = DenseNetwork((rows.shape[1], 50, 50, 50, 1), activation="tanh")
        theta = train(network, rows, targets, rng, self.epochs, batch=10, rate=0.01)
        layers = network.layers(theta)
        basis = [
            network.forward(layers, part.astype(np.float32))[-2][0].astype(float)
            for part in (rows, new)
        ]
        return BayesianLinear.fit(basis[0], targets).predict(basis[1])
