"""Every graph of a declared space once up to isomorphism: structures first, then their labels.

Structures grow as :mod:`~nasgoat.spaces.graph_growth` says. Labels are then put on edges and
nodes, place by place, as rows of an array; a row stays if no automorphism of the structure turns it
into a smaller one.

Notation
    row        codes of all edges in row order, then of all nodes
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, canonical
from nasgoat.spaces.graph_growth import Growth, Matrix

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

Rows = NDArray[np.int8]
_Block = tuple[Matrix, Rows]
LARGEST = 5_000_000  # rows of labels, or candidates for a structure, at a time
_BLOCK = 8192  # graphs checked at a time


class GraphListing(Growth):
    """Lists the graphs of a space, one number of nodes after the other."""

    def __init__(self, space: GraphSpace, largest: int = LARGEST) -> None:
        super().__init__(space)
        self.largest = largest

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
        edges = _list_edges(matrix, self.space.directed)
        rows = np.zeros((1, 0), dtype=np.int8)
        into, out = np.zeros((1, n), dtype=np.int64), np.zeros((1, n), dtype=np.int64)
        for u, v in edges.tolist():
            rows, into, out = self._label_edge(rows, into, out, u, v)
        for v in range(n):
            rows, into, out = self._label_node(rows, into, out, v)
        if len(rows) == 0 or not (self.space.edge_ops or self.space.node_vocabulary):
            return rows
        colours = list(self.colours(np.full(n, -1, dtype=np.int8)).values())
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
