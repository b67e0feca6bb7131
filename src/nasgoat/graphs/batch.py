"""Many graphs as arrays: what every loop over a space works on.

Notation
    B  number of graphs, n  nodes of the largest, A (B, n, n), codes are places in a vocabulary,
    -1 where there is no node or no edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.graphs import shortest_paths
from nasgoat.graphs.labeled_graph import LabeledGraph

NOTHING = -1  # the code of a missing node or edge


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Graphs of up to n nodes as arrays; smaller ones are padded with missing nodes at the end.

    Args:
        adjacency: Shape (B, n, n), boolean.
        sizes: Shape (B,), the number of existing nodes of each graph.
        node_codes: Shape (B, n), places in ``node_vocabulary``, -1 for a missing node; or None.
        edge_codes: Shape (B, n, n), places in ``edge_vocabulary``, -1 for a missing edge; or None.
        node_vocabulary: The node labels, in code order.
        edge_vocabulary: The edge labels, in code order.
        directed: Whether edges have a direction.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["in", "conv", "out"])
        >>> batch = GraphBatch.from_graphs([cell, cell], node_vocabulary=("in", "conv", "out"))
        >>> len(batch), batch[0] == cell
        (2, True)
        >>> batch.distances.shape
        (2, 3, 3)
    """

    adjacency: NDArray[np.bool_]
    sizes: NDArray[np.int8]
    node_codes: NDArray[np.int8] | None = None
    edge_codes: NDArray[np.int8] | None = None
    node_vocabulary: tuple[str, ...] = ()
    edge_vocabulary: tuple[str, ...] = ()
    directed: bool = True

    @classmethod
    def from_graphs(
        cls,
        graphs: Sequence[LabeledGraph],
        node_vocabulary: Sequence[str] = (),
        edge_vocabulary: Sequence[str] = (),
        n: int | None = None,
    ) -> GraphBatch:
        """Pack graphs that share their vocabularies; ``n`` pads further than the largest graph."""
        sizes = np.array([graph.n for graph in graphs], dtype=np.int8)
        n = int(sizes.max(initial=1)) if n is None else n
        adjacency = np.zeros((len(graphs), n, n), dtype=bool)
        node_codes = np.full((len(graphs), n), NOTHING, dtype=np.int8)
        edge_codes = np.full((len(graphs), n, n), NOTHING, dtype=np.int8)
        node_places = {label: i for i, label in enumerate(node_vocabulary)}
        edge_places = {label: i for i, label in enumerate(edge_vocabulary)}
        for i, graph in enumerate(graphs):
            m = graph.n
            adjacency[i, :m, :m] = graph.adjacency
            for v, label in enumerate(graph.node_labels or ()):
                node_codes[i, v] = _find_place("node", label, node_places)
            for (u, v), label in (graph.edge_labels or {}).items():
                edge_codes[i, u, v] = _find_place("edge", label, edge_places)
                if not graph.directed:
                    edge_codes[i, v, u] = edge_codes[i, u, v]
        return cls(
            adjacency,
            sizes,
            node_codes if node_vocabulary else None,
            edge_codes if edge_vocabulary else None,
            tuple(node_vocabulary),
            tuple(edge_vocabulary),
            all(graph.directed for graph in graphs),
        )

    @classmethod
    def from_labellings(
        cls,
        blocks: Iterable[tuple[NDArray[np.bool_], NDArray[np.integer]]],
        m: int,
        node_vocabulary: tuple[str, ...],
        edge_vocabulary: tuple[str, ...],
        n: int,
        directed: bool = True,
    ) -> GraphBatch:
        """Pack structures of m nodes, each under several labellings, padded to n nodes.

        Args:
            blocks: Adjacency matrices (m, m), each with rows of codes: those of its edges in row
                order, where edges have labels, then those of its nodes, where they have.
            m: Nodes of every graph.
            node_vocabulary: The node labels; empty if nodes have none.
            edge_vocabulary: The edge labels; empty if edges have none.
            n: Nodes of the batch.
            directed: Whether edges have a direction.
        """
        blocks = list(blocks)
        total = sum(len(rows) for _, rows in blocks)
        adjacency = np.zeros((total, n, n), dtype=bool)
        node_codes = np.full((total, n), NOTHING, dtype=np.int8)
        edge_codes = np.full((total, n, n) if edge_vocabulary else 0, NOTHING, dtype=np.int8)
        start = 0
        for matrix, rows in blocks:
            part = slice(start, start := start + len(rows))
            adjacency[part, :m, :m] = matrix
            if node_vocabulary:
                node_codes[part, :m] = rows[:, rows.shape[1] - m :]
            if edge_vocabulary:
                u, v = np.nonzero(matrix if directed else np.triu(matrix))
                edge_codes[part, u, v] = rows[:, : len(u)]
                if not directed:
                    edge_codes[part, v, u] = rows[:, : len(u)]
        return cls(
            adjacency,
            np.full(total, m, dtype=np.int8),
            node_codes if node_vocabulary else None,
            edge_codes if edge_vocabulary else None,
            node_vocabulary,
            edge_vocabulary,
            directed,
        )

    @classmethod
    def join(cls, batches: Sequence[GraphBatch]) -> GraphBatch:
        """Batches of the same space, one after the other, as one."""
        first = batches[0]
        if len(batches) == 1:
            return first
        nodes = [batch.node_codes for batch in batches if batch.node_codes is not None]
        edges = [batch.edge_codes for batch in batches if batch.edge_codes is not None]
        return cls(
            np.concatenate([batch.adjacency for batch in batches]),
            np.concatenate([batch.sizes for batch in batches]),
            np.concatenate(nodes) if nodes else None,
            np.concatenate(edges) if edges else None,
            first.node_vocabulary,
            first.edge_vocabulary,
            first.directed,
        )

    def __len__(self) -> int:
        return len(self.adjacency)

    def __repr__(self) -> str:
        return f"<GraphBatch: {len(self)} graphs of up to {self.n} nodes>"

    def __getitem__(self, i: SupportsIndex) -> LabeledGraph:
        m = int(self.sizes[i])
        adjacency = self.adjacency[i, :m, :m]
        nodes = edges = None
        if self.node_codes is not None:
            nodes = tuple(self.node_vocabulary[code] for code in self.node_codes[i, :m])
        if self.edge_codes is not None:
            pairs = np.argwhere(adjacency if self.directed else np.triu(adjacency))
            codes = self.edge_codes[i]
            edges = {(int(u), int(v)): self.edge_vocabulary[codes[u, v]] for u, v in pairs}
        return LabeledGraph(adjacency, nodes, edges, self.directed)

    def __iter__(self) -> Iterator[LabeledGraph]:
        return (self[i] for i in range(len(self)))

    def take(self, index: NDArray[np.integer] | NDArray[np.bool_] | slice) -> GraphBatch:
        """The graphs at these places, as a batch."""
        return GraphBatch(
            adjacency=self.adjacency[index],
            sizes=self.sizes[index],
            node_codes=None if self.node_codes is None else self.node_codes[index],
            edge_codes=None if self.edge_codes is None else self.edge_codes[index],
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            directed=self.directed,
        )

    @property
    def n(self) -> int:
        """Nodes of the largest graph that fits."""
        return int(self.adjacency.shape[-1])

    @property
    def cells(self) -> tuple[GraphBatch, ...]:
        """A batch for each cell of the graphs: itself, where they have one cell."""
        return (self,)

    @property
    def cell_sizes(self) -> NDArray[np.intp]:
        """The number of nodes of every cell, shape (B, cells)."""
        return self.sizes.astype(np.intp)[:, None]

    def pack(self) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
        """Bits of the adjacency matrices, and codes of nodes and edges, each a row per graph."""
        bits = np.packbits(self.adjacency.reshape(len(self), -1), axis=1)
        none = np.zeros((len(self), 0), dtype=np.int8)
        given = [c for c in (none, self.node_codes, self.edge_codes) if c is not None]
        return bits, np.hstack([c.reshape(len(self), -1) for c in given])

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        """Whether node v of graph i exists, shape (B, n): the paper's A[v, v]."""
        nodes: NDArray[np.bool_] = np.arange(self.n) < self.sizes[:, None]
        return nodes

    @cached_property
    def distances(self) -> NDArray[np.uint8]:
        """Shortest distances d, shape (B, n, n), with n for "unreachable"."""
        return shortest_paths.find_distances(self.adjacency)

    def find_ends_by_label(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which nodes have the first label of the vocabulary, and which the last, shape (B, n)."""
        if self.node_codes is None:
            raise GraphError("the graphs must have labels on their nodes, got none")
        return self.node_codes == 0, self.node_codes == len(self.node_vocabulary) - 1

    @property
    def edge_counts(self) -> NDArray[np.intp]:
        """Number of edges of each graph."""
        total: NDArray[np.intp] = self.adjacency.sum(axis=(1, 2))
        return total if self.directed else total // 2


def _find_place(kind: str, label: str, places: dict[str, int]) -> int:
    if label not in places:
        raise GraphError(f"{kind} labels must be among {', '.join(places)}, got {label!r}")
    return places[label]
