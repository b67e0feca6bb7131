"""The NAS domains of Section 3.2: (Graph-Encoding) restricted to cells.

Notation
    F[v, l]      1 if node v has label l;  L_n labels, the first the source's, the last the sink's
    F[u, v, l]   1 if edge u → v has label l;  L_e labels
    A_i, X[i]    the i-th of listed structures; 1 if the cell has it
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo

from nasgoat.formulations.block_columns import code_counts, is_decided
from nasgoat.formulations.counts import Counts, count_edge_labelled, count_node_labelled
from nasgoat.formulations.layers import add_forward_edges, add_layers, link_cells, require_paths
from nasgoat.formulations.limit_rows import limit_cells
from nasgoat.formulations.profiles import Profiles, list_structure_profiles
from nasgoat.formulations.structure_columns import (
    StructureColumns,
    add_columns,
    add_structure_rows,
    choose_structure,
    list_symmetric_rows,
)
from nasgoat.formulations.tagged_model import TaggedModel, list_forward_pairs, sum_linearly
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.summaries import STRUCTURE
from nasgoat.spaces import CellSpace
from nasgoat.spaces.limits import Pair


def add_node_label_variables(m: TaggedModel, nodes: range, labels: Sequence[int]) -> None:
    """F[v, l] for these nodes and codes of labels."""
    keys = [(v, label) for v in nodes for label in labels]
    m.add_variable("F", keys, pyo.Binary, lambda g, v, label: float(g.codes[v] == label))


def add_edge_label_variables(
    m: TaggedModel, pairs: list[Pair], labels: int, name: str = "F"
) -> None:
    """F[u, v, l] for these pairs; Fe where nodes may have labels as well."""
    keys = [(*pair, label) for pair in pairs for label in range(labels)]

    def meaning(g: Any, u: int, v: int, label: int) -> float:
        return float(g.edge_codes.get((u, v)) == label)

    m.add_variable(name, keys, pyo.Binary, meaning)


def restrict_101_index(m: TaggedModel) -> None:
    """(101_index): edges go from smaller to larger indices."""
    _add_topological_rows(m, "101_index")


def restrict_101_source(m: TaggedModel) -> None:
    """(101_source): node 0 reaches every node, r[0, v] = 1, and alone has the first label."""
    nodes = range(m.n)
    m.add_rows("101_source", "reach", [((v,), m.r[0, v] == 1) for v in nodes])
    m.add_rows("101_source", "label", [((v,), m.F[v, 0] == int(v == 0)) for v in nodes])


def restrict_101_sink(m: TaggedModel, labels: int) -> None:
    """(101_sink): every node reaches node n - 1, r[v, n - 1] = 1; it alone has the last label."""
    nodes, last = range(m.n), m.n - 1
    m.add_rows("101_sink", "reach", [((v,), m.r[v, last] == 1) for v in nodes])
    m.add_rows("101_sink", "label", [((v,), m.F[v, labels - 1] == int(v == last)) for v in nodes])


def restrict_101_label(m: TaggedModel, nodes: range, labels: Sequence[int]) -> None:
    """(101_label): every node has one label, Σ_l F[v, l] = 1."""
    m.add_rows("101_label", "one", [((v,), sum(m.F[v, a] for a in labels) == 1) for v in nodes])


def restrict_201_index(m: TaggedModel) -> None:
    """(201_index): the same as (101_index)."""
    _add_topological_rows(m, "201_index")


def restrict_201_source(m: TaggedModel) -> None:
    """(201_source): every node is between node 0 and node n - 1, r[0, v] = r[v, n - 1] = 1."""
    nodes, last = range(m.n), m.n - 1
    m.add_rows("201_source", "from_source", [((v,), m.r[0, v] == 1) for v in nodes])
    m.add_rows("201_source", "to_sink", [((v,), m.r[v, last] == 1) for v in nodes])


def restrict_201_label(m: TaggedModel, labels: int) -> None:
    """(201_label): an edge has one label, a missing edge none, Σ_l F[u, v, l] = A[u, v]."""
    totals = {(u, v): sum(m.F[u, v, a] for a in range(labels)) for u, v in list_forward_pairs(m.n)}
    m.add_rows(
        "201_label", "one", [((u, v), total == m.A[u, v]) for (u, v), total in totals.items()]
    )


def restrict_to_paper_domain(
    m: TaggedModel, space: CellSpace, columns: StructureColumns | None = None
) -> None:
    """Restrict (Graph-Encoding) to the cells of a space: Eqs. (101_*) or (201_*).

    With ``columns`` a cell has one of these structures, its nodes in their order.
    """
    on_nodes, labels = space.labels_on == "nodes", len(space.ops)
    if on_nodes:
        labels = len(space.node_vocabulary)
        add_node_label_variables(m, range(m.n), range(labels))
        restrict_101_index(m)
        restrict_101_source(m)
        restrict_101_sink(m, labels)
        restrict_101_label(m, range(m.n), range(labels))
    else:
        add_edge_label_variables(m, list_forward_pairs(m.n), labels)
        restrict_201_index(m)
        if space.on_paths:
            restrict_201_source(m)
    rows = list_symmetric_rows(space, m.n)
    if columns is not None:
        choose_structure(m, columns.adjacency)
    elif rows is None:
        choose_structure(m, space.listed[m.n].adjacency)
    else:
        add_structure_rows(m, rows)
    if not on_nodes:
        restrict_201_label(m, labels)


def build_domain_of_cells(space: CellSpace, n: int) -> TaggedModel:
    """The cells with n nodes within their limits, without an acquisition."""
    m = TaggedModel(n)
    features = FeatureMap(space)
    build_compact_domain(m, space, features, list_needed_columns(space, n, features))
    limit_cells(m, space)
    return m


class CompactCells(NamedTuple):
    """Cells of a compact model, as its other rows need them.

    Args:
        m: The model.
        features: The kernel features of the space.
        columns: All structures that the model holds, where they are columns.
        counts: The counts, in the order of the features.
        profiles: Profiles of the structures, if they are listed.
    """

    m: TaggedModel
    features: FeatureMap
    columns: StructureColumns | None
    counts: Counts
    profiles: Profiles | None


def list_needed_columns(space: CellSpace, n: int, features: FeatureMap) -> StructureColumns | None:
    """All structures of n nodes, if nothing but their list tells which they are, or their codes."""
    if list_symmetric_rows(space, n) is not None and not is_decided(features, STRUCTURE):
        return None
    return StructureColumns(space.listed[n].adjacency)


def make_blank_structures(space: CellSpace, n: int, features: FeatureMap) -> GraphBatch | None:
    """A cell for each structure of n nodes, with any labels, where structures decide codes."""
    if not is_decided(features, STRUCTURE):
        return None
    matrices = space.listed[n].adjacency
    return space.batch([space.assemble(a, [0] * space.count_variables(a)) for a in matrices])


def build_compact_domain(
    m: TaggedModel,
    space: CellSpace,
    features: FeatureMap,
    columns: StructureColumns | None = None,
) -> CompactCells:
    """The cells of a space as layered paths, or as a choice among structures, with their counts."""
    on_nodes = space.labels_on == "nodes"
    add_forward_edges(m)
    if columns is not None:
        add_columns(m, columns)
    else:
        add_layers(m)
        if space.on_paths:
            tags = ("101_source", "101_sink") if on_nodes else ("201_source", "201_source")
            require_paths(m, tags)
        add_structure_rows(m, list_symmetric_rows(space, m.n) or [])
    if not on_nodes:
        add_edge_label_variables(m, list_forward_pairs(m.n), len(space.ops))
        restrict_201_label(m, len(space.ops))
        counts = count_edge_labelled(m, space, features, columns)
        counts.add(code_counts(m, features, make_blank_structures(space, m.n, features)))
        return CompactCells(m=m, features=features, columns=columns, counts=counts, profiles=None)
    labels = (None if columns is None else columns.labels) or range(1, len(space.ops) + 1)
    inner = range(1, m.n - 1)
    add_node_label_variables(m, inner, labels)
    restrict_101_label(m, inner, labels)
    link_cells(m, labels)
    profiles = (
        list_structure_profiles(m.n, space.edge_limit) if columns is None else columns.profiles
    )
    counts = count_node_labelled(m, space, features, profiles)
    counts.add(code_counts(m, features, make_blank_structures(space, m.n, features)))
    return CompactCells(m=m, features=features, columns=columns, counts=counts, profiles=profiles)


def _add_topological_rows(m: TaggedModel, tag: str) -> None:
    n, pairs = m.n, [(v, u) for u, v in list_forward_pairs(m.n)]
    m.add_rows(tag, "A", [((u, v), m.A[u, v] == 0) for u, v in pairs])
    m.add_rows(tag, "r", [((u, v), m.r[u, v] == 0) for u, v in pairs])
    m.add_rows(tag, "d", [((u, v), m.d[u, v] == n) for u, v in pairs])
    triples = [(u, v, w) for u, v, w in permutations(range(n), 3) if u > v]
    m.add_rows(tag, "delta", [((u, v, w), m.delta[u, v, w] == 0) for u, v, w in triples])


def add_symmetry_rows(m: TaggedModel, labels: range) -> None:
    """(symmetry): keys ascend wherever neighbours in the order are not joined by an edge.

    For w = v + 1: Σ_{l ≥ c} F[v, l] + Σ_{l < c} F[w, l] ≤ 1 + A[v, w], so that labels ascend; and
    Σ_{u<v} 2^u (A[u, v] - A[u, w]) ≤ (2^v - 1) (2 + A[v, w] - F[v, a] - F[w, a]), so that incoming
    edges do where both have label a.
    """
    neighbours = [(v, v + 1) for v in range(1, m.n - 2)]
    ascending = []
    for v, w in neighbours:
        for c in labels[1:]:
            larger = [(1.0, m.F[v, label]) for label in labels if label >= c]
            smaller = [(1.0, m.F[w, label]) for label in labels if label < c]
            row = sum_linearly([*larger, *smaller, (-1.0, m.A[v, w])]) <= 1
            ascending.append(((v, c), row))
    m.add_rows("symmetry", "labels", ascending)
    tied = []
    for v, w in neighbours:
        most = float(2**v - 1)
        first = [(2.0**u, m.A[u, v]) for u in range(v)]
        second = [(-(2.0**u), m.A[u, w]) for u in range(v)]
        for a in labels:
            loose = [(-most, m.A[v, w]), (most, m.F[v, a]), (most, m.F[w, a])]
            tied.append(((v, a), sum_linearly([*first, *second, *loose]) <= 2 * most))
    m.add_rows("symmetry", "edges", tied)


def find_least_order(labels: Sequence[str], graph: LabeledGraph) -> LabeledGraph:
    """The topological order with the least sequence of keys, which the rows above keep."""
    codes = [labels.index(label) for label in graph.node_labels or ()]
    prefix: list[tuple[tuple[tuple[int, int], ...], list[int]]] = [((), [])]
    for _ in range(graph.n):
        longer = []
        for keys, order in prefix:
            place = {v: i for i, v in enumerate(order)}
            for v in range(graph.n):
                before = np.flatnonzero(graph.adjacency[:, v]).tolist()
                if v not in place and all(u in place for u in before):
                    key = (codes[v], sum(2 ** place[u] for u in before))
                    longer.append(((*keys, key), [*order, v]))
        least = min(keys for keys, _ in longer)
        prefix = [(keys, order) for keys, order in longer if keys == least]
    return graph.relabeled(prefix[0][1])
