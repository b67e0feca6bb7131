"""The interface of all search spaces: optimisers use nothing else."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SettingError, SpaceError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import Slots
from nasgoat.spaces import moves
from nasgoat.spaces.costs import Cost, Costs
from nasgoat.spaces.limit_text import Vocabulary, parse_limit
from nasgoat.spaces.limits import Limit, Pair, depths, name_uniquely, totals
from nasgoat.spaces.names import Names
from nasgoat.upper_layers import ShownAsHtml

_LISTED_AT_ONCE = 1_000_000  # graphs, limits aside, of a space that is listed to give all of it
_LONGEST = 200  # characters of a field in the representation of a space
MOST_NAMES = 2**7 - 2  # codes are signed bytes, -1 is taken


class SearchSpace(ShownAsHtml, ABC):
    """A finite set of labelled graphs.

    A subclass is a frozen dataclass that declares itself in a few fields, ``limits`` the last of
    them, and provides membership, moves and enumeration without regard to limits; the public
    methods here add the limits. What a family says of itself is its *description*, and all that
    kernels, optimisers, drawings and exports know of it:

    - graphs: :attr:`sizes`, the vocabularies, :attr:`indexed`, :attr:`directed`;
    - features of the kernels: :meth:`path_types` and the vocabularies;
    - limits as linear rows: :attr:`all_limits`;
    - variables of a mathematical program and back: :meth:`names`;
    - structures with free labels: :class:`~nasgoat.spaces.CellSpace`, where :attr:`layout` is
      ``"cell"``.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> space: SearchSpace = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> cell = space.sample(1, np.random.default_rng(0))[0]
        >>> cell in space, space.mutate(cell, np.random.default_rng(0)) in space, space.count()
        (True, True, 12)
    """

    #: What a declaration calls the family.
    kind: ClassVar[str] = ""
    #: Whether nodes are told apart by their index, so that isomorphism is equality.
    indexed: ClassVar[bool]
    #: How optimisers see the space: as cells, structures with free labels
    #: (:class:`~nasgoat.spaces.CellSpace`); as declared graphs; or as a list, which a catalogue
    #: scores and nothing else knows more about.
    layout: ClassVar[Literal["cell", "graph", "list"]] = "list"
    #: Where cells have their free labels.
    labels_on: ClassVar[Literal["nodes", "edges"] | None] = None
    #: Whether studies keep a digit for the pairs u < v alone.
    stores_forward_edges: ClassVar[bool] = False
    #: Linear limits that every graph satisfies.
    limits: tuple[Limit, ...] = ()
    #: Costs that are known of every graph, for limits and objectives; no part of the set.
    costs: tuple[Cost, ...] = ()

    @property
    def family_limits(self) -> tuple[Limit, ...]:
        """Linear limits that belong to the family itself."""
        return ()

    @property
    def all_limits(self) -> tuple[Limit, ...]:
        """All limits that graphs must satisfy: those of the family, then those that were added."""
        return (*self.family_limits, *self.limits)

    @property
    def limit_places(self) -> Sequence[Pair]:
        """The edges that a limit may name one by one."""
        return ()

    @property
    def limit_layers(self) -> int:
        """How many layers a limit may name by their number; 0 where graphs have none."""
        return 0

    def names(self, n: int) -> Names:
        """Translates between graphs of n nodes and the variables of a mathematical program."""
        raise SpaceError(
            f"the space must be of cells or declared graphs to be formulated, got "
            f"{self._describe()}; use another optimizer"
        )

    def slots(self, pairs: Sequence[Pair]) -> Slots:
        """Turns graphs with edges on these pairs into digits and back."""
        return Slots(pairs, self.node_vocabulary, self.edge_vocabulary, self.directed)

    def vocabulary(self, costs: Costs | None = None) -> Vocabulary:
        """The names that a limit may use in this space, given these costs beside its own."""
        ops = (self.node_ops, self.edge_vocabulary)
        known: Costs = {**{cost.name: cost for cost in self.costs}, **(costs or {})}
        return Vocabulary(*ops, known, self.limit_places, self.limit_layers)

    @property
    @abstractmethod
    def sizes(self) -> range:
        """The numbers of nodes that graphs of the space have."""

    @property
    @abstractmethod
    def node_vocabulary(self) -> tuple[str, ...]:
        """Node labels in code order; empty if nodes have none."""

    @property
    @abstractmethod
    def edge_vocabulary(self) -> tuple[str, ...]:
        """Edge labels in code order; empty if edges have none."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label of its nodes and edges."""
        return (*self.node_vocabulary, *self.edge_vocabulary)

    @abstractmethod
    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, l1, l2) for which some graph has a node pair at distance s with these codes.

        The code of a node is the place of its label in the vocabulary; where nodes are indexed and
        have no label, it is the index (docs/decisions/0003-paths-of-indexed-nodes.md).
        """

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return True

    @property
    def acyclic(self) -> bool:
        """Whether no graph of the space has a cycle: cells never have, others say so."""
        return self.layout == "cell"

    def most_edges(self, n: int) -> int:
        """The largest number of edges of a graph with n nodes, without regard to limits."""
        return n * (n - 1) // 2

    @abstractmethod
    def with_nodes(self, n: int) -> SearchSpace:
        """The part of the space with exactly n nodes."""

    @abstractmethod
    def size_bound(self) -> int:
        """A cheap upper bound on :meth:`count`."""

    @abstractmethod
    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which nodes are sources and which are sinks, each of shape (B, n)."""

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

    def _declaration(self) -> dict[str, Any]:
        """The fields, limits aside."""
        found: dict[str, Any] = {"kind": self.kind}
        for declared in fields(cast(Any, self)):
            if declared.name not in ("limits", "costs"):
                value = getattr(self, declared.name)
                found[declared.name] = list(value) if isinstance(value, tuple) else value
        return found

    @abstractmethod
    def _describe(self) -> str:
        """The space in a sentence, limits aside."""

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
        return np.asarray(self._add_up([found.terms], graphs)[0] + found.constant)

    def with_limits(self, limits: Sequence[Limit]) -> Self:
        """The same space with these limits instead of its own."""
        if tuple(limits) == self.limits:
            return self  # with what it has counted and listed
        return cast(Self, replace(cast(Any, self), limits=tuple(limits)))

    @property
    def node_ops(self) -> Sequence[str]:
        """The node labels that limits and costs may name."""
        return self.node_vocabulary

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
        return self._add_up(self.all_limits, graphs)

    def _add_up(
        self, limits: Sequence[Limit], graphs: Sequence[LabeledGraph] | GraphBatch
    ) -> NDArray[np.float64]:
        batch = graphs if isinstance(graphs, GraphBatch) else self.batch(graphs)
        deep = any(limit.depth for limit in limits)
        return totals(limits, batch, depths(batch, *self.ends(batch)) if deep else None)

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
        """Random graphs about so many changes away, faster than one :meth:`mutate` after another.

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

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain values, enough to rebuild the space."""
        found = self._declaration()
        if self.limits:
            found["limits"] = [limit.to_dict() for limit in self.limits]
        return found

    def describe(self) -> str:
        """The space in a sentence."""
        if not self.limits:
            return self._describe()
        return f"{self._describe()}; limits: {', '.join(limit.text for limit in self.limits)}"

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

    def __repr__(self) -> str:
        """The fields that differ from their defaults; long ones are cut."""
        shown = []
        for declared in fields(cast(Any, self)):
            value, make = getattr(self, declared.name), declared.default_factory
            default = declared.default if make is MISSING else make()
            if default is MISSING or value != default:
                text = repr(value)
                text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
                shown.append(f"{declared.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __contains__(self, graph: object) -> bool:
        if not isinstance(graph, LabeledGraph):
            return False
        try:
            self.check(graph)
        except GraphError:
            return False
        return True

    def key(self, graph: LabeledGraph) -> bytes:
        """A key that is equal for two graphs exactly if the space regards them as the same."""
        return graph.to_json().encode() if self.indexed else graph.canonical_key()

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

    def _is_used_up_by(self, wanted: int) -> bool:
        """Whether it takes no time to know that the space has no more graphs, and to list them."""
        return (
            self._is_quickly_counted()
            and self._total <= wanted
            and self._count() <= _LISTED_AT_ONCE
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What others computed of the space once, kept as long as it lives; no part of it."""
        return {}

    @cached_property
    def _total(self) -> int:
        return self.count()

    def batch(self, graphs: Sequence[LabeledGraph]) -> GraphBatch:
        """Pack graphs of the space as arrays with the space's vocabularies."""
        n = self.sizes[-1]
        return GraphBatch.from_graphs(graphs, self.node_vocabulary, self.edge_vocabulary, n)

    def fingerprint(self) -> str:
        """A short name that changes whenever the declaration does."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_range(
    value: int | tuple[int, int], name: str, least: int, most: int | None = None
) -> tuple[int, int]:
    """The smallest and largest number that a number or a pair stands for, or :class:`SpaceError`.

    Example:
        >>> read_range(3, "nodes", 2), read_range((2, 7), "nodes", 2)
        ((3, 3), (2, 7))
    """
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2 or not all(isinstance(x, int) and not isinstance(x, bool) for x in pair):
        raise SpaceError(f"{name} must be an integer or a pair of integers, got {value!r}")
    low, high = pair
    if not least <= low <= high <= (high if most is None else most):
        demand = f"at least {least}" if most is None else f"from {least} to {most}"
        raise SpaceError(f"{name} must be {demand}, smallest first, got {value!r}")
    return low, high


def say_range(numbers: range) -> str:
    """One number, or the first and the last, for messages."""
    first, last = numbers[0], numbers[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def check_ops(ops: Sequence[str], reserved: Sequence[str] = ()) -> tuple[str, ...]:
    """Distinct, non-empty operation names, or :class:`SpaceError`."""
    if isinstance(ops, str) or not all(isinstance(op, str) and op for op in ops):
        raise SpaceError(f"ops must be a list of names, got {ops!r}")
    for op in ops:
        if op in reserved:
            raise SpaceError(f"ops must not be {' or '.join(map(repr, reserved))}, got {op!r}")
        if list(ops).count(op) > 1:
            raise SpaceError(f"ops must be distinct, got {op!r} twice")
    if len(ops) > MOST_NAMES - len(reserved):
        raise SpaceError(f"ops must be at most {MOST_NAMES - len(reserved)}, got {len(ops)}")
    return tuple(ops)
