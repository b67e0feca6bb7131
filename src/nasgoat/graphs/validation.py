"""Checks of what a labelled graph is made from; each failure is a :class:`GraphError`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError

Edge: TypeAlias = tuple[int, int]


def check_adjacency(adjacency: object, directed: bool) -> NDArray[np.bool_]:
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


def check_edge(edge: object, n: int) -> Edge:
    """A pair of existing nodes."""
    if not isinstance(edge, Sequence) or len(edge) != 2:
        raise GraphError(f"an edge must be a pair of nodes, got {edge!r}")
    u, v = edge
    for end in (u, v):
        if not isinstance(end, int | np.integer) or isinstance(end, bool) or not 0 <= end < n:
            raise GraphError(f"edges must join the nodes 0..{n - 1}, got {u!r} -> {v!r}")
    return int(u), int(v)


def check_node_labels(labels: Sequence[str], n: int) -> tuple[str, ...]:
    """One text per node."""
    if len(labels) != n:
        raise GraphError(f"node labels must be one per node, got {len(labels)} for {n} nodes")
    for label in labels:
        if not isinstance(label, str):
            raise GraphError(f"node labels must be text, got {label!r}")
    return tuple(labels)


def check_edge_labels(
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


def all_or_none(kind: str, labels: list[str | None]) -> list[str] | None:
    """The labels if all are there, None if none is."""
    present = [label for label in labels if label is not None]
    if present and len(present) != len(labels):
        raise GraphError(f"either every {kind} must have a label or none, got {labels!r}")
    return present or None
