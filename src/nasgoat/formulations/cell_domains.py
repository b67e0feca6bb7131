"""The NAS domains of Section 3.2: (Graph-Encoding) restricted to cells.

Notation
    F[v, l]      1 if node v has label l;  L_n labels, the first the source's, the last the sink's
    F[u, v, l]   1 if edge u → v has label l;  L_e labels
    A_i, X[i]    the i-th of listed structures; 1 if the cell has it
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, permutations
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.tagged_model import TaggedModel, compare, equate, linear_sum
from nasgoat.spaces import CellSpace, EdgeRow


def node_label_variables(m: TaggedModel, labels: int) -> None:
    """F[v, l] of the node-labelled domain."""
    keys = [(v, label) for v in range(m.n) for label in range(labels)]
    m.variable("F", keys, pyo.Binary, lambda g, v, label: float(g.codes[v] == label))


def edge_label_variables(m: TaggedModel, labels: int) -> None:
    """F[u, v, l] of the edge-labelled domain, u < v."""
    keys = [(u, v, label) for u, v in forward_pairs(m.n) for label in range(labels)]
    m.variable(
        "F", keys, pyo.Binary, lambda g, u, v, label: float(g.edge_codes.get((u, v)) == label)
    )


def domain_101_index(m: TaggedModel) -> None:
    """(101_index): edges go from smaller to larger indices."""
    _topological_rows(m, "101_index")


def domain_101_source(m: TaggedModel) -> None:
    """(101_source): node 0 reaches every node, r[0, v] = 1, and alone has the first label."""
    nodes = range(m.n)
    m.rows("101_source", "reach", [((v,), m.r[0, v] == 1) for v in nodes])
    m.rows("101_source", "label", [((v,), m.F[v, 0] == int(v == 0)) for v in nodes])


def domain_101_sink(m: TaggedModel, labels: int) -> None:
    """(101_sink): every node reaches node n - 1, r[v, n - 1] = 1; it alone has the last label."""
    nodes, last = range(m.n), m.n - 1
    m.rows("101_sink", "reach", [((v,), m.r[v, last] == 1) for v in nodes])
    m.rows("101_sink", "label", [((v,), m.F[v, labels - 1] == int(v == last)) for v in nodes])


def domain_101_label(m: TaggedModel, labels: int) -> None:
    """(101_label): every node has one label, Σ_l F[v, l] = 1."""
    total = [((v,), sum(m.F[v, label] for label in range(labels)) == 1) for v in range(m.n)]
    m.rows("101_label", "one", total)


def domain_201_index(m: TaggedModel) -> None:
    """(201_index): the same as (101_index)."""
    _topological_rows(m, "201_index")


def domain_201_source(m: TaggedModel) -> None:
    """(201_source): every node is between node 0 and node n - 1, r[0, v] = r[v, n - 1] = 1."""
    nodes, last = range(m.n), m.n - 1
    m.rows("201_source", "from_source", [((v,), m.r[0, v] == 1) for v in nodes])
    m.rows("201_source", "to_sink", [((v,), m.r[v, last] == 1) for v in nodes])


def domain_201_label(m: TaggedModel, labels: int) -> None:
    """(201_label): an edge has one label, a missing edge none, Σ_l F[u, v, l] = A[u, v]."""
    totals = {(u, v): sum(m.F[u, v, a] for a in range(labels)) for u, v in forward_pairs(m.n)}
    m.rows("201_label", "one", [((u, v), total == m.A[u, v]) for (u, v), total in totals.items()])


def add_structure_rows(m: TaggedModel, rows: Sequence[EdgeRow]) -> None:
    """Rows by which a family says what its structures are, under the family's own tags.

    Σ c[u, v] A[u, v] (<=, >= or ==) bound: (101_edge), at most E edges; (darts), inputs without
    incoming edges and a fixed number of them into every other node.
    """
    for (tag, name), group in groupby(rows, key=lambda row: (row.tag, row.name)):
        m.tags.add(tag)
        m.rows(
            tag, name, [(row.key, compare(_edges(m, row), row.sense, row.bound)) for row in group]
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
    X = m.variable("X", [(i,) for i in numbers], pyo.UnitInterval, meaning)
    m.rows("structures", "one", [((), linear_sum((1.0, X[i]) for i in numbers) == 1)])
    having = {(u, v): np.flatnonzero(adjacency[:, u, v]) for u, v in forward_pairs(m.n)}
    edges = [(pair, sum_columns(m, found, m.A[pair])) for pair, found in having.items()]
    m.rows("structures", "edge", edges)


def sum_columns(m: TaggedModel, structures: NDArray[np.intp], total: Any) -> Any:
    """The row total = Σ X[i] over some structures."""
    return equate([(1.0, total)], [(1.0, m.X[i]) for i in structures.tolist()])


def paper_domain(m: TaggedModel, space: CellSpace) -> None:
    """Restrict (Graph-Encoding) to the cells of a space: Eqs. (101_*) or (201_*)."""
    on_nodes, labels = space.labels_on == "nodes", len(space.ops)
    if on_nodes:
        labels = len(space.node_vocabulary)
        node_label_variables(m, labels)
        domain_101_index(m)
        domain_101_source(m)
        domain_101_sink(m, labels)
        domain_101_label(m, labels)
    else:
        edge_label_variables(m, labels)
        domain_201_index(m)
        if space.on_paths:
            domain_201_source(m)
    rows = structure_rows(space, m.n)
    if rows is None:
        choose_structure(m, space.list_structures(m.n))
    else:
        add_structure_rows(m, rows)
    if not on_nodes:
        domain_201_label(m, labels)


def structure_rows(space: CellSpace, n: int) -> list[EdgeRow] | None:
    """The space's rows over edges, where they say the same of every order of the inner nodes.

    A cell with labels on its nodes is held in all its topological orders, so that a row that tells
    its inner nodes apart is of no use: None, and the program chooses among listed structures.
    """
    rows = space.structure_rows(n)
    if rows is None or space.labels_on == "edges":
        return rows
    for row in rows:
        kinds: dict[tuple[bool, bool], set[float]] = {}
        for u, v in forward_pairs(n):
            kinds.setdefault((u == 0, v == n - 1), set()).add(row.terms.get((u, v), 0.0))
        if any(len(coefficients) > 1 for coefficients in kinds.values()):
            return None
    return rows


def forward_pairs(n: int) -> list[tuple[int, int]]:
    """The pairs u < v.

    Example:
        >>> forward_pairs(3)
        [(0, 1), (0, 2), (1, 2)]
    """
    return [(u, v) for u in range(n) for v in range(u + 1, n)]


def _topological_rows(m: TaggedModel, tag: str) -> None:
    n, pairs = m.n, [(v, u) for u, v in forward_pairs(m.n)]
    m.rows(tag, "A", [((u, v), m.A[u, v] == 0) for u, v in pairs])
    m.rows(tag, "r", [((u, v), m.r[u, v] == 0) for u, v in pairs])
    m.rows(tag, "d", [((u, v), m.d[u, v] == n) for u, v in pairs])
    triples = [(u, v, w) for u, v, w in permutations(range(n), 3) if u > v]
    m.rows(tag, "delta", [((u, v, w), m.delta[u, v, w] == 0) for u, v, w in triples])


def _edges(m: TaggedModel, row: EdgeRow) -> Any:
    return linear_sum((c, m.A[pair]) for pair, c in row.terms.items())
