"""The structures that a program allows: given by rows over edges, or listed as columns.

Notation (cells with n nodes, u < v)
    X[i]        1 if the cell has the i-th structure of the list, its nodes in the list's order
    A[u, v]     Σ of X over the structures with edge u → v
    D[u, v, s]  Σ of X over those where v is s ≥ 2 edges from u
    W[f, i]     Σ of X over those with this profile

The matrices of a list differ, and a binary A is no mean of other binary matrices: so X is binary
where A is. These rows take the place of layers; D and W are determined by X.

A list holds all structures of a family that has no rows over edges. Or it holds those that may
still beat a value, for each composition of labels, by the bounds of branch and bound
(``acquisition/branch/cells/composition_bounds.py``): the relaxation is then far tighter than that
of layers.

Declared graphs are a choice among matrices in the same way, for blocks that structures decide. Then
X[i] is 1 if the graph has the i-th matrix, with sources and sinks where its roles say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, permutations
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.errors import GraphError
from nasgoat.formulations.profiles import Profiles, make_profiles
from nasgoat.formulations.tagged_model import (
    TaggedModel,
    compare,
    equate,
    list_forward_pairs,
    sum_linearly,
)
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.shortest_paths import find_distances
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace, EdgeRow, GraphSpace
from nasgoat.surrogate import LinearPosterior


def list_symmetric_rows(space: CellSpace, n: int) -> list[EdgeRow] | None:
    """The space's rows over edges, where they say the same of every order of the inner nodes.

    A cell with labels on its nodes is held in all its topological orders, so that a row that tells
    its inner nodes apart is of no use: None, and the program chooses among listed structures.
    """
    rows = space.structure_rows(n)
    if rows is None or space.labels_on == "edges":
        return rows
    for row in rows:
        kinds: dict[tuple[bool, bool], set[float]] = {}
        for u, v in list_forward_pairs(n):
            kinds.setdefault((u == 0, v == n - 1), set()).add(row.terms.get((u, v), 0.0))
        if any(len(coefficients) > 1 for coefficients in kinds.values()):
            return None
    return rows


def add_structure_rows(m: TaggedModel, rows: Sequence[EdgeRow]) -> None:
    """Rows by which a family says what its structures are, under the family's own tags.

    Σ c[u, v] A[u, v] (<=, >= or ==) bound: (101_edge), at most E edges; (darts), inputs without
    incoming edges and a fixed number of them into every other node.
    """
    for (tag, name), group in groupby(rows, key=lambda row: (row.tag, row.name)):
        m.tags.add(tag)
        found = []
        for row in group:
            edges = sum_linearly((c, m.A[pair]) for pair, c in row.terms.items())
            found.append((row.key, compare(edges, row.sense, row.bound)))
        m.add_rows(tag, name, found)


class ColumnBounds(NamedTuple):
    """Structures that cells of one composition may have, with a lower bound for each."""

    structures: NDArray[np.intp]  # ascending places in the list
    floors: NDArray[np.float64]  # -inf where nothing is known


@dataclass(frozen=True, eq=False)
class StructureColumns:
    """The structures that a model is to allow, and with which labels.

    Args:
        adjacency: Matrices of the structures, no two isomorphic, edges ascending; (S, n, n).
        allowed: For each composition of labels that the model is to hold, the structures; all
            structures with all labels if None.

    Example:
        >>> chain = np.eye(3, k=1, dtype=bool)[None]
        >>> columns = StructureColumns(chain)
        >>> columns.order(LabeledGraph.from_edges(3, [(0, 2), (2, 1)], ["in", "out", "conv"]))
        LabeledGraph.from_edges(3, [(0, 1), (1, 2)], node_labels=['in', 'conv', 'out'])
    """

    adjacency: NDArray[np.bool_]
    allowed: dict[tuple[int, ...], ColumnBounds] | None = None

    @cached_property
    def labels(self) -> tuple[int, ...] | None:
        """Labels that some cell of the allowed compositions has, 1 for the first operation."""
        if self.allowed is None:
            return None
        used = np.array(list(self.allowed)).any(axis=0)
        return tuple((np.flatnonzero(used) + 1).tolist())

    @cached_property
    def distances(self) -> NDArray[np.uint8]:
        """Distances of all pairs, (S, n, n)."""
        return find_distances(self.adjacency)

    @cached_property
    def profiles(self) -> Profiles | None:
        """Profiles of these structures; none of cells too small to have any."""
        return make_profiles(self.distances) if self.adjacency.shape[1] > 3 else None

    def share(self, u: int, v: int, s: int) -> float:
        """How many of the structures, from 0 to 1, have v at distance s from u."""
        return float((self.distances[:, u, v] == s).mean())

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in the order of the list."""
        for order in self._list_orders(graph, []):
            return graph.relabeled(order)
        raise GraphError(f"the structure of the graph must be in the list, got {graph}")

    @cached_property
    def _beginnings(self) -> list[set[bytes]]:
        """For each m the first m rows and columns of all matrices."""
        n = self.adjacency.shape[1]
        return [{a[:m, :m].tobytes() for a in self.adjacency} for m in range(n + 1)]

    def _list_orders(self, graph: LabeledGraph, first: list[int]) -> Iterator[list[int]]:
        if graph.adjacency[np.ix_(first, first)].tobytes() not in self._beginnings[len(first)]:
            return
        if len(first) == graph.n:
            yield first
        for v in range(graph.n):
            if v not in first:
                yield from self._list_orders(graph, [*first, v])


@dataclass(frozen=True, eq=False)
class LabelledValues:
    """The acquisition values of listed structures, all with the same labels.

    Args:
        distances: Of the structures, (S, n, n).
        place: Which count a pair adds to, by distance and the two labels; -1 for none.
        w: Weights of the mean on counts.
        R: Root of the covariance on counts.
        sqrt_beta: Weight of the standard deviation.
    """

    distances: NDArray[np.uint8]
    place: NDArray[np.intp]
    w: NDArray[np.float64]
    R: NDArray[np.float64]
    sqrt_beta: float

    def __call__(self, codes: Sequence[int]) -> NDArray[np.float64]:
        """The lower confidence bounds, given the label codes of all inner nodes."""
        code = np.array([0, *codes, self.place.shape[1] - 1])
        total, n, _ = self.distances.shape
        at = self.place[np.minimum(self.distances, n - 1), code[:, None], code]
        counted = (at >= 0) & (self.distances < n)
        rows, _, _ = np.nonzero(counted)
        size = len(self.w)
        z = np.bincount(rows * size + at[counted], minlength=total * size).reshape(total, size)
        std = np.linalg.norm(z @ self.R, axis=1)
        return np.asarray(z @ self.w - self.sqrt_beta * std)


def value_structures(
    distances: NDArray[np.uint8],
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
) -> LabelledValues:
    """The acquisition values of structures with these distances, (S, n, n), given labels."""
    n, labels = distances.shape[1], len(features.space.node_vocabulary)
    place = np.full((n, labels, labels), -1)
    for j, (s, a, b) in enumerate(features.path_types):
        if s < n:
            place[s, a, b] = j
    return LabelledValues(
        distances=distances, place=place, w=posterior.w, R=posterior.R, sqrt_beta=sqrt_beta
    )


def choose_structure(m: TaggedModel, adjacency: NDArray[np.bool_]) -> None:
    """(structures) X: the cell has one of the listed structures, where no rows tell which.

    Σ_i X[i] = 1 and A[u, v] = Σ_i A_i[u, v] X[i]. No two matrices of the list are equal, and a
    binary matrix is no mean of others: a binary A leaves one X[i] = 1.
    """
    places = {a.tobytes(): i for i, a in enumerate(adjacency)}

    def meaning(g: Any, i: int) -> float:
        return float(places.get(g.graph.adjacency.tobytes()) == i)

    numbers = range(len(adjacency))
    X = m.add_variable("X", [(i,) for i in numbers], pyo.UnitInterval, meaning)
    m.add_rows("structures", "one", [((), sum_linearly((1.0, X[i]) for i in numbers) == 1)])
    having = {(u, v): np.flatnonzero(adjacency[:, u, v]) for u, v in list_forward_pairs(m.n)}
    edges = [(pair, sum_columns(m, found, m.A[pair])) for pair, found in having.items()]
    m.add_rows("structures", "edge", edges)


def sum_columns(m: TaggedModel, structures: NDArray[np.intp], total: Any) -> Any:
    """The row total = Σ X[i] over some structures."""
    return equate([(1.0, total)], [(1.0, m.X[i]) for i in structures.tolist()])


def add_columns(m: TaggedModel, columns: StructureColumns) -> None:
    """(structures): X, and what it says about edges and distances."""
    m.has_columns = True
    choose_structure(m, columns.adjacency)
    having = {
        (u, v, s): np.flatnonzero(columns.distances[:, u, v] == s)
        for u, v in list_forward_pairs(m.n)
        for s in range(2, v - u + 1)
    }
    spans = {key: structures for key, structures in having.items() if len(structures)}
    m.add_variable("D", spans, pyo.UnitInterval, lambda g, u, v, s: float(g.d[u, v] == s))
    m.add_rows("structures", "distance", [(k, sum_columns(m, i, m.D[k])) for k, i in spans.items()])


def add_column_profiles(m: TaggedModel, profiles: Profiles) -> None:
    """(profiles): W as sums of X."""
    rows = [
        ((f, i), sum_columns(m, np.flatnonzero(profiles.places[f] == i), m.W[f, i])) for f, i in m.W
    ]
    m.add_rows("profiles", "value", rows)


class GraphColumns(NamedTuple):
    """All adjacency matrices of a declared space's graphs with n nodes, and where roles are."""

    adjacency: NDArray[np.bool_]  # (X, n, n)
    roles: NDArray[np.int8]  # (X, n) label that its role gives to a node, -1 for all others

    def make_batch(self, space: GraphSpace) -> GraphBatch:
        """A graph for each, with any labels."""
        total, n = self.roles.shape
        free = int(bool(space.sources))
        nodes = np.where(self.roles < 0, free, self.roles).astype(np.int8)
        edges = np.where(self.adjacency, 0, -1).astype(np.int8)
        return GraphBatch(
            adjacency=self.adjacency,
            sizes=np.full(total, n, dtype=np.int8),
            node_codes=nodes if space.node_vocabulary else None,
            edge_codes=edges if space.edge_vocabulary else None,
            node_vocabulary=space.node_vocabulary,
            edge_vocabulary=space.edge_vocabulary,
            directed=space.directed,
        )


def list_graph_columns(space: GraphSpace, n: int) -> GraphColumns:
    """Every listed structure in all orders of its nodes that a program has.

    Example:
        >>> paths = GraphSpace(3, direction="undirected", connectivity="connected", max_edges=2)
        >>> len(list_graph_columns(paths, 3).adjacency)
        3
    """
    first, found = space.rules.fixed.pinned, {}
    for matrices, roles in space.structure_listing.list_chunks(n):
        for matrix, role in zip(matrices, roles, strict=True):
            for rest in permutations(range(first, n)):
                order = [*range(first), *rest]
                a, r = matrix[np.ix_(order, order)], role[order]
                if not space.ordered or _is_in_order(space, a, r):
                    found[a.tobytes() + r.tobytes()] = a, r
    adjacency = np.array([a for a, _ in found.values()], dtype=bool).reshape(-1, n, n)
    return GraphColumns(adjacency, np.array([r for _, r in found.values()], np.int8).reshape(-1, n))


def _is_in_order(space: GraphSpace, matrix: NDArray[np.bool_], roles: NDArray[np.int8]) -> bool:
    """Whether edges ascend, sources are first and sinks last."""
    n, last = len(matrix), len(space.node_vocabulary) - 1
    sources = not space.sources or bool((roles[: space.sources] == 0).all())
    sinks = not space.sinks or bool((roles[n - space.sinks :] == last).all())
    return sources and sinks and not np.tril(matrix).any()


def choose_matrix(m: TaggedModel, space: GraphSpace, columns: GraphColumns) -> None:
    """(structures) X: Σ_i X[i] = 1, and A and the roles are those of the chosen matrix.

    X may be fractions: 0 and 1 in A and in the roles are no mixture of other matrices.
    """
    every, last = range(len(columns.adjacency)), len(space.node_vocabulary) - 1

    def meaning(g: Any, i: int) -> float:
        same = np.array_equal(g.A.astype(bool) & ~np.eye(m.n, dtype=bool), columns.adjacency[i])
        codes = np.array(g.codes)
        ends = [code for code, there in ((0, space.sources), (last, space.sinks)) if there]
        roles = all(((codes == code) == (columns.roles[i] == code)).all() for code in ends)
        return float(same and roles)

    X = m.add_variable("X", [(i,) for i in every], pyo.UnitInterval, meaning)
    m.add_rows("structures", "one_of_all", [((), sum_linearly((1.0, X[i]) for i in every) == 1)])
    edges = []
    for u, v in space.pairs(m.n):
        having = np.flatnonzero(columns.adjacency[:, u, v])
        edges.append(((u, v), equate([(1.0, X[int(i)]) for i in having], [(1.0, m.A[u, v])])))
    if edges:
        m.add_rows("structures", "edge", edges)
    roles = []
    for code, number in ((0, space.sources), (last, space.sinks)):
        for v in range(m.n) if number else ():
            there = np.flatnonzero(columns.roles[:, v] == code)
            chosen = equate([(1.0, X[int(i)]) for i in there], [(1.0, m.F[v, code])])
            roles.append(((v, code), chosen))
    if roles:
        m.add_rows("structures", "role", roles)
