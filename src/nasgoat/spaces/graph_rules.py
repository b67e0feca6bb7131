"""What a declared graph space demands of a graph, as arrays over a batch and as a reason in words.

The declaration is read into these arrays here.

Notation
    B graphs of up to n nodes;  l_v label of node v;  w_e weight of an edge with operation e
    degree of v   Σ w_e over the edges at v (incoming or outgoing ones where edges have a direction)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import find_distances, find_nodes_on_paths
from nasgoat.spaces.declared_values import is_count, read_range, say_range
from nasgoat.spaces.label_sites import INPUT, OUTPUT

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

EVERY_LABEL = "*"
DIRECTIONS = ("acyclic", "directed", "undirected")
CONNECTIVITIES = ("none", "connected", "strong", "paths")
PARTS = ("edges", "not_edges", "labels", "not_labels")
_ANY = -2  # an edge of any operation, in fixed parts
UNBOUNDED = 10**6  # no graph here has such a degree
Bounds = Mapping[str, int | tuple[int, int]]
Mask = NDArray[np.bool_]


class Verdict(NamedTuple):
    """The result of one rule: which graphs of a batch obey it, and the rule in words."""

    fits: Mask
    demand: str


@dataclass(frozen=True, eq=False)
class DegreeBounds:
    """Smallest and largest degree of each node label, in code order."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, bounds: Bounds, labels: Sequence[str], kind: str, zero: str = "") -> DegreeBounds:
        """Bounds from a declaration; ``*`` stands for every label that is not named.

        Args:
            bounds: A number (exactly), or a smallest and a largest one, for each label.
            labels: The node labels; one empty name where nodes have none.
            kind: What messages call it.
            zero: The label whose degree is 0 unless declared.
        """
        for label in bounds:
            if label not in (*labels, EVERY_LABEL):
                known = [*(label for label in labels if label), EVERY_LABEL]
                raise UnknownNameError(f"a label of {kind}", label, known)
        default = bounds.get(EVERY_LABEL, (0, UNBOUNDED))
        chosen = [bounds.get(x, 0 if x and x == zero else default) for x in labels]
        pairs = [read_range(value, kind, 0) for value in chosen]
        return cls(
            np.array([low for low, _ in pairs]),
            np.array([min(high, UNBOUNDED) for _, high in pairs]),
        )


@dataclass(frozen=True, eq=False)
class FixedParts:
    """Edges and labels that must or must not be there; the nodes they name keep their index.

    Args:
        edges: For each pair what it must be: a label code, -1 for no edge, -2 for any edge.
        not_edges: For each pair the label codes it must not have; all of them for "no edge".
        labels: For each node the label codes it may have.
    """

    edges: Mapping[tuple[int, int], int] = field(default_factory=dict)
    not_edges: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    labels: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @property
    def pinned(self) -> int:
        """Nodes 0, ..., pinned - 1 are told apart by their index."""
        named = [v for pair in (*self.edges, *self.not_edges) for v in pair]
        return max([*named, *self.labels], default=-1) + 1


@dataclass(frozen=True, eq=False)
class GraphRules:
    """The demands of a space, ready to be applied to batches."""

    direction: str
    connectivity: str
    sources: int
    sinks: int
    min_edges: int
    max_edges: int
    degree_in: DegreeBounds
    degree_out: DegreeBounds
    weights: NDArray[np.int64]
    fixed: FixedParts

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.direction != "undirected"

    def fits(self, batch: GraphBatch) -> Mask:
        """Which graphs of a batch meet every demand."""
        found = np.ones(len(batch), dtype=bool)
        for fits, _ in self._check_local(batch):
            found &= fits
        # Distances cost most, so only what is left is measured.
        left = batch.take(found)
        connected = np.ones(len(left), dtype=bool)
        for fits, _ in self._check_connections(left) if len(left) else ():
            connected &= fits
        found[found] = connected
        return found

    def verdicts(self, batch: GraphBatch) -> Iterator[Verdict]:
        """Each demand in turn."""
        yield from self._check_local(batch)
        yield from self._check_connections(batch)

    def _check_local(self, batch: GraphBatch) -> Iterator[Verdict]:
        """The demands that need no distances."""
        edges = batch.edge_counts
        yield Verdict(edges >= self.min_edges, f"have at least {self.min_edges} edges")
        yield Verdict(edges <= self.max_edges, f"have at most {self.max_edges} edges")
        yield from self._check_ends(batch)
        yield from self._check_degrees(batch)
        yield from self._check_fixed(batch)

    def ends(self, batch: GraphBatch) -> tuple[Mask, Mask]:
        """Which nodes are sources and sinks; where none are declared, all but the others are."""
        codes, last = batch.node_codes, len(batch.node_vocabulary) - 1
        none = np.zeros_like(batch.exists)
        sources = codes == 0 if self.sources and codes is not None else none
        sinks = codes == last if self.sinks and codes is not None else none
        return (
            sources if self.sources else batch.exists & ~sinks,
            sinks if self.sinks else batch.exists & ~sources,
        )

    def _check_ends(self, batch: GraphBatch) -> Iterator[Verdict]:
        sources, sinks = self.ends(batch)
        if self.sources:
            yield Verdict(
                sources.sum(axis=1) == self.sources, f"have {self.sources} nodes labelled {INPUT}"
            )
        if self.sinks:
            yield Verdict(
                sinks.sum(axis=1) == self.sinks, f"have {self.sinks} nodes labelled {OUTPUT}"
            )

    def _check_degrees(self, batch: GraphBatch) -> Iterator[Verdict]:
        codes = np.zeros(batch.exists.shape, dtype=int)
        if batch.node_codes is not None:
            codes = np.maximum(batch.node_codes, 0)
        weights = batch.adjacency.astype(np.int64)
        if batch.edge_codes is not None:
            weights = np.where(batch.adjacency, self.weights[batch.edge_codes], 0)
        named = {"incoming ": (1, self.degree_in), "outgoing ": (2, self.degree_out)}
        for name, (axis, bounds) in named.items() if self.directed else [("", (1, self.degree_in))]:
            degree = weights.sum(axis=axis)
            inside = (degree >= bounds.low[codes]) & (degree <= bounds.high[codes])
            demand = f"have as many {name}edges at every node as its label allows"
            yield Verdict((inside | ~batch.exists).all(axis=1), demand)

    def _check_fixed(self, batch: GraphBatch) -> Iterator[Verdict]:
        """The fixed edges and labels."""
        for (u, v), wanted in self.fixed.edges.items():
            there = batch.adjacency[:, u, v]
            if wanted >= 0 and batch.edge_codes is not None:
                there = batch.edge_codes[:, u, v] == wanted
            yield Verdict(there, f"have the fixed edge {u} -> {v}")
        for (u, v), barred in self.fixed.not_edges.items():
            there = batch.adjacency[:, u, v]
            if batch.edge_codes is not None:
                there = np.isin(batch.edge_codes[:, u, v], list(barred))
            yield Verdict(~there, f"not have the forbidden edge {u} -> {v}")
        for v, allowed in self.fixed.labels.items():
            if batch.node_codes is not None:
                fits = np.isin(batch.node_codes[:, v], list(allowed))
                yield Verdict(fits, f"have one of its fixed labels on node {v}")

    def _check_connections(self, batch: GraphBatch) -> Iterator[Verdict]:
        """Acyclicity and connectivity, which need distances."""
        d, n = batch.distances, batch.n
        both = batch.exists[:, :, None] & batch.exists[:, None, :]
        if self.direction == "acyclic":
            cycle = (batch.adjacency & (d.transpose(0, 2, 1) < n)).any(axis=(1, 2))
            yield Verdict(np.asarray(~cycle), "be acyclic")
        if self.connectivity == "strong":
            yield Verdict(
                np.asarray(((d < n) | ~both).all(axis=(1, 2))), "let every node reach every other"
            )
        elif self.connectivity == "connected":
            either = batch.adjacency | batch.adjacency.transpose(0, 2, 1)
            d = find_distances(either)
            yield Verdict(np.asarray(((d < n) | ~both).all(axis=(1, 2))), "be connected")
        elif self.connectivity == "paths":
            sources, sinks = self.ends(batch)
            on_path = find_nodes_on_paths(
                batch.adjacency,
                sources if self.sources else batch.exists,
                sinks if self.sinks else batch.exists,
            )
            yield Verdict(
                np.asarray((on_path | ~batch.exists).all(axis=1)),
                "have every node on a path between its ends",
            )


def check_form(space: GraphSpace, graph: LabeledGraph) -> None:
    """Raise :class:`GraphError` unless direction, size and places of labels are the space's."""
    if graph.directed != space.directed:
        wanted = "directed" if space.directed else "undirected"
        raise GraphError(f"the graph must be {wanted}, got another one")
    if graph.n not in space.sizes:
        raise GraphError(f"the graph must have {say_range(space.sizes)} nodes, got {graph.n}")
    for kind, given, vocabulary in (
        ("node", graph.node_labels, space.node_vocabulary),
        ("edge", graph.edge_labels, space.edge_vocabulary),
    ):
        empty = kind == "edge" and not graph.edges
        if (given is None) == bool(vocabulary) and not empty:
            need = "labels" if vocabulary else "no labels"
            raise GraphError(f"the graph must have {need} on its {kind}s")


def read_rules(space: GraphSpace) -> GraphRules:
    """What the declaration demands of a graph, as arrays."""
    labels = space.node_vocabulary or ("",)
    kinds = ("in_degree", "out_degree") if space.directed else ("degree", "degree")
    into, out = (
        DegreeBounds.of(getattr(space, kind), labels, kind, end)
        for kind, end in zip(kinds, (INPUT, OUTPUT), strict=True)
    )
    return GraphRules(
        direction=space.direction,
        connectivity=space.connectivity,
        sources=space.sources,
        sinks=space.sinks,
        min_edges=space.min_edges,
        max_edges=space.edge_limit,
        degree_in=into,
        degree_out=out,
        weights=_read_weights(space.edge_weights, space.edge_ops),
        fixed=read_fixed_parts(space),
    )


def _read_weights(weights: Mapping[str, int], ops: Sequence[str]) -> NDArray[np.int64]:
    """What an edge of each operation adds to a degree, in code order."""
    for op, weight in weights.items():
        if op not in ops:
            raise UnknownNameError("an operation of edge_weights", op, ops or ["(none)"])
        if not is_count(weight) or not 0 < weight < UNBOUNDED:
            raise SpaceError(f"edge_weights.{op} must be a positive number, got {weight!r}")
    return np.array([weights.get(op, 1) for op in ops], dtype=np.int64)


def read_fixed_parts(space: GraphSpace) -> FixedParts:
    """The fixed parts of a space.

    The declaration is a mapping with some of these keys; nodes are named by index, and those up to
    the largest named one are told apart.

    - ``edges``: edges that must be there, ``[u, v]`` or ``[u, v, operation]``;
    - ``not_edges``: edges that must not be there, with this operation or with any;
    - ``labels``: for a node its label, or a list of those it may have;
    - ``not_labels``: for a node a label, or a list of those it must not have.

    Raises:
        SpaceError: If a part is malformed or names a node that does not always exist.

    Example:
        >>> from nasgoat.spaces import GraphSpace
        >>> fixed = {"edges": [[0, 1]], "labels": {"0": "C"}}
        >>> GraphSpace(3, ["C", "O"], direction="undirected", fixed=fixed).rules.fixed.pinned
        2
    """
    given = space.fixed
    for name in given:
        if name not in PARTS:
            raise UnknownNameError("a part of fixed", name, PARTS)
    edges = dict(_read_edges(space, "edges"))
    barred: dict[tuple[int, int], frozenset[int]] = {}
    every = frozenset(range(max(len(space.edge_ops), 1)))
    for pair, code in _read_edges(space, "not_edges"):
        barred[pair] = barred.get(pair, frozenset()) | (every if code == _ANY else {code})
    for pair, codes in barred.items():
        if pair in edges and (edges[pair] in codes or codes == every):
            raise SpaceError(f"fixed must not demand and forbid the edge {list(pair)}")
    labels = {v: frozenset(codes) for v, codes in _read_labels(space, "labels")}
    everything = frozenset(range(len(space.node_vocabulary)))
    for v, without in _read_labels(space, "not_labels"):
        labels[v] = labels.get(v, everything) - set(without)
        if not labels[v]:
            raise SpaceError(f"fixed must leave node {v} a label, got none")
    return FixedParts(edges, barred, labels)


def _read_edges(space: GraphSpace, name: str) -> list[tuple[tuple[int, int], int]]:
    """The edges that a fixed part names, each with its operation or ``_ANY``."""
    found = []
    for part in _read_sequence(space.fixed.get(name, ()), f"fixed.{name}"):
        entry = list(_read_sequence(part, f"an edge of fixed.{name}"))
        if len(entry) not in (2, 3):
            raise SpaceError(f"an edge of fixed.{name} must be [u, v] or [u, v, op], got {part!r}")
        u, v = (_read_node(space, x, name) for x in entry[:2])
        if u == v:
            raise SpaceError(f"an edge of fixed.{name} must join two nodes, got {part!r}")
        code = _ANY
        if len(entry) == 3:
            if entry[2] not in space.edge_ops:
                known = space.edge_ops or ["(none)"]
                raise UnknownNameError(f"an operation of fixed.{name}", entry[2], known)
            code = list(space.edge_ops).index(entry[2])
        found.append(((u, v) if space.directed or u < v else (v, u), code))
    return found


def _read_labels(space: GraphSpace, name: str) -> list[tuple[int, list[int]]]:
    """The nodes that a fixed part names, each with its labels."""
    given = space.fixed.get(name, {})
    if not isinstance(given, Mapping):
        raise SpaceError(f"fixed.{name} must be a table of nodes, got {given!r}")
    vocabulary = space.node_vocabulary
    found = []
    for node, value in given.items():
        labels = (
            [value] if isinstance(value, str) else _read_sequence(value, f"fixed.{name}.{node}")
        )
        for label in labels:
            if label not in vocabulary:
                raise UnknownNameError(f"a label of fixed.{name}", label, vocabulary or ["(none)"])
        v = _read_node(space, int(node) if str(node).isdigit() else node, name)
        found.append((v, [vocabulary.index(label) for label in labels]))
    return found


def _read_sequence(value: Any, name: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SpaceError(f"{name} must be a list, got {value!r}")
    return value


def _read_node(space: GraphSpace, v: Any, name: str) -> int:
    smallest = space.sizes[0]
    if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v < smallest:
        raise SpaceError(
            f"fixed.{name} must name nodes that always exist, 0 to {smallest - 1}, got {v!r}"
        )
    return v
