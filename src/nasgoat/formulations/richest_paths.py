"""The most of each operation on any path of an acyclic graph, as columns of a program.

Notation
    o            an operation;  k = 1, 2, ...
    M[o, k, v]   1 if some path that ends in node v has o at least k times
    carry, climb  1 if the path to M[o, k, v] comes over edge u → v with k of them already, or with
                 k - 1 of them and o at the edge or at v
    rich[i]      1 if the most of each operation on a path are the i-th ones

All of them may be fractions: the rows leave them no other values than 0 and 1 once A and F have
theirs. By induction along the edges, M is at least 1 where a path exists, and at most the sum of
what leads there, which is 0 where none does. No row has a large coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from nasgoat.formulations.tagged_model import TaggedModel, Terms, linear_sum
from nasgoat.kernels.deciding import Composition
from nasgoat.kernels.graph_counts import list_operations
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Pair


def richest_path_columns(m: TaggedModel, space: SearchSpace, every: Sequence[Composition]) -> None:
    """(richest) rich: one of all, whose numbers are those of the richest paths.

    Σ_i rich[i] = 1 and, for every operation o and k, the sum of rich[i] over all i with ℓ_o ≥ k is
    1 if M[o, k, v] is 1 for some node v, and 0 otherwise.
    """
    most = np.array(every, dtype=np.int64).max(axis=0).tolist()
    _path_variables(m, space, most)

    def meaning(g: Any, i: int) -> float:
        return float(tuple(g.richest.max(axis=1).tolist()) == tuple(every[i]))

    rich = m.variable("rich", [(i,) for i in range(len(every))], pyo.UnitInterval, meaning)
    m.rows("richest", "one_of_all", [((), linear_sum((1.0, x) for x in rich.values()) == 1)])
    least, largest = [], []
    for o, k in _list_levels(most):
        having: Terms = [(1.0, rich[i]) for i, longest in enumerate(every) if longest[o] >= k]
        ending: Terms = [(-1.0, m.M[o, k, v]) for v in range(m.n) if (o, k, v) in m.M]
        least += [((o, k, v), linear_sum([*having, ending[v]]) >= 0) for v in range(len(ending))]
        largest.append(((o, k), linear_sum([*having, *ending]) <= 0))
    m.rows("richest", "least", least)
    m.rows("richest", "most", largest)


def _list_levels(most: Sequence[int]) -> list[tuple[int, int]]:
    return [(o, k) for o, largest in enumerate(most) for k in range(1, largest + 1)]


def _path_variables(m: TaggedModel, space: SearchSpace, most: Sequence[int]) -> None:
    """M, carry and climb with the rows that give them their meaning."""
    ascends = space.layout == "cell"
    edges = [(u, v) for u, v in m.A if u < v or (u > v and not ascends)]
    levels = _list_levels(most)

    def ends(g: Any, o: int, k: int, v: int) -> float:
        return float(g.richest[o, v] >= k)

    def carries(g: Any, o: int, k: int, u: int, v: int) -> float:
        return float(g.A[u, v] and g.richest[o, u] >= k)

    def steps(g: Any, o: int, k: int, u: int, v: int) -> float:
        before = k == 1 or g.richest[o, u] >= k - 1
        return float(g.A[u, v] and before and g.has_operation(o, u, v))

    m.variable("M", [(o, k, v) for o, k in levels for v in range(m.n)], pyo.UnitInterval, ends)
    keys = [(o, k, u, v) for o, k in levels for u, v in edges]
    m.variable("carry", keys, pyo.UnitInterval, carries)
    m.variable("climb", keys, pyo.UnitInterval, steps)
    rows: dict[str, list[Any]] = {"edge": [], "path": [], "gain": [], "reached": [], "ending": []}
    for o, k in levels:
        leading: dict[int, Terms] = {v: [] for v in range(m.n)}
        for u, v in edges:
            leading[v] += _link(m, rows, (o, k, u, v), _find_gain(m, space, o, (u, v)))
        for v in range(m.n):
            alone = _find_alone(m, space, o, v) if k == 1 else None
            M = m.M[o, k, v]
            if alone is not None:
                rows["reached"].append(((o, k, v), linear_sum([(1.0, M), (-1.0, alone)]) >= 0))
                leading[v].append((1.0, alone))
            rows["ending"].append(((o, k, v), linear_sum([*leading[v], (-1.0, M)]) >= 0))
    for part, found in rows.items():
        if found:
            m.rows("richest", part, found)


def _link(m: TaggedModel, rows: dict[str, list[Any]], key: Any, gain: Any) -> Terms:
    """Rows of one edge at one level: carry = A M[u], climb = A M[u] F; what leads to M[o, k, v]."""
    o, k, u, v = key
    A, M, carry, climb = m.A[u, v], m.M[o, k, v], m.carry[key], m.climb[key]
    rows["edge"] += [((*key, 0), carry <= A), ((*key, 1), climb <= A)]
    rows["path"].append(((*key, 0), carry <= m.M[o, k, u]))
    rows["reached"].append(((*key, 0), m.M[o, k, u] + A - 1 <= M))
    if gain is None:
        rows["gain"].append((key, climb <= 0))
        return [(1.0, carry)]
    rows["gain"].append((key, climb <= gain))
    before = 1 if k == 1 else m.M[o, k - 1, u]
    if k > 1:
        rows["path"].append(((*key, 1), climb <= before))
    rows["reached"].append(((*key, 1), before + A + gain - 2 <= M))
    return [(1.0, carry), (1.0, climb)]


def _find_gain(m: TaggedModel, space: SearchSpace, o: int, edge: Pair) -> Any:
    """The variable that says whether edge u → v, or its head, has operation o; None if it can't."""
    nodes, edges = list_operations(space)
    key = (edge[1], nodes[o]) if o < len(nodes) else (*edge, edges[o - len(nodes)])
    return m.labels.get(key)


def _find_alone(m: TaggedModel, space: SearchSpace, o: int, v: int) -> Any:
    """The variable that says whether node v has operation o, so that a path may begin there."""
    nodes, _ = list_operations(space)
    return m.labels.get((v, nodes[o])) if o < len(nodes) else None
