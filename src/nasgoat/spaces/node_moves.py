"""Random draws, mutation and neighbours of node-labelled cells.

The moves follow the convention of the benchmark's own search code: edges and operations change at
random on the largest number of nodes, then nodes off every path from input to output are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import (
    find_distances,
    find_nodes_on_paths,
    find_topological_order,
)
from nasgoat.spaces.moves import bound_moves, fill_up, list_others

if TYPE_CHECKING:
    from nasgoat.spaces.node_labeled import NodeLabeledSpace

_DENSITIES = (0.5, 0.35, 0.25)  # of edges; the first is the benchmark's convention
_DRAWS = 64  # matrices drawn at a time
_WALK = 8  # steps from a chain, where drawing at random keeps failing
_SMALLEST_BLOCK = 20  # mutations tried at a time
_TRIES = 25  # of them a graph before the step is made wider, and again before giving up
_WIDEST = 4


def draw(space: NodeLabeledSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random cell: each edge with probability 1/2 (less where that is too dense)."""
    n, k = space.sizes[-1], len(space.ops)
    for density in _DENSITIES:
        matrices = np.triu(rng.random((_DRAWS, n, n)) < density, 1)
        on_path = find_nodes_on_paths(matrices)
        for i in _list_valid(space, matrices, on_path):
            codes = rng.integers(1, k + 1, size=n) if k else np.zeros(n, dtype=int)
            cell = _make_cell(space, matrices[i], codes, on_path[i])
            if cell is not None:
                return cell
    cell = _make_chain(space, rng)
    for _ in range(_WALK):
        others = list_neighbours(space, cell)
        if not others:
            break
        cell = others[int(rng.integers(len(others)))]
    return cell


def _list_valid(
    space: NodeLabeledSpace, matrices: NDArray[np.bool_], on_path: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Places of the matrices that are in the space once nodes off every path are dropped."""
    edges = (matrices & on_path[:, :, None] & on_path[:, None, :]).sum(axis=(1, 2))
    sizes, allowed = on_path.sum(axis=1), space.sizes
    fits = (sizes >= allowed[0]) & (sizes <= allowed[-1]) & (edges <= space.edge_limit)
    return np.flatnonzero(fits)


def vary(
    space: NodeLabeledSpace, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
) -> list[LabeledGraph]:
    """Flip each edge with probability edits / #pairs, change each operation with edits / #inner."""
    key = space.key(graph)
    cell = graph.sorted_topologically()
    found: list[LabeledGraph] = []
    tried, block = 0, max(_SMALLEST_BLOCK, 3 * count)
    while tried < _TRIES * _WIDEST * count:
        # Hard-to-leave cells get a wider step the longer the attempts fail.
        step = edits + tried // (_TRIES * count)
        for mutated in _try_changes(space, cell, step, rng, block):
            if space.key(mutated) != key:
                found.append(mutated)
                if len(found) == count:
                    return found
        tried += block
    return fill_up(found, count, list_neighbours(space, graph) or [graph], rng)


def _try_changes(
    space: NodeLabeledSpace, cell: LabeledGraph, step: int, rng: np.random.Generator, block: int
) -> Iterator[LabeledGraph]:
    """The changed cells in a block of mutations; most attempts fail, so many are made at once."""
    n, k = space.sizes[-1], len(space.ops)
    matrices, codes, used = _embed(space, cell, rng, block)
    # No edge flips with more than 1/2 and no operation changes more often than a random one would.
    flip = min(step / (n * (n - 1) // 2), 0.5)
    flipped = matrices ^ np.triu(rng.random((block, n, n)) < flip, 1)
    changed = codes
    if k > 1:
        other = (codes - 1 + rng.integers(1, k, size=(block, n))) % k + 1
        change = min(step / max(n - 2, 1), 1 - 1 / k)
        changed = np.where(rng.random((block, n)) < change, other, codes)
    on_path = find_nodes_on_paths(flipped)
    flipped &= on_path[:, :, None] & on_path[:, None, :]
    differs = (flipped != matrices).any(axis=(1, 2)) | ((changed != codes) & used)[:, 1:-1].any(1)
    fits = on_path[:, 0] & (flipped.sum(axis=(1, 2)) <= space.edge_limit)
    for i in np.flatnonzero(differs & fits):
        mutated = _make_cell(space, flipped[i], changed[i], on_path[i])
        if mutated is not None:
            yield mutated


def list_neighbours(space: NodeLabeledSpace, graph: LabeledGraph) -> list[LabeledGraph]:
    """Cells one operation, one edge or one inserted node away; the first of very many."""
    cell = graph.sorted_topologically()
    matrix, codes = cell.adjacency, _read_codes(space, cell)
    every = chain(
        _change_operations(space, codes, matrix),
        _flip_edges(codes, matrix),
        _insert_nodes(space, codes, matrix),
    )
    pruned = (_prune(space, *candidate) for candidate in islice(every, bound_moves(graph.n)))
    return list_others(space, graph, (cell for cell in pruned if cell is not None))


_Candidate = tuple[NDArray[np.bool_], NDArray[np.int_]]


def _change_operations(
    space: NodeLabeledSpace, codes: NDArray[np.int_], matrix: NDArray[np.bool_]
) -> Iterator[_Candidate]:
    ops = range(1, len(space.ops) + 1)
    places = ((v, op) for v in range(1, len(codes) - 1) for op in ops if op != codes[v])
    return ((matrix, np.r_[codes[:v], op, codes[v + 1 :]]) for v, op in places)


def _flip_edges(codes: NDArray[np.int_], matrix: NDArray[np.bool_]) -> Iterator[_Candidate]:
    for u, v in _list_forward_pairs(matrix):
        flipped = matrix.copy()
        flipped[u, v] ^= True
        yield _reorder(flipped, codes)


def _insert_nodes(
    space: NodeLabeledSpace, codes: NDArray[np.int_], matrix: NDArray[np.bool_]
) -> Iterator[_Candidate]:
    n = len(codes)
    if n + 1 not in space.sizes:
        return
    new = n - 1  # before the sink, until the nodes are ordered again
    wider = np.insert(np.insert(matrix, new, False, axis=0), new, False, axis=1)
    for u, v in _list_forward_pairs(matrix):
        joined = wider.copy()
        joined[u, new] = joined[new, v + (v == new)] = True
        ops = range(1, len(space.ops) + 1)
        yield from (_reorder(joined, np.insert(codes, new, code)) for code in ops)


def _list_forward_pairs(matrix: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The pairs (u, v) whose edge closes no cycle, whatever the order of the nodes."""
    reach = find_distances(matrix[None])[0] < len(matrix)
    return [(int(u), int(v)) for u, v in np.argwhere(~reach.T)]


def _reorder(matrix: NDArray[np.bool_], codes: NDArray[np.int_]) -> _Candidate:
    """The same graph in topological order; source and sink stay first and last."""
    order = find_topological_order(matrix)
    return matrix[np.ix_(order, order)], codes[order]


def _read_codes(space: NodeLabeledSpace, cell: LabeledGraph) -> NDArray[np.int_]:
    labels = cell.node_labels or ()
    return np.array([space.node_vocabulary.index(label) for label in labels])


def _embed(
    space: NodeLabeledSpace, cell: LabeledGraph, rng: np.random.Generator, block: int
) -> tuple[NDArray[np.bool_], NDArray[np.int_], NDArray[np.bool_]]:
    """A block of copies of the cell on the largest number of nodes, idle ones at random places.

    Returns:
        Their adjacency, their node codes, and which nodes are not idle.
    """
    n, k = space.sizes[-1], len(space.ops)
    inner = np.sort(rng.random((block, n - 2)).argsort(axis=1)[:, : cell.n - 2], axis=1) + 1
    ends = np.zeros((block, 1), dtype=int)
    places = np.concatenate([ends, inner, ends + n - 1], axis=1)
    rows = np.arange(block)[:, None]
    matrices = np.zeros((block, n, n), dtype=bool)
    matrices[rows[:, :, None], places[:, :, None], places[:, None, :]] = cell.adjacency
    codes = rng.integers(1, k + 1, size=(block, n)) if k else np.zeros((block, n), dtype=int)
    codes[rows, places] = _read_codes(space, cell)
    used = np.zeros((block, n), dtype=bool)
    used[rows, places] = True
    return matrices, codes, used


def _prune(
    space: NodeLabeledSpace, matrix: NDArray[np.bool_], codes: NDArray[np.int_]
) -> LabeledGraph | None:
    """The cell without nodes off every path, or None if it is not in the space."""
    return _make_cell(space, matrix, codes, find_nodes_on_paths(matrix[None])[0])


def _make_cell(
    space: NodeLabeledSpace,
    matrix: NDArray[np.bool_],
    codes: NDArray[np.int_],
    on_path: NDArray[np.bool_],
) -> LabeledGraph | None:
    """The cell of the nodes on paths, or None if it is not in the space."""
    kept = np.flatnonzero(on_path)
    if not on_path[-1] or len(kept) not in space.sizes:
        return None
    matrix = matrix[np.ix_(kept, kept)]
    if matrix.sum() > space.edge_limit:
        return None
    return space.assemble(matrix, codes[kept[1:-1]] - 1)


def _make_chain(space: NodeLabeledSpace, rng: np.random.Generator) -> LabeledGraph:
    n = int(rng.choice(list(space.sizes)))
    codes = rng.integers(1, len(space.ops) + 1, size=n) if space.ops else np.zeros(n, dtype=int)
    chain = _prune(space, np.eye(n, k=1, dtype=bool), codes)
    if chain is None:  # the space's own check makes a chain of each size possible
        raise AssertionError(f"a chain of {n} nodes must be in {space}")
    return chain
