"""Random draws, mutation and neighbours of node-labelled cells.

The moves follow the convention of the benchmark's own search code: edges and operations change at
random on the largest number of nodes, then nodes off every path from input to output are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances

if TYPE_CHECKING:
    from nasgoat.spaces.node_labeled import NodeLabeledSpace

_DENSITIES = (0.5, 0.35, 0.25)  # of edges; the first is the benchmark's convention
_DRAWS = 64  # matrices drawn at a time
_WALK = 8  # steps from a chain, where drawing at random keeps failing
_TRIES = 25  # mutations before the step is made wider, and again before giving up
_WIDEST = 4


def draw(space: NodeLabeledSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random cell: each edge with probability 1/2 (less where that is too dense)."""
    n, k = space.sizes[-1], len(space.ops)
    for density in _DENSITIES:
        matrices = np.triu(rng.random((_DRAWS, n, n)) < density, 1)
        for i in _valid_after_pruning(space, matrices):
            codes = rng.integers(1, k + 1, size=n) if k else np.zeros(n, dtype=int)
            cell = _pruned(space, matrices[i], codes)
            if cell is not None:
                return cell
    cell = _chain(space, rng)
    for _ in range(_WALK):
        others = neighbours(space, cell)
        cell = others[int(rng.integers(len(others)))] if others else cell
    return cell


def _valid_after_pruning(space: NodeLabeledSpace, matrices: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Places of the matrices that are in the space once nodes off every path are dropped."""
    n = matrices.shape[-1]
    d = shortest_distances(matrices)
    kept = (d[:, 0, :] < n) & (d[:, :, -1] < n)
    edges = (matrices & kept[:, :, None] & kept[:, None, :]).sum(axis=(1, 2))
    sizes = kept.sum(axis=1)
    fits = (sizes >= space.sizes[0]) & (sizes <= space.sizes[-1]) & (edges <= space.edge_limit)
    return np.flatnonzero(fits)


def mutate(space: NodeLabeledSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
    """Flip each edge with probability 1 / #pairs, change each operation with 1 / #inner nodes."""
    key = space.key(graph)
    n, k = space.sizes[-1], len(space.ops)
    pairs, inner = n * (n - 1) // 2, max(n - 2, 1)
    for attempt in range(_TRIES * _WIDEST):
        matrix, codes = _embedded(space, graph, rng)
        # Hard-to-leave cells get a wider step the longer the attempts fail.
        step = 1 + attempt // _TRIES
        matrix ^= np.triu(rng.random((n, n)) < step / pairs, 1)
        change = rng.random(n) < step / inner
        if k > 1:
            other = (codes - 1 + rng.integers(1, k, size=n)) % k + 1
            codes = np.where(change, other, codes)
        cell = _pruned(space, matrix, codes)
        if cell is not None and space.key(cell) != key:
            return cell
    others = neighbours(space, graph)
    return others[int(rng.integers(len(others)))] if others else graph


def neighbours(space: NodeLabeledSpace, graph: LabeledGraph) -> list[LabeledGraph]:
    """Cells one operation, one edge or one inserted node away."""
    cell = graph.sorted_topologically()
    matrix, codes = cell.adjacency, _codes(space, cell)
    candidates = [
        *_other_operations(space, codes, matrix),
        *_flipped_edges(codes, matrix),
        *_inserted_nodes(space, codes, matrix),
    ]
    found = {space.key(graph): graph}
    for other_matrix, other_codes in candidates:
        other = _pruned(space, other_matrix, other_codes)
        if other is not None:
            found.setdefault(space.key(other), other)
    return list(found.values())[1:]


_Candidate = tuple[NDArray[np.bool_], NDArray[np.int_]]


def _other_operations(
    space: NodeLabeledSpace, codes: NDArray[np.int_], matrix: NDArray[np.bool_]
) -> list[_Candidate]:
    candidates = []
    for v in range(1, len(codes) - 1):
        for code in range(1, len(space.ops) + 1):
            if code != codes[v]:
                changed = codes.copy()
                changed[v] = code
                candidates.append((matrix, changed))
    return candidates


def _flipped_edges(codes: NDArray[np.int_], matrix: NDArray[np.bool_]) -> list[_Candidate]:
    candidates = []
    for u in range(len(codes)):
        for v in range(u + 1, len(codes)):
            flipped = matrix.copy()
            flipped[u, v] ^= True
            candidates.append((flipped, codes))
    return candidates


def _inserted_nodes(
    space: NodeLabeledSpace, codes: NDArray[np.int_], matrix: NDArray[np.bool_]
) -> list[_Candidate]:
    n = len(codes)
    if n + 1 not in space.sizes:
        return []
    candidates = []
    for u in range(n):
        for v in range(u + 1, n):
            wider = np.insert(np.insert(matrix, v, False, axis=0), v, False, axis=1)
            wider[u, v] = wider[v, v + 1] = True
            ops = range(1, len(space.ops) + 1)
            candidates += [(wider, np.insert(codes, v, code)) for code in ops]
    return candidates


def _codes(space: NodeLabeledSpace, cell: LabeledGraph) -> NDArray[np.int_]:
    labels = cell.node_labels or ()
    return np.array([space.node_vocabulary.index(label) for label in labels])


def _embedded(
    space: NodeLabeledSpace, graph: LabeledGraph, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int_]]:
    """The cell on the space's largest number of nodes, idle ones at random places."""
    cell = graph.sorted_topologically()
    n, k = space.sizes[-1], len(space.ops)
    inner = np.sort(rng.choice(np.arange(1, n - 1), size=cell.n - 2, replace=False))
    places = np.concatenate([[0], inner, [n - 1]]).astype(int)
    matrix = np.zeros((n, n), dtype=bool)
    matrix[np.ix_(places, places)] = cell.adjacency
    codes = rng.integers(1, k + 1, size=n) if k else np.zeros(n, dtype=int)
    codes[places] = _codes(space, cell)
    return matrix, codes


def _pruned(
    space: NodeLabeledSpace, matrix: NDArray[np.bool_], codes: NDArray[np.int_]
) -> LabeledGraph | None:
    """The cell without nodes off every path, or None if it is not in the space."""
    n = len(matrix)
    forward, backward = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    forward[0] = backward[-1] = True
    for v in range(1, n):
        forward[v] = (matrix[:v, v] & forward[:v]).any()
    for u in range(n - 2, -1, -1):
        backward[u] = (matrix[u, u + 1 :] & backward[u + 1 :]).any()
    kept = np.flatnonzero(forward & backward)
    if not forward[-1] or len(kept) not in space.sizes:
        return None
    matrix = matrix[np.ix_(kept, kept)]
    if matrix.sum() > space.edge_limit:
        return None
    inner = tuple(space.node_vocabulary[codes[v]] for v in kept[1:-1])
    vocabulary = space.node_vocabulary
    return LabeledGraph(matrix, (vocabulary[0], *inner, vocabulary[-1]))


def _chain(space: NodeLabeledSpace, rng: np.random.Generator) -> LabeledGraph:
    n = int(rng.choice(list(space.sizes)))
    codes = rng.integers(1, len(space.ops) + 1, size=n) if space.ops else np.zeros(n, dtype=int)
    chain = _pruned(space, np.eye(n, k=1, dtype=bool), codes)
    if chain is None:  # the space's own check makes a chain of each size possible
        raise AssertionError(f"a chain of {n} nodes must be in {space}")
    return chain
