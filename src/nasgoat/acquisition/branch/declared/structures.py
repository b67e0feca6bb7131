"""The structures of a declared graph space as blocks of arrays, and the labels they allow.

Notation: see ``records``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import find_twins
from nasgoat.acquisition.branch.declared.records import DeclaredRows, DeclaredShapes, DegreeRules
from nasgoat.acquisition.branch.records import Bytes, Floats, Integers
from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import find_distances
from nasgoat.spaces.graph_structures import LARGEST_STRUCTURES
from nasgoat.spaces.limits import SIGNS, TOLERANCE, Limit, measure_depths

if TYPE_CHECKING:
    from nasgoat.spaces import GraphSpace


#: A listing that has begun, and what it has listed: matrices, roles and their symmetries.
_Chunk = tuple[NDArray[np.bool_], Bytes, list[NDArray[np.intp]]]
_Begun = tuple[Iterator[tuple[NDArray[np.bool_], Bytes]], list[_Chunk]]
_HOPELESS = 4 * LARGEST_STRUCTURES  # structures, by the forecast, that are not even begun
_SYMMETRIES = 64  # automorphisms of a structure that labels are compared under, at most


@dataclass(frozen=True, eq=False)
class DeclaredBlock:
    """Structures that are searched together, and how to turn labels back into graphs.

    Args:
        space: The space.
        n: Number of nodes.
        adjacency: Shape (S, n, n).
        roles: Shape (S, n): the label code that its role gives to a node, -1 for all others.
        shapes: The same as the compiled search sees it.
        classes: The two distances of each pair class, (K, 2); n for "unreachable".
        rules: What labels demand of degrees.
        rows: The limits of the space.
    """

    space: GraphSpace
    n: int
    adjacency: NDArray[np.bool_]
    roles: Bytes
    shapes: DeclaredShapes
    classes: Integers
    rules: DegreeRules
    rows: DeclaredRows

    def hold_numbers(self, numbers: Sequence[int]) -> DeclaredRows:
        """The limits of the space, and rows that hold how often each operation occurs."""
        space = self.space
        at = len(space.node_ops)
        on_nodes = zip(space.node_ops, numbers[:at], strict=True)
        on_edges = zip(space.edge_ops, numbers[at:], strict=True)
        more = [Limit("numbers", "==", N, node_ops={op: 1.0}) for op, N in on_nodes]
        more += [Limit("numbers", "==", N, edge_ops={op: 1.0}) for op, N in on_edges]
        return _make_rows(space, self.n, self.shapes.edges, self.adjacency, self.roles, more)

    def measure_tables(self, features: int) -> float:
        """Bytes of the tables of a posterior with this many features."""
        labels = len(self.space.node_vocabulary) + 1
        return 32.0 * len(self.classes) * labels**2 * (1 + features)

    def make_graph(self, s: int, states: Integers) -> LabeledGraph:
        """Structure s with these labels of its nodes, then of its edges."""
        space, edges = self.space, int(self.shapes.edges[s])
        ends = [(int(u), int(v)) for u, v in self.shapes.ends[s, :edges]]
        words, ops = space.node_vocabulary, space.edge_vocabulary
        nodes = [words[int(x)] for x in states[: self.n]] if words else None
        labels = [ops[int(x)] for x in states[self.n : self.n + edges]] if ops else None
        return LabeledGraph.from_edges(self.n, ends, nodes, labels, space.directed)


@dataclass
class DeclaredListing:
    """The blocks of a declared graph space, one for each number of nodes, listed when asked for.

    Args:
        space: The space.
        progress: Called with a line of text when something takes long.
        left_out: The sizes that are not searched; known once the blocks are.
    """

    space: GraphSpace
    progress: Callable[[str], None] | None = None
    left_out: list[int] = field(default_factory=list)
    _blocks: dict[int, DeclaredBlock] = field(default_factory=dict)
    _begun: dict[int, _Begun] = field(default_factory=dict)
    _refused: set[int] = field(default_factory=set)  # sizes with too many
    _said: bool = False  # that listing has begun

    def list_blocks(self, deadline: float | None = None) -> list[DeclaredBlock]:
        """All blocks that can be listed until the deadline; :attr:`left_out` has the other sizes.

        Listing goes on where it stopped when it is asked for again.
        """
        if self.progress and not self._said:
            self.progress("listing the structures of the space")
            self._said = True
        self.left_out = []
        for n in self.space.sizes:
            if n in self._blocks:
                continue
            if deadline is not None and self.space.structure_bound(n) > _HOPELESS:
                self._refused.add(n)
            if self.left_out or n in self._refused or not self._list(n, deadline):
                self.left_out.append(n)
        return [block for block in self._blocks.values() if len(block.adjacency)]

    def limit(self, space: GraphSpace) -> DeclaredListing:
        """The same structures in a space with other limits."""
        found = {}
        for n, block in self._blocks.items():
            rows = _make_rows(space, n, block.shapes.edges, block.adjacency, block.roles)
            found[n] = replace(block, space=space, rows=rows)
        return DeclaredListing(space, self.progress, _blocks=found, _said=self._said)

    def _list(self, n: int, deadline: float | None) -> bool:
        """List the structures of a size; False if the time is up before all are."""
        listing = self.space.structure_listing
        chunks, found = self._begun.setdefault(n, (listing.list_chunks(n), []))
        try:
            for matrices, roles in chunks:
                pairs = zip(matrices, roles, strict=True)
                groups = [listing.find_symmetries(a, r, _SYMMETRIES) for a, r in pairs]
                found.append((matrices, roles, groups))
                if deadline is not None and time.perf_counter() > deadline:
                    return False
        except TooLargeError:
            if deadline is None:
                raise
            self._refused.add(n)
            return False
        del self._begun[n]
        adjacency = np.concatenate([np.zeros((0, n, n), bool), *(x for x, _, _ in found)])
        roles = np.concatenate([np.zeros((0, n), np.int8), *(x for _, x, _ in found)])
        symmetries = [group for _, _, groups in found for group in groups]
        self._blocks[n] = make_declared_block(self.space, n, adjacency, roles, symmetries)
        return True


def make_declared_block(
    space: GraphSpace,
    n: int,
    adjacency: NDArray[np.bool_],
    roles: Bytes,
    groups: Sequence[NDArray[np.intp]],
) -> DeclaredBlock:
    """The block of these structures, given their automorphisms; what no labels fit is left out."""
    rules = _read_rules(space, n)
    allowed = _find_allowed(space, adjacency, roles, rules)
    fits = np.all(np.any(allowed, axis=2), axis=1)
    adjacency, roles, allowed = adjacency[fits], roles[fits], allowed[fits]
    d = find_distances(adjacency).astype(np.int64)
    codes, place = np.unique(d * (n + 1) + d.swapaxes(1, 2), return_inverse=True)
    twin = find_twins(adjacency)
    alone = (roles >= 0) | (np.arange(n) < space.rules.fixed.pinned)
    twin[alone | np.take_along_axis(alone, twin.astype(np.intp), axis=1)] = -1
    ends, edges = _list_ends(adjacency if space.directed else np.triu(adjacency))
    found = [group for group, kept in zip(groups, fits, strict=True) if kept]
    shapes = DeclaredShapes(
        pair_class=place.reshape(d.shape).astype(np.int16),
        edges=edges,
        ends=ends,
        allowed=allowed.astype(np.int8),
        twin=twin,
        symmetry_at=np.cumsum([0, *(len(group) for group in found)], dtype=np.int64),
        symmetry=np.concatenate([np.zeros((0, n), int), *found]).astype(np.int8),
    )
    classes = np.stack(np.divmod(codes, n + 1), axis=1)
    rows = _make_rows(space, n, edges, adjacency, roles)
    return DeclaredBlock(
        space=space,
        n=n,
        adjacency=adjacency,
        roles=roles,
        shapes=shapes,
        classes=classes,
        rules=rules,
        rows=rows,
    )


def _read_rules(space: GraphSpace, n: int) -> DegreeRules:
    """Degrees, weights of edges and fixed edges of a space, as arrays for n nodes."""
    rules, ops = space.rules, max(len(space.edge_ops), 1)
    edge = np.ones((n, n, ops), dtype=np.int8)
    for (u, v), code in rules.fixed.edges.items():
        if code >= 0:
            edge[u, v] = np.arange(ops) == code
    for (u, v), barred in rules.fixed.not_edges.items():
        edge[u, v, list(barred)] = 0
    if not space.directed:
        edge = np.minimum(edge, edge.swapaxes(0, 1))
    return DegreeRules(
        low=np.stack([rules.degree_in.low, rules.degree_out.low]),
        high=np.stack([rules.degree_in.high, rules.degree_out.high]),
        weight=rules.weights if len(rules.weights) else np.ones(1, dtype=np.int64),
        edge=np.ascontiguousarray(edge),
        directed=np.array([space.directed]),
    )


def _find_allowed(
    space: GraphSpace, adjacency: NDArray[np.bool_], roles: Bytes, rules: DegreeRules
) -> NDArray[np.bool_]:
    """Which labels each node may have by its role, its index and the number of its edges."""
    labels = max(len(space.node_vocabulary), 1)
    codes = np.arange(labels)
    ends = [0] * bool(space.sources) + [labels - 1] * bool(space.sinks)
    allowed = np.where((roles >= 0)[:, :, None], roles[:, :, None] == codes, ~np.isin(codes, ends))
    for v, kept in space.rules.fixed.labels.items():
        allowed[:, v] &= np.isin(codes, list(kept))
    for side, axis in ((0, 1), (1, 2)):
        degree = adjacency.sum(axis=axis)[:, :, None]
        allowed &= degree * rules.weight.min() <= rules.high[side]
        allowed &= degree * rules.weight.max() >= rules.low[side]
    return allowed


def _list_ends(adjacency: NDArray[np.bool_]) -> tuple[Bytes, Integers]:
    edges = adjacency.sum(axis=(1, 2)).astype(np.int64)
    ends = np.zeros((len(adjacency), max(int(edges.max(initial=0)), 1), 2), dtype=np.int8)
    s, u, v = np.nonzero(adjacency)
    at = np.arange(len(s)) - np.repeat(np.cumsum(edges) - edges, edges)
    ends[s, at] = np.stack([u, v], axis=1)
    return ends, edges


def _make_rows(
    space: GraphSpace,
    n: int,
    edges: Integers,
    adjacency: NDArray[np.bool_],
    roles: Bytes,
    more: Sequence[Limit] = (),
) -> DeclaredRows:
    """All limits of the space as rows; a structure and its roles fix nodes, edges and depth."""
    rows = [(x, sign) for x in (*space.all_limits, *more) for sign in SIGNS[x.sense]]
    words, ops = space.node_vocabulary or ("",), space.edge_vocabulary or ("",)
    none = np.zeros(roles.shape, dtype=bool)
    first = roles == 0 if space.sources else none
    last = roles == len(words) - 1 if space.sinks else none
    batch = GraphBatch(adjacency, np.full(len(edges), n, dtype=np.int8))
    starts, stops = first if space.sources else ~last, last if space.sinks else ~first
    depth = measure_depths(batch, starts, stops)

    def add_up_known(limit: Limit) -> Floats:
        return np.asarray(limit.nodes * n + limit.edges * edges + limit.depth * depth)

    caps = [sign * x.bound + TOLERANCE * max(1.0, abs(x.bound)) for x, sign in rows]
    total = len(rows)
    return DeclaredRows(
        cap=np.array(caps, dtype=float),
        node=np.array([s * x.node_coefficients(words) for x, s in rows]).reshape(total, len(words)),
        edge=np.array([s * x.edge_coefficients(ops) for x, s in rows]).reshape(total, len(ops)),
        shape=np.array([s * add_up_known(x) for x, s in rows], dtype=float).reshape(
            total, len(edges)
        ),
    )
