"""Kernel blocks beside the paper's: their codes as sums of columns of a program.

Notation
    X[i]    1 if the graph has the i-th of the listed structures (``structure_columns``)
    mix[i]  1 if its operations occur as often as the i-th composition says
    rich[i] 1 if the most of each operation on a path are the i-th ones (``richest_paths``)
    z[j]    a code of a block, 0 or 1

Whatever decides a block decides its codes: z[j] = Σ X[i] over the structures, Σ mix[i] over the
compositions, or Σ rich[i] over the richest paths, that have the code. So no block needs rows of its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.counts import Count
from nasgoat.formulations.richest_paths import richest_path_columns
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, linear_sum
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.deciding import (
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
from nasgoat.kernels.graph_counts import count_labels, find_most_edges, list_operations
from nasgoat.spaces import SearchSpace


def is_decided(features: FeatureMap, by: str) -> bool:
    """Whether some block beside the paper's is decided by structures, or by operations."""
    return by in features.decided_by


def code_counts(
    m: TaggedModel, features: FeatureMap, structures: GraphBatch | None = None
) -> list[Count]:
    """The codes of all blocks beside the paper's, in the order of the features.

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
        composition_columns(m, space, every)
        batch = realise_on_path(space, every)
        _add_terms(terms, m.mix, features.encode_decided(batch, OPERATIONS))
    if is_decided(features, LONGEST):
        every = _list_values(space, m.n, LONGEST)
        richest_path_columns(m, space, every)
        batch = realise_on_path(space, every)
        _add_terms(terms, m.rich, features.encode_decided(batch, LONGEST))
    return [Count(found) for found in terms]


def code_variables(
    m: TaggedModel, features: FeatureMap, structures: GraphBatch | None = None
) -> None:
    """The codes as variables, for the paper's formulation: code[j] = Σ of its columns."""
    counts = code_counts(m, features, structures)
    first, keys = len(features.path_types) + len(features.edge_types), range(len(counts))
    code = m.variable(
        "code", [(j,) for j in keys], pyo.UnitInterval, lambda g, j: float(g.counts[first + j])
    )
    m.rows("linear", "code", [((j,), equate(counts[j].terms, [(1.0, code[j])])) for j in keys])


def composition_columns(m: TaggedModel, space: SearchSpace, every: Sequence[Composition]) -> None:
    """(compositions) mix: Σ_i mix[i] = 1 and Σ_i N_l mix[i] = how often operation l occurs."""
    nodes, edges = list_operations(space)

    def meaning(g: Any, i: int) -> float:
        on_nodes, on_edges = list(g.codes), list(g.edge_codes.values())
        half = 1 if space.directed else 2  # a point has both directions of an edge
        found = [on_nodes.count(a) for a in nodes] + [on_edges.count(a) // half for a in edges]
        return float(tuple(found) == tuple(every[i]))

    mix = m.variable("mix", [(i,) for i in range(len(every))], pyo.Binary, meaning)
    m.rows("compositions", "one_of_all", [((), linear_sum((1.0, x) for x in mix.values()) == 1)])
    places = [(2, code) for code in nodes] + [(3, code) for code in edges]  # (v, l) or (u, v, l)
    rows = []
    for at, (length, code) in enumerate(places):
        there: Terms = [
            (1.0, x) for key, x in m.labels.items() if len(key) == length and key[-1] == code
        ]
        made: Terms = [(float(C[at]), mix[i]) for i, C in enumerate(every)]
        rows.append(((at,), equate(made, there)))
    m.rows("compositions", "label", rows)


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
    most = min(space.most_edges(n), find_most_edges(space)) if on_edges else 0
    return [(nodes, edges) for edges in range(most + 1)]


def _add_terms(terms: list[Terms], columns: Any, codes: NDArray[np.uint8]) -> None:
    """Each code as the sum of the columns that have it."""
    for j, having in enumerate(codes.T):
        terms[j] += [(1.0, columns[i]) for i in np.flatnonzero(having).tolist()]
