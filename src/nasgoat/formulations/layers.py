"""Layers and links: distances, and labels at their ends, without the products of the paper.

Notation (nodes in topological order, u < v)
    A[u, v]        1 if edge u → v exists
    R[u, v, s]     1 if the distance from u to v is at most s, for 2 ≤ s ≤ v - u;  R¹ = A
    y[u, w, v, s]  at most A[u, w] and R[w, v, s - 1]: a path of length s starts with u → w
    x[u, w, v, s]  at most R[u, w, s - 1] and A[w, v]: a path of length s ends with w → v
    d^s = R^s - R^(s-1)
    p[u, v, s, a, b]  1 if u and v have labels a, b and distance s; s = 0: no path
    f[v, s, a]     1 if inner node v has label a and distance s from the source;  t: to the sink

Given a binary A, the rows leave one value for R, by induction on s: if some w has A[u, w] = 1 and
R[w, v, s - 1] = 1 then R[u, v, s] ≥ 1; if none has, every y is 0 and R[u, v, s] ≤ A[u, v] = 0.
Links: given binary labels and distances, the p of a pair add up to 1 with s the distance of that
pair, and the marginals leave only the labels that u and v have; so p is exact without being
declared binary. The same holds for f and t. docs/compact-formulation.md has the whole argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations.tagged_model import (
    TaggedModel,
    Terms,
    compare,
    equate,
    list_forward_pairs,
    sum_linearly,
)
from nasgoat.spaces import GraphSpace

Pair = tuple[int, int]


def add_forward_edges(m: TaggedModel) -> None:
    """A[u, v] for u < v; the other edges of (101_index) and (201_index) are not even variables."""
    m.add_variable("A", list_forward_pairs(m.n), pyo.Binary, lambda g, u, v: g.A[u, v])


def add_layers(m: TaggedModel) -> None:
    """(layers) R: which nodes are at most s edges apart.

    R[u, v, s] ≥ R[u, v, s - 1], and a path of at most s edges is edge u → v, or an edge u → w and
    at most s - 1 edges from there. The same over the last edge w → v is implied for binary A, but
    tightens the relaxation.
    """
    pairs = list_forward_pairs(m.n)
    triples = [(u, v, s) for u, v in pairs for s in range(2, v - u + 1)]
    m.add_variable("R", triples, pyo.UnitInterval, lambda g, u, v, s: float(g.d[u, v] <= s))
    grow = [((u, v, s), reach(m, u, v, s) >= reach(m, u, v, s - 1)) for u, v, s in triples]
    m.add_rows("layers", "grow", grow)
    _add_detours(m, "y", "first", triples, lambda u, w, v: ((u, w), (w, v)))
    _add_detours(m, "x", "last", triples, lambda u, w, v: ((w, v), (u, w)))


def reach(m: TaggedModel, u: int, v: int, s: int) -> Any:
    """R[u, v, s]; a path from u to v never has more than v - u edges.

    Example:
        >>> m = TaggedModel(3)
        >>> add_forward_edges(m); add_layers(m)
        >>> str(reach(m, 0, 1, 2)), str(reach(m, 0, 2, 2))
        ('A[0,1]', 'R[0,2,2]')
    """
    s = min(s, v - u)
    return m.A[u, v] if s == 1 else m.R[u, v, s]


def express_distance(m: TaggedModel, u: int, v: int, s: int) -> Terms:
    """d^s[u, v] as terms of a sum.

    A variable of its own in the paper's encoding, and D[u, v, s] where structures are columns;
    R^s - R^(s-1) otherwise.
    """
    if hasattr(m, "ds"):
        return [(1.0, m.ds[u, v, s])]
    if s == 1:
        return [(1.0, m.A[u, v])]
    if m.has_columns:
        return [(1.0, m.D[u, v, s])] if (u, v, s) in m.D else []
    return [(1.0, reach(m, u, v, s)), (-1.0, reach(m, u, v, s - 1))]


def require_paths(m: TaggedModel, tags: tuple[str, str]) -> None:
    """Every node is on a path from node 0 to node n - 1: (101_source), (101_sink), (201_source).

    In a topological order that means an edge into every node but the first, Σ_u A[u, v] ≥ 1, and
    one out of every node but the last, Σ_v A[u, v] ≥ 1.
    """
    n = m.n
    for v in range(1, n):
        reach(m, 0, v, v).setlb(1)
    for u in range(n - 1):
        reach(m, u, n - 1, n - 1 - u).setlb(1)
    into = [((v,), sum_linearly((1.0, m.A[u, v]) for u in range(v)) >= 1) for v in range(1, n)]
    m.add_rows(tags[0], "edge_in", into)
    out = [
        ((u,), sum_linearly((1.0, m.A[u, v]) for v in range(u + 1, n)) >= 1) for u in range(n - 1)
    ]
    m.add_rows(tags[1], "edge_out", out)


def _add_detours(
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
    y = m.add_variable(variable, keys, pyo.UnitInterval, meaning)
    parts = {k: divide(*k[:3]) for k in keys}
    edge = {k: m.A[parts[k][0]] for k in keys}
    rest = {k: reach(m, *parts[k][1], k[3] - 1) for k in keys}
    m.add_rows("layers", f"{name}_edge", [(k, y[k] <= edge[k]) for k in keys])
    m.add_rows("layers", f"{name}_rest", [(k, y[k] <= rest[k]) for k in keys])
    m.add_rows("layers", f"{name}_both", [(k, y[k] >= edge[k] + rest[k] - 1) for k in keys])
    some = [((u, w, v, s), reach(m, u, v, s) >= y[u, w, v, s]) for u, w, v, s in keys]
    m.add_rows("layers", f"{name}_some", some)
    every = []
    for u, v, s in triples:
        ways = [(-1.0, y[u, w, v, s]) for w in range(u + 1, v)]
        row = sum_linearly([(1.0, reach(m, u, v, s)), (-1.0, m.A[u, v]), *ways]) <= 0
        every.append(((u, v, s), row))
    m.add_rows("layers", name, every)


def link_pairs(
    m: TaggedModel,
    names: Sequence[str],
    kinds: Mapping[Pair, Sequence[int]],
    labels: Sequence[int],
    whole: Callable[[int, int, int], Terms],
    is_kind: Callable[[Any, int, int, int], bool],
    sense: str = "<=",
) -> None:
    """x[u, v, k, a, b] = 1 if the pair (u, v) is of kind k and its nodes have labels a and b.

    Σ_ab x[u, v, k, a, b] = whole[u, v, k], Σ_kb x[u, v, k, a, b] ≤ F[u, a] and
    Σ_kb x[u, v, k, b, a] ≤ F[v, a]; equations where every pair is of some kind.

    Args:
        m: The model, with F.
        names: Tag of the rows, name of x, names of the three kinds of rows.
        kinds: For each pair its kinds: distances (0: no path), or labels of edges.
        labels: Codes of the labels that nodes may have.
        whole: Terms of the indicator of a kind; no row where there are none.
        is_kind: Whether a pair of a graph is of a kind.
        sense: Of the last two rows, "<=" or "==".
    """
    tag, name, *parts = names
    both = list(product(labels, labels))
    keys = [(*uv, k, a, b) for uv, each in kinds.items() for k in each for a, b in both]

    def meaning(g: Any, u: int, v: int, k: int, a: int, b: int) -> float:
        return float(is_kind(g, u, v, k) and g.codes[u] == a and g.codes[v] == b)

    x = m.add_variable(name, keys, pyo.UnitInterval, meaning)
    total, tail, head = [], [], []
    for (u, v), each in kinds.items():
        for k in each:
            if indicator := [(-c, var) for c, var in whole(u, v, k)]:
                pair: Terms = [(1.0, x[u, v, k, a, b]) for a, b in both]
                total.append(((u, v, k), sum_linearly([*pair, *indicator]) == 0))
        for a in labels:
            leave: Terms = [(1.0, x[u, v, k, a, b]) for k in each for b in labels]
            enter: Terms = [(1.0, x[u, v, k, b, a]) for k in each for b in labels]
            leave.append((-1.0, m.F[u, a]))
            enter.append((-1.0, m.F[v, a]))
            tail.append(((u, v, a), compare(sum_linearly(leave), sense, 0)))
            head.append(((u, v, a), compare(sum_linearly(enter), sense, 0)))
    for part, rows in zip(parts, (total, tail, head), strict=True):
        m.add_rows(tag, part, rows)


def link_cells(m: TaggedModel, labels: Sequence[int]) -> None:
    """(links) p, f and t: distances of a cell with the labels at their ends, by marginals.

    For inner nodes u < v the rows of :func:`link_pairs`, as equations, with s = 0 for "no path".
    Source and sink have one label and reach (are reached by) every node v: Σ_a f[v, s, a] =
    d^s[0, v], Σ_s f[v, s, a] = F[v, a], and the same for t and the sink.
    """
    last, inner = m.n - 1, range(1, m.n - 1)

    def steps(u: int, v: int) -> list[int]:
        return [s for s in range(1, v - u + 1) if express_distance(m, u, v, s)]

    def whole(u: int, v: int, s: int) -> Terms:
        return express_distance(m, u, v, s) if s else []

    pairs = {(u, v): [0, *steps(u, v)] for u in inner for v in inner if u < v}
    names = ("links", "p", "distance", "tail", "head")
    link_pairs(m, names, pairs, labels, whole, _is_apart, "==")
    for name, end, pair in (
        ("f", "source", {v: (0, v) for v in inner}),
        ("t", "sink", {u: (u, last) for u in inner}),
    ):
        keys = [(v, s, a) for v in inner for s in steps(*pair[v]) for a in labels]

        def meaning(g: Any, v: int, s: int, a: int, pair: dict[int, Pair] = pair) -> float:
            return float(g.d[pair[v]] == s and g.codes[v] == a)

        x = m.add_variable(name, keys, pyo.UnitInterval, meaning)
        distance, label = [], []
        for v in inner:
            for s in steps(*pair[v]):
                parts: Terms = [(1.0, x[v, s, a]) for a in labels]
                distance.append(((v, s), equate(parts, express_distance(m, *pair[v], s))))
            for a in labels:
                parts = [(1.0, x[v, s, a]) for s in steps(*pair[v])]
                label.append(((v, a), equate(parts, [(1.0, m.F[v, a])])))
        m.add_rows("links", f"{end}_distance", distance)
        m.add_rows("links", f"{end}_label", label)


def link_graphs(m: TaggedModel, space: GraphSpace) -> None:
    """(links) p: distances s < n of pairs u ≠ v of a declared graph; u < v if undirected."""
    kinds, labels = dict.fromkeys(space.pairs(m.n), range(1, m.n)), code_labels(space)
    names = ("links", "p", "distance", "p_tail", "p_head")
    link_pairs(m, names, kinds, labels, partial(express_distance, m), _is_apart)


def code_labels(space: GraphSpace) -> range:
    """Codes of node labels; a single one where nodes are all alike."""
    return range(max(len(space.node_vocabulary), 1))


def _is_apart(g: Any, u: int, v: int, s: int) -> bool:
    """Whether v is at distance s from u; not reached if s = 0."""
    return bool(g.d[u, v] == (s or g.n))
