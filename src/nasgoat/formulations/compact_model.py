"""The compact formulation: cells as layered paths or listed structures, and the posterior."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from nasgoat.formulations import cell_domains as domain
from nasgoat.formulations.acquisition_rows import Acquisition
from nasgoat.formulations.compact_rows import exponential_posterior_rows, linear_posterior_rows
from nasgoat.formulations.compositions import tightening_rows
from nasgoat.formulations.counts import (
    edge_labelled_counts,
    node_labelled_counts,
    node_labelled_links,
)
from nasgoat.formulations.layers import distance_terms, forward_edges, layers, source_and_sink
from nasgoat.formulations.limit_rows import limit_rows
from nasgoat.formulations.listed import Listed, inner_labels, labelled_values, listed_structures
from nasgoat.formulations.parts import add_parts
from nasgoat.formulations.profiles import Profiles, structure_profiles
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import DartsSpace, EdgeLabeledSpace, NodeLabeledSpace
from nasgoat.surrogate import LinearPosterior
from nasgoat.surrogate.posterior import of_paper_kernel

Cell = NodeLabeledSpace | EdgeLabeledSpace | DartsSpace


def compact_model(
    space: Cell, n: int, features: FeatureMap, acquisition: Acquisition, listed: Listed | None
) -> TaggedModel:
    """The compact formulation, but for its objective."""
    m = TaggedModel(n)
    counts = compact_cells(m, space, features, listed)
    limit_rows(m, space, distance_terms)
    posterior = of_paper_kernel(acquisition.gp.posterior_).on_counts(features, n)
    if isinstance(posterior, LinearPosterior):
        squares = linear_posterior_rows(m, counts, posterior)
    else:
        exponential_posterior_rows(m, counts, posterior)
    if isinstance(space, NodeLabeledSpace):
        profiles = _profiles(space, n, listed)
        every = tightening_rows(m, space, features, counts, profiles, listed)
        if isinstance(posterior, LinearPosterior):
            covariance = posterior.covariance
            values = None
            if listed is not None:
                values = labelled_values(listed, features, posterior, acquisition.sqrt_beta)
            add_parts(m, every, features, counts, squares, covariance, profiles, listed, values)
    return m


def _profiles(space: NodeLabeledSpace, n: int, listed: Listed | None) -> Profiles | None:
    return structure_profiles(n, space.edge_limit) if listed is None else listed.profiles


def compact_cells(
    m: TaggedModel, space: Cell, features: FeatureMap, listed: Listed | None = None
) -> Any:
    """The cells of a space as layered paths, or listed structures, and kernel counts."""
    forward_edges(m)
    if listed is None:
        layers(m)
    else:
        listed_structures(m, listed)
    if not isinstance(space, NodeLabeledSpace):
        if isinstance(space, DartsSpace):
            domain.domain_darts(m, space.inputs, space.predecessors)
        elif space.connected:
            source_and_sink(m, ("201_source", "201_source"))
        domain.edge_label_variables(m, len(space.ops))
        domain.domain_201_label(m, len(space.ops))
        return edge_labelled_counts(m, space, features)
    if listed is None:
        source_and_sink(m, ("101_source", "101_sink"))
        domain.domain_101_edge(m, space.edge_limit)
    inner = inner_labels(len(space.ops), listed)
    keys = [(v, a) for v in range(1, m.n - 1) for a in inner]
    m.variable("F", keys, pyo.Binary, lambda g, v, a: float(g.codes[v] == a))
    one = [((v,), sum(m.F[v, a] for a in inner) == 1) for v in range(1, m.n - 1)]
    m.rows("101_label", "one", one)
    node_labelled_links(m, inner)
    profiles = _profiles(space, m.n, listed)
    return node_labelled_counts(m, space, features, space.edge_limit, profiles)
