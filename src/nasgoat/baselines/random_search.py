"""Random search: distinct graphs of the space, drawn at random."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines.method import Method


class RandomSearch(Method):
    """Draws distinct random graphs.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines.method import Setup
        >>> method = RandomSearch(Setup(nasbench201(), initial=2))
        >>> for proposal in method.ask(2):
        ...     method.tell(proposal.graph, error=1.0)
        >>> len(method.ask(3))
        3
    """

    batch: ClassVar[int] = 1

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        return []  # random graphs fill what a method leaves
