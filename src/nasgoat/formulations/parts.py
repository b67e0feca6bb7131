"""Parts of the cells, one for each composition, each with a bound of the variance of its own.

Given how many nodes have each operation, P[0, a, a] is constant, every count has a smaller largest
value, and Σ_s P[s, source, a] = Σ_s P[s, a, sink] = C_a: fewer directions, and less for the
indicators to overestimate. Totals over labels, T[f, s], are functionals as well, since profiles
write their squares.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nasgoat.formulations.compositions import Composition, most_paths
from nasgoat.formulations.counts import Counts
from nasgoat.formulations.layers import Terms
from nasgoat.formulations.listed import LabelledValues, Listed
from nasgoat.formulations.profiles import IntArray, Profiles, family_of
from nasgoat.formulations.tagged_model import Part, TaggedModel
from nasgoat.formulations.variance_bound import (
    Functional,
    VarianceBound,
    single_counts,
    variance_bound,
)
from nasgoat.kernels import FeatureMap

Array = NDArray[np.float64]
PARTS = 100  # more of them than this cost more than they save


def add_parts(
    m: TaggedModel,
    every: list[Composition],
    features: FeatureMap,
    counts: Counts,
    squares: dict[int, Terms],
    covariance: Array,
    profiles: Profiles | None,
    listed: Listed | None,
    values: LabelledValues | None,
) -> None:
    """One part for each composition, where they are few."""
    if not (1 if listed is None else 0) < len(every) <= PARTS:
        return
    totals = [] if profiles is None else _totals(m, features, len(every[0]) + 1, profiles)
    settings = (features, counts, squares, covariance, totals)
    for i, C in enumerate(every):
        if listed is None or profiles is None:
            m.parts.append(Part(m.Y[i], partial(_part_bound, m, C, *settings)))
        else:
            structures, floors = listed.allowed[C]
            bound = partial(_part_bound, m, C, *settings, profiles.most_among(structures))
            columns = [m.X[j] for j in structures.tolist()]
            exact = None
            if values is not None and np.isfinite(floors).all():
                exact = replace(values, distances=listed.distances[structures])
            labels = [[(a, m.F[v, a]) for a in listed.labels] for v in range(1, m.n - 1)]
            m.parts.append(Part(m.Y[i], bound, columns, floors.tolist(), exact, labels))


def _part_bound(
    m: TaggedModel,
    C: Composition,
    features: FeatureMap,
    counts: Counts,
    squares: dict[int, Terms],
    covariance: Array,
    totals: list[Functional],
    most_apart: IntArray | None = None,
) -> VarianceBound:
    last, farthest = len(C) + 1, 0 if most_apart is None else most_apart.shape[1]
    constants = np.array([count.constant for count in counts.counts])
    largest: dict[int, float] = {}
    for j, (s, a, b) in enumerate(features.path_types):
        if s == 0 and 0 < a < last:
            constants[j] = C[a - 1]
        elif counts.counts[j].terms:
            most = 1 if (a, b) == (0, last) else most_paths(C, a, b, last)
            if most_apart is not None and s <= farthest and (a, b) != (0, last):
                most = min(most, int(most_apart[family_of(a, b, last), s - 1]))
            if most > 0:
                largest[j] = float(min(counts.counts[j].upper, most))
    singles = single_counts(len(counts.counts), largest, squares)
    kept = np.isin(np.arange(len(counts.counts)), list(largest))
    # A total of one count, or of none, is no new functional.
    several = [t for t in totals if np.count_nonzero(t.weights[kept]) > 1]
    more = [Functional(t.weights * kept, t.largest, t.square) for t in several]
    return variance_bound(m.z, counts, covariance, singles + more, constants)


def _totals(
    m: TaggedModel, features: FeatureMap, last: int, profiles: Profiles
) -> list[Functional]:
    """T[f, s] as sums of counts, their squares by the profiles W."""
    members: dict[tuple[int, int], Array] = {}
    for j, (s, a, b) in enumerate(features.path_types):
        if s > 0 and (a, b) != (0, last):
            family = family_of(a, b, last)
            members.setdefault((family, s), np.zeros(len(features.path_types)))[j] = 1.0
    found = []
    for (family, s), weights in members.items():
        values = profiles.values[family]
        if s > values.shape[1] or profiles.most(family, s) < 2:
            continue
        square = [(float(T[s - 1] ** 2), m.W[family, i]) for i, T in enumerate(values) if T[s - 1]]
        found.append(Functional(weights, float(profiles.most(family, s)), square))
    return found
