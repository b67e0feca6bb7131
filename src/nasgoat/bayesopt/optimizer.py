"""The ask/tell optimiser: fit, minimise the acquisition exactly, propose.

It does no input or output and holds no random state: everything it proposes follows from the seed,
the settings and what it was told, so that a replay proposes the same graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Certificate,
    LowerConfidenceBound,
    Proposal,
    Status,
    make_optimizer,
)
from nasgoat.bayesopt.settings import Settings
from nasgoat.errors import GraphError, ObservationError, SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import ShortestPathKernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP

_INITIAL_STREAM = 0  # keeps the random numbers of the initial design apart from any others


class Optimizer:
    """Proposes graphs to evaluate and learns from their errors.

    Args:
        space: The space to search.
        settings: Kernel, target and batch strategy.
        optimizer: Acquisition optimiser, by name or ready made.
        initial: Random graphs before the first fit.
        seed: Seed of the initial design and of restarts.
        progress: Called with a line of text when something takes long.

    Example:
        >>> from nasgoat import nasbench201
        >>> optimizer = Optimizer(nasbench201(), initial=5, seed=0)
        >>> for proposal in optimizer.ask(5):
        ...     optimizer.tell(proposal.graph, error=10.0 + len(proposal.graph.edges))
        >>> proposal = optimizer.ask(1)[0]
        >>> proposal.certificate.certified, proposal.graph in optimizer.pending
        (True, True)
    """

    def __init__(
        self,
        space: SearchSpace,
        settings: Settings | None = None,
        optimizer: str | AcquisitionOptimizer = "auto",
        initial: int = 10,
        seed: int = 0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        if initial < 1:
            raise SettingError(f"initial must be at least 1, got {initial}")
        self.space = space
        self.settings = settings or Settings()
        self.initial = initial
        self.seed = seed
        self.acquisition_optimizer = (
            make_optimizer(optimizer, space, progress) if isinstance(optimizer, str) else optimizer
        )
        self.surrogate: GraphGP | None = None
        self._graphs: list[LabeledGraph] = []
        self._errors: list[float] = []
        self._seen: set[bytes] = set()  # evaluated or failed
        self._pending: dict[bytes, LabeledGraph] = {}  # asked, not yet told
        self._design: list[LabeledGraph] | None = None

    @property
    def observations(self) -> list[tuple[LabeledGraph, float]]:
        """What was told, in order."""
        return list(zip(self._graphs, self._errors, strict=True))

    @property
    def pending(self) -> list[LabeledGraph]:
        """Graphs that were proposed and not yet told."""
        return list(self._pending.values())

    def ask(self, k: int = 1) -> list[Proposal]:
        """Up to k graphs to evaluate next, none seen or proposed before; fewer if none are left."""
        if k < 1:
            raise SettingError(f"the number of proposals must be at least 1, got {k}")
        proposals = self._initial_proposals(k)
        if len(proposals) < k and self._graphs:
            proposals += self._fitted_proposals(k - len(proposals))
        self._pending |= {self.space.key(p.graph): p.graph for p in proposals}
        return proposals

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Learn the error of a graph, proposed or not.

        Raises:
            GraphError: If the graph is not in the space.
            ObservationError: If the error is not a finite number.
        """
        key = self._checked_key(graph)
        if isinstance(error, bool) or not isinstance(error, int | float | np.number):
            raise ObservationError(f"the error must be a number, got {error!r}")
        if not math.isfinite(error):
            raise ObservationError(f"the error must be finite, got {error}")
        self._pending.pop(key, None)
        self._seen.add(key)
        self._graphs.append(graph)
        self._errors.append(float(error))

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated: it is not proposed again, nor learnt from."""
        key = self._checked_key(graph)
        self._pending.pop(key, None)
        self._seen.add(key)

    def _checked_key(self, graph: LabeledGraph) -> bytes:
        if not isinstance(graph, LabeledGraph):
            raise GraphError(f"the graph must be a LabeledGraph, got {type(graph).__name__}")
        self.space.check(graph)
        return self.space.key(graph)

    def _initial_proposals(self, k: int) -> list[Proposal]:
        """What the initial design still has to offer."""
        if self._design is None:
            rng = np.random.default_rng([self.seed, _INITIAL_STREAM])
            self._design = self.space.sample(self.initial, rng)
        left = [g for g in self._design if not self._taken(self.space.key(g))]
        return [Proposal(graph, Certificate(Status.INITIAL)) for graph in left[:k]]

    def _fitted_proposals(self, k: int) -> list[Proposal]:
        settings = self.settings
        self.surrogate = GraphGP(
            self.space,
            ShortestPathKernel(settings.kernel),
            noise=settings.noise,
            target=settings.target,
            restarts=settings.restarts,
            seed=self.seed,
        ).fit(self._graphs, self._errors)
        exclude = self._seen | set(self._pending)
        if settings.batch_strategy == "top":
            lcb = LowerConfidenceBound(settings.sqrt_beta, self.surrogate)
            return list(self.acquisition_optimizer.optimize(lcb, k, exclude))
        return self._portfolio(k, exclude)

    def _portfolio(self, k: int, exclude: set[bytes]) -> list[Proposal]:
        """The best graph for each √β in turn, starting where the last batch stopped."""
        betas = self.settings.sqrt_betas
        proposals: list[Proposal] = []
        for i in range(len(self._graphs), len(self._graphs) + k):
            lcb = LowerConfidenceBound(betas[i % len(betas)], self.surrogate)
            found = list(self.acquisition_optimizer.optimize(lcb, 1, exclude))
            exclude |= {self.space.key(p.graph) for p in found}
            proposals += found
        return proposals

    def _taken(self, key: bytes) -> bool:
        return key in self._seen or key in self._pending
