"""What every benchmark offers: a space, a query and the best value there is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace


class Benchmark(Protocol):
    """A table of measured errors over a space."""

    @property
    def name(self) -> str:
        """The name under which it is found."""
        ...

    @property
    def space(self) -> SearchSpace:
        """The space that is searched."""
        ...

    @property
    def metric(self) -> str:
        """What ``error`` means, for reports."""
        ...

    @property
    def optimum(self) -> float:
        """Smallest mean error of the whole table."""
        ...

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """Metrics of one training: ``error`` (percent, to minimise) and what else the table has."""
        ...

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error averaged over all trainings of the table; regret is measured on it."""
        ...
