"""Graphs as vectors: the adjacency encoding and the truncated path encoding.

Nodes of a space that does not tell them apart are put in an order first: by the longest path that
leads to them, then by label. A cell with fewer nodes than the largest keeps its last node in the
last place, and the places in between are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces import SearchSpace

PATH_FEATURES = 40  # BANANAS keeps 40 paths on NAS-Bench-101 and 30 on NAS-Bench-201


def arrange(space: SearchSpace, graphs: Sequence[LabeledGraph]) -> GraphBatch:
    """The graphs as arrays, their nodes in the order of this module."""
    if space.indexed or not all(graph.is_acyclic() for graph in graphs):
        return space.batch(graphs)
    places = {label: i for i, label in enumerate(space.node_vocabulary)}
    batch = space.batch([graph.relabeled(_order_nodes(graph, places)) for graph in graphs])
    n = batch.n
    for i, m in enumerate(batch.sizes.tolist()):
        if m < n:  # the last node moves to the last place
            batch.adjacency[i, :, n - 1] = batch.adjacency[i, :, m - 1]
            batch.adjacency[i, :, m - 1] = False
            if batch.node_codes is not None:
                batch.node_codes[i, n - 1] = batch.node_codes[i, m - 1]
                batch.node_codes[i, m - 1] = -1
    return batch


def encode_adjacency(space: SearchSpace, graphs: Sequence[LabeledGraph]) -> NDArray[np.float64]:
    """One row per graph: its edges, then its operations scaled to [0, 1].

    With labels on edges, each place has an integer: 0 for no edge, else 1 + the label's code. With
    labels on nodes, each place has a bit, and each node (source and sink of a cell aside) its
    operation from 0 to 1; a missing node is one step below 0.

    Example:
        >>> from nasgoat import NodeLabeledSpace
        >>> space = NodeLabeledSpace(nodes=3, ops=["conv", "pool", "skip"])
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "pool", "output"])
        >>> encode_adjacency(space, [cell]).tolist()
        [[1.0, 0.0, 1.0, 0.5]]
    """
    batch = arrange(space, graphs)
    n = batch.n
    forward = np.tril(batch.adjacency, -1).any()
    rows, columns = np.nonzero(~np.eye(n, dtype=bool)) if forward else np.triu_indices(n, 1)
    if batch.edge_codes is not None:
        edges = batch.edge_codes[:, rows, columns].astype(float) + 1
    else:
        edges = batch.adjacency[:, rows, columns].astype(float)
    if batch.node_codes is None:
        return edges
    codes, labels = batch.node_codes.astype(float), len(space.node_vocabulary)
    if space.labels_on == "nodes":
        codes, labels = codes[:, 1:-1], labels - 2
        codes = np.where(codes < 0, -1, codes - 1)
    return np.concatenate([edges, codes / max(labels - 1, 1)], axis=1)


def standardize_adjacency(
    space: SearchSpace, graphs: Sequence[LabeledGraph], candidates: Sequence[LabeledGraph]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Adjacency encodings of graphs and candidates; columns have mean 0, deviation 1 over graphs.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(9, np.random.default_rng(0))
        >>> rows, new = standardize_adjacency(nasbench201(), cells[:5], cells[5:])
        >>> rows.shape, new.shape, bool(abs(rows.mean()) < 1e-12)
        ((5, 6), (4, 6), True)
    """
    rows = encode_adjacency(space, [*graphs, *candidates])
    observed = rows[: len(graphs)]
    sd = observed.std(axis=0)
    rows = (rows - observed.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    return rows[: len(graphs)], rows[len(graphs) :]


def encode_paths(
    space: SearchSpace, graphs: Sequence[LabeledGraph], at_most: int = PATH_FEATURES
) -> NDArray[np.float64]:
    """One row per graph: which label sequences lie on its paths from first to last node.

    The columns are all sequences, shortest first, cut after the last length at which they number
    ``at_most`` or fewer (two lengths are always kept). On edges, "no edge" counts as a label, as
    the method's own code has it on NAS-Bench-201.

    Example:
        >>> from nasgoat import nasbench101, nasbench201
        >>> cell = LabeledGraph.from_edges(
        ...     4, [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)],
        ...     ["input", "conv3x3", "maxpool3x3", "output"],
        ... )
        >>> row = encode_paths(nasbench101(), [cell])[0]
        >>> len(row), np.flatnonzero(row).tolist()  # no operation; conv3x3; maxpool3x3
        (40, [0, 1, 3])
        >>> encode_paths(nasbench201(), nasbench201().sample(2, np.random.default_rng(0))).shape
        (2, 30)
    """
    on_edges = not space.node_vocabulary
    labels = len(space.edge_vocabulary) + 1 if on_edges else len(space.node_vocabulary)
    longest = space.sizes[-1] - 1 if on_edges else space.sizes[-1] - 2
    shift = 0
    if space.labels_on == "nodes":
        labels, shift = labels - 2, 1  # the source's and the sink's label are on no path's inside
    offsets = _list_offsets(labels, int(on_edges), longest, at_most)
    encoded = np.zeros((len(graphs), offsets[-1]))
    batch = arrange(space, graphs)
    for row, i in zip(encoded, range(len(batch)), strict=True):
        if on_edges:
            sequences = _list_edge_paths(np.asarray(batch.edge_codes)[i] + 1, len(offsets) - 1)
        else:
            codes = np.asarray(batch.node_codes)[i] - shift
            sequences = _list_node_paths(batch.adjacency[i], codes, len(offsets) - 2)
        for sequence in sequences:
            number = 0
            for code in sequence:
                number = number * labels + code
            row[offsets[len(sequence) - int(on_edges)] + number] = 1.0
    return encoded


def _list_offsets(labels: int, shortest: int, longest: int, at_most: int) -> list[int]:
    """The column at which the sequences of each kept length begin, and the number of columns."""
    offsets = [0]
    for length in range(shortest, longest + 1):
        total = offsets[-1] + labels**length
        if len(offsets) > 2 and total > at_most:
            break
        offsets.append(total)
    return offsets


def _list_node_paths(
    adjacency: NDArray[np.bool_], codes: NDArray[np.int8], most: int
) -> set[tuple[int, ...]]:
    """Labels inside each path from the first to the last node, at most this many of them."""
    n = len(adjacency)
    arriving: list[set[tuple[int, ...]]] = [set() for _ in range(n)]
    arriving[0] = {()}
    for v in range(1, n):
        for u in np.flatnonzero(adjacency[:v, v]).tolist():
            inside = () if u == 0 else (int(codes[u]),)
            arriving[v] |= {
                (*path, *inside) for path in arriving[u] if len(path) < most or not inside
            }
    return arriving[-1]


def _list_edge_paths(digits: NDArray[np.int8], most: int) -> set[tuple[int, ...]]:
    """Digits along each path from the first to the last node, at most this many of them."""
    n = len(digits)
    arriving: list[set[tuple[int, ...]]] = [set() for _ in range(n)]
    arriving[0] = {()}
    for v in range(1, n):
        for u in range(v):
            arriving[v] |= {(*path, int(digits[u, v])) for path in arriving[u] if len(path) < most}
    return arriving[-1]


def _order_nodes(graph: LabeledGraph, places: dict[str, int]) -> list[int]:
    """Nodes by the longest path that leads to them, then by label."""
    depth = np.zeros(graph.n, dtype=int)
    for _ in range(graph.n):
        depth = np.where(graph.adjacency, depth[:, None] + 1, 0).max(axis=0)
    labels = [places[label] for label in graph.node_labels or ()] or [0] * graph.n
    return sorted(range(graph.n), key=lambda v: (depth[v], labels[v]))
