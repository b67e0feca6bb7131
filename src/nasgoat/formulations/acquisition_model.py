"""(Acq-Opt) over a space, in one of two formulations that hold the same graphs.

``paper``    the paper's encoding, literally: for reading, teaching and checking
``compact``  layered paths, kernel counts and a convex split: the one to solve
             (docs/compact-formulation.md says why it is exact)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.formulations import cell_domains as domain
from nasgoat.formulations import graph_model
from nasgoat.formulations import kernel_encoding as kernel
from nasgoat.formulations.acquisition_rows import (
    Acquisition,
    Data,
    kernel_rows,
    lcb_objective,
    posterior_mean_rows,
    posterior_variance_rows,
)
from nasgoat.formulations.compact_model import Cell, compact_cells, compact_model
from nasgoat.formulations.graph_encoding import graph_encoding
from nasgoat.formulations.graph_model import GraphNames
from nasgoat.formulations.graph_point import GraphPoint
from nasgoat.formulations.layers import distance_terms
from nasgoat.formulations.limit_rows import distance_by_indicator, limit_rows
from nasgoat.formulations.listed import Listed, inner_labels
from nasgoat.formulations.symmetry import least_order, symmetry_rows
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.solver_names import FORMULATIONS
from nasgoat.spaces import DartsSpace, GraphSpace, NodeLabeledSpace, SearchSpace


@dataclass(frozen=True, eq=False)
class AcquisitionModel:
    """A mixed-integer program whose feasible points are the graphs of a space with n nodes.

    Args:
        space: The space.
        n: Number of nodes.
        formulation: One of :data:`FORMULATIONS`.
        rows: The Pyomo model (``rows.pyomo``) with its tagged rows.
        features: The kernel features of the space.
        symmetry: Whether only some of the topological orders of a graph are feasible.
        listed: The only structures that are feasible, each in one topological order.
    """

    space: SearchSpace
    n: int
    formulation: str
    rows: TaggedModel
    features: FeatureMap
    symmetry: bool = False
    listed: Listed | None = None

    @property
    def pyomo(self) -> Any:
        """The Pyomo model."""
        return self.rows.pyomo

    @property
    def variables(self) -> int:
        """Number of variables."""
        return sum(1 for _ in self.rows.variables())

    @property
    def constraints(self) -> int:
        """Number of rows."""
        return sum(1 for _ in self.rows.constraints())

    def encode(self, graph: LabeledGraph) -> dict[str, float]:
        """The feasible point of a graph, by variable name: one direction of Theorem 1.

        A graph whose edges do not ascend is sorted topologically first.
        """
        self.space.check(graph)
        if graph.n != self.n:
            raise GraphError(f"the graph must have {self.n} nodes, got {graph.n}")
        return self.rows.values(GraphPoint(self.ordered(graph), self.n, self.features))

    def ordered(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in an order that the model holds."""
        if isinstance(self.space, GraphSpace):
            return GraphNames(self.space, self.n).ordered(graph)
        if self.listed is not None:
            return self.listed.order(graph)
        if self.symmetry:
            place = self.space.node_vocabulary.index
            return least_order(graph, [place(label) for label in graph.node_labels or ()])
        return graph.sorted_topologically() if np.tril(graph.adjacency).any() else graph

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding A and F: the other direction of Theorem 1.

        A solver's tolerance lets a limit be exceeded by a millionth; the caller looks at limits.

        Raises:
            GraphError: If the rounded values are no graph of the space, limits aside.
        """
        n, space = self.n, self.space
        if isinstance(space, GraphSpace):
            graph = GraphNames(space, n).decode(values)
            space.with_limits(()).check(graph)
            return graph
        edges = [(u, v) for u, v in domain.forward_pairs(n) if values[f"A({u},{v})"] > 0.5]
        if not isinstance(space, NodeLabeledSpace):
            names = space.edge_vocabulary
            places = {
                (u, v): [values[f"F({u},{v},{a})"] for a in range(len(names))] for u, v in edges
            }
            labels = {edge: names[int(np.argmax(place))] for edge, place in places.items()}
            graph = LabeledGraph.from_edges(n, edges, edge_labels=labels)
        else:
            first, *ops, last = space.node_vocabulary
            inner = range(1, n - 1)
            chosen = [max(self._labels(), key=lambda a: values[f"F({v},{a})"]) for v in inner]
            graph = LabeledGraph.from_edges(n, edges, [first, *(ops[a - 1] for a in chosen), last])
        space.with_limits(()).check(graph)
        return graph

    def decisions(self) -> list[str]:
        """Names of the variables that determine a graph: A and F that are not constant."""
        if isinstance(self.space, GraphSpace):
            return GraphNames(self.space, self.n).decisions()
        keys = [f"A({u},{v})" for u, v in domain.forward_pairs(self.n)]
        if not isinstance(self.space, NodeLabeledSpace):
            return keys + [f"F({u},{v},{a})" for u, v, a in self.features.edge_types]
        return keys + [f"F({v},{a})" for v in range(1, self.n - 1) for a in self._labels()]

    def _labels(self) -> Sequence[int]:
        """Labels that an inner node of the model may have."""
        return inner_labels(len(self.space.node_vocabulary) - 2, self.listed)


def formulate(
    space: SearchSpace,
    acquisition: Acquisition,
    formulation: str = "compact",
    nodes: int | None = None,
    symmetry: bool = False,
    listed: Listed | None = None,
) -> AcquisitionModel:
    """Write (Acq-Opt) for the graphs of a space with one number of nodes.

    Args:
        space: The space to optimise over.
        acquisition: √β and a fitted surrogate, for example a ``LowerConfidenceBound``.
        formulation: ``"compact"`` or ``"paper"``.
        nodes: Number of nodes; the largest of the space if None.
        symmetry: Keep fewer topological orders of each graph (compact, node-labelled only).
        listed: Hold these structures and compositions only (compact, node-labelled only).

    Example:
        >>> from nasgoat import GraphGP, LowerConfidenceBound, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(5, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [1.0 + len(cell.edges) for cell in cells])
        >>> model = formulate(space, LowerConfidenceBound().given(gp))
        >>> model.decode(model.encode(cells[0])) == cells[0]
        True
    """
    if formulation not in FORMULATIONS:
        raise UnknownNameError("formulation", formulation, FORMULATIONS)
    n = space.sizes[-1] if nodes is None else nodes
    if n not in space.sizes:
        raise SpaceError(f"nodes must be from {space.sizes[0]} to {space.sizes[-1]}, got {n}")
    features = FeatureMap(space)
    if isinstance(space, GraphSpace):
        write = graph_model.paper_rows if formulation == "paper" else graph_model.compact_rows
        rows = write(space, n, features, acquisition)
        lcb_objective(rows, acquisition.sqrt_beta)
        return AcquisitionModel(space, n, formulation, rows, features)
    space = formulable(space)
    shrinks = formulation == "compact" and isinstance(space, NodeLabeledSpace)
    listed = listed if shrinks else None
    symmetry = symmetry and shrinks and listed is None
    if formulation == "paper":
        rows = _paper(space, n, features, acquisition)
    else:
        rows = compact_model(space, n, features, acquisition, listed)
    if symmetry:
        symmetry_rows(rows, range(1, len(space.ops) + 1))
    lcb_objective(rows, acquisition.sqrt_beta)
    return AcquisitionModel(space, n, formulation, rows, features, symmetry, listed)


def _paper(space: Cell, n: int, features: FeatureMap, acquisition: Acquisition) -> TaggedModel:
    m = graph_encoding(n)
    cell_domain(m, space)
    kernel.distance_indicators(m)
    limit_rows(m, space, distance_by_indicator)
    if isinstance(space, NodeLabeledSpace):
        labels = len(space.node_vocabulary)
        kernel.path_indicators(m, labels)
        kernel.path_counts(m, labels)
        kernel.label_counts(m, labels)
    data = Data.of(acquisition.gp)
    kernel_rows(m, features, data)
    posterior_mean_rows(m, data)
    posterior_variance_rows(m, data)
    return m


def cell_domain(m: TaggedModel, space: Cell) -> None:
    """Restrict (Graph-Encoding) to the cells of a space: Eqs. (101_*) or (201_*)."""
    if not isinstance(space, NodeLabeledSpace):
        domain.edge_label_variables(m, len(space.ops))
        domain.domain_201_index(m)
        if isinstance(space, DartsSpace):
            domain.domain_darts(m, space.inputs, space.predecessors)
        elif space.connected:
            domain.domain_201_source(m)
        domain.domain_201_label(m, len(space.ops))
        return
    labels = len(space.node_vocabulary)
    domain.node_label_variables(m, labels)
    domain.domain_101_index(m)
    domain.domain_101_source(m)
    domain.domain_101_sink(m, labels)
    domain.domain_101_label(m, labels)
    domain.domain_101_edge(m, space.edge_limit)


def domain_model(space: SearchSpace, n: int) -> TaggedModel:
    """The graphs of a space with n nodes and within its limits, without an acquisition.

    Example:
        >>> from nasgoat import DartsSpace
        >>> m = domain_model(DartsSpace(nodes=4, ops=["conv", "skip"]).constrain("conv >= 3"), 4)
        >>> sum(1 for row in m.constraints() if "limit" in row.name)
        1
    """
    if isinstance(space, GraphSpace):
        return graph_model.limited_domain(space, n, ordered=True)
    m = TaggedModel(n)
    compact_cells(m, formulable(space), FeatureMap(space))
    limit_rows(m, space, distance_terms)
    return m


def formulable(space: SearchSpace) -> Cell:
    """The space, if a mathematical program can be written for it, or :class:`SpaceError`."""
    if not isinstance(space, Cell):
        raise SpaceError(
            f"the space must be node- or edge-labelled cells to be formulated, "
            f"got {type(space).__name__}; use another optimizer"
        )
    return space
