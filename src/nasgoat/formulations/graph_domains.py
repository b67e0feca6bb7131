"""Declared graph spaces: (Graph-Encoding) restricted to what a space demands.

Notation
    F[v, l]      1 if node v has label l; one label, always there, where nodes are all alike
    F[u, v, l]   1 if edge u → v has label l; u < v where edges have no direction
    S[u, v]      1 if an edge joins u and v in either direction
    W[v, s]      1 if node 0 is at most s such steps from v
    w_l          what an edge of label l adds to a degree
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations.cell_domains import (
    add_edge_label_variables,
    add_node_label_variables,
    restrict_101_index,
)
from nasgoat.formulations.graph_encoding import (
    graph_encoding,
    restrict_acyclic,
    restrict_strongly_connected,
    restrict_undirected,
)
from nasgoat.formulations.kernel_encoding import add_distance_indicators
from nasgoat.formulations.limit_rows import limit_graphs
from nasgoat.formulations.tagged_model import TaggedModel, Terms, sum_linearly
from nasgoat.spaces import GraphSpace
from nasgoat.spaces.graph_rules import UNBOUNDED, DegreeBounds


def build_domain_of_graphs(space: GraphSpace, n: int) -> TaggedModel:
    """The graphs with n nodes within their limits, with distance indicators."""
    m = build_graph_domain(space, n, ordered=True)
    add_distance_indicators(m)
    limit_graphs(m, space)
    return m


def build_graph_domain(space: GraphSpace, n: int, ordered: bool = False) -> TaggedModel:
    """(graph): the labelled graphs with n nodes that a space declares, limits aside.

    Args:
        space: The space.
        n: Number of nodes.
        ordered: Keep only some of the orders of a graph's nodes: edges ascend in acyclic graphs,
            sources first and sinks last; labels ascend in others. Nodes with fixed parts stay.

    Example:
        >>> space = GraphSpace(3, direction="undirected", connectivity="connected")
        >>> m = build_graph_domain(space, 3)
        >>> sum(1 for row in m.list_constraints() if "strong_connectivity" in row.name)
        6
    """
    m = graph_encoding(n)
    labels = max(len(space.node_vocabulary), 1)
    add_node_label_variables(m, range(n), range(labels))
    _state_edge_labels(m, space)
    one = [((v,), sum(m.F[v, label] for label in range(labels)) == 1) for v in range(n)]
    m.add_rows("graph", "label", one)
    _state_kind(m, space, ordered)
    _state_connections(m, space)
    _state_ends(m, space, ordered)
    _state_edge_numbers(m, space)
    _state_degrees(m, space)
    _state_fixed(m, space)
    return m


def _state_edge_labels(m: TaggedModel, space: GraphSpace) -> None:
    """F[u, v, l] beside F[v, l], and one label for each edge."""
    if not space.edge_ops:
        return
    labels, pairs = range(len(space.edge_ops)), space.pairs(m.n)
    add_edge_label_variables(m, pairs, len(labels), "Fe")
    total = {(u, v): sum(m.Fe[u, v, a] for a in labels) for u, v in pairs}
    m.add_rows("graph", "edge_label", [(pair, total[pair] == m.A[pair]) for pair in pairs])


def _state_kind(m: TaggedModel, space: GraphSpace, ordered: bool) -> None:
    if space.direction == "undirected":
        restrict_undirected(m)
    if space.direction == "acyclic":
        restrict_101_index(m) if ordered and space.ordered else restrict_acyclic(m)
    if ordered and not space.ordered:
        first = space.rules.fixed.pinned
        codes = range(len(space.node_vocabulary))
        code = [sum(a * m.F[v, a] for a in codes[1:]) for v in range(m.n)] if codes else []
        ascend = [((v,), code[v] <= code[v + 1]) for v in range(first, m.n - 1) if len(codes) > 1]
        m.add_rows("graph", "order", ascend)


def _state_connections(m: TaggedModel, space: GraphSpace) -> None:
    rules = space.rules
    weak = rules.connectivity == "connected"
    if rules.connectivity == "strong" or (weak and not space.directed):
        restrict_strongly_connected(m)
    elif weak:
        _require_weakly_connected(m)
    elif rules.connectivity == "paths":
        last = len(space.node_vocabulary) - 1
        if space.sources:
            _require_reached(m, "from_source", 0, lambda u, v: m.r[u, v])
        if space.sinks:
            _require_reached(m, "to_sink", last, lambda u, v: m.r[v, u])


def _require_reached(m: TaggedModel, name: str, label: int, reach: Any) -> None:
    """Every node is reached from (reaches) some node with the label."""
    keys = [(u, v) for u in range(m.n) for v in range(m.n)]

    def meaning(g: Any, u: int, v: int) -> float:
        there = g.r[u, v] if name == "from_source" else g.r[v, u]
        return float(g.codes[u] == label and there)

    x = m.add_variable(name, keys, pyo.UnitInterval, meaning)
    m.add_rows("graph", f"{name}_label", [((u, v), x[u, v] <= m.F[u, label]) for u, v in keys])
    m.add_rows("graph", f"{name}_reach", [((u, v), x[u, v] <= reach(u, v)) for u, v in keys])
    some = [((v,), sum(x[u, v] for u in range(m.n)) >= 1) for v in range(m.n)]
    m.add_rows("graph", f"{name}_some", some)


def _require_weakly_connected(m: TaggedModel) -> None:
    """Every node is joined to node 0 by edges in whichever direction."""
    n = m.n
    pairs = list(permutations(range(n), 2))
    S = m.add_variable("S", pairs, pyo.UnitInterval, lambda g, u, v: float(g.A[u, v] or g.A[v, u]))
    m.add_rows("graph", "joined_out", [(p, S[p] >= m.A[p]) for p in pairs])
    m.add_rows("graph", "joined_in", [((u, v), S[u, v] >= m.A[v, u]) for u, v in pairs])
    m.add_rows("graph", "joined", [((u, v), S[u, v] <= m.A[u, v] + m.A[v, u]) for u, v in pairs])
    steps = range(1, n)
    within = [(v, s) for v in range(n) for s in range(n)]
    W = m.add_variable("W", within, pyo.UnitInterval, lambda g, v, s: float(g.joined[0, v] <= s))
    keys = [(u, v, s) for u, v in pairs for s in steps]
    y = m.add_variable("step", keys, pyo.UnitInterval, _value_step)
    m.add_rows("graph", "start", [((v,), W[v, 0] == int(v == 0)) for v in range(n)])
    m.add_rows("graph", "step_edge", [((u, v, s), y[u, v, s] <= S[u, v]) for u, v, s in keys])
    m.add_rows("graph", "step_from", [((u, v, s), y[u, v, s] <= W[u, s - 1]) for u, v, s in keys])
    far = {
        (v, s): W[v, s - 1] + sum(y[u, v, s] for u in range(n) if u != v)
        for v in range(n)
        for s in steps
    }
    m.add_rows("graph", "within", [((v, s), W[v, s] <= total) for (v, s), total in far.items()])
    m.add_rows("graph", "connected", [((v,), W[v, n - 1] == 1) for v in range(n)])


def _value_step(g: Any, u: int, v: int, s: int) -> float:
    return float((g.A[u, v] or g.A[v, u]) and g.joined[0, u] <= s - 1)


def _state_ends(m: TaggedModel, space: GraphSpace, ordered: bool) -> None:
    """As many sources and sinks as declared; in a fixed place where edges ascend."""
    last = len(space.node_vocabulary) - 1
    fixed = ordered and space.ordered
    for name, number, label, places in (
        ("sources", space.sources, 0, range(space.sources)),
        ("sinks", space.sinks, last, range(m.n - space.sinks, m.n)),
    ):
        if not number:
            continue
        total = sum(m.F[v, label] for v in range(m.n))
        m.add_rows("graph", name, [((), total == number)])
        if fixed:
            m.add_rows("graph", f"{name}_first", [((v,), m.F[v, label] == 1) for v in places])


def _state_edge_numbers(m: TaggedModel, space: GraphSpace) -> None:
    total = sum((m.A[pair] for pair in space.pairs(m.n)), start=0)
    if m.n > 1:
        m.add_rows("graph", "most_edges", [((), total <= space.rules.max_edges)])
        m.add_rows("graph", "fewest_edges", [((), total >= space.rules.min_edges)])


def _state_degrees(m: TaggedModel, space: GraphSpace) -> None:
    """Weighted degrees between the bounds of each node's label."""
    rules = space.rules
    others = {v: [u for u in range(m.n) if u != v] for v in range(m.n)}
    into = {v: [t for u in others[v] for t in _weigh_edges(m, space, u, v)] for v in others}
    _bound_degrees(m, "in", into, rules.degree_in)
    if space.directed:
        out = {u: [t for v in others[u] for t in _weigh_edges(m, space, u, v)] for u in others}
        _bound_degrees(m, "out", out, rules.degree_out)


def _weigh_edges(m: TaggedModel, space: GraphSpace, u: int, v: int) -> Terms:
    if not space.edge_ops:
        return [(1.0, m.A[u, v])]
    a, b = (u, v) if space.directed or u < v else (v, u)
    return [(float(w), m.Fe[a, b, label]) for label, w in enumerate(space.rules.weights)]


def _bound_degrees(
    m: TaggedModel, name: str, degrees: dict[int, Terms], bounds: DegreeBounds
) -> None:
    """Rows that keep the degree of each node within the bounds of its label."""
    most = max((sum(c for c, _ in terms) for terms in degrees.values()), default=0.0)
    high = [min(float(h), most) for h in bounds.high]
    if (bounds.high < UNBOUNDED).any():
        rows = []
        for v, terms in degrees.items():
            allowed = [(-h, m.F[v, label]) for label, h in enumerate(high)]
            rows.append(((v,), sum_linearly([*terms, *allowed]) <= 0))
        m.add_rows("graph", f"{name}_degree_most", rows)
    if bounds.low.any():
        rows = []
        for v, terms in degrees.items():
            needed = [(-float(low), m.F[v, label]) for label, low in enumerate(bounds.low)]
            rows.append(((v,), sum_linearly([*terms, *needed]) >= 0))
        m.add_rows("graph", f"{name}_degree_least", rows)


def _state_fixed(m: TaggedModel, space: GraphSpace) -> None:
    """Rows for the edges and labels that a declaration fixes or forbids."""
    parts = space.rules.fixed
    rows = []
    for (u, v), code in parts.edges.items():
        rows.append(((u, v), (m.A[u, v] if code < 0 else m.Fe[u, v, code]) == 1))
    if rows:
        m.add_rows("graph", "fixed_edges", rows)
    barred = [
        ((u, v, a), (m.Fe[u, v, a] if space.edge_ops else m.A[u, v]) == 0)
        for (u, v), codes in parts.not_edges.items()
        for a in sorted(codes)
    ]
    if barred:
        m.add_rows("graph", "no_edges", barred)
    labels = [
        ((v, a), m.F[v, a] == 0)
        for v, allowed in parts.labels.items()
        for a in range(len(space.node_vocabulary))
        if a not in allowed
    ]
    if labels:
        m.add_rows("graph", "fixed_labels", labels)
