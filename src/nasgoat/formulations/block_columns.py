"""Kernel blocks other than the paper's: their codes as sums of columns of a program.

Notation
    X[i]    1 if the graph has the i-th of the listed structures (``structure_columns``)
    mix[i]  1 if its operations occur as often as the i-th composition says
    rich[i] 1 if the most of each operation on a path are the i-th ones
    z[j]    a code of a block, 0 or 1
    M[o, k, v]   1 if some path that ends in node v has operation o at least k times
    carry, climb  1 if the path to M[o, k, v] comes over edge u → v with k of them already, or with
                 k - 1 of them and o at the edge or at v

Whatever decides a block decides its codes: z[j] = Σ X[i] over the structures, Σ mix[i] over the
compositions, or Σ rich[i] over the richest paths, that have the code. So no block needs rows of its
own.

rich, M, carry and climb may be fractions: the rows leave them no other values than 0 and 1 once A
and F have theirs. By induction along the edges, M is at least 1 where a path exists, and at most
the sum of what leads there, which is 0 where none does. No row has a large coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.counts import Count
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, sum_linearly
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.graph_counts import count_labels, list_operations
from nasgoat.kernels.summaries import (
    LONGEST,
    OPERATIONS,
    STRUCTURE,
    Composition,
    Totals,
    count_ends,
    has_only_paths,
    list_summaries,
    realise_on_path,
)
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Pair


def is_decided(features: FeatureMap, by: str) -> bool:
    """Whether some block other than the paper's is decided by structures, or by operations."""
    return by in features.decided_by


def code_counts(
    m: TaggedModel, features: FeatureMap, structures: GraphBatch | None = None
) -> list[Count]:
    """The codes of all blocks other than the paper's, in the order of the features.

    Args:
        m: A model with labels and, where a block is decided by structures, X.
        features: The features.
        structures: A graph for each X, with any labels.
    """
    space = features.space
    terms: list[Terms] = [[] for _ in range(sum(code.width for code in features.codes.values()))]
    if structures is not None and is_decided(features, STRUCTURE):
        _add_terms(terms, m.X, features.encode_decided(structures, STRUCTURE))
    if is_decided(features, OPERATIONS):
        every = _list_values(space, m.n, OPERATIONS)
        add_composition_columns(m, space, every)
        batch = realise_on_path(space, every)
        _add_terms(terms, m.mix, features.encode_decided(batch, OPERATIONS))
    if is_decided(features, LONGEST):
        every = _list_values(space, m.n, LONGEST)
        add_richest_path_columns(m, space, every)
        batch = realise_on_path(space, every)
        _add_terms(terms, m.rich, features.encode_decided(batch, LONGEST))
    return [Count(found) for found in terms]


def code_variables(
    m: TaggedModel, features: FeatureMap, structures: GraphBatch | None = None
) -> None:
    """The codes as variables, for the paper's formulation: code[j] = Σ of its columns."""
    counts = code_counts(m, features, structures)
    first, keys = len(features.path_types) + len(features.edge_types), range(len(counts))
    code = m.add_variable(
        "code", [(j,) for j in keys], pyo.UnitInterval, lambda g, j: float(g.counts[first + j])
    )
    m.add_rows("linear", "code", [((j,), equate(counts[j].terms, [(1.0, code[j])])) for j in keys])


def add_composition_columns(
    m: TaggedModel, space: SearchSpace, every: Sequence[Composition]
) -> None:
    """(compositions) mix: Σ_i mix[i] = 1 and Σ_i N_l mix[i] = how often operation l occurs."""
    nodes, edges = list_operations(space)

    def meaning(g: Any, i: int) -> float:
        on_nodes, on_edges = list(g.codes), list(g.edge_codes.values())
        half = 1 if space.directed else 2  # a point has both directions of an edge
        found = [on_nodes.count(a) for a in nodes] + [on_edges.count(a) // half for a in edges]
        return float(tuple(found) == tuple(every[i]))

    mix = m.add_variable("mix", [(i,) for i in range(len(every))], pyo.Binary, meaning)
    m.add_rows(
        "compositions", "one_of_all", [((), sum_linearly((1.0, x) for x in mix.values()) == 1)]
    )
    places = [(2, code) for code in nodes] + [(3, code) for code in edges]  # (v, l) or (u, v, l)
    rows = []
    for at, (length, code) in enumerate(places):
        there: Terms = [
            (1.0, x) for key, x in m.labels.items() if len(key) == length and key[-1] == code
        ]
        made: Terms = [(float(C[at]), mix[i]) for i, C in enumerate(every)]
        rows.append(((at,), equate(made, there)))
    m.add_rows("compositions", "label", rows)


def _list_values(space: SearchSpace, n: int, by: str) -> list[Composition]:
    """All values of what decides a block in graphs of n nodes: numbers, or richest paths."""
    found = list_summaries(_list_totals(space, n), count_labels(space), [by], has_only_paths(space))
    return [(held.numbers if by == OPERATIONS else held.longest) or () for held in found]


def _list_totals(space: SearchSpace, n: int) -> list[Totals]:
    """How many nodes, and how many edges, of graphs with n nodes carry an operation."""
    on_nodes, on_edges = count_labels(space)
    if space.layout == "cell":
        matrices = space.listed[n].adjacency  # type: ignore[attr-defined]
        if on_nodes:
            return [(n - 2, 0)]
        return sorted({(0, int(edges)) for edges in matrices.sum(axis=(1, 2))})
    nodes = n - count_ends(space) if on_nodes else 0
    most = min(space.most_edges(n), space.edge_limit) if on_edges else 0
    return [(nodes, edges) for edges in range(most + 1)]


def _add_terms(terms: list[Terms], columns: Any, codes: NDArray[np.uint8]) -> None:
    """Each code as the sum of the columns that have it."""
    for j, having in enumerate(codes.T):
        terms[j] += [(1.0, columns[i]) for i in np.flatnonzero(having).tolist()]


def add_richest_path_columns(
    m: TaggedModel, space: SearchSpace, every: Sequence[Composition]
) -> None:
    """(richest) rich: one of all, whose numbers are those of the richest paths.

    Σ_i rich[i] = 1 and, for every operation o and k, the sum of rich[i] over all i with ℓ_o ≥ k is
    1 if M[o, k, v] is 1 for some node v, and 0 otherwise.
    """
    most = np.array(every, dtype=np.int64).max(axis=0).tolist()
    _add_path_variables(m, space, most)

    def meaning(g: Any, i: int) -> float:
        return float(tuple(g.richest.max(axis=1).tolist()) == tuple(every[i]))

    rich = m.add_variable("rich", [(i,) for i in range(len(every))], pyo.UnitInterval, meaning)
    m.add_rows("richest", "one_of_all", [((), sum_linearly((1.0, x) for x in rich.values()) == 1)])
    least, largest = [], []
    for o, k in _list_levels(most):
        having: Terms = [(1.0, rich[i]) for i, longest in enumerate(every) if longest[o] >= k]
        ending: Terms = [(-1.0, m.M[o, k, v]) for v in range(m.n) if (o, k, v) in m.M]
        least += [((o, k, v), sum_linearly([*having, ending[v]]) >= 0) for v in range(len(ending))]
        largest.append(((o, k), sum_linearly([*having, *ending]) <= 0))
    m.add_rows("richest", "least", least)
    m.add_rows("richest", "most", largest)


def _list_levels(most: Sequence[int]) -> list[tuple[int, int]]:
    return [(o, k) for o, largest in enumerate(most) for k in range(1, largest + 1)]


def _add_path_variables(m: TaggedModel, space: SearchSpace, most: Sequence[int]) -> None:
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

    m.add_variable("M", [(o, k, v) for o, k in levels for v in range(m.n)], pyo.UnitInterval, ends)
    keys = [(o, k, u, v) for o, k in levels for u, v in edges]
    m.add_variable("carry", keys, pyo.UnitInterval, carries)
    m.add_variable("climb", keys, pyo.UnitInterval, steps)
    rows: dict[str, list[Any]] = {"edge": [], "path": [], "gain": [], "reached": [], "ending": []}
    for o, k in levels:
        leading: dict[int, Terms] = {v: [] for v in range(m.n)}
        for u, v in edges:
            leading[v] += _link(m, rows, (o, k, u, v), _find_gain(m, space, o, (u, v)))
        for v in range(m.n):
            alone = _find_alone(m, space, o, v) if k == 1 else None
            M = m.M[o, k, v]
            if alone is not None:
                rows["reached"].append(((o, k, v), sum_linearly([(1.0, M), (-1.0, alone)]) >= 0))
                leading[v].append((1.0, alone))
            rows["ending"].append(((o, k, v), sum_linearly([*leading[v], (-1.0, M)]) >= 0))
    for part, found in rows.items():
        if found:
            m.add_rows("richest", part, found)


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
