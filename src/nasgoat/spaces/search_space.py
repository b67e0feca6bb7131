"""The interface of all search spaces: optimisers use nothing else.

A :class:`SearchSpace` draws, changes and lists its graphs. Limits and costs, which are added by
their text and added up on graphs, are the part of it that stands first (:class:`LimitedSpace`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SettingError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces import moves
from nasgoat.spaces.costs import Cost, Costs
from nasgoat.spaces.description import SpaceDescription
from nasgoat.spaces.limit_text import parse_limit
from nasgoat.spaces.limits import Limit, add_up_terms, measure_depths, name_uniquely
from nasgoat.upper_layers import ShownAsHtml

_LISTED_AT_ONCE = 1_000_000  # graphs, limits aside, of a space that is listed to give all of it


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
        """The space with these costs added to its own, if its family can keep costs."""
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
        depths = measure_depths(batch, *self.ends(batch)) if deep else None
        return add_up_terms(limits, batch, depths)


class SearchSpace(ShownAsHtml, LimitedSpace):
    """A finite set of labelled graphs.

    A subclass is a frozen dataclass that declares itself in a few fields, ``limits`` the last of
    them, and provides membership, moves and enumeration without regard to limits; the public
    methods here add the limits. What a family says of itself is its *description*
    (:class:`~nasgoat.spaces.description.SpaceDescription`), and all that kernels, optimisers,
    drawings and exports know of it.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> space: SearchSpace = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> cell = space.sample(1, np.random.default_rng(0))[0]
        >>> cell in space, space.mutate(cell, np.random.default_rng(0)) in space, space.count()
        (True, True, 12)
    """

    @abstractmethod
    def with_nodes(self, n: int) -> SearchSpace:
        """The part of the space with exactly n nodes."""

    @abstractmethod
    def size_bound(self) -> int:
        """A cheap upper bound on :meth:`count`."""

    @abstractmethod
    def _check(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError`, saying why, unless the graph is in the space, limits aside."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        """One random graph of the space, limits aside."""

    @abstractmethod
    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        """A random graph near this one, limits aside."""

    @abstractmethod
    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        """Every graph one small change away, limits aside, each once up to isomorphism."""

    @abstractmethod
    def _count(self) -> int:
        """The exact number of graphs, limits aside."""

    @abstractmethod
    def _enumerate(self) -> Iterator[GraphBatch]:
        """Every graph once up to isomorphism, limits aside."""

    def check(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError`, saying why, unless the graph is in the space."""
        self._check(graph)
        if self.all_limits:
            for limit, total in zip(self.all_limits, self.limit_totals([graph])[:, 0], strict=True):
                if not limit.holds(total):
                    said = limit.text if limit.name == limit.text else f"{limit.name}: {limit.text}"
                    raise GraphError(f"the graph must satisfy {said}, got {total:.15g}")

    def mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        """A random graph of the space near this one and, unless it is the only one, different."""
        self.check(graph)
        if self.all_limits:
            found = self._vary_within(graph, 1, rng, 1)[0]
        else:
            found = self._mutate(graph, rng)
        key = self.key(graph)
        if self.key(found) != key:
            return found
        # A graph that no small change leaves inside the space: any other one will do.
        return next(iter(self.sample(1, rng, {key})), graph)

    def variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int = 1
    ) -> list[LabeledGraph]:
        """Random graphs about this many changes away, faster than one :meth:`mutate` after another.

        Args:
            graph: The graph to change.
            count: How many; some may be the same.
            rng: Source of randomness.
            edits: How many changes to expect.
        """
        self.check(graph)
        if self.all_limits:
            return self._vary_within(graph, count, rng, edits)
        return self._variants(graph, count, rng, edits)

    def neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        """Every graph of the space one small change away, each once up to isomorphism."""
        self.check(graph)
        found = self._neighbours(graph)
        return [g for g, fits in zip(found, self.within_limits(found), strict=True) if fits]

    def count(self) -> int:
        """The exact number of graphs, isomorphic ones counted once."""
        return self._count_within() if self.all_limits else self._count()

    def size(self) -> tuple[int, bool]:
        """The exact number of graphs and True; an upper bound and False where counting takes long.

        Example:
            >>> from nasgoat import nasbench201
            >>> nasbench201().size()
            (9280, True)
        """
        return (self.count(), True) if self._is_quickly_counted() else (self.size_bound(), False)

    def enumerate(self) -> Iterator[GraphBatch]:
        """Every graph once up to isomorphism, in batches, smallest graphs first.

        All graphs of one batch have the same number of nodes; the order never changes.
        """
        for batch in self._enumerate():
            yield batch.take(self.within_limits(batch)) if self.all_limits else batch

    def _variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        """See :meth:`variants`; limits aside, as many mutations in turn as edits."""
        found = []
        for _ in range(count):
            changed = graph
            for _ in range(edits):
                changed = self._mutate(changed, rng)
            found.append(changed)
        return found

    def _is_quickly_counted(self) -> bool:
        """Whether :meth:`count` takes seconds at most."""
        return self.size_bound() <= moves.LISTABLE

    def _vary_within(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        """Mutations that satisfy every limit."""
        return moves.vary_within_limits(self, graph, count, rng, edits)

    def _draw_within(self, rng: np.random.Generator) -> LabeledGraph:
        """One random graph that satisfies every limit."""
        return moves.draw_within_limits(self, rng)

    def _count_within(self) -> int:
        """The exact number of graphs that satisfy every limit."""
        return sum(len(batch) for batch in self.enumerate())

    def __contains__(self, graph: object) -> bool:
        if not isinstance(graph, LabeledGraph):
            return False
        try:
            self.check(graph)
        except GraphError:
            return False
        return True

    def sample(
        self, count: int, rng: np.random.Generator, exclude: set[bytes] | None = None
    ) -> list[LabeledGraph]:
        """Draw distinct random graphs.

        Args:
            count: How many; fewer come back if the space has no more.
            rng: Source of randomness.
            exclude: Keys (:meth:`key`) of graphs that must not be drawn.

        Raises:
            SpaceError: If limits leave no graph, or so few that none can be found.

        Example:
            >>> from nasgoat import nasbench201
            >>> cells = nasbench201().sample(3, np.random.default_rng(0))
            >>> len(set(cells)), cells[0] in nasbench201()
            (3, True)
        """
        if count < 0:
            raise SettingError(f"the number of samples must be at least 0, got {count}")
        return moves.draw_distinct(self, count, rng, exclude or set())

    def sample_until(
        self,
        deadline: float,
        count: int,
        rng: np.random.Generator,
        exclude: set[bytes] | None = None,
    ) -> list[LabeledGraph]:
        """Draw distinct random graphs until a deadline, by ``time.perf_counter``; one in any case.

        Example:
            >>> from nasgoat import nasbench201
            >>> len(nasbench201().sample_until(0.0, 100, np.random.default_rng(0)))
            1
        """
        return moves.draw_distinct(self, count, rng, exclude or set(), deadline)

    def _is_used_up_by(self, wanted: int) -> bool:
        """Whether the space has at most ``wanted`` graphs, all of which can be listed quickly."""
        return (
            self._is_quickly_counted()
            and self._total <= wanted
            and self._count() <= _LISTED_AT_ONCE
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "kept"}

    @cached_property
    def kept(self) -> dict[str, Any]:
        """A cache for values that others compute from the space; not part of its declaration."""
        return {}

    @cached_property
    def _total(self) -> int:
        return self.count()
