"""How long a method thinks."""

from __future__ import annotations

import time
from typing import Any

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt import Asker
from nasgoat.graphs import LabeledGraph


class TimedAsker:
    """Passes everything on and keeps the processor time of the proposals.

    Args:
        asker: The method.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat import make_method
        >>> timed = TimedAsker(make_method("random", nasbench201(), initial=1))
        >>> for proposal in timed.ask(1):
        ...     timed.tell(proposal.graph, 10.0)
        >>> timed.asked, len(timed.ask(2)), timed.asked
        (0, 2, 1)
    """

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.initial = asker.initial
        self.used, self.asked = 0.0, 0
        self._told = 0

    @property
    def surrogate(self) -> Any:
        """That of the method, for the hyperparameters in the record."""
        return getattr(self.asker, "surrogate", None)

    def ask(self, k: int = 1) -> list[Proposal]:
        """Proposals of the method; those after the initial design are timed."""
        start = time.process_time()
        proposals = self.asker.ask(k)
        if self._told >= self.initial:
            self.used += time.process_time() - start
            self.asked += 1
        return proposals

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Pass on an error."""
        self._told += 1
        self.asker.tell(graph, error)

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Pass on a failure."""
        self._told += 1
        self.asker.tell_failed(graph)
