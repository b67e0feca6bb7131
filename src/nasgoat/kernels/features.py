"""Graphs as rows of kernel features: every kernel of the paper is a function of dot products.

Notation (Section 3.3 and Appendix B of the paper)
    P[s, l1, l2]  number of node pairs (u, v), u = v included, with distance s < n and these labels
    N[l]          number of nodes with label l; equals P[0, l, l]
    F[u→v, l]     1 if edge u → v has label l
    E[l, a, b]    number of edges with label l between nodes with labels a and b, in this order; for
                  undirected graphs a ≤ b
    L             number of node labels;  M(n) most edges of n nodes

    k_g = ⟨P, P'⟩ / (n² n'²)      rows of block g:  P / n²
    k_n = ⟨N, N'⟩ / (n n' L)      rows of block n:  N / (n √L)
    k_e = 2 ⟨F, F'⟩ / (n (n - 1)) rows of block e:  F · √(2 / (n (n - 1)))     indexed nodes
    k_e = ⟨E, E'⟩ / (M(n) M(n'))  rows of block e:  E / M(n)                   any other nodes

The paper's k_e assumes indexed nodes. Where they are not, isomorphic graphs must have the same row,
so edges are counted by their label and those of their ends, in the same way as nodes are in k_n
(docs/decisions/0051-edges-of-nodes-without-index.md). Nodes without index and label are all alike.

The integer counts [P | F] or [P | E] hold all the information; a row is a selection of them, scaled
by a factor that depends on the number of nodes alone. Further blocks
(:mod:`nasgoat.kernels.blocks`) add their codes to the counts and to the rows.

Where a space has several cells, each has blocks of its own, one cell after the other: the kernel is
a sum over cells, each with its own weights and its own number of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels.blocks import PAPER_BLOCKS, BlockCode, check_blocks, code_block
from nasgoat.spaces import SearchSpace

_BLOCK = 2**14  # graphs counted at a time, to keep temporary arrays small


#: The number of nodes of a graph, or of each of its cells.
Sizes = int | Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class _CellColumns:
    """The counts of the paper's blocks in the graphs of one cell, and how rows scale them."""

    space: SearchSpace
    blocks: tuple[str, ...]

    @cached_property
    def path_types(self) -> tuple[tuple[int, int, int], ...]:
        """The (s, l1, l2) of the first columns."""
        return tuple(self.space.path_types())

    @cached_property
    def edge_types(self) -> tuple[tuple[int, int, int], ...]:
        """The (u, v, l) of the last columns; (a, b, l) without indices."""
        if not self.space.edge_vocabulary:
            return ()
        n, labels = self.space.sizes[-1], range(len(self.space.edge_vocabulary))
        if not self.space.indexed:
            ends = range(self._node_labels)
            directed = self.space.directed
            pairs = [(a, b) for a in ends for b in ends if directed or a <= b]
            return tuple((a, b, label) for a, b in pairs for label in labels)
        every = [(u, v) for u in range(n) for v in range(u + 1, n)]
        places = self.space.limit_places or every  # those of a chain are far fewer
        return tuple((u, v, label) for u, v in places for label in labels)

    @property
    def width(self) -> int:
        """Number of count columns."""
        return len(self.path_types) + len(self.edge_types)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of row columns in the blocks g, n and e; 0 if left out."""
        paper = (len(self.path_types), len(self.space.node_vocabulary), len(self.edge_types))
        named = zip(PAPER_BLOCKS, paper, strict=True)
        return tuple(width if name in self.blocks else 0 for name, width in named)

    def list_sources(self) -> list[int]:
        """For each row column the count column that it scales."""
        paths = len(self.path_types)
        g, k, e = self.widths
        nodes = [self.path_types.index((0, label, label)) for label in range(k)]
        return [*range(g), *nodes, *range(paths, paths + e)]

    def list_factors(self, n: int) -> list[NDArray[np.float64]]:
        """For each row column of each block the factor on its count."""
        g, k, e = self.widths
        return [
            np.full(g, 1 / n**2),
            np.full(k, 1 / (n * np.sqrt(k)) if k else 0.0),
            np.full(e, self._scale_edges(n)),
        ]

    def count(self, batch: GraphBatch) -> NDArray[np.uint16]:
        """The counts of every graph of a batch."""
        paths = self._count_paths(batch)
        if not self.edge_types or batch.edge_codes is None:
            return paths
        if not self.space.indexed:
            return np.hstack([paths, self._count_edges(batch, batch.edge_codes)])
        u, v, label = np.array(self.edge_types).T
        return np.hstack([paths, (batch.edge_codes[:, u, v] == label).astype(np.uint16)])

    @property
    def _node_labels(self) -> int:
        """How many codes nodes have: labels, indices, or one where all are alike."""
        if self.space.node_vocabulary:
            return len(self.space.node_vocabulary)
        return self.space.sizes[-1] if self.space.indexed else 1

    def _scale_edges(self, n: int) -> float:
        if self.space.indexed:
            return float(np.sqrt(2 / (n * (n - 1))))
        return 1.0 / max(self.space.most_edges(n), 1)

    def _find_node_codes(self, batch: GraphBatch) -> NDArray[np.intp]:
        if batch.node_codes is not None:
            return batch.node_codes.astype(np.intp)
        # Indexed nodes are told apart by their index, all others are alike.
        codes = np.arange(batch.n) if self.space.indexed else np.zeros(batch.n, dtype=np.intp)
        return np.broadcast_to(codes, (len(batch), batch.n))

    def _count_edges(self, batch: GraphBatch, edge_codes: NDArray[np.int8]) -> NDArray[np.uint16]:
        """E of every graph of the batch."""
        width = len(self.edge_types)
        place = {kind: i for i, kind in enumerate(self.edge_types)}
        k, ops = self._node_labels, len(self.space.edge_vocabulary)
        column = np.full((k, k, ops), -1)
        for a, b, label in np.ndindex(k, k, ops):
            column[a, b, label] = place.get((a, b, label), place.get((b, a, label), -1))
        rows = batch.adjacency if self.space.directed else np.triu(batch.adjacency)
        graph, u, v = np.nonzero(rows)
        codes = self._find_node_codes(batch)
        found = column[codes[graph, u], codes[graph, v], edge_codes[graph, u, v]]
        total = np.bincount(graph * width + found, minlength=len(batch) * width)
        return total.reshape(len(batch), width).astype(np.uint16)

    @cached_property
    def _path_columns(self) -> NDArray[np.intp]:
        """The count column of every (s, a, b), flat; -1 where it can't occur."""
        s, a, b = np.array(self.path_types).T
        labels = self._node_labels
        column = np.full(self.space.sizes[-1] * labels * labels, -1)
        column[(s * labels + a) * labels + b] = np.arange(len(s))
        return column

    def _count_paths(self, batch: GraphBatch) -> NDArray[np.uint16]:
        n, column = batch.n, self._path_columns
        codes, labels = self._find_node_codes(batch), self._node_labels
        d = batch.distances.astype(int)
        both = batch.exists[:, :, None] & batch.exists[:, None, :] & (d < n)
        flat = (d * labels + codes[:, :, None]) * labels + codes[:, None, :]
        graph, u, v = np.nonzero(both)
        place = graph * len(self.path_types) + column[flat[graph, u, v]]
        total = np.bincount(place, minlength=len(batch) * len(self.path_types))
        return total.reshape(len(batch), -1).astype(np.uint16)


@dataclass(frozen=True)
class FeatureMap:
    """The kernel features of the graphs of one space.

    Args:
        space: The space.
        blocks: Names of the blocks that a row has; the paper's three unless told otherwise.

    Example:
        >>> from nasgoat import nasbench101
        >>> features = FeatureMap(nasbench101())
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"])
        >>> features.rows([cell]).shape
        (1, 82)
        >>> int(features.counts(nasbench101().batch([cell])).sum())  # IN, OUT, and IN to OUT
        3
        >>> FeatureMap(nasbench101(), ("paths", "nodes", "operations")).widths
        (77, 5, 0, 20)
    """

    space: SearchSpace
    blocks: tuple[str, ...] = PAPER_BLOCKS

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", check_blocks(self.blocks))

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureMap, (self.space, self.blocks)  # what is derived from them is found again

    @cached_property
    def codes(self) -> dict[str, BlockCode]:
        """The blocks other than the paper's, by name; those of several cells by ``cell.name``."""
        names = [name for name in self.blocks if name not in PAPER_BLOCKS]
        if self.space.cells:
            names = [f"{cell}.{name}" for cell in self.space.cells for name in names]
        return {name: code_block(name, self.space) for name in names}

    @cached_property
    def _cells(self) -> list[_CellColumns]:
        spaces = self.space.cells.values() or [self.space]
        return [_CellColumns(space, self.blocks) for space in spaces]

    def restrict_to_cell(self, name: str) -> tuple[FeatureMap, slice]:
        """The paper's features of one cell of a space, and the row columns that are its own."""
        place = list(self.space.cells).index(name)
        before = sum(sum(cell.widths) for cell in self._cells[:place])
        paper = tuple(block for block in self.blocks if block in PAPER_BLOCKS)
        own = FeatureMap(self.space.cells[name], paper)
        return own, slice(before, before + sum(self._cells[place].widths))

    @cached_property
    def path_types(self) -> tuple[tuple[int, int, int], ...]:
        """The (s, l1, l2) of the first columns of :meth:`counts`, of each cell."""
        return tuple(kind for cell in self._cells for kind in cell.path_types)

    @cached_property
    def edge_types(self) -> tuple[tuple[int, int, int], ...]:
        """The (u, v, l) of the columns after them; (a, b, l) without indices."""
        return tuple(kind for cell in self._cells for kind in cell.edge_types)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Row columns in the blocks g, n and e of each cell, then in the others; 0 if left out."""
        paper = [width for cell in self._cells for width in cell.widths]
        return (*paper, *(code.width for code in self.codes.values()))

    @property
    def _others(self) -> int:
        return sum(code.width for code in self.codes.values())

    @cached_property
    def source(self) -> NDArray[np.intp]:
        """For each row column the count column that it scales."""
        found: list[int] = []
        before = 0
        for cell in self._cells:
            found += [before + column for column in cell.list_sources()]
            before += cell.width
        return np.array([*found, *range(before, before + self._others)], dtype=np.intp)

    def scale(self, n: Sizes) -> NDArray[np.float64]:
        """For each row column the factor on its count, for graphs with n nodes (in each cell)."""
        sizes = [n] if isinstance(n, int | np.integer) else n
        paper = [
            factors
            for cell, size in zip(self._cells, sizes, strict=True)
            for factors in cell.list_factors(int(size))
        ]
        others = [np.full(code.width, code.scale) for code in self.codes.values()]
        return np.concatenate([*paper, *others])

    def fold(self, values: NDArray[np.float64], n: Sizes, power: int = 1) -> NDArray[np.float64]:
        """Values for row columns as values for the count columns of graphs with n nodes.

        Args:
            values: One value, or a row of them, for each row column.
            n: The number of nodes (in each cell).
            power: Of the features that the values are factors of.
        """
        factors = self.scale(n) ** power
        values = values * factors.reshape(-1, *[1] * (values.ndim - 1))
        width = sum(cell.width for cell in self._cells) + self._others
        folded = np.zeros((width, *values.shape[1:]))
        for part in np.split(np.arange(len(self.source)), np.cumsum(self.widths)[:-1]):
            folded[self.source[part]] += values[part]  # within a block each column counts once
        return folded

    def counts(self, batch: GraphBatch) -> NDArray[np.uint16]:
        """Integer counts [P | F] or [P | E] of every graph, then the codes of other blocks."""
        blocks = [
            self._count_features(batch.take(slice(start, start + _BLOCK)))
            for start in range(0, max(len(batch), 1), _BLOCK)
        ]
        return np.concatenate(blocks)

    def encode(
        self, paper: NDArray[np.integer], others: Mapping[str, NDArray[np.integer]]
    ) -> NDArray[np.integer]:
        """The counts of graphs from the paper's counts and those of each other block."""
        codes = [code.encode(others[name]) for name, code in self.codes.items()]
        return np.hstack([paper, *codes]) if codes else paper

    @property
    def decided_by(self) -> set[str]:
        """What decides those blocks other than the paper's that have columns."""
        return {code.block.decided_by for code in self.codes.values() if code.width}

    def encode_decided(self, batch: GraphBatch, decided_by: str) -> NDArray[np.uint8]:
        """The codes of blocks that are decided by something, 0 for those of all other blocks.

        Args:
            batch: Any graphs that have it.
            decided_by: Structures, numbers of operations or richest paths
                (:mod:`nasgoat.kernels.summaries`).
        """
        found = np.zeros((len(batch), self._others), dtype=np.uint8)
        end = 0
        for code in self.codes.values():
            start, end = end, end + code.width
            if code.width and code.block.decided_by == decided_by:
                found[:, start:end] = code.encode(code.count(batch))
        return found

    def rows(self, graphs: Sequence[LabeledGraph] | GraphBatch) -> NDArray[np.float64]:
        """Feature rows [g | n | e | others] of the graphs."""
        batch = graphs if isinstance(graphs, GraphBatch) else self.space.batch(graphs)
        return self.scale_counts(self.counts(batch), batch.cell_sizes)

    def scale_counts(
        self, counts: NDArray[np.integer], sizes: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Feature rows from counts and the numbers of nodes of each cell, shape (B, cells)."""
        kinds, place = np.unique(sizes, axis=0, return_inverse=True)
        shape = len(kinds), len(self.source)
        factors = np.array([self.scale(kind) for kind in kinds]).reshape(shape)
        rows: NDArray[np.float64] = counts[:, self.source] * factors[place.reshape(-1)]
        return rows

    def _count_features(self, batch: GraphBatch) -> NDArray[np.uint16]:
        others = {name: code.count(batch) for name, code in self.codes.items()}
        cells = zip(self._cells, batch.cells, strict=True)
        paper = [columns.count(part) for columns, part in cells]
        whole = paper[0] if len(paper) == 1 else np.hstack(paper)
        return self.encode(whole, others).astype(np.uint16, copy=False)
