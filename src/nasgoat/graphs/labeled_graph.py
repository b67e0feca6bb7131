"""A labelled graph as a frozen value: the thing that is searched for.

Notation (Table 1 of the paper)
    n       number of nodes; nodes are 0, ..., n - 1
    A       adjacency, A[u, v] = 1 if edge u → v exists
    F_v     label of node v
    F_{u→v} label of edge u → v
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.graphs import canonical
from nasgoat.graphs.shortest_paths import find_distances, find_topological_order, is_acyclic
from nasgoat.upper_layers import find

if TYPE_CHECKING:
    import networkx

#: An edge as its two nodes, from and to.
Edge: TypeAlias = tuple[int, int]
_LABEL = "label"  # the attribute of a networkx graph


@dataclass(frozen=True, eq=False)
class LabeledGraph:
    """A graph with labels on its nodes, on its edges, on both or on neither.

    Equality and hash compare the graph as it is indexed; :meth:`canonical_key` compares up to
    isomorphism.

    Args:
        adjacency: Square boolean matrix; ``adjacency[u, v]`` says that edge u → v exists.
        node_labels: One label per node, or None.
        edge_labels: One label per edge, by (u, v), or None.
        directed: Whether edges have a direction; if not, the adjacency must be symmetric and edge
            labels are keyed with u < v.

    Raises:
        GraphError: If these do not describe a graph.

    Example:
        >>> cell = LabeledGraph.from_edges(
        ...     3, [(0, 1), (1, 2), (0, 2)], node_labels=["input", "conv3x3", "output"]
        ... )
        >>> cell.n, cell.edges
        (3, ((0, 1), (0, 2), (1, 2)))
        >>> cell.distances().tolist()
        [[0, 1, 1], [3, 0, 1], [3, 3, 0]]
    """

    adjacency: NDArray[np.bool_]
    node_labels: tuple[str, ...] | None = None
    edge_labels: Mapping[Edge, str] | None = None
    directed: bool = True

    def __post_init__(self) -> None:
        adjacency = _check_adjacency(self.adjacency, self.directed)
        object.__setattr__(self, "adjacency", adjacency)
        if self.node_labels is not None:
            labels = _check_node_labels(self.node_labels, len(adjacency))
            object.__setattr__(self, "node_labels", labels)
        if self.edge_labels is not None:
            edge_labels = _check_edge_labels(self.edge_labels, self.edges, self.directed)
            # Without edges there is nothing to label: the two ways to say so are one.
            object.__setattr__(self, "edge_labels", edge_labels or None)

    @classmethod
    def from_edges(
        cls,
        n: int,
        edges: Iterable[Sequence[int]],
        node_labels: Sequence[str] | None = None,
        edge_labels: Sequence[str] | Mapping[Edge, str] | None = None,
        directed: bool = True,
    ) -> LabeledGraph:
        """Build a graph from its list of edges; edge labels may follow the order of the list."""
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise GraphError(f"the number of nodes must be a positive integer, got {n!r}")
        pairs = [_check_edge(edge, int(n)) for edge in edges]
        adjacency = np.zeros((n, n), dtype=bool)
        for u, v in pairs:
            adjacency[u, v] = True
            if not directed:
                adjacency[v, u] = True
        if edge_labels is not None and not isinstance(edge_labels, Mapping):
            if len(edge_labels) != len(pairs):
                raise GraphError(
                    f"edge labels must be one per edge, got {len(edge_labels)} labels "
                    f"for {len(pairs)} edges"
                )
            edge_labels = dict(zip(pairs, edge_labels, strict=True))
        labels = None if node_labels is None else tuple(node_labels)
        return cls(adjacency, labels, edge_labels, directed)

    @property
    def cells(self) -> Mapping[str, LabeledGraph]:
        """The graph of each cell by its name, where it has several; else none."""
        return {}

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.adjacency)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in row order; for an undirected graph each once, with u < v."""
        rows = self.adjacency if self.directed else np.triu(self.adjacency)
        tails, heads = rows.nonzero()
        return tuple(zip(tails.tolist(), heads.tolist(), strict=True))

    def distances(self) -> NDArray[np.int64]:
        """Shortest distances d[u, v] of Table 1, with n for "unreachable"."""
        d: NDArray[np.int64] = find_distances(self.adjacency[None])[0].astype(np.int64)
        return d

    def is_acyclic(self) -> bool:
        """Whether the directed graph has no cycle."""
        return self.directed and is_acyclic(self.adjacency)

    def canonical_key(self) -> bytes:
        """A byte string that two graphs share exactly if they are isomorphic, labels included.

        Example:
            >>> edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
            >>> a = LabeledGraph.from_edges(4, edges, ["in", "x", "y", "out"])
            >>> b = LabeledGraph.from_edges(4, edges, ["in", "y", "x", "out"])
            >>> a == b, a.canonical_key() == b.canonical_key()
            (False, True)
        """
        return canonical.make_key(self.adjacency, self.node_labels, self.edge_labels, self.directed)

    def relabeled(self, order: Sequence[int]) -> LabeledGraph:
        """The same graph with node ``order[i]`` renamed to i."""
        index = np.asarray(order, dtype=int)
        if sorted(index.tolist()) != list(range(self.n)):
            raise GraphError(f"order must be a permutation of 0..{self.n - 1}, got {list(order)}")
        nodes = None if self.node_labels is None else tuple(self.node_labels[i] for i in index)
        edges = None
        if self.edge_labels is not None:
            place = {int(old): new for new, old in enumerate(index)}
            edges = {(place[u], place[v]): x for (u, v), x in self.edge_labels.items()}
        return LabeledGraph(self.adjacency[np.ix_(index, index)], nodes, edges, self.directed)

    def sorted_topologically(self) -> LabeledGraph:
        """The same acyclic graph with every edge going from a smaller to a larger index."""
        return self.relabeled(find_topological_order(self.adjacency))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping; edge labels follow the order of the edges."""
        document: dict[str, Any] = {"nodes": self.n, "edges": [list(edge) for edge in self.edges]}
        if self.node_labels is not None:
            document["node_labels"] = list(self.node_labels)
        if self.edge_labels is not None:
            document["edge_labels"] = [self.edge_labels[edge] for edge in self.edges]
        if not self.directed:
            document["directed"] = False
        return document

    def to_json(self) -> str:
        """The graph as one line of JSON.

        Example:
            >>> LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"]).to_json()
            '{"nodes": 2, "edges": [[0, 1]], "node_labels": ["input", "output"]}'
        """
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> LabeledGraph:
        """Read what :meth:`to_json` or :meth:`to_dict` wrote."""
        try:
            document = json.loads(text) if isinstance(text, str) else text
            if "cells" in document:
                return _read_cells(document["cells"])
            n, edges = document["nodes"], document["edges"]
        except (
            json.JSONDecodeError,
            RecursionError,
            KeyError,
            TypeError,
            AttributeError,
        ) as problem:
            raise GraphError(
                f'a graph must be JSON like {{"nodes": 2, "edges": [[0, 1]]}}, got {problem!r}'
            ) from None
        labels = {name: document.get(name) for name in ("node_labels", "edge_labels")}
        for name, value in {"edges": edges, **labels}.items():
            if value is not None and not isinstance(value, list | tuple):
                raise GraphError(f"{name} must be a list, got {value!r}")
        return cls.from_edges(n, edges, **labels, directed=bool(document.get("directed", True)))

    def to_networkx(self) -> networkx.Graph:
        """A networkx ``DiGraph`` or ``Graph`` with the attribute ``label``."""
        import networkx

        graph = networkx.DiGraph() if self.directed else networkx.Graph()
        for v in range(self.n):
            graph.add_node(v, **({} if self.node_labels is None else {_LABEL: self.node_labels[v]}))
        for edge in self.edges:
            label = {} if self.edge_labels is None else {_LABEL: self.edge_labels[edge]}
            graph.add_edge(*edge, **label)
        return graph

    @classmethod
    def from_networkx(cls, graph: networkx.Graph) -> LabeledGraph:
        """Read a networkx graph in its node order, with labels from the attribute ``label``."""
        place = {node: i for i, node in enumerate(graph.nodes)}
        nodes = [data.get(_LABEL) for _, data in graph.nodes(data=True)]
        edges = {(place[u], place[v]): x.get(_LABEL) for u, v, x in graph.edges(data=True)}
        return cls.from_edges(
            len(place),
            list(edges),
            node_labels=_require_all_or_none("node", nodes),
            edge_labels=_require_all_or_none("edge", list(edges.values())),
            directed=graph.is_directed(),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabeledGraph):
            return NotImplemented
        return self._list_content() == other._list_content()

    def __hash__(self) -> int:
        return hash(self._list_content())

    def __repr__(self) -> str:
        parts = [str(self.n), str(list(self.edges))]
        if self.node_labels is not None:
            parts.append(f"node_labels={list(self.node_labels)}")
        if self.edge_labels is not None:
            parts.append(f"edge_labels={[self.edge_labels[edge] for edge in self.edges]}")
        if not self.directed:
            parts.append("directed=False")
        return f"LabeledGraph.from_edges({', '.join(parts)})"

    def _repr_svg_(self) -> str:
        """The graph as a picture, for IPython."""
        svg: str = find("draw a graph")(self)
        return svg

    def __reduce__(self) -> tuple[Any, ...]:
        edge_labels = None if self.edge_labels is None else dict(self.edge_labels)
        return LabeledGraph, (self.adjacency, self.node_labels, edge_labels, self.directed)

    def _list_content(self) -> tuple[object, ...]:
        edge_labels = None if self.edge_labels is None else tuple(self.edge_labels.items())
        return self.n, self.adjacency.tobytes(), self.node_labels, edge_labels, self.directed


def _read_cells(cells: Mapping[str, Any]) -> LabeledGraph:
    """The graphs of several cells, by their names."""
    from nasgoat.graphs.named_graphs import NamedGraphs  # built on this module

    return NamedGraphs({name: LabeledGraph.from_json(cell) for name, cell in cells.items()})


def _check_adjacency(adjacency: object, directed: bool) -> NDArray[np.bool_]:
    """A read-only boolean matrix without loops, symmetric if undirected."""
    matrix = np.array(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise GraphError(f"adjacency must be a square matrix, got shape {matrix.shape}")
    if matrix.dtype != bool:
        if not np.isin(matrix, (0, 1)).all():
            raise GraphError("adjacency must hold only 0 and 1")
        matrix = matrix.astype(bool)
    if matrix.diagonal().any():
        v = int(matrix.diagonal().argmax())
        raise GraphError(f"edges must join two different nodes, got {v} -> {v}")
    if not directed and (matrix != matrix.T).any():
        raise GraphError("the adjacency of an undirected graph must be symmetric")
    matrix.setflags(write=False)
    return matrix


def _check_edge(edge: object, n: int) -> Edge:
    """A pair of existing nodes."""
    if not isinstance(edge, Sequence) or len(edge) != 2:
        raise GraphError(f"an edge must be a pair of nodes, got {edge!r}")
    u, v = edge
    for end in (u, v):
        if not isinstance(end, int | np.integer) or isinstance(end, bool) or not 0 <= end < n:
            raise GraphError(f"edges must join the nodes 0..{n - 1}, got {u!r} -> {v!r}")
    return int(u), int(v)


def _check_node_labels(labels: Sequence[str], n: int) -> tuple[str, ...]:
    """One text per node."""
    if len(labels) != n:
        raise GraphError(f"node labels must be one per node, got {len(labels)} for {n} nodes")
    for label in labels:
        if not isinstance(label, str):
            raise GraphError(f"node labels must be text, got {label!r}")
    return tuple(labels)


def _check_edge_labels(
    labels: Mapping[Edge, str], edges: Sequence[Edge], directed: bool
) -> Mapping[Edge, str]:
    """One text per edge, in the order of the edges, read-only."""
    given = {(u, v) if directed or u < v else (v, u): label for (u, v), label in labels.items()}
    for (u, v), label in given.items():
        if (u, v) not in edges:
            raise GraphError(f"edge labels must be on existing edges, got {label!r} on {u} -> {v}")
        if not isinstance(label, str):
            raise GraphError(f"edge labels must be text, got {label!r}")
    for u, v in edges:
        if (u, v) not in given:
            raise GraphError(f"every edge must have a label, got none on {u} -> {v}")
    return MappingProxyType({edge: given[edge] for edge in edges})


def _require_all_or_none(kind: str, labels: list[str | None]) -> list[str] | None:
    """The labels if all are there, None if none is."""
    present = [label for label in labels if label is not None]
    if present and len(present) != len(labels):
        raise GraphError(f"either every {kind} must have a label or none, got {labels!r}")
    return present or None
