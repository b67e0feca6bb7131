"""Declared graphs as a choice among matrices, for blocks that structures decide.

Notation
    X[i]   1 if the graph has the i-th matrix, with sources and sinks where its roles say
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, linear_sum
from nasgoat.graphs import GraphBatch
from nasgoat.spaces import GraphSpace


class GraphColumns(NamedTuple):
    """All adjacency matrices of a declared space's graphs with n nodes, and where roles are."""

    adjacency: NDArray[np.bool_]  # (X, n, n)
    roles: NDArray[np.int8]  # (X, n) label that its role gives to a node, -1 for all others

    def batch(self, space: GraphSpace) -> GraphBatch:
        """A graph for each, with any labels."""
        total, n = self.roles.shape
        free = int(bool(space.sources))
        nodes = np.where(self.roles < 0, free, self.roles).astype(np.int8)
        edges = np.where(self.adjacency, 0, -1).astype(np.int8)
        return GraphBatch(
            self.adjacency,
            np.full(total, n, dtype=np.int8),
            nodes if space.node_vocabulary else None,
            edges if space.edge_vocabulary else None,
            space.node_vocabulary,
            space.edge_vocabulary,
            space.directed,
        )


def list_graph_columns(space: GraphSpace, n: int) -> GraphColumns:
    """Every listed structure in all orders of its nodes that a program has.

    Example:
        >>> paths = GraphSpace(3, direction="undirected", connectivity="connected", max_edges=2)
        >>> len(list_graph_columns(paths, 3).adjacency)
        3
    """
    first, found = space.rules.fixed.pinned, {}
    for matrices, roles in space.structure_listing.chunks(n):
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

    X = m.variable("X", [(i,) for i in every], pyo.UnitInterval, meaning)
    m.rows("structures", "one_of_all", [((), linear_sum((1.0, X[i]) for i in every) == 1)])
    edges = []
    for u, v in space.pairs(m.n):
        having: Terms = [(1.0, X[int(i)]) for i in np.flatnonzero(columns.adjacency[:, u, v])]
        edges.append(((u, v), equate(having, [(1.0, m.A[u, v])])))
    if edges:
        m.rows("structures", "edge", edges)
    roles = []
    for code, number in ((0, space.sources), (last, space.sinks)):
        for v in range(m.n) if number else ():
            there: Terms = [(1.0, X[int(i)]) for i in np.flatnonzero(columns.roles[:, v] == code)]
            roles.append(((v, code), equate(there, [(1.0, m.F[v, code])])))
    if roles:
        m.rows("structures", "role", roles)
