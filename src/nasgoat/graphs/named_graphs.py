"""Several named graphs as one value, and many of them as arrays: the graphs of several cells.

The value is a labelled graph, the disjoint union of its cells in their order, so that everything
that takes a graph takes it; each cell is also there by its name. Where only some cells have labels
on nodes (or on edges), those of the others have the label "" in the union.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.graphs.batch import GraphBatch
from nasgoat.graphs.labeled_graph import Edge, LabeledGraph

_NO_LABEL = ""  # of nodes and edges in the union whose own cell has no labels there


class NamedGraphs(LabeledGraph):
    """Graphs by their names: what a space of several cells is searched for.

    Args:
        graphs: The graph of each cell.
        named: The same, as keywords.

    Example:
        >>> one = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["conv"])
        >>> two = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["conv", "pool"])
        >>> both = NamedGraphs(normal=one, reduction=two)
        >>> both.normal == one, both["reduction"] == two, list(both.cells)
        (True, True, ['normal', 'reduction'])
        >>> normal, reduction = both
        >>> both.n, both.edges, LabeledGraph.from_json(both.to_json()) == both
        (5, ((0, 1), (2, 3), (3, 4)), True)
    """

    def __init__(
        self, graphs: Mapping[str, LabeledGraph] | None = None, /, **named: LabeledGraph
    ) -> None:
        cells = {**(graphs or {}), **named}
        if not cells or not all(isinstance(graph, LabeledGraph) for graph in cells.values()):
            raise GraphError(f"the cells must be labelled graphs by their names, got {cells!r:.80}")
        object.__setattr__(self, "_cells", MappingProxyType(cells))
        super().__init__(*_join(list(cells.values())))

    @property
    def cells(self) -> Mapping[str, LabeledGraph]:
        """The graph of each cell, by its name."""
        found: Mapping[str, LabeledGraph] = self.__dict__.get("_cells", {})
        return found

    def __getattr__(self, name: str) -> LabeledGraph:
        if name in self.cells:
            return self.cells[name]
        raise AttributeError(f"a cell must be one of {', '.join(self.cells)}, got {name!r}")

    def __getitem__(self, name: str) -> LabeledGraph:
        return self.cells[name]

    def __iter__(self) -> Iterator[LabeledGraph]:
        return iter(self.cells.values())

    def canonical_key(self) -> bytes:
        """A byte string that is equal exactly if the cells of each name are isomorphic."""
        return join_keys(graph.canonical_key() for graph in self)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: each cell under its name."""
        return {"cells": {name: graph.to_dict() for name, graph in self.cells.items()}}

    def __repr__(self) -> str:
        return f"NamedGraphs({', '.join(f'{name}={graph}' for name, graph in self.cells.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedGraphs, (dict(self.cells),)

    def _list_content(self) -> tuple[object, ...]:
        return tuple((name, graph._list_content()) for name, graph in self.cells.items())


def join_keys(keys: Iterator[bytes]) -> bytes:
    """Keys of cells as one that tells every list of them apart.

    Example:
        >>> join_keys(iter([b"ab", b"c"])) == join_keys(iter([b"a", b"bc"]))
        False
    """
    return b"".join(len(key).to_bytes(4, "big") + key for key in keys)


def _join(
    graphs: Sequence[LabeledGraph],
) -> tuple[NDArray[np.bool_], tuple[str, ...] | None, dict[Edge, str] | None, bool]:
    """The disjoint union: adjacency, labels, and whether it is directed, as one graph has them."""
    directed = any(graph.directed for graph in graphs)
    total = sum(graph.n for graph in graphs)
    adjacency = np.zeros((total, total), dtype=bool)
    nodes: list[str] = []
    edges: dict[Edge, str] = {}
    for graph in graphs:
        start = len(nodes)
        adjacency[start : start + graph.n, start : start + graph.n] = graph.adjacency
        nodes += graph.node_labels or [_NO_LABEL] * graph.n
        for u, v in graph.edges:
            label = graph.edge_labels[u, v] if graph.edge_labels else _NO_LABEL
            edges[start + u, start + v] = label
            if directed and not graph.directed:
                edges[start + v, start + u] = label
    on_nodes = any(graph.node_labels for graph in graphs)
    on_edges = any(graph.edge_labels for graph in graphs)
    return adjacency, tuple(nodes) if on_nodes else None, edges if on_edges else None, directed


class NamedBatches(GraphBatch):
    """Many graphs of several cells: a batch for each cell; arrays of the unions when asked for.

    Args:
        batches: The batch of each cell, all of one length.
    """

    _batches: Mapping[str, GraphBatch]

    def __init__(self, batches: Mapping[str, GraphBatch]) -> None:
        object.__setattr__(self, "_batches", dict(batches))

    @property
    def cells(self) -> tuple[GraphBatch, ...]:
        """The batch of each cell."""
        return tuple(self._batches.values())

    @property
    def cell_sizes(self) -> NDArray[np.intp]:
        """The number of nodes of every cell, shape (B, cells)."""
        return np.stack([batch.sizes.astype(np.intp) for batch in self.cells], axis=1)

    def __len__(self) -> int:
        return len(self.cells[0])

    def __getitem__(self, i: SupportsIndex) -> NamedGraphs:
        return NamedGraphs({name: batch[i] for name, batch in self._batches.items()})

    def take(self, index: NDArray[np.integer] | NDArray[np.bool_] | slice) -> NamedBatches:
        """The graphs at these places, as a batch."""
        return NamedBatches({name: batch.take(index) for name, batch in self._batches.items()})

    @property
    def edge_counts(self) -> NDArray[np.intp]:
        """Number of edges of each graph, all cells together."""
        return np.asarray(sum(batch.edge_counts for batch in self.cells))

    @cached_property
    def _unions(self) -> GraphBatch:
        """The unions as one batch."""
        vocabularies = [batch.node_vocabulary for batch in self.cells]
        others = [batch.edge_vocabulary for batch in self.cells]
        n = sum(batch.n for batch in self.cells)
        return GraphBatch.from_graphs(
            list(self), join_vocabularies(vocabularies), join_vocabularies(others), n
        )

    @cached_property
    def sizes(self) -> NDArray[np.int8]:
        """The number of nodes of each graph, all cells together."""
        total: NDArray[np.int8] = self.cell_sizes.sum(axis=1).astype(np.int8)
        return total

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """Adjacency of the unions."""
        return self._unions.adjacency

    @property
    def node_codes(self) -> NDArray[np.int8] | None:
        """Node codes of the unions."""
        return self._unions.node_codes

    @property
    def edge_codes(self) -> NDArray[np.int8] | None:
        """Edge codes of the unions."""
        return self._unions.edge_codes

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        """Node labels of the unions."""
        return self._unions.node_vocabulary

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        """Edge labels of the unions."""
        return self._unions.edge_vocabulary

    @property
    def directed(self) -> bool:
        """Whether the unions are directed."""
        return any(batch.directed for batch in self.cells)


def join_vocabularies(vocabularies: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The labels of all cells, each once; "" too where some cells have none.

    Example:
        >>> join_vocabularies([("a", "b"), ()]), join_vocabularies([(), ()])
        (('', 'a', 'b'), ())
    """
    labels = dict.fromkeys(label for names in vocabularies for label in names)
    missing = [_NO_LABEL] if labels and not all(vocabularies) else []
    return (*missing, *labels)
