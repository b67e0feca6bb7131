"""(Acq-Opt) over a declared graph space: the paper's general encoding, (C1) to (C8).

``paper``    kernel and posterior as in Appendix B, literally
``compact``  the same graphs; kernel counts by marginals and the convex split of the variance
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np

from nasgoat.errors import GraphError
from nasgoat.formulations import kernel_encoding as kernel
from nasgoat.formulations.acquisition_rows import (
    Acquisition,
    Data,
    kernel_rows,
    posterior_mean_rows,
    posterior_variance_rows,
)
from nasgoat.formulations.compact_rows import exponential_posterior_rows, linear_posterior_rows
from nasgoat.formulations.graph_domains import graph_domain, is_ordered
from nasgoat.formulations.graph_kernel import edge_ends, edge_type_counts, graph_counts, path_links
from nasgoat.formulations.limit_rows import distance_by_indicator, limit_rows
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import GraphSpace
from nasgoat.spaces.names import topological_orders
from nasgoat.surrogate import LinearPosterior
from nasgoat.surrogate.posterior import of_paper_kernel

_PERMUTATIONS = 50_000  # looked at for other orders of one graph


def limited_domain(space: GraphSpace, n: int, ordered: bool = False) -> TaggedModel:
    """The graphs with n nodes within their limits, with distance indicators."""
    m = graph_domain(space, n, ordered)
    kernel.distance_indicators(m)
    limit_rows(m, space, distance_by_indicator)
    return m


def paper_rows(
    space: GraphSpace, n: int, features: FeatureMap, acquisition: Acquisition
) -> TaggedModel:
    """The model whose kernel and posterior are those of Appendix B."""
    m = limited_domain(space, n, ordered=True)
    labels = max(len(space.node_vocabulary), 1)
    kernel.path_indicators(m, labels)
    kernel.path_counts(m, labels)
    kernel.label_counts(m, labels)
    edge_ends(m, space)
    edge_type_counts(m, space, features)
    data = Data.of(acquisition.gp)
    kernel_rows(m, features, data)
    posterior_mean_rows(m, data)
    posterior_variance_rows(m, data)
    return m


def compact_rows(
    space: GraphSpace, n: int, features: FeatureMap, acquisition: Acquisition
) -> TaggedModel:
    """The model whose kernel counts are marginals, with the convex split of the variance."""
    m = limited_domain(space, n, ordered=True)
    path_links(m, space)
    edge_ends(m, space)
    counts = graph_counts(m, space, features)
    posterior = of_paper_kernel(acquisition.gp.posterior_).on_counts(features, n)
    if isinstance(posterior, LinearPosterior):
        linear_posterior_rows(m, counts, posterior)
    else:
        exponential_posterior_rows(m, counts, posterior)
    return m


@dataclass(frozen=True)
class GraphNames:
    """Between the graphs of a space with n nodes and the names of a model's variables."""

    space: GraphSpace
    n: int

    def ordered(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in an order that the model holds."""
        place = self.space.node_vocabulary.index
        codes = [place(label) for label in graph.node_labels or ()]
        if not is_ordered(self.space):
            first = self.space.rules.fixed.pinned
            rest = sorted(range(first, graph.n), key=lambda v: codes[v] if codes else 0)
            return graph.relabeled([*range(first), *rest])
        ends = {0} if self.space.sources else set()
        last = {len(self.space.node_vocabulary) - 1} if self.space.sinks else set()
        order = _topological(graph, codes, ends, last)
        return graph.relabeled(order)

    def orders(self, graph: LabeledGraph, most: int) -> list[LabeledGraph]:
        """The graph under orders of its nodes that the model holds, the given one first."""
        if is_ordered(self.space):
            found = [g for g in topological_orders(graph, most) if self._ends_in_place(g)]
            return list(dict.fromkeys([graph, *found]))
        first, n = self.space.rules.fixed.pinned, graph.n
        labels = graph.node_labels or [""] * n
        found = [graph]
        seen = {graph}
        for rest in islice(permutations(range(first, n)), _PERMUTATIONS):
            order = [*range(first), *rest]
            if all(labels[v] == labels[w] for v, w in enumerate(order)):
                other = graph.relabeled(order)
                if other not in seen:
                    seen.add(other)
                    found.append(other)
            if len(found) >= most:
                break
        return found

    def point(self, graph: LabeledGraph) -> tuple[list[str], list[str]]:
        """Names of decisions that are 1, and of edges that are not there."""
        codes = [0] * self.n
        if graph.node_labels is not None:
            codes = [self.space.node_vocabulary.index(label) for label in graph.node_labels]
        ones = [f"F({v},{code})" for v, code in enumerate(codes)]
        if graph.edge_labels is not None:
            place = self.space.edge_vocabulary.index
            ones += [f"Fe({u},{v},{place(x)})" for (u, v), x in graph.edge_labels.items()]
        else:
            ones += [f"A({u},{v})" for u, v in graph.edges]
        missing = set(self._pairs()) - set(graph.edges)
        return ones, [f"A({u},{v})" for u, v in sorted(missing)]

    def decisions(self) -> list[str]:
        """Names of the variables that determine a graph."""
        labels, ops = max(len(self.space.node_vocabulary), 1), len(self.space.edge_ops)
        return [
            *(f"A({u},{v})" for u, v in self._pairs()),
            *(f"F({v},{a})" for v in range(self.n) for a in range(labels)),
            *(f"Fe({u},{v},{a})" for u, v in self._pairs() for a in range(ops)),
        ]

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding."""
        space, n = self.space, self.n
        edges = [(u, v) for u, v in self._pairs() if values[f"A({u},{v})"] > 0.5]
        nodes = names = None
        if vocabulary := space.node_vocabulary:
            nodes = [vocabulary[_largest(values, f"F({v},", len(vocabulary))] for v in range(n)]
        if space.edge_ops:
            ops = space.edge_vocabulary
            names = [ops[_largest(values, f"Fe({u},{v},", len(ops))] for u, v in edges]
        return LabeledGraph.from_edges(n, edges, nodes, names, space.directed)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return iter(self.space.pairs(self.n))

    def _ends_in_place(self, graph: LabeledGraph) -> bool:
        labels, space = graph.node_labels, self.space
        if labels is None:
            return True
        vocabulary = space.node_vocabulary
        first = all(label == vocabulary[0] for label in labels[: space.sources])
        return first and all(x == vocabulary[-1] for x in labels[graph.n - space.sinks :])


def _largest(values: Mapping[str, float], prefix: str, count: int) -> int:
    """The one label that is chosen."""
    chosen = [a for a in range(count) if values[f"{prefix}{a})"] > 0.5]
    if len(chosen) != 1:
        raise GraphError(f"a node or edge must have one label, got {len(chosen)} at {prefix}...)")
    return chosen[0]


def _topological(
    graph: LabeledGraph, codes: list[int], first: set[int], last: set[int]
) -> list[int]:
    """An order in which edges ascend, nodes with these labels first and last."""
    rank = [
        0 if codes and codes[v] in first else 2 if codes and codes[v] in last else 1
        for v in range(graph.n)
    ]
    order: list[int] = []
    left = set(range(graph.n))
    while left:
        free = [v for v in left if not (set(np.flatnonzero(graph.adjacency[:, v]).tolist()) & left)]
        v = min(free, key=lambda v: (rank[v], v))
        left.remove(v)
        order.append(v)
    return order
