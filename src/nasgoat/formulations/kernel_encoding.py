"""Kernel encoding, Appendix B of the paper, literally: k_g, k_n, k_e against the data and itself.

Notation
    d^s[u, v]        1 if the distance from u to v is s                        (variable ds)
    p[u, v, s, a, b] 1 if moreover u has label a and v has label b
    P[s, a, b]       number of such pairs, u = v included, s < n
    P^c[s, a, b]     1 if P[s, a, b] = c;  N, N^c the same for the nodes of a label
    e[u, v, l, a, b] 1 if edge u → v has label l, and u and v have labels a, b
    E[a, b, l]       number of such edges; a ≤ b where edges have no direction;  E^c as above
    K[i], K_xx       k(x, X^i) and k(x, x)

Where nodes are indexed and unlabelled, a node's label in k_g is its index
(docs/decisions/0003-paths-of-indexed-nodes.md): p[u, v, s, u, v] = d^s[u, v] is the only p, and
P[s, u, v] is that variable, its own square.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.layers import code_labels, link_pairs
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, sum_linearly
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import GraphSpace

Array = NDArray[np.float64]


def add_distance_indicators(m: TaggedModel) -> None:
    """(k_g) d^s: exactly one s ≤ n is the distance.

    Σ_s d^s[u, v] = 1,  Σ_s s d^s[u, v] = d[u, v].
    """
    n = m.n
    pairs = list(product(range(n), repeat=2))
    keys = [(u, v, s) for u, v in pairs for s in range(n + 1)]
    m.add_variable("ds", keys, pyo.Binary, lambda g, u, v, s: float(g.d[u, v] == s))
    one = {(u, v): sum(m.ds[u, v, s] for s in range(n + 1)) for u, v in pairs}
    m.add_rows("k_g", "ds_one", [((u, v), one[u, v] == 1) for u, v in pairs])
    mean = {(u, v): sum(s * m.ds[u, v, s] for s in range(1, n + 1)) for u, v in pairs}
    m.add_rows("k_g", "ds_value", [((u, v), mean[u, v] == m.d[u, v]) for u, v in pairs])


def add_path_indicators(m: TaggedModel, labels: int) -> None:
    """(k_g) p: 3 p ≤ F[u, a] + d^s[u, v] + F[v, b] ≤ p + 2."""
    n, codes = m.n, range(labels)
    keys = list(product(range(n), range(n), range(n), codes, codes))

    def meaning(g: Any, u: int, v: int, s: int, a: int, b: int) -> float:
        return float(g.codes[u] == a and g.d[u, v] == s and g.codes[v] == b)

    p = m.add_variable("p", keys, pyo.Binary, meaning)
    three = {(u, v, s, a, b): m.F[u, a] + m.ds[u, v, s] + m.F[v, b] for u, v, s, a, b in keys}
    m.add_rows("k_g", "p_at_most", [(key, 3 * p[key] <= three[key]) for key in keys])
    m.add_rows("k_g", "p_at_least", [(key, p[key] >= three[key] - 2) for key in keys])


def add_path_counts(m: TaggedModel, labels: int) -> None:
    """(k_g) P and P^c: counts of the types of paths, P[s, a, b] = Σ_uv p[u, v, s, a, b]."""
    n, codes = m.n, range(labels)
    types = list(product(range(n), codes, codes))

    def count(g: Any, s: int, a: int, b: int) -> int:
        starts, ends = np.array(g.codes) == a, np.array(g.codes) == b
        return int(((g.d == s) & starts[:, None] & ends[None, :]).sum())

    P = m.add_variable("P", types, pyo.NonNegativeReals, count, bounds=(0, n * n))
    pairs = list(product(range(n), repeat=2))
    total = {(s, a, b): sum(m.p[u, v, s, a, b] for u, v in pairs) for s, a, b in types}
    m.add_rows("k_g", "P", [(key, P[key] == total[key]) for key in types])
    count_indicators(m, "k_g", "P", dict.fromkeys(types, n * n), count)


def add_label_counts(m: TaggedModel, labels: int) -> None:
    """(k_n) N and N^c: numbers of nodes of each label, N[l] = Σ_v F[v, l]."""
    n = m.n
    keys = [(label,) for label in range(labels)]

    def count(g: Any, label: int) -> int:
        return int(g.codes.count(label))

    N = m.add_variable("N", keys, pyo.NonNegativeReals, count, bounds=(0, n))
    total = {label: sum(m.F[v, label] for v in range(n)) for (label,) in keys}
    m.add_rows("k_n", "N", [((label,), N[label] == total[label]) for (label,) in keys])
    count_indicators(m, "k_n", "N", dict.fromkeys(keys, n), count)


def add_edge_ends(m: TaggedModel, space: GraphSpace) -> None:
    """(k_e) e: each labelled edge of a declared graph together with the labels of its ends."""

    def is_labelled(g: Any, u: int, v: int, label: int) -> bool:
        return bool(g.edge_codes.get((u, v)) == label)

    if space.edge_ops:
        kinds = dict.fromkeys(space.pairs(m.n), range(len(space.edge_ops)))
        names = ("k_e", "e", "edge", "e_tail", "e_head")
        link_pairs(
            m, names, kinds, code_labels(space), lambda *key: [(1.0, m.Fe[key])], is_labelled
        )


def express_edge_type(m: TaggedModel, space: GraphSpace, a: int, b: int, x: int) -> Terms:
    """E[a, b, l] as terms of a sum."""
    ends = {(a, b)} if space.directed else {(a, b), (b, a)}
    return [(1.0, m.e[u, v, x, c, d]) for u, v in space.pairs(m.n) for c, d in sorted(ends)]


def add_edge_type_counts(m: TaggedModel, space: GraphSpace, features: FeatureMap) -> None:
    """(k_e) e, E and E^c: numbers of edges of each type, E[a, b, l] = Σ_uv e[u, v, l, a, b]."""
    keys = list(features.edge_types)
    if not keys:
        return
    add_edge_ends(m, space)
    most = space.rules.max_edges
    place = {kind: len(features.path_types) + i for i, kind in enumerate(keys)}

    def count(g: Any, *kind: int) -> int:
        return int(g.counts[place[kind]])  # type: ignore[index]

    E = m.add_variable("E", keys, pyo.NonNegativeReals, count, bounds=(0, most))
    sums = [(k, sum_linearly([*express_edge_type(m, space, *k), (-1.0, E[k])]) == 0) for k in keys]
    m.add_rows("k_e", "E", sums)
    count_indicators(m, "k_e", "E", dict.fromkeys(keys, most), count)


def count_paths_and_labels(m: TaggedModel, labels: int) -> None:
    """(k_g) p, P, P^c and (k_n) N, N^c, where nodes have labels."""
    add_path_indicators(m, labels)
    add_path_counts(m, labels)
    add_label_counts(m, labels)


def count_indicators(
    m: TaggedModel, tag: str, name: str, most: Mapping[Any, int], count: Any, indicator: str = ""
) -> Any:
    """Indicators X^c, 1 if X = c: Σ_c X^c = 1 and Σ_c c X^c = X.

    Args:
        m: The model, with X.
        tag: Tag of the rows.
        name: Name of X.
        most: The largest value of each X, by its key.
        count: The value of X on a graph.
        indicator: Name of X^c; that of X with a c if empty.
    """
    every = {key: range(largest + 1) for key, largest in most.items()}
    index = [(*key, c) for key, values in every.items() for c in values]
    X, name = getattr(m, name), indicator or f"{name}c"
    Xc = m.add_variable(
        name, index, pyo.Binary, lambda g, *key: float(count(g, *key[:-1]) == key[-1])
    )
    terms = {key: [(float(c), Xc[(*key, c)]) for c in values] for key, values in every.items()}
    one = [(key, sum_linearly((1.0, x) for _, x in terms[key]) == 1) for key in every]
    m.add_rows(tag, f"{name}_one", one)
    m.add_rows(tag, f"{name}_value", [(key, equate(terms[key], [(1.0, X[key])])) for key in every])
    return Xc


def list_graph_kernel_terms(m: TaggedModel, features: FeatureMap) -> list[CountColumn]:
    """(k_g): the counts P of a feature row's block g; Σ_c c² P^c is the square of each."""
    n = m.n
    if features.space.indexed:
        # A cell of a smaller size lacks the last nodes.
        return [_make_column(m.ds[u, v, s]) if v < n else _NONE for s, u, v in features.path_types]
    return [
        CountColumn(m.P[s, a, b], [(c * c, m.Pc[s, a, b, c]) for c in range(1, n * n + 1)])
        if s < n
        else _NONE  # no graph of this size has such a path
        for s, a, b in features.path_types
    ]


def list_node_kernel_terms(m: TaggedModel, features: FeatureMap) -> list[CountColumn]:
    """(k_n): the counts N of a feature row's block n; Σ_c c² N^c is the square of each."""
    return [
        CountColumn(m.N[label], [(c * c, m.Nc[label, c]) for c in range(1, m.n + 1)])
        for label in range(features.widths[1])
    ]


def list_edge_kernel_terms(m: TaggedModel, features: FeatureMap) -> list[CountColumn]:
    """(k_e): the indicators F of a feature row's block e, F² = F; or the counts E by end labels."""
    if not features.space.indexed:
        most = max((key[-1] for key in m.Ec), default=0) if features.edge_types else 0
        squares = [(c * c, c) for c in range(1, most + 1)]
        return [
            CountColumn(m.E[kind], [(c2, m.Ec[(*kind, c)]) for c2, c in squares])
            for kind in features.edge_types
        ]
    return [
        _make_column(m.F[u, v, label]) if v < m.n else _NONE for u, v, label in features.edge_types
    ]


def express_linear_kernel(m: TaggedModel, features: FeatureMap, weighted_row: Array) -> Any:
    """(linear): α k_g(G, G^i) + β k_n(F_n, F_n^i) + γ k_e(F_e, F_e^i), a linear expression.

    Args:
        m: The model, with P, N and F (or d^s and F where nodes are indexed).
        features: The kernel features of the space.
        weighted_row: The feature row of X^i times the weights α, β, γ of its columns.
    """
    factors = features.scale(m.n) * weighted_row
    columns = zip(factors, _list_columns(m, features), strict=True)
    return sum_linearly((f, column.count) for f, column in columns if column.count is not None)


def express_linear_kernel_with_itself(m: TaggedModel, features: FeatureMap, weights: Array) -> Any:
    """(linear): k(x, x), linear in the indicators P^c, N^c, d^s and F."""
    factors = features.scale(m.n) ** 2 * weights
    columns = zip(factors, _list_columns(m, features), strict=True)
    return sum_linearly((f * c2, var) for f, column in columns for c2, var in column.square)


class CountColumn(NamedTuple):
    """A column of a feature row in the model: its count, and its square as Σ c² · indicator."""

    count: Any
    square: list[tuple[int, Any]]


_NONE = CountColumn(None, [])  # of a feature that no graph of this size has


def _list_columns(m: TaggedModel, features: FeatureMap) -> list[CountColumn]:
    g, _, e, *_ = features.widths
    return [
        *(list_graph_kernel_terms(m, features) if g else ()),
        *list_node_kernel_terms(m, features),
        *(list_edge_kernel_terms(m, features) if e else ()),
        *(_make_column(m.code[j]) for j in range(sum(features.widths[3:]))),
    ]


def _make_column(var: Any) -> CountColumn:
    return CountColumn(var, [(1, var)])
