"""The ask/tell optimiser: fit, minimise the acquisition exactly, propose.

It does no input or output and holds no random state: everything it proposes follows from the seed,
the settings and what it was told, so that a replay proposes the same graphs.
"""

from __future__ import annotations

from collections.abc import Callable

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    AskTell,
    LowerConfidenceBound,
    Proposal,
    make_optimizer,
)
from nasgoat.bayesopt.settings import Settings
from nasgoat.kernels import ShortestPathKernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP


class Optimizer(AskTell):
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
        super().__init__(space, initial, seed)
        self.settings = settings or Settings()
        self.acquisition_optimizer = (
            make_optimizer(optimizer, space, progress) if isinstance(optimizer, str) else optimizer
        )
        self.surrogate: GraphGP | None = None

    def _propose(self, k: int) -> list[Proposal]:
        settings = self.settings
        self.surrogate = GraphGP(
            self.space,
            ShortestPathKernel(settings.kernel),
            noise=settings.noise,
            target=settings.target,
            restarts=settings.restarts,
            seed=self.seed,
        ).fit(self._graphs, self._errors)
        exclude = self._taken()
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
