"""Hard limits as rows: one named row for each limit of a space.

Notation
    F[v, l], F[u, v, l], A[u, v]   labels and edges, as in the domains
    d^s[u, v]   1 if the distance from u to v is s, as terms of a sum
"""

from __future__ import annotations

import re
from typing import Any

from nasgoat.formulations.depth_rows import Distance, Terms, depth_terms
from nasgoat.formulations.kernel_encoding import linear_sum
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.spaces import GraphSpace, SearchSpace
from nasgoat.spaces.limits import Limit

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
        deep = depth_terms(m, space, distance)
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
    on_nodes = limit.node_coefficients(space.node_vocabulary or ("",))
    on_edges = limit.edge_coefficients(space.edge_vocabulary)
    labels = list(m.F.items())
    if isinstance(space, GraphSpace) and space.edge_ops:
        labels += m.Fe.items()
    return [(float((on_nodes if len(key) == 2 else on_edges)[key[-1]]), x) for key, x in labels]


def _edges(m: TaggedModel, space: SearchSpace) -> list[tuple[int, int]]:
    return space.pairs(m.n) if isinstance(space, GraphSpace) else [p for p in m.A if p[0] < p[1]]
