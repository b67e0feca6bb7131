"""The NAS domains of Section 3.2: (Graph-Encoding) restricted to cells.

Notation
    F[v, l]      1 if node v has label l;  L_n labels, the first the source's, the last the sink's
    F[u, v, l]   1 if edge u → v has label l;  L_e labels
    E            largest number of edges
"""

from __future__ import annotations

from itertools import permutations

import pyomo.environ as pyo

from nasgoat.formulations.tagged_model import TaggedModel


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
    """(101_source): node 0 reaches every node, and alone has the first label."""
    nodes = range(m.n)
    m.rows("101_source", "reach", [((v,), m.r[0, v] == 1) for v in nodes])
    m.rows("101_source", "label", [((v,), m.F[v, 0] == int(v == 0)) for v in nodes])


def domain_101_sink(m: TaggedModel, labels: int) -> None:
    """(101_sink): every node reaches node n - 1, which alone has the last label."""
    nodes, last = range(m.n), m.n - 1
    m.rows("101_sink", "reach", [((v,), m.r[v, last] == 1) for v in nodes])
    m.rows("101_sink", "label", [((v,), m.F[v, labels - 1] == int(v == last)) for v in nodes])


def domain_101_label(m: TaggedModel, labels: int) -> None:
    """(101_label): every node has one label."""
    total = [((v,), sum(m.F[v, label] for label in range(labels)) == 1) for v in range(m.n)]
    m.rows("101_label", "one", total)


def domain_101_edge(m: TaggedModel, edges: int) -> None:
    """(101_edge): at most E edges."""
    m.rows("101_edge", "limit", [((), sum(m.A[u, v] for u, v in forward_pairs(m.n)) <= edges)])


def domain_201_index(m: TaggedModel) -> None:
    """(201_index): the same as (101_index)."""
    _topological_rows(m, "201_index")


def domain_201_source(m: TaggedModel) -> None:
    """(201_source): node 0 reaches every node, and every node reaches node n - 1."""
    nodes, last = range(m.n), m.n - 1
    m.rows("201_source", "from_source", [((v,), m.r[0, v] == 1) for v in nodes])
    m.rows("201_source", "to_sink", [((v,), m.r[v, last] == 1) for v in nodes])


def domain_201_label(m: TaggedModel, labels: int) -> None:
    """(201_label): an edge has one label, a missing edge none."""
    totals = {(u, v): sum(m.F[u, v, a] for a in range(labels)) for u, v in forward_pairs(m.n)}
    m.rows("201_label", "one", [((u, v), total == m.A[u, v]) for (u, v), total in totals.items()])


def domain_darts(m: TaggedModel, inputs: int, predecessors: int) -> None:
    """(darts): inputs have no incoming edges, every other node a fixed number of them."""
    degrees = {v: sum(m.A[u, v] for u in range(v)) for v in range(1, m.n)}
    fixed = {v: predecessors if v >= inputs else 0 for v in degrees}
    m.rows("darts", "predecessors", [((v,), degrees[v] == fixed[v]) for v in degrees])


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
