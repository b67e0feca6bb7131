"""Structures of declared graphs grow node by node, and graphs of them, once up to isomorphism.

Of isomorphic prefixes one is enough, because they have isomorphic continuations. Where a graph must
be connected, each new node is joined to an earlier one: every connected graph has an order of its
nodes in which that holds.

Where graphs are listed, labels are then put on edges and nodes, place by place, as rows of an
array; a row stays if no automorphism of the structure turns it into a smaller one.

Notation
    prefix     adjacency matrix of the first m nodes
    roles      the label code that its role (source, sink) gives to a node, -1 for all other nodes
    row        codes of all edges in row order, then of all nodes
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.compiled import compiled, compiled_inline
from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, canonical
from nasgoat.graphs.shortest_paths import find_distances

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace
if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

Matrix = NDArray[np.bool_]
Roles = NDArray[np.int8]
_PAUSE = 10  # prefixes between two looks at the clock of who asks
Rows = NDArray[np.int8]
_Block = tuple[Matrix, Rows]
LARGEST = 5_000_000  # rows of labels, or candidates for a structure, at a time
_BLOCK = 8192  # graphs checked at a time


class Growth:
    """Grows the structures of a space; a subclass may leave out some on the way."""

    def __init__(self, space: GraphSpace) -> None:
        self.space = space
        self.rules = space.rules
        self.pinned = self.rules.fixed.pinned
        # In topological order a new node has incoming edges alone; named nodes fix the order.
        self.forward = space.direction == "acyclic" and not self.pinned
        # Whether each new node is joined to an earlier one.
        self.joins = space.connectivity in ("connected", "strong") and not self.forward
        self.grown: dict[tuple[int, int], list[Matrix]] = {
            (0, 0): [np.zeros((0, 0), dtype=bool)],
            (1, 0): [np.zeros((1, 1), dtype=bool)],
        }

    def grow(self, inner_nodes: int, sinks: int = 0) -> Iterator[bool]:
        """Grow all prefixes with ``inner_nodes`` nodes before the sinks, and ``sinks`` sinks.

        Comes back with False from time to time, and with True when they are in :attr:`grown`.
        """
        key = (inner_nodes, sinks)
        if key not in self.grown:
            smaller = (inner_nodes, sinks - 1) if sinks else (inner_nodes - 1, 0)
            for done in self.grow(*smaller):
                if not done:
                    yield False
            yield from self._add_node(smaller, key)
        yield True

    def _add_node(self, smaller: tuple[int, int], key: tuple[int, int]) -> Iterator[bool]:
        """Grow all prefixes of one size by a node; yields False whenever it may pause."""
        prefixes, m = self.grown[smaller], sum(smaller)
        roles = self._assign_roles(*key)
        ways = self._list_ways(m, roles) if prefixes else np.zeros((0, 2, m), dtype=bool)
        self._refuse_work(len(prefixes), len(ways), m)
        found: dict[bytes, Matrix] = {}
        for count, prefix in enumerate(prefixes):
            grown = np.zeros((len(ways), m + 1, m + 1), dtype=bool)
            grown[:, :m, :m] = prefix
            grown[:, :m, m], grown[:, m, :m] = ways[:, 0], ways[:, 1]
            for matrix in self._keep(grown, roles):
                found.setdefault(self.make_key(matrix, roles), matrix)
            self._refuse_count(len(found), m + 1)
            if count % _PAUSE == _PAUSE - 1:
                yield False
        self.grown[key] = list(found.values())

    def _assign_roles(self, inner_nodes: int, sinks: int) -> Roles:
        """The roles of the nodes of a prefix."""
        return np.full(inner_nodes + sinks, -1, dtype=np.int8)

    def _list_ways(self, m: int, roles: Roles) -> Matrix:
        """The ways to join node m: edges from earlier nodes and edges to them, (W, 2, m)."""
        return self._list_new_nodes(m)

    def _keep(self, grown: Matrix, roles: Roles) -> Matrix:
        """The prefixes with one more node that are followed up."""
        return grown[self._may_grow(grown)]

    def _refuse_work(self, prefixes: int, ways: int, m: int) -> None:
        """Raise :class:`~nasgoat.errors.TooLargeError` if joining another node takes too long."""

    def _refuse_count(self, found: int, nodes: int) -> None:
        """Raise :class:`~nasgoat.errors.TooLargeError` if there are too many prefixes."""

    def _list_new_nodes(self, m: int) -> Matrix:
        """Every way to join node m that fixed parts and connectivity allow."""
        subsets = np.array(list(product([False, True], repeat=m)), dtype=bool)
        if self.forward:
            into, out = subsets, np.zeros_like(subsets)
        elif not self.space.directed:
            into, out = subsets, subsets
        else:
            first, second = np.divmod(np.arange(4**m), 2**m)
            into, out = subsets[first], subsets[second]
        ways: Matrix = np.stack([into, out], axis=1)
        keep = self._match_fixed_edges(ways, m)
        if self.joins:
            # Named nodes come first, whatever joins them.
            keep &= ways.any(axis=(1, 2)) if m >= max(self.pinned, 1) else True
        return ways[keep]

    def _match_fixed_edges(self, ways: Matrix, m: int) -> Matrix:
        """Which ways agree with the fixed parts at node m."""
        keep = np.ones(len(ways), dtype=bool)
        anything = frozenset(range(max(len(self.space.edge_ops), 1)))
        for u, v in self.rules.fixed.edges:
            if max(u, v) == m:
                keep &= ways[:, 0, u] if v == m else ways[:, 1, v]
        for (u, v), barred in self.rules.fixed.not_edges.items():
            if max(u, v) == m and barred == anything:
                keep &= ~(ways[:, 0, u] if v == m else ways[:, 1, v])
        return keep

    def _may_grow(self, grown: Matrix) -> Matrix:
        """Which prefixes keep to what no further node can mend: edges, degrees, no cycle."""
        edges = grown.sum(axis=(1, 2)) // (1 if self.space.directed else 2)
        keep: Matrix = edges <= self.rules.max_edges
        least = int(self.rules.weights.min(initial=10**6)) if len(self.rules.weights) else 1
        keep &= (grown.sum(axis=1) * least <= self.rules.degree_in.high.max()).all(axis=1)
        keep &= (grown.sum(axis=2) * least <= self.rules.degree_out.high.max()).all(axis=1)
        if self.space.direction == "acyclic" and not self.forward:
            d = find_distances(grown)
            keep &= ~(grown & (d.transpose(0, 2, 1) < grown.shape[-1])).any(axis=(1, 2))
        return keep

    def _is_connected(self, matrix: Matrix) -> bool:
        n = len(matrix)
        if self.space.connectivity == "strong":
            return bool((find_distances(matrix[None]) < n).all())
        if self.space.connectivity == "connected":
            return bool((find_distances((matrix | matrix.T)[None]) < n).all())
        if self.space.connectivity == "paths":
            # Who has no incoming edge must be a source, who has no outgoing one a sink.
            first, last = (~matrix.any(axis=0)).sum(), (~matrix.any(axis=1)).sum()
            sources, sinks = self.rules.sources or n, self.rules.sinks or n
            return bool(first <= sources and last <= sinks)
        return True

    def make_key(self, matrix: Matrix, roles: Roles) -> bytes:
        """A key that isomorphic structures share, roles and named nodes regarded."""
        arcs = {u: np.flatnonzero(row).tolist() for u, row in enumerate(matrix)}
        colours = {f"{v}:{role}": nodes for (v, role), nodes in self.group_alike(roles).items()}
        return canonical.make_key_of_colored(len(matrix), arcs, colours, self.space.directed)

    def group_alike(self, roles: Roles) -> dict[tuple[int, int], set[int]]:
        """Nodes that may be alike: those of one role that no fixed part names."""
        found: dict[tuple[int, int], set[int]] = {}
        for v, role in enumerate(roles.tolist()):
            found.setdefault((v if v < self.pinned else -1, role), set()).add(v)
        return found


@compiled_inline
def _mix(x: int) -> int:
    """A number whose bits all depend on all bits of x."""
    x = (x ^ (x >> 29)) * 0x1F3D5B79A7C4E2D1
    return (x ^ (x >> 31)) * 0x2545F4914F6CDD1D


@compiled
def compare_ranks(
    grown: Matrix,
    mark: NDArray[np.int64],
    forward: bool,
    joins: bool,
    largest: NDArray[np.int8],
) -> None:
    """Mark with 1 the matrices whose last node ranks highest of all nodes that could be last."""
    n = grown.shape[1]
    for g in range(len(grown)):
        largest[g] = 1
        a = grown[g]
        last = _rank(a, mark, n - 1)
        for w in range(n - 1):
            alike = mark[w] == mark[n - 1] and _may_be_last(a, mark, w, forward, joins)
            if alike and _rank(a, mark, w) > last:
                largest[g] = 0
                break


@compiled_inline
def _rank(a: Matrix, mark: NDArray[np.int64], v: int) -> int:
    """A number of node v that an isomorphism keeps: from its neighbours and theirs."""
    n = len(a)
    total = 0
    for u in range(n):
        if a[u, v] or a[v, u]:
            near = mark[u] + 7
            for w in range(n):
                near += (17 if a[u, w] else 0) + (4099 if a[w, u] else 0)
                if a[u, w] or a[w, u]:
                    out = 0
                    for x in range(n):
                        out += (1 if a[w, x] else 0) + (64 if a[x, w] else 0)
                        if (a[w, x] or a[x, w]) and (a[u, x] or a[x, u]):
                            out += 65537
                    near += _mix(out + mark[w])
            total += _mix(near + (0x5851F42D if a[u, v] else 0) + (0x14057B7F if a[v, u] else 0))
    return total


@compiled_inline
def _may_be_last(a: Matrix, mark: NDArray[np.int64], w: int, forward: bool, joins: bool) -> bool:
    """Whether the structure without node w is among the smaller ones."""
    n = len(a)
    if forward:
        for x in range(n):
            if a[w, x]:
                return False
    if not joins:
        return True
    # Every other node must still be joined to the first nodes: named ones, or any single one.
    start = 0
    for v in range(n):
        if mark[v] >= 1000:
            start |= 1 << v
    if start == 0:
        start = 1 if w != 0 else 2
    seen, before = start, 0
    while seen != before:
        before = seen
        for u in range(n):
            if seen >> u & 1:
                for v in range(n):
                    if v != w and (a[u, v] or a[v, u]):
                        seen |= 1 << v
    return bool(seen | 1 << w == (1 << n) - 1)


class GraphListing(Growth):
    """Lists the graphs of a space, one number of nodes after the other."""

    def __init__(self, space: GraphSpace, largest: int = LARGEST) -> None:
        super().__init__(space)
        self.largest = largest

    def list_graphs(self, n: int) -> Iterator[GraphBatch]:
        """The graphs with n nodes, in batches."""
        total, high = 0, self.space.sizes[-1]
        words = (self.space.node_vocabulary, self.space.edge_vocabulary)
        for blocks in self._list_blocks(n):
            batch = GraphBatch.from_labellings(blocks, n, *words, high, self.space.directed)
            batch = batch.take(self.rules.fits(batch))
            total += len(batch)
            if total > self.largest:
                raise _refuse_size(f"over {self.largest:,} graphs")
            if len(batch):
                yield batch

    def _list_blocks(self, n: int) -> Iterator[list[_Block]]:
        """Structures with their rows of labels, many at a time."""
        blocks: list[_Block] = []
        for matrix in self.structures(n):
            rows = self._list_labellings(matrix)
            if len(rows):
                blocks.append((matrix, rows))
            if sum(len(r) for _, r in blocks) >= _BLOCK:
                yield blocks
                blocks = []
        if blocks:
            yield blocks

    def structures(self, n: int) -> Iterator[Matrix]:
        """Adjacency matrices with n nodes, once up to isomorphism, for which labels may exist."""
        for _ in self.grow(n):
            pass
        for matrix in self.grown[n, 0]:
            edges = int(matrix.sum()) // (1 if self.space.directed else 2)
            if edges >= self.rules.min_edges and self._is_connected(matrix):
                yield matrix

    def _refuse_work(self, prefixes: int, ways: int, m: int) -> None:
        if prefixes * ways > self.largest:
            raise _refuse_size(f"{prefixes:,} structures of {m} nodes, each with {ways:,}")

    def _list_labellings(self, matrix: Matrix) -> Rows:
        """The rows of labels of a structure, one of each orbit of its automorphisms."""
        n = len(matrix)
        edges = np.argwhere(matrix if self.space.directed else np.triu(matrix))
        rows = np.zeros((1, 0), dtype=np.int8)
        into, out = np.zeros((1, n), dtype=np.int64), np.zeros((1, n), dtype=np.int64)
        for u, v in edges.tolist():
            rows, into, out = self._label_edge(rows, into, out, u, v)
        for v in range(n):
            rows, into, out = self._label_node(rows, into, out, v)
        if len(rows) == 0 or not (self.space.edge_ops or self.space.node_vocabulary):
            return rows
        colours = list(self.group_alike(np.full(n, -1, dtype=np.int8)).values())
        group = canonical.list_automorphisms(matrix, colours, self.space.directed)
        return canonical.keep_smallest_in_orbit(rows, _order_labels(group, edges))

    def _label_edge(
        self, rows: Rows, into: NDArray[np.int64], out: NDArray[np.int64], u: int, v: int
    ) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """Every row with every operation on one edge, as far as degrees allow."""
        codes = np.arange(max(len(self.space.edge_ops), 1))
        weights = self.rules.weights if len(self.rules.weights) else np.ones(1, dtype=np.int64)
        rows, code = _append(rows, codes, self.largest)
        into, out = (np.repeat(x, len(codes), axis=0) for x in (into, out))
        added = weights[code]
        into[:, v] += added
        out[:, u] += added
        if not self.space.directed:
            into[:, u] += added
            out[:, v] += added
        keep = (into <= self.rules.degree_in.high.max()).all(axis=1)
        keep &= (out <= self.rules.degree_out.high.max()).all(axis=1)
        return rows[keep], into[keep], out[keep]

    def _label_node(
        self, rows: Rows, into: NDArray[np.int64], out: NDArray[np.int64], v: int
    ) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """Every row with every label on one node, as far as its degrees allow."""
        codes = np.arange(len(self.space.node_vocabulary) or 1)
        rows, code = _append(rows, codes, self.largest)
        into, out = (np.repeat(x, len(codes), axis=0) for x in (into, out))
        keep = np.ones(len(rows), dtype=bool)
        for degree, bounds in ((into, self.rules.degree_in), (out, self.rules.degree_out)):
            keep &= (degree[:, v] >= bounds.low[code]) & (degree[:, v] <= bounds.high[code])
        if v in self.rules.fixed.labels:
            keep &= np.isin(code, list(self.rules.fixed.labels[v]))
        labels = rows[:, -1 - v :]  # nodes 0, ..., v come last in a row
        for end, most in ((0, self.rules.sources), (codes[-1], self.rules.sinks)):
            if most:
                keep &= (labels == end).sum(axis=1) <= most
        return rows[keep], into[keep], out[keep]


def _append(rows: Rows, codes: NDArray[np.intp], largest: int) -> tuple[Rows, NDArray[np.intp]]:
    if len(rows) * len(codes) > largest:
        raise _refuse_size(f"over {largest:,} labellings of one structure")
    code = np.tile(codes, len(rows))
    longer = np.repeat(rows, len(codes), axis=0)
    return np.column_stack([longer, code.astype(np.int8)]), code


def _order_labels(group: NDArray[np.intp], edges: NDArray[np.intp]) -> list[list[int]]:
    """For each automorphism the order in which it puts the labels of edges, then of nodes."""
    place = {(u, v): i for i, (u, v) in enumerate(edges.tolist())}
    place |= {(v, u): i for (u, v), i in list(place.items()) if (v, u) not in place}
    return [
        [*(place[int(g[u]), int(g[v])] for u, v in edges.tolist()), *(len(edges) + g).tolist()]
        for g in group
    ]


def _refuse_size(what: str) -> TooLargeError:
    return TooLargeError(
        f"a space must have fewer graphs to be listed, got {what}; use an optimiser that does not "
        "list it"
    )
