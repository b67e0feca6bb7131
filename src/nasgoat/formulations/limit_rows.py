"""Hard limits as rows: one named row for each limit of a space.

Notation
    F[v, l], F[u, v, l], A[u, v]   labels and edges, as in the domains
    d^s[u, v]    1 if the distance from u to v is s, as terms of a sum
    h[u, v, s]   1 if moreover u is a source and v a sink, where labels say which nodes are
    H[t]         1 if the depth is at least t: some source reaches some sink at a distance s ≥ t
    depth        Σ_t H[t], the longest distance from a source to a sink that it reaches
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations.layers import express_distance
from nasgoat.formulations.tagged_model import (
    TaggedModel,
    Terms,
    compare,
    list_forward_pairs,
    sum_linearly,
)
from nasgoat.spaces import CellSpace, GraphSpace, SearchSpace
from nasgoat.spaces.limits import Limit, Pair

_Spans = dict[Pair, dict[int, Terms]]  # for a source and a sink the terms of each distance

_WIDE = 1e3  # coefficients beyond this are scaled down, for the solver's absolute tolerances


def limit_cells(m: TaggedModel, space: CellSpace) -> None:
    """(limit): the limits of a space of cells."""
    add_limit_rows(
        m, space, list_forward_pairs(m.n), lambda: _express_cell_depth(m, space.end_pairs(m.n))
    )


def limit_graphs(m: TaggedModel, space: GraphSpace) -> None:
    """(limit): the limits of a declared graph space, where labels tell sources and sinks."""
    add_limit_rows(m, space, space.pairs(m.n), lambda: _express_graph_depth(m, space))


def add_limit_rows(
    m: TaggedModel, space: SearchSpace, pairs: Sequence[Pair], depth: Callable[[], Terms]
) -> None:
    """(limit): a row for each limit of the space.

    Σ node_ops[l] F[v, l] + Σ cost[u, v, l] F[u, v, l] + edges Σ A[u, v] + depth Σ_t H[t]
    + nodes n (<=, >= or ==) bound.

    Args:
        m: The model, with A and F.
        space: The space, with its limits.
        pairs: The pairs that may carry an edge, each once.
        depth: Writes the depth, as terms of a sum; only called if a limit is on it.
    """
    limits = space.all_limits
    deep = depth() if any(limit.depth for limit in limits) else []
    for place, limit in enumerate(limits):
        terms = [*_list_label_terms(m, space, limit), *((limit.depth * c, x) for c, x in deep)]
        terms += [(limit.edges, m.A[pair]) for pair in pairs]
        name = re.sub(r"\W+", "_", limit.name)[:60].strip("_")
        if any(c for c, _ in terms):
            row = _make_row(limit, terms, limit.bound - limit.nodes * m.n)
        else:  # on the number of nodes alone: always true in a model of one size, or never
            holds = bool(limit.holds(limit.nodes * m.n))
            row = next(iter(m.A.values())) >= (0 if holds else 2)
        m.add_rows("limit", f"{place}_{name}", [((), row)])


def _make_row(limit: Limit, terms: Terms, bound: float) -> Any:
    largest = max((abs(c) for c, _ in terms), default=1.0)
    scale = largest if largest > _WIDE or 0 < largest < 1 / _WIDE else 1.0
    return compare(sum_linearly((c / scale, x) for c, x in terms), limit.sense, bound / scale)


def _list_label_terms(m: TaggedModel, space: SearchSpace, limit: Limit) -> Terms:
    """Coefficients on labels; a key of two is a node's label, one of three an edge's."""
    on_nodes = limit.node_coefficients(space.node_vocabulary or ("",))
    pairs = {(key[0], key[1]) for key in m.labels if len(key) == 3}
    on_edges = {(u, v): limit.edge_cost(u, v, space.edge_vocabulary) for u, v in pairs}
    return [
        (float((on_nodes if len(key) == 2 else on_edges[key[0], key[1]])[key[-1]]), x)
        for key, x in m.labels.items()
    ]


def _express_cell_depth(m: TaggedModel, pairs: Sequence[Pair]) -> Terms:
    """The depth of a cell, between given sources and sinks, as terms of a sum."""
    spans = {
        (u, v): {s: express_distance(m, u, v, s) for s in range(1, v - u + 1)} for u, v in pairs
    }
    if len(pairs) == 1:
        return [(s * c, x) for s, terms in spans[pairs[0]].items() for c, x in terms]

    return _express_longest_distance(m, spans, lambda g: pairs)


def _express_longest_distance(
    m: TaggedModel, spans: _Spans, ends: Callable[[Any], Sequence[Pair]]
) -> Terms:
    """(limit) H: a distance of at least t between some of the pairs of ends."""

    def depth(g: Any) -> int:
        return max((int(g.d[pair]) for pair in ends(g) if g.d[pair] < g.n), default=0)

    longest = range(1, m.n)
    H = m.add_variable("H", [(t,) for t in longest], pyo.Binary, lambda g, t: float(depth(g) >= t))
    some, none = [], []
    for t in longest:
        by_pair = {
            pair: [term for s, terms in by_step.items() if s >= t for term in terms]
            for pair, by_step in spans.items()
        }
        for (u, v), far in by_pair.items():
            if far:
                some.append(((t, u, v), sum_linearly([(1.0, H[t]), *_negate(far)]) >= 0))
        every = [term for far in by_pair.values() for term in far]
        none.append(((t,), sum_linearly([(1.0, H[t]), *_negate(every)]) <= 0))
    m.add_rows("limit", "depth_at_least", some)
    m.add_rows("limit", "depth_at_most", none)
    return [(1.0, H[t]) for t in longest]


def _express_graph_depth(m: TaggedModel, space: GraphSpace) -> Terms:
    """(limit) h: the depth of a graph whose labels tell sources and sinks, as terms of a sum."""
    starts, stops = _express_ends(m, space)
    pairs = list(permutations(range(m.n), 2))
    keys = [(u, v, s) for u, v in pairs for s in range(1, m.n)]

    def ends(g: Any) -> list[Pair]:
        sources, sinks = space.ends(space.batch([g.graph]))
        nodes = range(g.graph.n)
        return [(u, v) for u, v in permutations(nodes, 2) if sources[0, u] and sinks[0, v]]

    def meaning(g: Any, u: int, v: int, s: int) -> float:
        return float((u, v) in ends(g) and g.d[u, v] == s)

    h = m.add_variable("h", keys, pyo.UnitInterval, meaning)
    m.add_rows("limit", "h_source", [((u, v, s), h[u, v, s] <= starts[u]) for u, v, s in keys])
    m.add_rows("limit", "h_sink", [((u, v, s), h[u, v, s] <= stops[v]) for u, v, s in keys])
    m.add_rows("limit", "h_distance", [(k, h[k] <= m.ds[k]) for k in keys])
    all_three = [(k, h[k] >= starts[k[0]] + stops[k[1]] + m.ds[k] - 2) for k in keys]
    m.add_rows("limit", "h_all", all_three)
    spans = {(u, v): {s: [(1.0, h[u, v, s])] for s in range(1, m.n)} for u, v in pairs}
    return _express_longest_distance(m, spans, ends)


def _express_ends(m: TaggedModel, space: GraphSpace) -> tuple[list[Any], list[Any]]:
    """For each node whether it is a source and whether it is a sink, as an expression."""
    nodes, last = range(m.n), len(space.node_vocabulary) - 1
    starts: list[Any] = [1 for _ in nodes]
    stops: list[Any] = [1 for _ in nodes]
    if space.sources:
        starts = [m.F[v, 0] for v in nodes]
        stops = [1 - m.F[v, 0] for v in nodes]
    if space.sinks:
        starts = starts if space.sources else [1 - m.F[v, last] for v in nodes]
        stops = [m.F[v, last] for v in nodes]
    return starts, stops


def _negate(terms: Terms) -> Terms:
    return [(-c, x) for c, x in terms]
