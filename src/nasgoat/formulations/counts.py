"""The kernel counts z of a graph as linear expressions of the compact model.

Notation
    z[j]        the j-th count of the feature map: P[s, a, b] or F[u → v, l]
    p[u, v, s, a, b]  1 if inner nodes u < v have labels a, b and distance s; s = 0: no path
    f[v, s, a]  1 if inner node v has label a and distance s from the source;  t: to the sink
    G z = h     equations that hold for every graph of the space with n nodes

Links: given binary F and d^s, the p of a pair add up to 1 with s the distance of that pair, and the
marginals leave only the labels that u and v have; so p is exact without being declared binary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.cell_domains import forward_pairs
from nasgoat.formulations.layers import distance_terms
from nasgoat.formulations.profiles import INNER, SINK, SOURCE, Profiles
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace

Array = NDArray[np.float64]
Equation = tuple[dict[int, float], float]


@dataclass(frozen=True)
class Count:
    """One count: Σ terms + constant, an integer from 0 to ``upper``; constant without terms."""

    terms: Terms
    constant: float = 0.0
    upper: int = 1


@dataclass(frozen=True)
class Counts:
    """Every count of the feature map, and the equations that hold between them."""

    counts: list[Count]
    equations: list[Equation]

    def matrix(self) -> tuple[Array, Array]:
        """G and h."""
        G = np.zeros((len(self.equations), len(self.counts)))
        for row, (coefficients, _) in zip(G, self.equations, strict=True):
            for j, c in coefficients.items():
                row[j] = c
        return G, np.array([h for _, h in self.equations])


def node_labelled_links(m: TaggedModel, labels: Sequence[int]) -> None:
    """(links) p, f and t: distances together with the labels at their ends, by marginals.

    Σ_ab p[u, v, s, a, b] = d^s[u, v] for s ≥ 1, Σ_sb p[u, v, s, a, b] = F[u, a] and
    Σ_sb p[u, v, s, b, a] = F[v, a]; Σ_a f[v, s, a] = d^s[0, v], Σ_s f[v, s, a] = F[v, a], and the
    same for t and the sink.
    """
    _pair_links(m, labels)
    inner = range(1, m.n - 1)
    keys = [(v, s, a) for v in inner for s in _steps(m, 0, v) for a in labels]
    m.variable(
        "f", keys, pyo.UnitInterval, lambda g, v, s, a: float(g.d[0, v] == s and g.codes[v] == a)
    )
    _end_links(m, m.f, [(0, v, v) for v in inner], labels, "source")
    last = m.n - 1
    keys = [(u, s, a) for u in inner for s in _steps(m, u, last) for a in labels]
    m.variable(
        "t", keys, pyo.UnitInterval, lambda g, u, s, a: float(g.d[u, last] == s and g.codes[u] == a)
    )
    _end_links(m, m.t, [(u, last, u) for u in inner], labels, "sink")


def _pair_links(m: TaggedModel, labels: Sequence[int]) -> None:
    pairs = [(u, v) for u, v in forward_pairs(m.n) if u > 0 and v < m.n - 1]
    keys = [
        (u, v, s, a, b)
        for u, v in pairs
        for s in [0, *_steps(m, u, v)]
        for a, b in product(labels, labels)
    ]

    def meaning(g: Any, u: int, v: int, s: int, a: int, b: int) -> float:
        return float(g.d[u, v] == (s or m.n) and g.codes[u] == a and g.codes[v] == b)

    p = m.variable("p", keys, pyo.UnitInterval, meaning)
    spans = [(u, v, s) for u, v in pairs for s in _steps(m, u, v)]
    total, tail, head = [], [], []
    for u, v, s in spans:
        parts: Terms = [(1.0, p[u, v, s, a, b]) for a, b in product(labels, labels)]
        total.append(((u, v, s), equate(parts, distance_terms(m, u, v, s))))
    for (u, v), a in product(pairs, labels):
        steps = [0, *_steps(m, u, v)]
        parts = [(1.0, p[u, v, s, a, b]) for s in steps for b in labels]
        tail.append(((u, v, a), equate(parts, [(1.0, m.F[u, a])])))
        parts = [(1.0, p[u, v, s, b, a]) for s in steps for b in labels]
        head.append(((u, v, a), equate(parts, [(1.0, m.F[v, a])])))
    m.rows("links", "distance", total)
    m.rows("links", "tail", tail)
    m.rows("links", "head", head)


def _steps(m: TaggedModel, u: int, v: int) -> list[int]:
    """Distances that u and v may have."""
    return [s for s in range(1, v - u + 1) if distance_terms(m, u, v, s)]


def _end_links(
    m: TaggedModel, x: Any, pairs: list[tuple[int, int, int]], labels: Sequence[int], name: str
) -> None:
    """Source and sink have one label and reach (are reached by) every node: equations."""
    distance, label = [], []
    for u, v, inner in pairs:
        steps = _steps(m, u, v)
        for s in steps:
            parts: Terms = [(1.0, x[inner, s, a]) for a in labels]
            distance.append(((inner, s), equate(parts, distance_terms(m, u, v, s))))
        for a in labels:
            parts = [(1.0, x[inner, s, a]) for s in steps]
            label.append(((inner, a), equate(parts, [(1.0, m.F[inner, a])])))
    m.rows("links", f"{name}_distance", distance)
    m.rows("links", f"{name}_label", label)


def node_labelled_counts(
    m: TaggedModel,
    space: CellSpace,
    features: FeatureMap,
    profiles: Profiles | None = None,
) -> Counts:
    """The counts of a node-labelled cell with n nodes.

    The equations, with a over operations: Σ_a P[0, a, a] = n - 2, Σ_s P[s, source, sink] = 1 and
    Σ_s P[s, source, a] = Σ_s P[s, a, sink] = P[0, a, a].
    """
    edges = space.edge_limit
    n, last = m.n, len(space.ops) + 1
    inner = range(1, n - 1)
    counts = [_node_labelled_count(m, t, last, edges, profiles) for t in features.path_types]
    place = {t: j for j, t in enumerate(features.path_types)}
    equations: list[Equation] = [
        ({j: 1.0}, count.constant) for j, count in enumerate(counts) if not count.terms
    ]
    ops = range(1, last) if inner else range(0)
    if inner:
        equations.append(({place[0, a, a]: 1.0 for a in ops}, float(n - 2)))
    present = [t for t, count in zip(features.path_types, counts, strict=True) if count.terms]
    equations.append(({place[t]: 1.0 for t in present if t[1:] == (0, last)}, 1.0))
    for a in ops:
        for ends in ((0, a), (a, last)):
            coefficients = {place[t]: 1.0 for t in present if t[1:] == ends}
            equations.append((coefficients | {place[0, a, a]: -1.0}, 0.0))
    # With two nodes the only path is constant, and says nothing new.
    return Counts(counts, [(c, h) for c, h in equations if c])


def _node_labelled_count(
    m: TaggedModel, kind: tuple[int, int, int], last: int, edges: int, profiles: Profiles | None
) -> Count:
    """P[s, a, b], with an upper bound from the number of nodes and edges, or from profiles."""
    n, (s, a, b) = m.n, kind
    inner = range(1, n - 1)
    size = len(inner)
    if s == 0:
        if a in (0, last):
            return Count([], 1.0)
        return Count([(1.0, m.F[v, a]) for v in inner if (v, a) in m.F], upper=size)
    if (a, b) == (0, last):
        return Count(distance_terms(m, 0, n - 1, s) if s < n else [])
    if a == 0 or b == last:
        x, label = (m.f, b) if a == 0 else (m.t, a)
        terms = [(1.0, x[v, s, label]) for v in inner if (v, s, label) in x]
        # Nodes at distances 1, ..., s - 1 come before one at distance s.
        ends = size - s + 1
        if profiles is not None:
            ends = min(ends, profiles.most(SOURCE if a == 0 else SINK, s))
        return Count(terms if ends > 0 else [], upper=ends)
    pairs = [(u, v) for u in inner for v in inner if v - u >= s]
    most = len(pairs) if a == b else min(len(pairs), size * size // 4)
    if s == 1:
        most = min(most, edges - 2)  # an edge leaves the source, an edge enters the sink
    if profiles is not None:
        most = min(most, profiles.most(INNER, s) if a == b else profiles.most_crossing(s))
    if most <= 0:
        return Count([])
    terms = [(1.0, m.p[u, v, s, a, b]) for u, v in pairs if (u, v, s, a, b) in m.p]
    return Count(terms, upper=most)


def edge_labelled_counts(
    m: TaggedModel,
    space: CellSpace,
    features: FeatureMap,
    columns: StructureColumns | None = None,
) -> Counts:
    """The counts of an edge-labelled cell with n nodes: all of them 0 or 1.

    Nodes from n on, and edges at pairs that carry none, have counts that are constant 0. The
    equations are Σ_l F[u → v, l] = P[1, u, v]; the equality rows of the family, with P[1, u, v] for
    A[u, v]; and Σ_s P[s, 0, v] = Σ_s P[s, v, n - 1] = 1 where every node is on a path.
    """
    places = set(space.edge_places(m.n))
    counts = [_distance_count(m, columns, *kind) for kind in features.path_types]
    counts += [
        Count([(1.0, m.F[u, v, label])] if (u, v) in places else [])
        for u, v, label in features.edge_types
    ]
    place = {t: j for j, t in enumerate(features.path_types)}
    paths = len(features.path_types)
    equations: list[Equation] = [
        ({j: 1.0}, c.constant) for j, c in enumerate(counts) if not c.terms
    ]
    for u, v in forward_pairs(m.n):
        if (u, v) in places:
            labels = {paths + i: 1.0 for i, e in enumerate(features.edge_types) if e[:2] == (u, v)}
            equations.append((labels | {place[1, u, v]: -1.0}, 0.0))
    for row in space.structure_rows(m.n) or []:
        if row.sense == "==" and places.intersection(row.terms):
            coefficients = {place[1, u, v]: c for (u, v), c in row.terms.items()}
            equations.append((coefficients, float(row.bound)))
    if space.on_paths:
        ends = [(u, v) for u, v in forward_pairs(m.n) if u == 0 or v == m.n - 1]
        steps = {(u, v): [s for s in range(1, v - u + 1) if (s, u, v) in place] for u, v in ends}
        equations += [({place[s, u, v]: 1.0 for s in steps[u, v]}, 1.0) for u, v in ends]
    return Counts(counts, equations)


def _distance_count(
    m: TaggedModel, columns: StructureColumns | None, s: int, u: int, v: int
) -> Count:
    """P[s, u, v] of indexed nodes; constant where all listed structures agree."""
    if v >= m.n:
        return Count([])
    if s == 0:
        return Count([], 1.0)
    if columns is not None and (share := columns.share(u, v, s)) in (0.0, 1.0):
        return Count([], share)
    return Count(distance_terms(m, u, v, s))
