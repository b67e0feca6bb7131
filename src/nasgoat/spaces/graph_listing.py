"""Every graph of a declared space once up to isomorphism: structures first, then their labels.

A structure grows node by node; of isomorphic prefixes one is enough, because they have isomorphic
continuations. Where a graph must be connected, each new node is joined to an earlier one: every
connected graph has an order of its nodes in which that holds. Labels are then put on edges and
nodes, place by place, as rows of an array; a row stays if no automorphism of the structure turns it
into a smaller one.

Notation
    prefix     adjacency matrix of the first m nodes
    row        codes of all edges in row order, then of all nodes
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, canonical
from nasgoat.graphs.shortest_paths import shortest_distances

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

Matrix = NDArray[np.bool_]
Rows = NDArray[np.int8]
_Block = tuple[Matrix, Rows]
LARGEST = 5_000_000  # rows of labels, or candidates for a structure, at a time
_BLOCK = 8192  # graphs checked at a time


class Listing:
    """Lists the graphs of a space, one number of nodes after the other."""

    def __init__(self, space: GraphSpace, largest: int = LARGEST) -> None:
        self.space = space
        self.largest = largest
        self.rules = space.rules
        self.pinned = self.rules.fixed.pinned
        # In topological order a new node has incoming edges alone; named nodes fix the order.
        self.forward = space.direction == "acyclic" and not self.pinned
        # Whether each new node is joined to an earlier one.
        self.joins = space.connectivity in ("connected", "strong") and not self.forward
        self._prefixes: dict[int, list[Matrix]] = {}

    def of(self, n: int) -> Iterator[GraphBatch]:
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
        for matrix in self._grow(n):
            edges = int(matrix.sum()) // (1 if self.space.directed else 2)
            if edges >= self.rules.min_edges and self._is_connected(matrix):
                yield matrix

    def _grow(self, m: int) -> list[Matrix]:
        if m not in self._prefixes:
            if m == 1:
                self._prefixes[1] = [np.zeros((1, 1), dtype=bool)]
            else:
                self._prefixes[m] = self._extend(self._grow(m - 1))
        return self._prefixes[m]

    def _extend(self, prefixes: list[Matrix]) -> list[Matrix]:
        m = len(prefixes[0]) if prefixes else 0
        new = self._list_new_nodes(m)
        if len(prefixes) * len(new) > self.largest:
            raise _refuse_size(f"{len(prefixes):,} structures of {m} nodes, each with {len(new):,}")
        found: dict[bytes, Matrix] = {}
        for prefix in prefixes:
            grown = np.zeros((len(new), m + 1, m + 1), dtype=bool)
            grown[:, :m, :m] = prefix
            grown[:, :m, m], grown[:, m, :m] = new[:, 0], new[:, 1]
            for matrix in grown[self._may_grow(grown)]:
                found.setdefault(self._compute_key(matrix), matrix)
        return list(found.values())

    def _list_new_nodes(self, m: int) -> Matrix:
        """The ways to join node m: edges from earlier nodes and edges to them, (W, 2, m)."""
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
            d = shortest_distances(grown)
            keep &= ~(grown & (d.transpose(0, 2, 1) < grown.shape[-1])).any(axis=(1, 2))
        return keep

    def _is_connected(self, matrix: Matrix) -> bool:
        n = len(matrix)
        if self.space.connectivity == "strong":
            return bool((shortest_distances(matrix[None]) < n).all())
        if self.space.connectivity == "connected":
            return bool((shortest_distances((matrix | matrix.T)[None]) < n).all())
        if self.space.connectivity == "paths":
            # Who has no incoming edge must be a source, who has no outgoing one a sink.
            first, last = (~matrix.any(axis=0)).sum(), (~matrix.any(axis=1)).sum()
            sources, sinks = self.rules.sources or n, self.rules.sinks or n
            return bool(first <= sources and last <= sinks)
        return True

    def _colour_nodes(self, n: int) -> dict[str, set[int]]:
        colours = {f"{v}": {v} for v in range(min(self.pinned, n))}
        rest = set(range(self.pinned, n))
        return colours | ({"other": rest} if rest else {})

    def _compute_key(self, matrix: Matrix) -> bytes:
        n = len(matrix)
        arcs = {u: np.flatnonzero(row).tolist() for u, row in enumerate(matrix)}
        return canonical.key_of_colored(n, arcs, self._colour_nodes(n), self.space.directed)

    def _list_labellings(self, matrix: Matrix) -> Rows:
        """The rows of labels of a structure, one of each orbit of its automorphisms."""
        n = len(matrix)
        edges = _list_edges(matrix, self.space.directed)
        rows = np.zeros((1, 0), dtype=np.int8)
        into, out = np.zeros((1, n), dtype=np.int64), np.zeros((1, n), dtype=np.int64)
        for u, v in edges.tolist():
            rows, into, out = self._label_edge(rows, into, out, u, v)
        for v in range(n):
            rows, into, out = self._label_node(rows, into, out, v)
        if len(rows) == 0 or not (self.space.edge_ops or self.space.node_vocabulary):
            return rows
        colours = list(self._colour_nodes(n).values())
        group = canonical.automorphisms(matrix, colours, self.space.directed)
        return canonical.keep_smallest_in_orbit(rows, _order_labels(group, edges))

    def _label_edge(
        self, rows: Rows, into: NDArray[np.int64], out: NDArray[np.int64], u: int, v: int
    ) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """Every row with every operation on one edge, as far as degrees allow."""
        codes = np.arange(max(len(self.space.edge_ops), 1))
        weights = self.rules.weights if len(self.rules.weights) else np.ones(1, dtype=np.int64)
        rows, code = _with(rows, codes, self.largest)
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
        rows, code = _with(rows, codes, self.largest)
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


def _list_edges(matrix: Matrix, directed: bool) -> NDArray[np.intp]:
    return np.argwhere(matrix if directed else np.triu(matrix))


def _with(rows: Rows, codes: NDArray[np.intp], largest: int) -> tuple[Rows, NDArray[np.intp]]:
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
