"""Acyclic graphs by layered shortest paths: the compact counterpart of (C1) to (C8).

Notation (nodes in topological order, u < v)
    A[u, v]        1 if edge u → v exists
    R[u, v, s]     1 if the distance from u to v is at most s, for 2 ≤ s ≤ v - u;  R¹ = A
    y[u, w, v, s]  at most A[u, w] and R[w, v, s - 1]: a path of length s starts with u → w
    x[u, w, v, s]  at most R[u, w, s - 1] and A[w, v]: a path of length s ends with w → v
    d^s = R^s - R^(s-1)

Given a binary A, the rows leave one value for R, by induction on s: if some w has A[u, w] = 1 and
R[w, v, s - 1] = 1 then R[u, v, s] ≥ 1; if none has, every y is 0 and R[u, v, s] ≤ A[u, v] = 0.
docs/compact-formulation.md has the whole argument.

Symmetry (cells whose inner nodes have labels and no index): give node v the key
(label, Σ_{u<v} 2^u A[u, v]). Among the topological orders of a graph take one with the
lexicographically least sequence of keys. If nodes v and v + 1 are not joined there, then
key(v) ≤ key(v + 1): otherwise swapping the two is a topological order again, it leaves the keys
before v and the incoming edges of both as they are, and its sequence is smaller. So
:func:`symmetry_rows` keep an order of every graph, and every other order may go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from nasgoat.formulations.cell_domains import forward_pairs
from nasgoat.formulations.tagged_model import TaggedModel, Terms, linear_sum
from nasgoat.graphs import LabeledGraph

Pair = tuple[int, int]


def forward_edges(m: TaggedModel) -> None:
    """A[u, v] for u < v; the other edges of (101_index) and (201_index) are not even variables."""
    m.variable("A", forward_pairs(m.n), pyo.Binary, lambda g, u, v: g.A[u, v])


def layers(m: TaggedModel) -> None:
    """(layers) R: which nodes are at most s edges apart.

    R[u, v, s] ≥ R[u, v, s - 1], and a path of at most s edges is edge u → v, or an edge u → w and
    at most s - 1 edges from there. The same over the last edge w → v is implied for binary A, but
    tightens the relaxation.
    """
    pairs = forward_pairs(m.n)
    triples = [(u, v, s) for u, v in pairs for s in range(2, v - u + 1)]
    m.variable("R", triples, pyo.UnitInterval, lambda g, u, v, s: float(g.d[u, v] <= s))
    grow = [((u, v, s), reach(m, u, v, s) >= reach(m, u, v, s - 1)) for u, v, s in triples]
    m.rows("layers", "grow", grow)
    _detours(m, "y", "first", triples, lambda u, w, v: ((u, w), (w, v)))
    _detours(m, "x", "last", triples, lambda u, w, v: ((w, v), (u, w)))


def reach(m: TaggedModel, u: int, v: int, s: int) -> Any:
    """R[u, v, s]; a path from u to v never has more than v - u edges.

    Example:
        >>> m = TaggedModel(3)
        >>> forward_edges(m); layers(m)
        >>> str(reach(m, 0, 1, 2)), str(reach(m, 0, 2, 2))
        ('A[0,1]', 'R[0,2,2]')
    """
    s = min(s, v - u)
    return m.A[u, v] if s == 1 else m.R[u, v, s]


def distance_terms(m: TaggedModel, u: int, v: int, s: int) -> Terms:
    """d^s[u, v] = R^s - R^(s-1) as terms of a sum; where structures are columns, D[u, v, s]."""
    if s == 1:
        return [(1.0, m.A[u, v])]
    if m.has_columns:
        return [(1.0, m.D[u, v, s])] if (u, v, s) in m.D else []
    return [(1.0, reach(m, u, v, s)), (-1.0, reach(m, u, v, s - 1))]


def source_and_sink(m: TaggedModel, tags: tuple[str, str]) -> None:
    """Every node is on a path from node 0 to node n - 1: (101_source), (101_sink), (201_source).

    In a topological order that means an edge into every node but the first, Σ_u A[u, v] ≥ 1, and
    one out of every node but the last, Σ_v A[u, v] ≥ 1.
    """
    n = m.n
    for v in range(1, n):
        reach(m, 0, v, v).setlb(1)
    for u in range(n - 1):
        reach(m, u, n - 1, n - 1 - u).setlb(1)
    into = [((v,), linear_sum((1.0, m.A[u, v]) for u in range(v)) >= 1) for v in range(1, n)]
    m.rows(tags[0], "edge_in", into)
    out = [((u,), linear_sum((1.0, m.A[u, v]) for v in range(u + 1, n)) >= 1) for u in range(n - 1)]
    m.rows(tags[1], "edge_out", out)


def _detours(
    m: TaggedModel,
    variable: str,
    name: str,
    triples: list[tuple[int, int, int]],
    divide: Callable[[int, int, int], tuple[Pair, Pair]],
) -> None:
    """Paths from u to v by way of w, divided into one edge and the rest.

    y ≤ A[edge], y ≤ R[rest, s - 1], y ≥ A[edge] + R[rest, s - 1] - 1, R[u, v, s] ≥ y, and
    R[u, v, s] ≤ A[u, v] + Σ_w y.
    """

    def meaning(g: Any, u: int, w: int, v: int, s: int) -> float:
        edge, rest = divide(u, w, v)
        return float(g.A[edge] and g.d[rest] <= s - 1)

    keys = [(u, w, v, s) for u, v, s in triples for w in range(u + 1, v)]
    y = m.variable(variable, keys, pyo.UnitInterval, meaning)
    parts = {k: divide(*k[:3]) for k in keys}
    edge = {k: m.A[parts[k][0]] for k in keys}
    rest = {k: reach(m, *parts[k][1], k[3] - 1) for k in keys}
    m.rows("layers", f"{name}_edge", [(k, y[k] <= edge[k]) for k in keys])
    m.rows("layers", f"{name}_rest", [(k, y[k] <= rest[k]) for k in keys])
    m.rows("layers", f"{name}_both", [(k, y[k] >= edge[k] + rest[k] - 1) for k in keys])
    some = [((u, w, v, s), reach(m, u, v, s) >= y[u, w, v, s]) for u, w, v, s in keys]
    m.rows("layers", f"{name}_some", some)
    every = []
    for u, v, s in triples:
        ways = [(-1.0, y[u, w, v, s]) for w in range(u + 1, v)]
        row = linear_sum([(1.0, reach(m, u, v, s)), (-1.0, m.A[u, v]), *ways]) <= 0
        every.append(((u, v, s), row))
    m.rows("layers", name, every)


def symmetry_rows(m: TaggedModel, labels: range) -> None:
    """(symmetry): keys ascend wherever neighbours in the order are not joined by an edge.

    For w = v + 1: Σ_{l ≥ c} F[v, l] + Σ_{l < c} F[w, l] ≤ 1 + A[v, w], so that labels ascend; and
    Σ_{u<v} 2^u (A[u, v] - A[u, w]) ≤ (2^v - 1) (2 + A[v, w] - F[v, a] - F[w, a]), so that incoming
    edges do where both have label a.
    """
    neighbours = [(v, v + 1) for v in range(1, m.n - 2)]
    ascending = []
    for v, w in neighbours:
        for c in labels[1:]:
            larger = [(1.0, m.F[v, label]) for label in labels if label >= c]
            smaller = [(1.0, m.F[w, label]) for label in labels if label < c]
            row = linear_sum([*larger, *smaller, (-1.0, m.A[v, w])]) <= 1
            ascending.append(((v, c), row))
    m.rows("symmetry", "labels", ascending)
    tied = []
    for v, w in neighbours:
        most = float(2**v - 1)
        first = [(2.0**u, m.A[u, v]) for u in range(v)]
        second = [(-(2.0**u), m.A[u, w]) for u in range(v)]
        for a in labels:
            loose = [(-most, m.A[v, w]), (most, m.F[v, a]), (most, m.F[w, a])]
            tied.append(((v, a), linear_sum([*first, *second, *loose]) <= 2 * most))
    m.rows("symmetry", "edges", tied)


def least_order(graph: LabeledGraph, codes: list[int]) -> LabeledGraph:
    """The topological order with the least sequence of keys, which the rows above keep."""
    prefix: list[tuple[tuple[tuple[int, int], ...], list[int]]] = [((), [])]
    for _ in range(graph.n):
        longer = []
        for keys, order in prefix:
            place = {v: i for i, v in enumerate(order)}
            for v in range(graph.n):
                before = np.flatnonzero(graph.adjacency[:, v]).tolist()
                if v not in place and all(u in place for u in before):
                    key = (codes[v], sum(2 ** place[u] for u in before))
                    longer.append(((*keys, key), [*order, v]))
        least = min(keys for keys, _ in longer)
        prefix = [(keys, order) for keys, order in longer if keys == least]
    return graph.relabeled(prefix[0][1])
