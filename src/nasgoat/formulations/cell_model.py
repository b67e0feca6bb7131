"""(Acq-Opt) over a space of cells, from the space's description alone.

``paper``    (Graph-Encoding) restricted to cells, kernel and posterior as in Appendix B, literally
``compact``  layered paths, or a choice among listed structures where the family has no rows over
             edges or a list is given; kernel counts; a convex split of the variance
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyomo.environ as pyo

from nasgoat.formulations import cell_domains as domain
from nasgoat.formulations import kernel_encoding as kernel
from nasgoat.formulations.acquisition_rows import Acquisition, posterior_rows
from nasgoat.formulations.compact_posterior import compact_posterior_rows
from nasgoat.formulations.compositions import PARTS, Composition, PartBounds, tightening_rows
from nasgoat.formulations.counts import (
    Counts,
    edge_labelled_counts,
    node_labelled_counts,
    node_labelled_links,
)
from nasgoat.formulations.graph_encoding import graph_encoding
from nasgoat.formulations.layers import distance_terms, forward_edges, layers, source_and_sink
from nasgoat.formulations.limit_rows import Distance, cell_depth_terms, limit_rows
from nasgoat.formulations.profiles import Profiles, structure_profiles
from nasgoat.formulations.structure_columns import (
    LabelledValues,
    StructureColumns,
    add_columns,
    value_structures,
)
from nasgoat.formulations.tagged_model import Part, TaggedModel, Terms
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace
from nasgoat.surrogate import LinearPosterior
from nasgoat.surrogate.posterior import of_paper_kernel


class CompactCells(NamedTuple):
    """What the rows of compact cells leave to those of the posterior."""

    counts: Counts
    profiles: Profiles | None


def paper_cells(
    space: CellSpace, n: int, features: FeatureMap, acquisition: Acquisition
) -> TaggedModel:
    """The paper's model, but for its objective."""
    m = graph_encoding(n)
    domain.paper_domain(m, space)
    kernel.distance_indicators(m)
    limit_cells(m, space, distance_indicator_terms)
    if space.labels_on == "nodes":
        kernel.count_paths_and_labels(m, len(space.node_vocabulary))
    posterior_rows(m, features, acquisition)
    return m


def compact_cells(
    space: CellSpace,
    n: int,
    features: FeatureMap,
    acquisition: Acquisition,
    columns: StructureColumns | None = None,
) -> TaggedModel:
    """The compact model, but for its objective; ``columns`` are all structures that it holds."""
    m = TaggedModel(n)
    counts, profiles = compact_domain(m, space, features, columns)
    limit_cells(m, space, distance_terms)
    squares = compact_posterior_rows(m, counts, features, acquisition)
    if space.labels_on == "edges":
        return m
    every = tightening_rows(m, space, features, counts, profiles, columns)
    posterior = of_paper_kernel(acquisition.posterior).on_counts(features, n)
    if isinstance(posterior, LinearPosterior):
        bounds = PartBounds(m, features, counts, squares, posterior.covariance, profiles)
        values = None
        if columns is not None:
            values = value_structures(columns, features, posterior, acquisition.sqrt_beta)
        add_parts(bounds, every, columns, values)
    return m


def add_parts(
    bounds: PartBounds,
    every: list[Composition],
    columns: StructureColumns | None = None,
    values: LabelledValues | None = None,
) -> None:
    """One part for each composition, where they are few.

    Args:
        bounds: Knows the model, and bounds the variance of a part.
        every: The compositions, in the order of Y.
        columns: The structures of each composition, where they are columns.
        values: What these are worth under labels.
    """
    m, allowed = bounds.m, None if columns is None else columns.allowed
    if not (1 if allowed is None else 0) < len(every) <= PARTS:
        return
    for i, C in enumerate(every):
        if columns is None or allowed is None or bounds.profiles is None:
            m.parts.append(Part(m.Y[i], partial(bounds.of, C)))
            continue
        structures, floors = allowed[C]
        exact = None
        if values is not None and np.isfinite(floors).all():
            exact = replace(values, distances=columns.distances[structures])
        part = Part(
            chosen=m.Y[i],
            variance=partial(bounds.of, C, bounds.profiles.most_among(structures)),
            columns=[m.X[j] for j in structures.tolist()],
            floors=floors.tolist(),
            values=exact,
            labels=[[(a, m.F[v, a]) for a in columns.labels or ()] for v in range(1, m.n - 1)],
        )
        m.parts.append(part)


def needed_columns(space: CellSpace, n: int) -> StructureColumns | None:
    """All structures of n nodes, if nothing but their list tells which they are."""
    if domain.structure_rows(space, n) is not None:
        return None
    return StructureColumns(space.list_structures(n))


def compact_domain(
    m: TaggedModel,
    space: CellSpace,
    features: FeatureMap,
    columns: StructureColumns | None = None,
) -> CompactCells:
    """The cells of a space as layered paths, or as a choice among structures, with their counts."""
    on_nodes = space.labels_on == "nodes"
    forward_edges(m)
    if columns is not None:
        add_columns(m, columns)
    else:
        layers(m)
        if space.on_paths:
            tags = ("101_source", "101_sink") if on_nodes else ("201_source", "201_source")
            source_and_sink(m, tags)
        domain.add_structure_rows(m, domain.structure_rows(space, m.n) or [])
    if not on_nodes:
        domain.edge_label_variables(m, len(space.ops))
        domain.domain_201_label(m, len(space.ops))
        return CompactCells(edge_labelled_counts(m, space, features, columns), None)
    labels = (None if columns is None else columns.labels) or range(1, len(space.ops) + 1)
    inner = range(1, m.n - 1)
    keys = [(v, a) for v in inner for a in labels]
    m.variable("F", keys, pyo.Binary, lambda g, v, a: float(g.codes[v] == a))
    one = [((v,), sum(m.F[v, a] for a in labels) == 1) for v in inner]
    m.rows("101_label", "one", one)
    node_labelled_links(m, labels)
    profiles = structure_profiles(m.n, space.edge_limit) if columns is None else columns.profiles
    return CompactCells(node_labelled_counts(m, space, features, profiles), profiles)


def domain_of_cells(space: CellSpace, n: int) -> TaggedModel:
    """The cells with n nodes within their limits, without an acquisition."""
    m = TaggedModel(n)
    compact_domain(m, space, FeatureMap(space), needed_columns(space, n))
    limit_cells(m, space, distance_terms)
    return m


def limit_cells(m: TaggedModel, space: CellSpace, distance: Distance) -> None:
    """(limit): the limits of a space of cells; ``distance`` gives the terms of d^s[u, v]."""
    pairs, ends = domain.forward_pairs(m.n), space.end_pairs(m.n)
    limit_rows(m, space, pairs, lambda: cell_depth_terms(m, ends, distance))


def distance_indicator_terms(m: TaggedModel, u: int, v: int, s: int) -> Terms:
    """d^s[u, v] where it is a variable of its own, as in the paper."""
    return [(1.0, m.ds[u, v, s])]
