"""The kernel counts z of a graph as linear expressions of the compact model.

Notation
    z[j]        the j-th count of the feature map: P[s, a, b], and F[u → v, l] or E[a, b, l]
    p, e, f, t  distances and edges with the labels at their ends, as in
                :mod:`~nasgoat.formulations.layers`
    E[a, b, l]  number of edges with label l between labels a, b; a ≤ b if they have no direction
    G z = h     equations that hold for every graph of the space with n nodes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.formulations.kernel_encoding import express_edge_type
from nasgoat.formulations.layers import express_distance
from nasgoat.formulations.profiles import INNER, SINK, SOURCE, Profiles
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.formulations.tagged_model import TaggedModel, Terms, list_forward_pairs
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace, GraphSpace

Array = NDArray[np.float64]
Equation = tuple[dict[int, float], float]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Count:
    """One count: Σ terms + constant, an integer from 0 to ``upper``; constant without terms."""

    terms: Terms
    constant: float = 0.0
    upper: int = 1


class Counts:
    """Every count of the feature map, and the equations that hold between them.

    Args:
        counts: The counts of the paper's blocks; ``paper`` is their number.
        equations: What holds besides the values of constant counts.
    """

    def __init__(self, counts: list[Count], equations: list[Equation]) -> None:
        self.counts = counts
        self.paper = len(counts)
        constant = [({j: 1.0}, count.constant) for j, count in enumerate(counts) if not count.terms]
        self.equations = [*constant, *equations]

    def add(self, counts: list[Count]) -> None:
        """Further counts behind the others, without equations of their own."""
        first = len(self.counts)
        self.counts = [*self.counts, *counts]
        constant = [({first + j: 1.0}, x.constant) for j, x in enumerate(counts) if not x.terms]
        self.equations = [*self.equations, *constant]

    @property
    def constants(self) -> Array:
        """The value of each count that is constant, 0 for the others."""
        return np.array([count.constant for count in self.counts])

    def make_matrix(self) -> tuple[Array, Array]:
        """The equations G z = h of all counts z: the matrix G and the vector h."""
        G = np.zeros((len(self.equations), len(self.counts)))
        for row, (coefficients, _) in zip(G, self.equations, strict=True):
            row[list(coefficients)] = list(coefficients.values())
        return G, np.array([h for _, h in self.equations])


def count_node_labelled(
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
    counts = [
        _express_node_labelled_count(m, t, last, edges, profiles) for t in features.path_types
    ]
    place = {t: j for j, t in enumerate(features.path_types)}
    equations: list[Equation] = []
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


def _express_node_labelled_count(
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
        return Count(express_distance(m, 0, n - 1, s) if s < n else [])
    if a == 0 or b == last:
        x, label = (m.f, b) if a == 0 else (m.t, a)
        terms = [(1.0, x[v, s, label]) for v in inner if (v, s, label) in x]
        # Nodes at distances 1, ..., s - 1 come before one at distance s.
        ends = size - s + 1
        if profiles is not None:
            ends = min(ends, profiles.find_most(SOURCE if a == 0 else SINK, s))
        return Count(terms if ends > 0 else [], upper=ends)
    pairs = [(u, v) for u in inner for v in inner if v - u >= s]
    most = len(pairs) if a == b else min(len(pairs), size * size // 4)
    if s == 1:
        most = min(most, edges - 2)  # an edge leaves the source, an edge enters the sink
    if profiles is not None:
        most = min(most, profiles.find_most(INNER, s) if a == b else profiles.find_most_crossing(s))
    if most <= 0:
        return Count([])
    terms = [(1.0, m.p[u, v, s, a, b]) for u, v in pairs if (u, v, s, a, b) in m.p]
    return Count(terms, upper=most)


def count_edge_labelled(
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
    counts = [_express_distance_count(m, columns, *kind) for kind in features.path_types]
    counts += [
        Count([(1.0, m.F[u, v, label])] if (u, v) in places else [])
        for u, v, label in features.edge_types
    ]
    place = {t: j for j, t in enumerate(features.path_types)}
    paths = len(features.path_types)
    equations: list[Equation] = []
    for u, v in list_forward_pairs(m.n):
        if (u, v) in places:
            labels = {paths + i: 1.0 for i, e in enumerate(features.edge_types) if e[:2] == (u, v)}
            equations.append((labels | {place[1, u, v]: -1.0}, 0.0))
    for row in space.structure_rows(m.n) or []:
        if row.sense == "==" and places.intersection(row.terms):
            coefficients = {place[1, u, v]: c for (u, v), c in row.terms.items()}
            equations.append((coefficients, float(row.bound)))
    if space.on_paths:
        ends = [(u, v) for u, v in list_forward_pairs(m.n) if u == 0 or v == m.n - 1]
        steps = {(u, v): [s for s in range(1, v - u + 1) if (s, u, v) in place] for u, v in ends}
        equations += [({place[s, u, v]: 1.0 for s in steps[u, v]}, 1.0) for u, v in ends]
    return Counts(counts, equations)


def _express_distance_count(
    m: TaggedModel, columns: StructureColumns | None, s: int, u: int, v: int
) -> Count:
    """P[s, u, v] of indexed nodes; constant where all listed structures agree."""
    if v >= m.n:
        return Count([])
    if s == 0:
        return Count([], 1.0)
    if columns is not None and (share := columns.share(u, v, s)) in (0.0, 1.0):
        return Count([], share)
    return Count(express_distance(m, u, v, s))


def count_declared(m: TaggedModel, space: GraphSpace, features: FeatureMap) -> Counts:
    """Every count of the feature map as terms, and the equations that hold between them."""
    counts = [_express_path_count(m, space, *kind) for kind in features.path_types]
    pairs = space.most_edges(m.n)
    counts += [
        Count(express_edge_type(m, space, a, b, x), upper=_bound_count(m.n, pairs, a, b))
        for a, b, x in features.edge_types
    ]
    place = {kind: j for j, kind in enumerate(features.path_types)}
    labels = range(max(len(space.node_vocabulary), 1))
    equations: list[Equation] = [({place[0, a, a]: 1.0 for a in labels}, float(m.n))]
    if not space.directed:
        equations += [
            ({place[s, a, b]: 1.0, place[s, b, a]: -1.0}, 0.0)
            for s, a, b in features.path_types
            if s < m.n and a < b
        ]
    return Counts(counts, equations + _equate_edges(m, space, features, place))


def _equate_edges(
    m: TaggedModel, space: GraphSpace, features: FeatureMap, place: dict[tuple[int, int, int], int]
) -> list[Equation]:
    """Edges are paths of length 1: Σ_l E[a, b, l] = P[1, a, b]; half if undirected and a = b."""
    if not features.edge_types or m.n < 2:
        return []
    by_ends: dict[Pair, dict[int, float]] = {}
    start = len(features.path_types)
    for i, (a, b, _) in enumerate(features.edge_types):
        twice = 2.0 if a == b and not space.directed else 1.0
        by_ends.setdefault((a, b), {})[start + i] = twice
    return [(edges | {place[1, a, b]: -1.0}, 0.0) for (a, b), edges in by_ends.items()]


def _express_path_count(m: TaggedModel, space: GraphSpace, s: int, a: int, b: int) -> Count:
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
    return Count(terms, upper=_bound_count(m.n, ordered, a, b))


def _bound_count(n: int, pairs: int, a: int, b: int) -> int:
    """At most all pairs; between different labels at most as many as two halves have."""
    return pairs if a == b else min(pairs, n * n // 4)
