"""(Acq-Opt) over a declared graph space: the paper's general encoding, (C1) to (C8).

``paper``    kernel and posterior as in Appendix B, literally
``compact``  the same graphs; kernel counts by marginals and the convex split of the variance

Notation
    e[u, v, a, b, l]   1 if edge u → v has label l, u has label a and v has label b
    E[a, b, l]         number of such edges; a ≤ b where edges have no direction
    E^c[a, b, l]       1 if E[a, b, l] = c
    p[u, v, s, a, b]   1 if u and v ≠ u have labels a, b and distance s < n, as in (k_g)

Given binary labels and distances, marginals leave one value for e and p, so that neither need be
declared binary (docs/compact-formulation.md).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations import kernel_encoding as kernel
from nasgoat.formulations.acquisition_rows import Acquisition, posterior_rows
from nasgoat.formulations.compact_posterior import compact_posterior_rows
from nasgoat.formulations.counts import Count, Counts, Equation
from nasgoat.formulations.graph_domains import graph_domain
from nasgoat.formulations.limit_rows import graph_depth_terms, limit_rows
from nasgoat.formulations.tagged_model import Meaning, TaggedModel, Terms, linear_sum
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import GraphSpace

_End = tuple[int, int]


def domain_of_graphs(space: GraphSpace, n: int, ordered: bool = False) -> TaggedModel:
    """The graphs with n nodes within their limits, with distance indicators."""
    m = graph_domain(space, n, ordered)
    kernel.distance_indicators(m)
    limit_rows(m, space, space.pairs(n), lambda: graph_depth_terms(m, space))
    return m


def paper_graphs(
    space: GraphSpace, n: int, features: FeatureMap, acquisition: Acquisition
) -> TaggedModel:
    """The model whose kernel and posterior are those of Appendix B."""
    m = domain_of_graphs(space, n, ordered=True)
    kernel.count_paths_and_labels(m, max(len(space.node_vocabulary), 1))
    edge_ends(m, space)
    edge_type_counts(m, space, features)
    posterior_rows(m, features, acquisition)
    return m


def compact_graphs(
    space: GraphSpace, n: int, features: FeatureMap, acquisition: Acquisition
) -> TaggedModel:
    """The model whose kernel counts are marginals, with the convex split of the variance."""
    m = domain_of_graphs(space, n, ordered=True)
    path_links(m, space)
    edge_ends(m, space)
    compact_posterior_rows(m, graph_counts(m, space, features), features, acquisition)
    return m


def edge_ends(m: TaggedModel, space: GraphSpace) -> None:
    """(k_e) e: each labelled edge together with the labels of its ends."""
    if not space.edge_ops:
        return
    ops = range(len(space.edge_ops))

    def meaning(g: Any, u: int, v: int, x: int, a: int, b: int) -> float:
        return float(g.edge_codes.get((u, v)) == x and g.codes[u] == a and g.codes[v] == b)

    _marginals(m, space, ("k_e", "e", "edge"), ops, m.Fe, meaning)


def edge_type_terms(m: TaggedModel, space: GraphSpace, a: int, b: int, x: int) -> Terms:
    """E[a, b, l] as terms of a sum."""
    ends = {(a, b)} if space.directed else {(a, b), (b, a)}
    return [(1.0, m.e[u, v, x, c, d]) for u, v in space.pairs(m.n) for c, d in sorted(ends)]


def edge_type_counts(m: TaggedModel, space: GraphSpace, features: FeatureMap) -> None:
    """(k_e) E and E^c: numbers of edges of each type, and their indicators."""
    keys = list(features.edge_types)
    if not keys:
        return
    most = space.rules.max_edges
    place = {kind: len(features.path_types) + i for i, kind in enumerate(keys)}

    def count(g: Any, *kind: int) -> int:
        return int(g.counts[place[kind]])  # type: ignore[index]

    E = m.variable("E", keys, pyo.NonNegativeReals, count, bounds=(0, most))
    sums = [(k, linear_sum([*edge_type_terms(m, space, *k), (-1.0, E[k])]) == 0) for k in keys]
    m.rows("k_e", "E", sums)
    kernel.count_indicators(m, "k_e", "E", dict.fromkeys(keys, most), count)


def path_links(m: TaggedModel, space: GraphSpace) -> None:
    """(links): p for pairs u ≠ v by marginals; u < v where edges have no direction."""

    def meaning(g: Any, u: int, v: int, s: int, a: int, b: int) -> float:
        return float(g.d[u, v] == s and g.codes[u] == a and g.codes[v] == b)

    _marginals(m, space, ("links", "p", "distance"), range(1, m.n), m.ds, meaning)


def _marginals(
    m: TaggedModel,
    space: GraphSpace,
    names: tuple[str, str, str],
    kinds: range,
    whole: Any,
    meaning: Meaning,
) -> None:
    """x[u, v, k, a, b]: the pair u, v is of kind k, with labels a and b, by marginals.

    Args:
        m: The model, with F.
        space: The space.
        names: Tag of the rows, name of the variable, name of the rows of kinds.
        kinds: Distances, or labels of edges.
        whole: whole[u, v, k] is 1 if the pair is of kind k.
        meaning: Value of the variable on a graph.
    """
    tag, name, part = names
    labels, pairs = range(max(len(space.node_vocabulary), 1)), space.pairs(m.n)
    both = list(product(labels, labels))
    keys = [(u, v, k, a, b) for u, v in pairs for k in kinds for a, b in both]
    x = m.variable(name, keys, pyo.UnitInterval, meaning)
    total, tail, head = [], [], []
    for u, v in pairs:
        total += [
            ((u, v, k), sum(x[u, v, k, a, b] for a, b in both) == whole[u, v, k]) for k in kinds
        ]
        for a in labels:
            leaves = sum(x[u, v, k, a, b] for k in kinds for b in labels)
            enters = sum(x[u, v, k, b, a] for k in kinds for b in labels)
            tail.append(((u, v, a), leaves <= m.F[u, a]))
            head.append(((u, v, a), enters <= m.F[v, a]))
    if pairs:
        m.rows(tag, part, total)
        m.rows(tag, f"{name}_tail", tail)
        m.rows(tag, f"{name}_head", head)


def graph_counts(m: TaggedModel, space: GraphSpace, features: FeatureMap) -> Counts:
    """Every count of the feature map as terms, and the equations that hold between them."""
    counts = [_path_count(m, space, *kind) for kind in features.path_types]
    pairs = space.most_edges(m.n)
    counts += [
        Count(edge_type_terms(m, space, a, b, x), upper=_most(m.n, pairs, a, b))
        for a, b, x in features.edge_types
    ]
    place = {kind: j for j, kind in enumerate(features.path_types)}
    labels = range(max(len(space.node_vocabulary), 1))
    equations: list[Equation] = [
        ({j: 1.0}, count.constant) for j, count in enumerate(counts) if not count.terms
    ]
    equations.append(({place[0, a, a]: 1.0 for a in labels}, float(m.n)))
    if not space.directed:
        equations += [
            ({place[s, a, b]: 1.0, place[s, b, a]: -1.0}, 0.0)
            for s, a, b in features.path_types
            if s < m.n and a < b
        ]
    return Counts(counts, equations + _edge_equations(m, space, features, place))


def _edge_equations(
    m: TaggedModel, space: GraphSpace, features: FeatureMap, place: dict[tuple[int, int, int], int]
) -> list[Equation]:
    """Edges are paths of length 1: Σ_l E[a, b, l] = P[1, a, b]; half if undirected and a = b."""
    if not features.edge_types or m.n < 2:
        return []
    by_ends: dict[_End, dict[int, float]] = {}
    start = len(features.path_types)
    for i, (a, b, _) in enumerate(features.edge_types):
        twice = 2.0 if a == b and not space.directed else 1.0
        by_ends.setdefault((a, b), {})[start + i] = twice
    return [(edges | {place[1, a, b]: -1.0}, 0.0) for (a, b), edges in by_ends.items()]


def _path_count(m: TaggedModel, space: GraphSpace, s: int, a: int, b: int) -> Count:
    """P[s, a, b], over ordered pairs of nodes."""
    if s >= m.n:
        return Count([])
    if s == 0:
        return Count([(1.0, m.F[v, a]) for v in range(m.n)], upper=m.n)
    pairs = space.pairs(m.n)
    terms: Terms = [(1.0, m.p[u, v, s, a, b]) for u, v in pairs]
    if not space.directed:
        terms += [(1.0, m.p[u, v, s, b, a]) for u, v in pairs]
    ordered = m.n * (m.n - 1) // (2 if space.direction == "acyclic" else 1)
    return Count(terms, upper=_most(m.n, ordered, a, b))


def _most(n: int, pairs: int, a: int, b: int) -> int:
    """At most all pairs; between different labels at most as many as two halves have."""
    return pairs if a == b else min(pairs, n * n // 4)
