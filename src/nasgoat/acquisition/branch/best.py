"""The best graphs of a search, and the pool that is made of them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Proposal, Status
from nasgoat.errors import SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

#: Values of the search and of the surrogate must agree to this; rounding is about 1e-12.
AGREEMENT = 1e-7


class Best:
    """The k best graphs so far, each once up to isomorphism, none of the excluded ones."""

    def __init__(self, space: SearchSpace, k: int, exclude: Collection[bytes]) -> None:
        self.space = space
        self.k = k
        self.taken = set(exclude)
        self.entries: list[tuple[float, LabeledGraph]] = []

    @property
    def threshold(self) -> float:
        """What a graph must be better than to enter."""
        return self.entries[-1][0] if len(self.entries) == self.k else np.inf

    def offer(self, graph: LabeledGraph, value: float) -> None:
        """Take the graph if it is new, within the limits, and not excluded."""
        key = self.space.key(graph)
        if key not in self.taken and (not self.space.limits or graph in self.space):
            self.taken.add(key)
            self.entries.append((value, graph))
            self.entries.sort(key=lambda entry: entry[0])
            del self.entries[self.k :]

    def pool(self, acquisition: LowerConfidenceBound, left: float | None, seconds: float) -> Pool:
        """The graphs with their certificates; ``left`` bounds what was not explored."""
        if not self.entries:
            status = Status.EXHAUSTED if left is None else Status.FEASIBLE
            return Pool((), Certificate(status, None, left, seconds))
        graphs = [graph for _, graph in self.entries]
        mean, std = acquisition.gp.predict(graphs)
        values = acquisition.combine(mean, std)
        for (found, graph), value in zip(self.entries, values.tolist(), strict=True):
            if not abs(found - value) <= AGREEMENT * (1 + abs(value)):
                raise SurrogateError(
                    f"the search and the surrogate must agree on a graph's value, got {found!r} "
                    f"and {value!r} for {graph.to_json()}"
                )
        proposals = []
        for i in np.argsort(values, kind="stable").tolist():
            value = float(values[i])
            bound = value if left is None else min(value, left)
            status = Status.OPTIMAL if bound == value else Status.FEASIBLE
            certificate = Certificate(status, value, bound, seconds)
            proposals.append(Proposal(graphs[i], certificate, float(mean[i]), float(std[i])))
        return Pool(tuple(proposals), proposals[0].certificate)
