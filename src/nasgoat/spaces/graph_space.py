"""Graphs of any kind by declaration: acyclic, directed or undirected, labels on nodes and edges.

Nodes are told apart by their labels alone, so isomorphic graphs are the same; the nodes that fixed
parts name keep their index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError, TooLargeError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph, canonical
from nasgoat.spaces import graph_draws, graph_moves
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import (
    DEGREES,
    NAMES,
    RANGE,
    check_ops,
    count_subsets,
    is_count,
    read_range,
    say_range,
)
from nasgoat.spaces.graph_growth import GraphListing
from nasgoat.spaces.graph_rules import (
    CONNECTIVITIES,
    DIRECTIONS,
    UNBOUNDED,
    Bounds,
    GraphRules,
    check_form,
    read_rules,
)
from nasgoat.spaces.graph_structures import StructureListing, estimate_structures
from nasgoat.spaces.label_sites import INPUT, OUTPUT
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.names import GraphNames, Names
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.toml_reader import TABLE, TEXT, WHOLE, Value

_MOST_NODES = 100
_CONNECTED = {
    "connected": "connected",
    "strong": "every node reaches every other",
    "paths": "every node on a path between source and sink",
}
#: Few labels and edges can make few graphs of very many choices: up to this many nodes a listing
#: decides, which ends once there are many.
_LISTED_NODES = {"acyclic": 6, "directed": 4, "undirected": 7}
_FEW, _MANY = 20_000, 500_000
_INNER = "node"  # the label of inner nodes where only sources and sinks are told apart


@dataclass(frozen=True, repr=False)
class GraphSpace(SearchSpace):
    """All graphs that meet a declaration, up to isomorphism.

    Args:
        nodes: Number of nodes, or a (smallest, largest) pair.
        node_ops: Labels of nodes; none for nodes that are all alike.
        edge_ops: Labels of edges; none for edges that are all alike.
        direction: ``"acyclic"``, ``"directed"`` or ``"undirected"``.
        connectivity: ``"none"``; ``"connected"`` (directions aside); ``"strong"`` (every node
            reaches every other); ``"paths"`` (every node on a path from a source to a sink).
        sources: Number of further nodes labelled ``input``, without incoming edges.
        sinks: Number of further nodes labelled ``output``, without outgoing edges.
        degree: Degrees of an undirected graph by node label: a number, or a smallest and a largest
            one; ``"*"`` stands for every label that is not named.
        in_degree: Numbers of incoming edges of a directed graph, in the same way.
        out_degree: Numbers of outgoing edges.
        edge_weights: What an edge of each operation adds to a degree, 1 unless named.
        min_edges: Smallest number of edges.
        max_edges: Largest number of edges; None for no limit.
        fixed: Parts that must or must not be there, by index: see
            :func:`~nasgoat.spaces.graph_rules.read_fixed_parts`.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`.

    Raises:
        SpaceError: If the declaration contradicts itself.

    Example:
        >>> molecules = GraphSpace(
        ...     nodes=(1, 2),
        ...     node_ops=["C", "O"],
        ...     edge_ops=["single", "double"],
        ...     direction="undirected",
        ...     connectivity="connected",
        ...     degree={"C": (0, 4), "O": (0, 2)},
        ...     edge_weights={"double": 2},
        ... )
        >>> molecules.count()
        8
        >>> GraphSpace(nodes=4, direction="acyclic").count()
        31
    """

    nodes: int | tuple[int, int]
    node_ops: Sequence[str] = ()
    edge_ops: Sequence[str] = ()
    direction: str = "directed"
    connectivity: str = "none"
    sources: int = 0
    sinks: int = 0
    degree: Bounds = field(default_factory=dict, hash=False)
    in_degree: Bounds = field(default_factory=dict, hash=False)
    out_degree: Bounds = field(default_factory=dict, hash=False)
    edge_weights: Mapping[str, int] = field(default_factory=dict, hash=False)
    min_edges: int = 0
    max_edges: int | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    indexed: ClassVar[bool] = False
    kind = "graph"
    file_keys: ClassVar[Mapping[str, Value]] = {
        "nodes": RANGE,
        **dict.fromkeys(("node_ops", "edge_ops"), NAMES),
        **dict.fromkeys(("direction", "connectivity"), TEXT),
        **dict.fromkeys(("sources", "sinks", "min_edges", "max_edges"), WHOLE),
        **dict.fromkeys(("degree", "in_degree", "out_degree"), DEGREES),
        **dict.fromkeys(("edge_weights", "fixed"), TABLE),
    }
    layout: ClassVar[Literal["cell", "graph", "cells", "list"]] = "graph"

    def __post_init__(self) -> None:
        for name, valid in (("direction", DIRECTIONS), ("connectivity", CONNECTIVITIES)):
            if (value := getattr(self, name)) not in valid:
                raise UnknownNameError(name, value, valid)
        object.__setattr__(self, "nodes", read_range(self.nodes, "nodes", 1, _MOST_NODES))
        object.__setattr__(self, "edge_ops", check_ops(self.edge_ops))
        ends = self.sources or self.sinks
        ops = check_ops(self.node_ops, reserved=(INPUT, OUTPUT) if ends else ())
        inner = self.sizes[-1] - self.sources - self.sinks
        object.__setattr__(self, "node_ops", (_INNER,) if ends and not ops and inner > 0 else ops)
        _check_numbers(self)
        self.rules  # noqa: B018  (its own checks)

    def names(self, n: int) -> Names:
        return GraphNames(self, n)

    @property
    def ordered(self) -> bool:
        """Whether a mathematical program numbers nodes so that edges go to larger numbers."""
        return self.direction == "acyclic" and not self.rules.fixed.pinned

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.direction != "undirected"

    @property
    def acyclic(self) -> bool:
        """Whether no graph has a cycle."""
        return self.direction == "acyclic"

    @property
    def edge_limit(self) -> int:
        """Largest number of edges that a graph can have."""
        pairs = self.most_edges(self.sizes[-1])
        return pairs if self.max_edges is None else min(self.max_edges, pairs)

    def most_edges(self, n: int) -> int:
        return n * (n - 1) // (1 if self.direction == "directed" else 2)

    #: The same as :meth:`edge_places`: no pair is ruled out.
    pairs = SearchSpace.edge_places

    @cached_property
    def rules(self) -> GraphRules:
        """The declaration as arrays."""
        return read_rules(self)

    @property
    def sizes(self) -> range:
        low, high = read_range(self.nodes, "nodes", 1, _MOST_NODES)
        return range(low, high + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        first = (INPUT,) if self.sources else ()
        return (*first, *self.node_ops, *((OUTPUT,) if self.sinks else ()))

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        return tuple(self.edge_ops)

    def path_types(self) -> list[tuple[int, int, int]]:
        labels = range(len(self.node_vocabulary) or 1)
        same = [(0, label, label) for label in labels]
        steps = range(1, self.sizes[-1])
        return same + [(s, a, b) for s in steps for a, b in product(labels, labels)]

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.rules.ends(batch)

    def batch(self, graphs: Sequence[LabeledGraph]) -> GraphBatch:
        return replace(super().batch(graphs), directed=self.directed)

    def key(self, graph: LabeledGraph) -> bytes:
        if not self.rules.fixed.pinned:
            return graph.canonical_key()
        labels = list(graph.node_labels or [""] * graph.n)
        for v in range(self.rules.fixed.pinned):
            labels[v] = f"{v}:{labels[v]}"
        return canonical.make_key(graph.adjacency, labels, graph.edge_labels, graph.directed)

    def _check(self, graph: LabeledGraph) -> None:
        check_form(self, graph)
        for fits, demand in self.rules.verdicts(self.batch([graph])):
            if not fits[0]:
                raise GraphError(f"the graph must {demand}, got {graph}")

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return graph_draws.draw(self, rng)

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return graph_moves.mutate(self, graph, rng)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return graph_moves.list_neighbours(self, graph)

    def _count(self) -> int:
        return sum(len(batch) for batch in self._enumerate())

    def size_bound(self) -> int:
        return self._bound  # counted once

    def _is_quickly_counted(self) -> bool:
        return self._bound <= _MANY

    @cached_property
    def _bound(self) -> int:
        bound = count_choices(self)
        if bound > _FEW and self.sizes[-1] <= _LISTED_NODES[self.direction]:
            try:
                listing = GraphListing(self, _MANY)
                return sum(len(batch) for n in self.sizes for batch in listing.list_graphs(n))
            except TooLargeError:
                return bound
        return bound

    def _enumerate(self) -> Iterator[GraphBatch]:
        for n in self.sizes:
            yield from self._listing.list_graphs(n)

    def with_nodes(self, n: int) -> GraphSpace:
        if n not in self.sizes:
            raise SpaceError(f"nodes must be {say_range(self.sizes)} in this space, got {n}")
        return replace(self, nodes=(n, n))

    def _declaration(self) -> dict[str, Any]:
        return _put_tables_last(super()._declaration())

    def _describe(self) -> str:
        return _describe_declaration(self)

    @cached_property
    def first_graphs(self) -> list[GraphBatch]:
        """The graphs that random draws fall back on where they keep failing."""
        return graph_draws.list_first_graphs(self)

    @cached_property
    def _listing(self) -> GraphListing:
        return GraphListing(self)

    @cached_property
    def structure_listing(self) -> StructureListing:
        """Lists structures without labels, for searches that list no graphs."""
        return StructureListing(self)

    def structure_bound(self, n: int) -> float:
        """About how many structures with n nodes there are."""
        return estimate_structures(self, n)


def _check_numbers(space: GraphSpace) -> None:
    """Raise :class:`SpaceError` unless numbers and degrees fit each other and the direction."""
    for name in ("sources", "sinks", "min_edges"):
        value = getattr(space, name)
        if not is_count(value):
            raise SpaceError(f"{name} must be a number of at least 0, got {value!r}")
    if space.sources + space.sinks > space.sizes[0]:
        raise SpaceError(
            f"sources and sinks must be at most the {space.sizes[0]} nodes, "
            f"got {space.sources} and {space.sinks}"
        )
    most = space.max_edges
    if most is not None and not is_count(most):
        raise SpaceError(f"max_edges must be a number of at least 0, got {most!r}")
    if space.min_edges > space.edge_limit:
        raise SpaceError(
            f"min_edges must be at most {space.edge_limit}, the largest number of edges, "
            f"got {space.min_edges}"
        )
    if space.direction == "undirected" and (space.sources or space.sinks):
        raise SpaceError("sources and sinks must be 0 where edges have no direction")
    if space.connectivity == "paths" and not (space.sources or space.sinks):
        raise SpaceError("connectivity 'paths' must come with sources or sinks, got neither")
    used = ("in_degree", "out_degree") if space.direction == "undirected" else ("degree",)
    for name in used:
        if getattr(space, name):
            raise SpaceError(
                f"{name} must not be given for {space.direction} graphs, "
                f"got {dict(getattr(space, name))}"
            )


def _describe_declaration(space: GraphSpace) -> str:
    """The declaration in a sentence, limits aside."""
    parts = [f"{space.direction} graphs of {say_range(space.sizes)} nodes"]
    if space.sources or space.sinks:
        parts.append(f"{space.sources} sources and {space.sinks} sinks among them")
    if space.connectivity != "none":
        parts.append(_CONNECTED[space.connectivity])
    parts.append(f"{space.min_edges} to {space.edge_limit} edges")
    if space.node_ops:
        parts.append(f"nodes: {', '.join(space.node_ops)}")
    if space.edge_ops:
        parts.append(f"edges: {', '.join(space.edge_ops)}")
    for name in ("degree", "in_degree", "out_degree"):
        if bounds := getattr(space, name):
            pairs = {x: read_range(b, name, 0) for x, b in bounds.items()}
            said = ", ".join(f"{x} {say_range(range(a, b + 1))}" for x, (a, b) in pairs.items())
            parts.append(f"{name.replace('_', '-')}s: {said}")
    if space.fixed:
        parts.append(f"the first {space.rules.fixed.pinned} nodes with fixed parts")
    return "; ".join(parts)


def _put_tables_last(declared: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as plain values in the order of a TOML file: tables last, empty ones left out."""
    values = {name: x for name, x in declared.items() if not isinstance(x, Mapping)}
    return values | {n: _make_plain(x) for n, x in declared.items() if isinstance(x, Mapping) and x}


def _make_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _make_plain(v) for k, v in value.items()}
    return [_make_plain(v) for v in value] if isinstance(value, list | tuple) else value


def count_choices(space: GraphSpace) -> int:
    """How many ways there are to put labels and edges on nodes: at least the number of graphs."""
    labels, ops = len(space.node_vocabulary) or 1, len(space.edge_ops) or 1
    high = space.rules.degree_in.high.max()
    total = 0
    for n in space.sizes:
        # An acyclic graph has an order of its nodes in which edges ascend.
        pairs = space.most_edges(n)
        most = min(space.edge_limit, pairs)
        if high < UNBOUNDED:
            most = min(most, n * int(high) // (1 if space.directed else 2))
        total += labels**n * count_subsets(pairs, space.min_edges, most, ops)
    return total
