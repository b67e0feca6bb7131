"""Compositions: how many nodes have which operation, and what that says about pairs and counts.

Notation (node-labelled cells with n nodes and operations 1, ..., k)
    C = (C_1, ..., C_k)   how many inner nodes have each operation; Σ C_a = n - 2
    Y[i]                  1 if the cell has the i-th composition
    p[u, v, s, a, b]      distance s (0: u does not reach v) and labels a, b at inner u < v

Every pair of inner nodes has labels, so Σ p over all pairs and distances, with labels a and b in
either order, is C_a C_b, or C_a (C_a - 1) / 2 if a = b. With Y it is linear.

Each composition is a part of the cells with a bound of the variance of its own: P[0, a, a] is
constant there, every count has a smaller largest value, and Σ_s P[s, source, a] =
Σ_s P[s, a, sink] = C_a: fewer directions, and less for the indicators to overestimate. Totals over
labels, T[f, s], are functionals as well, since profiles write their squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import comb
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.cell_domains import CompactCells
from nasgoat.formulations.profiles import (
    IntArray,
    add_profile_rows,
    add_profile_variables,
    find_family,
    sum_at_least,
)
from nasgoat.formulations.structure_columns import add_column_profiles, value_structures
from nasgoat.formulations.tagged_model import ProgramPart, TaggedModel, Terms, sum_linearly
from nasgoat.formulations.variance_bound import (
    Functional,
    VarianceBound,
    bound_variance,
    list_single_counts,
)
from nasgoat.kernels.summaries import Composition, list_compositions
from nasgoat.surrogate import LinearPosterior

Array = NDArray[np.float64]
MOST = 1500  # compositions beyond which their rows cost more than they tighten
PARTS = 100  # more of them than this cost more than they save


def add_tightening_rows(cells: CompactCells) -> list[Composition]:
    """Add the rows of profiles and compositions where these are few; none for tiny cells.

    Returns:
        The compositions, in the order of Y; none where they have no rows.
    """
    m, columns, profiles = cells.m, cells.columns, cells.profiles
    inner, ops = m.n - 2, len(cells.features.space.node_vocabulary) - 2
    if inner < 2 or comb(inner + ops - 1, inner) > MOST:
        return []
    allowed = None if columns is None else columns.allowed
    every = list(list_compositions(inner, ops)) if allowed is None else sorted(allowed)
    if profiles is not None:
        add_profile_variables(m, profiles)
        (add_profile_rows if columns is None else add_column_profiles)(m, profiles)
    add_composition_rows(m, every, {t: j for j, t in enumerate(cells.features.path_types)})
    cap_rows(cells, every)
    return every


def add_composition_rows(m: TaggedModel, every: list[Composition], place: dict[Any, int]) -> None:
    """(compositions): Y, and its links to labels and to pairs of labels.

    Σ_i Y[i] = 1;  1(P[0, a, a] = c) = Σ Y[i] over the compositions with C_a = c;  Σ p over pairs
    and distances, labels a and b in either order, is Σ_i C_a C_b Y[i], or with C_a (C_a - 1) / 2
    if a = b. ``place`` says which count P[0, a, a] is.
    """
    labels = [a for a in range(1, len(every[0]) + 1) if any(C[a - 1] for C in every)]
    keys = [(i,) for i in range(len(every))]

    def meaning(g: Any, i: int) -> float:
        inner = [int(code) for code in g.codes[1 : m.n - 1]]
        return float(all(inner.count(a) == every[i][a - 1] for a in labels))

    Y = m.add_variable("Y", keys, pyo.Binary, meaning)
    # Given Y, profiles bound well; given labels, the counts are sums of distances alone.
    m.branched_first |= {"Y", "F"}
    m.add_rows("compositions", "one", [((), sum_linearly((1.0, Y[i]) for (i,) in keys) == 1)])
    count = []
    for a in labels:
        j = place[0, a, a]
        for c in range(m.n - 1):
            having: Terms = [(-1.0, Y[i]) for i, C in enumerate(every) if C[a - 1] == c]
            count.append(((a, c), sum_linearly([(1.0, m.Zc[j, c]), *having]) == 0))
    m.add_rows("compositions", "count", count)
    pairs = []
    for a in labels:
        for b in labels[labels.index(a) :]:
            chosen: Terms = [(1.0, x) for key, x in m.p.items() if {*key[3:]} == {a, b}]
            made: Terms = [
                (-float(_count_pairs(C, a, b)), Y[i])
                for i, C in enumerate(every)
                if _count_pairs(C, a, b)
            ]
            pairs.append(((a, b), sum_linearly([*chosen, *made]) == 0))
    m.add_rows("compositions", "pairs", pairs)


def cap_rows(cells: CompactCells, every: list[Composition]) -> None:
    """(caps): a count is c or more only with a profile and a composition that allow it.

    1(z_j ≥ c) ≤ 1 - Σ Y[i] over compositions with fewer such pairs, 1(z_j ≥ c) ≤ 1(T[f, s] ≥ c).
    """
    m, counts, profiles, last = cells.m, cells.counts.counts, cells.profiles, len(every[0]) + 1
    rows = []
    for j, (s, a, b) in enumerate(cells.features.path_types):
        if s == 0 or (j, 0) not in m.Zc:
            continue
        family = find_family(a, b, last)
        for c in range(1, counts[j].upper + 1):
            reached: Terms = [(1.0, m.Zc[j, x]) for x in range(c, counts[j].upper + 1)]
            few: Terms = [
                (1.0, m.Y[i]) for i, C in enumerate(every) if bound_paths(C, a, b, last) < c
            ]
            if few:
                rows.append(((j, c, 0), sum_linearly([*reached, *few]) <= 1))
            if profiles is not None:
                many = [(-w, x) for w, x in sum_at_least(m, profiles, family, s, c)]
                rows.append(((j, c, 1), sum_linearly([*reached, *many]) <= 0))
    m.add_rows("caps", "count", rows)


def _count_pairs(C: Composition, a: int, b: int) -> int:
    """Pairs of inner nodes with labels a and b."""
    return C[a - 1] * C[b - 1] if a != b else C[a - 1] * (C[a - 1] - 1) // 2


def bound_paths(C: Composition, a: int, b: int, last: int) -> int:
    """The largest P[s, a, b] that a composition allows."""
    if a == 0 or b == last:
        return C[(b if a == 0 else a) - 1]
    return _count_pairs(C, a, b)


@dataclass(frozen=True, eq=False)
class PartBounds:
    """Bounds the variance of the cells of one composition.

    Args:
        cells: The cells, with z and, where there are profiles, W in their model.
        squares: Terms of the square of each count.
        posterior: The posterior on counts.
    """

    cells: CompactCells
    squares: dict[int, Terms]
    posterior: LinearPosterior

    def add_parts(self, every: list[Composition], sqrt_beta: float) -> None:
        """One part of the model for each composition, in the order of Y, where they are few."""
        m, features, columns, _, profiles = self.cells
        allowed = None if columns is None else columns.allowed
        if not (1 if allowed is None else 0) < len(every) <= PARTS:
            return
        for i, C in enumerate(every):
            if columns is None or allowed is None or profiles is None:
                m.parts.append(ProgramPart(m.Y[i], partial(self.of, C)))
                continue
            structures, floors = allowed[C]
            exact = None
            if np.isfinite(floors).all():
                exact = value_structures(
                    columns.distances[structures], features, self.posterior, sqrt_beta
                )
            part = ProgramPart(
                chosen=m.Y[i],
                variance=partial(self.of, C, profiles.find_most_among(structures)),
                columns=[m.X[j] for j in structures.tolist()],
                floors=floors.tolist(),
                values=exact,
                labels=[[(a, m.F[v, a]) for a in columns.labels or ()] for v in range(1, m.n - 1)],
            )
            m.parts.append(part)

    def of(self, C: Composition, most_apart: IntArray | None = None) -> VarianceBound:
        """The bound for a composition, given the largest T[f, s], (3, n - 2), where known."""
        counts, last = self.cells.counts.counts, len(C) + 1
        farthest = 0 if most_apart is None else most_apart.shape[1]
        constants = self.cells.counts.constants
        largest: dict[int, float] = {}
        for j, (s, a, b) in enumerate(self.cells.features.path_types):
            if s == 0 and 0 < a < last:
                constants[j] = C[a - 1]
            elif counts[j].terms:
                most = 1 if (a, b) == (0, last) else bound_paths(C, a, b, last)
                if most_apart is not None and s <= farthest and (a, b) != (0, last):
                    most = min(most, int(most_apart[find_family(a, b, last), s - 1]))
                if most > 0:
                    largest[j] = float(min(counts[j].upper, most))
        singles = list_single_counts(len(counts), largest, self.squares)
        kept = np.isin(np.arange(len(counts)), list(largest))
        # A total of one count, or of none, is no new functional.
        several = [t for t in self._totals if np.count_nonzero(t.weights[kept]) > 1]
        more = [Functional(t.weights * kept, t.largest, t.square) for t in several]
        m, counted, covariance = self.cells.m, self.cells.counts, self.posterior.covariance
        return bound_variance(m.z, counted, covariance, singles + more, constants)

    @cached_property
    def _totals(self) -> list[Functional]:
        """T[f, s] as sums of counts, their squares by the profiles W."""
        m, features, _, _, profiles = self.cells
        if profiles is None:
            return []
        last, width = len(features.space.node_vocabulary) - 1, len(features.path_types)
        members: dict[tuple[int, int], Array] = {}
        for j, (s, a, b) in enumerate(features.path_types):
            if s > 0 and (a, b) != (0, last):
                members.setdefault((find_family(a, b, last), s), np.zeros(width))[j] = 1.0
        found = []
        for (family, s), weights in members.items():
            values, most = profiles.values[family], profiles.find_most(family, s)
            if most > 1:
                square = [
                    (float(T[s - 1] ** 2), m.W[family, i]) for i, T in enumerate(values) if T[s - 1]
                ]
                found.append(Functional(weights, float(most), square))
        return found
