"""Limits and costs of a space: added by their text, and added up on graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.costs import Cost, Costs
from nasgoat.spaces.description import SpaceDescription
from nasgoat.spaces.limit_text import parse_limit
from nasgoat.spaces.limits import Limit, add_up_terms, depths, name_uniquely


class LimitedSpace(SpaceDescription):
    """A described set of graphs that linear limits can narrow, and whose costs are known."""

    def constrain(
        self, *limits: str | Limit | Mapping[str, str], costs: Costs | None = None
    ) -> Self:
        """The graphs of this space that satisfy further linear limits.

        Args:
            limits: Texts such as ``"conv3x3 + conv1x1 <= 3"``, ``"edges <= 8"``, ``"depth <= 4"``
                or ``"sum(params) <= 2.5e6"``; a mapping gives them names.
            costs: For each name in ``sum(...)`` what each operation costs; a missing one costs 0.
                The space keeps them, see :meth:`price`.

        Raises:
            SpaceError: If a text is no limit.
            UnknownNameError: If it names an operation or a cost that is not declared.

        Example:
            >>> from nasgoat import NodeLabeledSpace
            >>> cells = NodeLabeledSpace(nodes=(2, 5), ops=["conv", "pool"], max_edges=7)
            >>> costs = {"params": {"conv": 9.0, "pool": 1.0}}
            >>> space = cells.constrain("sum(params) <= 20", "depth <= 2", costs=costs)
            >>> [limit.text for limit in space.limits]
            ['9*conv + pool <= 20', 'depth <= 2']
            >>> cells.count(), space.count()
            (551, 428)
        """
        words = self.vocabulary(costs)
        found: list[Limit] = []
        for limit in limits:
            if isinstance(limit, Limit):
                found.append(limit)
            elif isinstance(limit, Mapping):
                found += [parse_limit(text, words, name) for name, text in limit.items()]
            else:
                found.append(parse_limit(limit, words))
        return self._keep_costs(costs).with_limits(name_uniquely((*self.limits, *found)))

    def _keep_costs(self, costs: Costs | None) -> Self:
        """The space that knows these costs beside its own, where its family can keep them."""
        if not costs or all(declared.name != "costs" for declared in fields(cast(Any, self))):
            return self
        words = self.vocabulary(costs)
        kept = tuple(words.make_cost(name) for name in words.costs)
        return cast(Self, replace(cast(Any, self), costs=kept))

    def cost(self, name: str) -> Cost:
        """A cost that the space knows.

        Raises:
            UnknownNameError: If it knows none of this name.
        """
        known = {cost.name: cost for cost in self.costs}
        if name not in known:
            raise UnknownNameError("the cost", name, known or ["(none)"])
        return known[name]

    def price(
        self, graphs: Sequence[LabeledGraph] | GraphBatch, cost: str | Cost
    ) -> NDArray[np.float64]:
        """What each graph costs, by the name of a cost that the space knows or by the cost itself.

        Example:
            >>> from nasgoat import ChainSpace
            >>> costs = {"latency": {"conv": [1.0, 2.5], "constant": 0.5}}
            >>> space = ChainSpace(2, ["conv", "skip"]).constrain(costs=costs)
            >>> chain = space.from_operations(["conv", "conv"])
            >>> space.price([chain], "latency").tolist()
            [4.0]
            >>> space.constrain("latency <= 2").count()
            2
        """
        found = self.cost(cost) if isinstance(cost, str) else cost
        return np.asarray(self.add_up([found.terms], graphs)[0] + found.constant)

    def with_limits(self, limits: Sequence[Limit]) -> Self:
        """The same space with these limits instead of its own."""
        if tuple(limits) == self.limits:
            return self  # with what it has counted and listed
        return cast(Self, replace(cast(Any, self), limits=tuple(limits)))

    def within_limits(self, graphs: Sequence[LabeledGraph] | GraphBatch) -> NDArray[np.bool_]:
        """Whether each graph satisfies every limit."""
        found = np.ones(len(graphs), dtype=bool)
        if not self.all_limits or len(graphs) == 0:
            return found
        for limit, total in zip(self.all_limits, self.limit_totals(graphs), strict=True):
            found &= limit.holds(total)
        return found

    def limit_totals(self, graphs: Sequence[LabeledGraph] | GraphBatch) -> NDArray[np.float64]:
        """What each limit adds up to on each graph, shape (limits, graphs)."""
        return self.add_up(self.all_limits, graphs)

    def add_up(
        self, limits: Sequence[Limit], graphs: Sequence[LabeledGraph] | GraphBatch
    ) -> NDArray[np.float64]:
        """What the terms of each limit add up to on each graph, shape (limits, graphs)."""
        batch = graphs if isinstance(graphs, GraphBatch) else self.batch(graphs)
        deep = any(limit.depth for limit in limits)
        return add_up_terms(limits, batch, depths(batch, *self.ends(batch)) if deep else None)
