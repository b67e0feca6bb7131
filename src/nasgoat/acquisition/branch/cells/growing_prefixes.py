"""Prefixes that grow node by node: for dense spaces, whose prefixes are too many to list (Lemma 4).

Notation
    k, m   known nodes of a prefix, and *floating* nodes after them, in topological order: what
           leads to a floating node is still open
    n      nodes of the whole graph: k + m, the last inner node, and the sink
    code   stands for a distance that is open: any of 0 (no path), 1, ..., most; from the source
           any of 1, ..., most. Codes follow after the distances 0, ..., n - 1.

A *stem* is a prefix of k nodes together with the label of the last inner node; the nodes between
float. Its bound holds for every graph that begins like it. Stems wait in the order of their bounds;
the best ones get one more node, each class of isomorphic prefixes once. A stem that lacks one node
only is not extended further: the prefixes that it leads to are searched.

Other modules use :class:`GrowingRun` alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.classes import find_twins, measure_distances
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import PairTables, Tables
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.structures import Block, make_prefix_block
from nasgoat.acquisition.branch.cells.tables import (
    find_interactions,
    find_largest_products,
    find_shifts,
    make_edge_columns,
    make_feature_columns,
    make_path_columns,
)
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Integers
from nasgoat.compiled import Threads
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace
from nasgoat.spaces.structures import extend_rows, list_rows, matrices_of
from nasgoat.surrogate.posterior import LinearPosterior

_FIRST = 5  # nodes of the stems to begin with
_STEMS = 48  # stems that get a node at a time
_DIVING = 4  # every so many turns the deepest stems come first, for good graphs early
Stem = tuple[float, int, tuple[int, ...]]  # bound, label of the last inner node, rows


class GrowingRun:
    """Best-first search over prefixes of graphs with n nodes.

    Args:
        space, n: A space whose structures may grow node by node, and how many nodes graphs have.
        posterior, sqrt_beta: The acquisition.
        floor: A valid bound on everything.
        threads: Threads that share the work.
    """

    def __init__(
        self,
        space: CellSpace,
        n: int,
        posterior: LinearPosterior,
        sqrt_beta: float,
        floor: Callable[[], float],
        threads: Threads,
    ) -> None:
        self._space, self._n, self._floor = space, n, floor
        self._make_tables = partial(_make_floating_tables, space, posterior, sqrt_beta, n)
        self._tables: Tables
        self._threads = threads
        self._waiting: list[list[Stem]] = [[] for _ in range(n - 2)]
        self._searched: LinearRun | None = None
        self.block: Block  # the shapes that the graphs found last belong to
        self._begun, self._turn, self._explored = False, 0, 0

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._explored + (self._searched.nodes if self._searched else 0)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if not self._begun:
            self._begin(best)
            return []
        if self._searched is not None:
            found = self._searched.go_on(best)
            if found is not None:
                return found
            self._explored += self._searched.nodes
            self._searched = None
        k = self._choose_size(best)
        if k is None:
            del self._tables
            return None
        self._grow(k, best)
        return []

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if not self._begun:
            return self._floor()
        lowest = min((stems[0][0] for stems in self._waiting if stems), default=np.inf)
        if self._searched is not None:
            lowest = min(lowest, self._searched.open_bound())
        return max(lowest, self._floor())

    def _begin(self, best: float) -> None:
        """Make the tables, which may take much of the memory, and all stems of the first size."""
        self._tables = self._make_tables()
        first, labels = min(_FIRST, self._n - 3), len(self._space.ops)
        rows = np.concatenate(list(list_rows(first, self._space.edge_limit, whole=False)))
        last_labels = np.tile(np.arange(labels), len(rows))
        nothing = np.full(len(last_labels), -np.inf)
        self._wait(np.repeat(rows, labels, axis=0), last_labels, nothing, best)
        self._begun = True

    def _choose_size(self, best: float) -> int | None:
        """The number of nodes of the stems that are next; None if none is left."""
        for stems in self._waiting:
            if stems and stems[0][0] >= best + MARGIN:
                stems.clear()
        sizes = [k for k, stems in enumerate(self._waiting) if stems]
        if not sizes:
            return None
        self._turn += 1
        if best == np.inf or self._turn % _DIVING == 0:
            return sizes[-1]
        return min(sizes, key=lambda k: self._waiting[k][0][0])

    def _grow(self, k: int, best: float) -> None:
        """The best stems of k nodes get one more."""
        stems = self._waiting[k]
        chosen = [heapq.heappop(stems) for _ in range(min(_STEMS, len(stems)))]
        parents = np.array([rows for _, _, rows in chosen], dtype=np.int64)
        rows, home = extend_rows(parents, self._n - 2, self._space.edge_limit)
        last_labels = np.array([label for _, label, _ in chosen], dtype=np.int64)[home]
        floors = np.array([bound for bound, _, _ in chosen])[home]
        if not len(rows):
            return
        if k + 1 < self._n - 2:
            self._wait(rows, last_labels, floors, best)
            return
        self.block = _make_floating_block(self._space, self._n, matrices_of(rows), last_labels)
        floor = max(float(floors.min()), self._floor())
        limits = make_limit_rows(self.block)
        self._searched = LinearRun(
            self.block, self._tables, limits, lambda: floor, self._threads, scout=False
        )

    def _wait(self, rows: Integers, last_labels: Integers, floors: Floats, best: float) -> None:
        """Bound stems and keep those that may lead to something better than ``best``."""
        k = rows.shape[1]
        block = _make_floating_block(self._space, self._n, matrices_of(rows), last_labels)
        limits = make_limit_rows(block, floating=True)
        run = LinearRun(block, self._tables, limits, self._floor, self._threads, scout=False)
        bounds = np.maximum(run.bound_shapes(), floors)
        self._explored += len(bounds)
        for s in np.flatnonzero(bounds < best + MARGIN).tolist():
            stem = (float(bounds[s]), int(last_labels[s]), tuple(rows[s].tolist()))
            heapq.heappush(self._waiting[k], stem)


def _make_floating_block(
    space: CellSpace, n: int, matrices: NDArray[np.bool_], last_labels: Integers
) -> Block:
    """Prefixes with as many floating nodes as they lack; shape s ends in ``last_labels[s]``.

    With a path from i to the j-th floating node every step but the last ones is in the prefix, so
    the distance is at most the longest distance within the prefix from i, plus j + 1.
    """
    total, known, _ = matrices.shape
    nodes = n - 2
    floating = nodes - known
    adjacency = np.zeros((total, nodes, nodes), dtype=bool)
    adjacency[:, :known, :known] = matrices
    distance = np.zeros((total, nodes, nodes), dtype=np.int8)
    distance[:, :known, :known] = measure_distances(matrices)
    reach = np.zeros((total, nodes), dtype=np.int64)
    reach[:, :known] = distance[:, :known, :known].max(axis=2)
    for j in range(floating):
        most = reach[:, :known] + 1 + j
        distance[:, 1:known, known + j] = n + most[:, 1:] - 1
        distance[:, 0, known + j] = n + n - 2 + most[:, 0] - 1
        for i in range(j):
            distance[:, known + i, known + j] = n + (j - i) - 1
    reach[:, :known] += floating
    reach[:, known:] = floating - 1 - np.arange(floating)
    every = np.tile(np.arange(nodes, dtype=np.int8), (total, 1))
    return make_prefix_block(
        space,
        n,
        size=0,
        adjacency=adjacency,
        home=np.arange(total),
        last_label=last_labels,
        distance=distance,
        twin=every if floating else find_twins(matrices),
        reach=reach,
    )


def _make_floating_tables(
    space: CellSpace, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> Tables:
    """The tables for graphs of n nodes, with codes of open distances (Lemma 4).

    A pair with an open distance carries the mean over its distances in the reference graph; what
    one distance and two labels add to that is an *option* of its interaction.
    """
    features = FeatureMap(space)
    columns = make_feature_columns(features, posterior, sqrt_beta, n)
    paths, labels = make_path_columns(features, columns)[:n], len(space.ops)
    inner = slice(1, labels + 1)
    any_distance = paths.copy()
    any_distance[0] = 0.0  # no path: no feature
    open_distances = [any_distance[: most + 1] for most in range(1, n - 1)]
    open_distances += [paths[1 : most + 1] for most in range(1, n - 1)]  # from the source
    means = [options.mean(axis=0)[None] for options in open_distances]
    wide = np.concatenate([paths, *means])[None]
    both = find_interactions(labels, wide)
    table = np.zeros((len(open_distances), labels, labels, n, wide.shape[-1]))
    vectors = [both[0, d].reshape(-1, wide.shape[-1])[:, 1:] for d in range(n)]
    for c, options in enumerate(open_distances):
        mean = wide[0, n + c]
        if c < n - 2:
            added = options[:, inner, inner] - mean[inner, inner] + both[0, n + c]
        else:
            added = np.repeat((options[:, :1, inner] - mean[:1, inner]), labels, axis=1)
        table[c, :, :, : len(options)] = np.moveaxis(added, 0, 2)
        vectors.append(added.reshape(-1, wide.shape[-1])[:, 1:])
    counts = np.array([0] * n + [len(options) for options in open_distances], dtype=np.int64)
    return Tables(
        pairs=PairTables(path=wide, both=both, both_gram=find_largest_products(vectors)[None]),
        shift=find_shifts(labels, wide),
        edge=make_edge_columns(features, columns)[None],
        option=table,
        options=counts,
        codes=np.zeros((0, wide.shape[-1])),
    )
