"""Kernel blocks beside the paper's: their codes as sums of columns of a program.

Notation
    X[i]   1 if the cell has the i-th of the listed structures (``structure_columns``)
    mix[i]   1 if its operations occur as often as the i-th composition says
    z[j]   a code of a block, 0 or 1

Whatever decides a block decides its codes: z[j] = Σ X[i] over the structures, or Σ mix[i] over the
compositions, that have the code. So no block needs rows of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.counts import Count
from nasgoat.formulations.tagged_model import TaggedModel, Terms, equate, linear_sum
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.blocks import OPERATIONS, STRUCTURE, Composition, list_compositions
from nasgoat.spaces import CellSpace

Matrices = NDArray[np.bool_]


def is_decided(features: FeatureMap, by: str) -> bool:
    """Whether some block beside the paper's is decided by structures, or by operations."""
    return any(code.block.decided_by == by for code in features.codes.values())


def code_counts(m: TaggedModel, space: CellSpace, features: FeatureMap) -> list[Count]:
    """The codes of all blocks beside the paper's, in the order of the features.

    The model has labels and, where a block is decided by structures, X of all that are listed.
    """
    terms: list[Terms] = [[] for _ in range(sum(features.widths[3:]))]
    if is_decided(features, STRUCTURE):
        matrices = space.listed[m.n].adjacency
        blank = [space.assemble(a, [0] * space.count_variables(a)) for a in matrices]
        _add_terms(terms, m.X, features.encode_decided(blank, STRUCTURE))
    if is_decided(features, OPERATIONS):
        found = _list_compositions(space, m.n)
        composition_columns(m, space, list(found))
        graphs = [space.assemble(a, np.repeat(range(len(C)), C)) for C, a in found.items()]
        _add_terms(terms, m.mix, features.encode_decided(graphs, OPERATIONS))
    return [Count(found) for found in terms]


def code_variables(m: TaggedModel, space: CellSpace, features: FeatureMap) -> None:
    """The codes as variables, for the paper's formulation: code[j] = Σ of its columns."""
    counts = code_counts(m, space, features)
    first, keys = len(features.path_types) + len(features.edge_types), range(len(counts))
    code = m.variable(
        "code", [(j,) for j in keys], pyo.UnitInterval, lambda g, j: float(g.counts[first + j])
    )
    m.rows("linear", "code", [((j,), equate(counts[j].terms, [(1.0, code[j])])) for j in keys])


def composition_columns(m: TaggedModel, space: CellSpace, every: list[Composition]) -> None:
    """(compositions) mix: Σ_i mix[i] = 1 and Σ_i C_l mix[i] = how often label l occurs."""
    first = 1 if space.labels_on == "nodes" else 0  # code of the first operation

    def meaning(g: Any, i: int) -> float:
        codes = list(g.codes) if first else list(g.edge_codes.values())
        return float(all(codes.count(first + a) == c for a, c in enumerate(every[i])))

    mix = m.variable("mix", [(i,) for i in range(len(every))], pyo.Binary, meaning)
    m.rows("compositions", "one_of_all", [((), linear_sum((1.0, x) for x in mix.values()) == 1)])
    labels: dict[int, Terms] = {first + a: [] for a in range(len(space.ops))}
    for key, x in m.labels.items():
        if key[-1] in labels:
            labels[key[-1]].append((1.0, x))
    rows = []
    for code, terms in labels.items():
        made: Terms = [(float(C[code - first]), mix[i]) for i, C in enumerate(every)]
        rows.append(((code,), equate(made, terms)))
    m.rows("compositions", "label", rows)


def _list_compositions(space: CellSpace, n: int) -> dict[Composition, Matrices]:
    """The compositions of cells of n nodes, each with a structure that can have it."""
    by_total = {space.count_variables(a): a for a in space.listed[n].adjacency}
    labels = len(space.ops)
    return {C: a for total, a in by_total.items() for C in list_compositions(total, labels)}


def _add_terms(terms: list[Terms], columns: Any, codes: NDArray[np.uint8]) -> None:
    """Each code as the sum of the columns that have it."""
    for j, having in enumerate(codes.T):
        terms[j] += [(1.0, columns[i]) for i in np.flatnonzero(having).tolist()]
