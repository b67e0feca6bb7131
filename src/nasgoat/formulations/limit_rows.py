"""Hard limits as rows: one named row for each limit of a space.

Notation
    F[v, l], F[u, v, l], A[u, v]   labels and edges, as in the domains
    d^s[u, v]   1 if the distance from u to v is s, as terms of a sum
    D[t]        1 if the depth is at least t: some source reaches some sink at a distance s ≥ t
    depth       Σ_t D[t], the longest distance from a source to a sink that it reaches
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations.kernel_encoding import linear_sum
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.spaces import DartsSpace, SearchSpace
from nasgoat.spaces.limits import Limit

Terms = list[tuple[float, Any]]
Distance = Callable[[TaggedModel, int, int, int], Terms]
_WIDE = 1e3  # coefficients beyond this are scaled down, for the solver's absolute tolerances


def limit_rows(m: TaggedModel, space: SearchSpace, distance: Distance) -> None:
    """(limit): a row for each limit of the space.

    Args:
        m: The model, with A and F.
        space: The space, with its limits.
        distance: ``distance(m, u, v, s)`` gives the terms of d^s[u, v].
    """
    deep: Terms = []
    if any(limit.depth for limit in space.limits):
        deep = _depth_terms(m, space, distance)
    for place, limit in enumerate(space.limits):
        terms = [*_label_terms(m, space, limit), *((limit.depth * c, x) for c, x in deep)]
        terms += [(limit.edges, m.A[u, v]) for u, v in _edges(m, space)]
        name = re.sub(r"\W+", "_", limit.name)[:60].strip("_")
        if any(c for c, _ in terms):
            row = _row(limit, terms, limit.bound - limit.nodes * m.n)
        else:  # on the number of nodes alone: always true in a model of one size, or never
            holds = bool(limit.holds(limit.nodes * m.n))
            row = next(iter(m.A.values())) >= (0 if holds else 2)
        m.rows("limit", f"{place}_{name}", [((), row)])


def distance_by_indicator(m: TaggedModel, u: int, v: int, s: int) -> Terms:
    """d^s[u, v] where it is a variable of its own, as in the paper."""
    return [(1.0, m.ds[u, v, s])]


def _row(limit: Limit, terms: Terms, bound: float) -> Any:
    largest = max((abs(c) for c, _ in terms), default=1.0)
    scale = largest if largest > _WIDE or 0 < largest < 1 / _WIDE else 1.0
    total, right = linear_sum((c / scale, x) for c, x in terms), bound / scale
    if limit.sense == "==":
        return total == right
    return total <= right if limit.sense == "<=" else total >= right


def _label_terms(m: TaggedModel, space: SearchSpace, limit: Limit) -> Terms:
    """Coefficients on F; a key of two is a node's label, one of three an edge's."""
    on_nodes = limit.node_coefficients(space.node_vocabulary)
    on_edges = limit.edge_coefficients(space.edge_vocabulary)
    return [
        (float((on_nodes if len(key) == 2 else on_edges)[key[-1]]), x) for key, x in m.F.items()
    ]


def _edges(m: TaggedModel, space: SearchSpace) -> list[tuple[int, int]]:
    return [(u, v) for u, v in m.A if u < v]


def _ends(m: TaggedModel, space: SearchSpace) -> list[tuple[int, int]]:
    """The pairs of a source and a sink."""
    if isinstance(space, DartsSpace):
        return [(u, v) for u in range(space.inputs) for v in range(space.inputs, m.n)]
    return [(0, m.n - 1)]


def _depth_terms(m: TaggedModel, space: SearchSpace, distance: Distance) -> Terms:
    """The depth as terms of a sum; with several pairs of ends through D."""
    pairs = _ends(m, space)
    spans = {(u, v): range(1, v - u + 1) for u, v in pairs}
    if len(pairs) == 1:
        (u, v), steps = pairs[0], spans[pairs[0]]
        return [(s * c, x) for s in steps for c, x in distance(m, u, v, s)]
    reached = {p: {s: distance(m, *p, s) for s in steps} for p, steps in spans.items()}
    longest = range(1, m.n)

    def meaning(g: Any, t: int) -> float:
        return float(any(t <= g.d[u, v] < g.n for u, v in pairs))

    D = m.variable("D", [(t,) for t in longest], pyo.Binary, meaning)
    some, none = [], []
    for t in longest:
        parts: Terms = [
            term
            for steps in reached.values()
            for s, terms in steps.items()
            if s >= t
            for term in terms
        ]
        none.append(((t,), linear_sum([(1.0, D[t]), *((-c, x) for c, x in parts)]) <= 0))
        for (u, v), by_step in reached.items():
            far: Terms = [term for s, terms in by_step.items() if s >= t for term in terms]
            if far:
                row = linear_sum([(1.0, D[t]), *((-c, x) for c, x in far)]) >= 0
                some.append(((t, u, v), row))
    m.rows("limit", "depth_at_least", some)
    m.rows("limit", "depth_at_most", none)
    return [(1.0, D[t]) for t in longest]
