"""Layered shortest paths of acyclic graphs: the compact counterpart of (C1) to (C8).

Notation (nodes in topological order, u < v)
    A[u, v]        1 if edge u → v exists
    R[u, v, s]     1 if the distance from u to v is at most s, for 2 ≤ s ≤ v - u;  R¹ = A
    y[u, w, v, s]  at most A[u, w] and R[w, v, s - 1]: a path of length s starts with u → w
    x[u, w, v, s]  at most R[u, w, s - 1] and A[w, v]: a path of length s ends with w → v
    d^s = R^s - R^(s-1)

Given a binary A, the rows leave one value for R, by induction on s: if some w has A[u, w] = 1 and
R[w, v, s - 1] = 1 then R[u, v, s] ≥ 1; if none has, every y is 0 and R[u, v, s] ≤ A[u, v] = 0.
docs/compact-formulation.md has the whole argument.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations.cell_domains import forward_pairs
from nasgoat.formulations.kernel_encoding import linear_sum
from nasgoat.formulations.tagged_model import TaggedModel

Terms = list[tuple[float, Any]]


def forward_edges(m: TaggedModel) -> None:
    """A[u, v] for u < v; the other edges of (101_index) and (201_index) are not even variables."""
    m.variable("A", forward_pairs(m.n), pyo.Binary, lambda g, u, v: g.A[u, v])


def layers(m: TaggedModel) -> None:
    """R: which nodes are at most s edges apart."""
    triples = _layered(m.n)
    m.variable("R", triples, pyo.UnitInterval, lambda g, u, v, s: float(g.d[u, v] <= s))
    grow = [((u, v, s), reach(m, u, v, s) >= reach(m, u, v, s - 1)) for u, v, s in triples]
    m.rows("layers", "grow", grow)
    _first_edges(m, triples)
    _last_edges(m, triples)


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
    """d^s[u, v] = R^s - R^(s-1) as terms of a sum; where structures are listed, D[u, v, s]."""
    if s == 1:
        return [(1.0, m.A[u, v])]
    if m.listed:
        return [(1.0, m.D[u, v, s])] if (u, v, s) in m.D else []
    return [(1.0, reach(m, u, v, s)), (-1.0, reach(m, u, v, s - 1))]


def source_and_sink(m: TaggedModel, tags: tuple[str, str]) -> None:
    """Every node is on a path from node 0 to node n - 1: (101_source), (101_sink), (201_source).

    In a topological order that means an edge into every node but the first, and one out of every
    node but the last.
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


def _layered(n: int) -> list[tuple[int, int, int]]:
    return [(u, v, s) for u, v in forward_pairs(n) for s in range(2, v - u + 1)]


def _between(triples: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
    return [(u, w, v, s) for u, v, s in triples for w in range(u + 1, v)]


def _first_edges(m: TaggedModel, triples: list[tuple[int, int, int]]) -> None:
    """A path of at most s edges is edge u → v, or an edge u → w and s - 1 edges from there."""

    def meaning(g: Any, u: int, w: int, v: int, s: int) -> float:
        return float(g.A[u, w] and g.d[w, v] <= s - 1)

    keys = _between(triples)
    y = m.variable("y", keys, pyo.UnitInterval, meaning)
    rest = {(u, w, v, s): reach(m, w, v, s - 1) for u, w, v, s in keys}
    m.rows("layers", "first_edge", [(k, y[k] <= m.A[k[0], k[1]]) for k in keys])
    m.rows("layers", "first_rest", [(k, y[k] <= rest[k]) for k in keys])
    m.rows("layers", "first_both", [(k, y[k] >= m.A[k[0], k[1]] + rest[k] - 1) for k in keys])
    some = [((u, w, v, s), reach(m, u, v, s) >= y[u, w, v, s]) for u, w, v, s in keys]
    m.rows("layers", "first_some", some)
    m.rows("layers", "first", [((u, v, s), _at_most(m, y, u, v, s)) for u, v, s in triples])


def _last_edges(m: TaggedModel, triples: list[tuple[int, int, int]]) -> None:
    """The same over the last edge w → v; implied for binary A, but it tightens the relaxation."""

    def meaning(g: Any, u: int, w: int, v: int, s: int) -> float:
        return float(g.A[w, v] and g.d[u, w] <= s - 1)

    keys = _between(triples)
    x = m.variable("x", keys, pyo.UnitInterval, meaning)
    rest = {(u, w, v, s): reach(m, u, w, s - 1) for u, w, v, s in keys}
    m.rows("layers", "last_edge", [(k, x[k] <= m.A[k[1], k[2]]) for k in keys])
    m.rows("layers", "last_rest", [(k, x[k] <= rest[k]) for k in keys])
    m.rows("layers", "last_both", [(k, x[k] >= m.A[k[1], k[2]] + rest[k] - 1) for k in keys])
    some = [((u, w, v, s), reach(m, u, v, s) >= x[u, w, v, s]) for u, w, v, s in keys]
    m.rows("layers", "last_some", some)
    m.rows("layers", "last", [((u, v, s), _at_most(m, x, u, v, s)) for u, v, s in triples])


def _at_most(m: TaggedModel, y: Any, u: int, v: int, s: int) -> Any:
    terms: Terms = [(1.0, y[u, w, v, s]) for w in range(u + 1, v)]
    return (
        linear_sum([(1.0, reach(m, u, v, s)), (-1.0, m.A[u, v]), *((-c, t) for c, t in terms)]) <= 0
    )
