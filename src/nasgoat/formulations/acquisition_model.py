"""(Acq-Opt) over a space, in one of two formulations of the same set of graphs.

``paper``    the paper's encoding, literally: for reading, teaching and checking
``compact``  layered paths, kernel counts and a convex split: the one to solve
             (docs/compact-formulation.md says why it is exact)

Which functions write them follows from ``space.layout``; :data:`LAYOUTS` is the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.formulations import cell_domains, graph_domains, kernel_encoding, posterior_rows
from nasgoat.formulations.block_columns import code_counts, code_variables, is_decided
from nasgoat.formulations.compositions import PartBounds, add_tightening_rows
from nasgoat.formulations.counts import count_declared
from nasgoat.formulations.graph_encoding import graph_encoding
from nasgoat.formulations.graph_point import GraphPoint
from nasgoat.formulations.layers import link_graphs
from nasgoat.formulations.limit_rows import limit_cells
from nasgoat.formulations.posterior_rows import AcquisitionTerms
from nasgoat.formulations.structure_columns import (
    StructureColumns,
    choose_matrix,
    list_graph_columns,
)
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.summaries import STRUCTURE
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import LinearPosterior, require_known_form
from nasgoat.upper_layers import FORMULATIONS

Order = Callable[[LabeledGraph], LabeledGraph]


class Request(NamedTuple):
    """What is to be written: see :func:`formulate`."""

    space: Any  # what its layout says it is
    n: int
    features: FeatureMap
    acquisition: AcquisitionTerms
    formulation: str = "compact"
    symmetry: bool = False
    columns: StructureColumns | None = None

    def answer(
        self, rows: TaggedModel, order: Order | None = None, labels: Sequence[int] | None = None
    ) -> AcquisitionModel:
        """The model that was written for this request."""
        return AcquisitionModel(
            space=self.space,
            n=self.n,
            formulation=self.formulation,
            features=self.features,
            rows=rows,
            order=order or self.space.names(self.n).order,
            labels=labels,
        )


class ProgramWriter(NamedTuple):
    """How spaces of one layout are written."""

    write: Callable[[Request], AcquisitionModel]  # a formulation, but for its objective
    domain: Callable[[Any, int], TaggedModel]  # the graphs with n nodes within their limits


def _write_cells(request: Request) -> AcquisitionModel:
    """The program of a space of cells, in either formulation."""
    space, n, on_nodes = request.space, request.n, request.space.labels_on == "nodes"
    columns = cell_domains.list_needed_columns(space, n, request.features)
    if request.formulation == "paper":
        m = graph_encoding(n)
        cell_domains.restrict_to_paper_domain(m, space, columns)
        kernel_encoding.add_distance_indicators(m)
        limit_cells(m, space)
        blank = cell_domains.make_blank_structures(space, n, request.features)
        code_variables(m, request.features, blank)
        _add_paper_rows(m, request)
    else:
        columns = request.columns if on_nodes and request.columns is not None else columns
        m = _formulate_compact_cells(request, columns)
        if request.symmetry and columns is None and on_nodes:
            cell_domains.add_symmetry_rows(m, range(1, len(space.ops) + 1))
            return request.answer(m, partial(cell_domains.find_least_order, space.node_vocabulary))
    if columns is not None and on_nodes:
        return request.answer(m, columns.order, columns.labels)
    return request.answer(m)


def _formulate_compact_cells(request: Request, columns: StructureColumns | None) -> TaggedModel:
    """Layered paths, or a choice among ``columns``, all structures that the model holds."""
    space, n, features, acquisition = request[:4]
    cells = cell_domains.build_compact_domain(TaggedModel(n), space, features, columns)
    limit_cells(cells.m, space)
    squares = posterior_rows.add_compact_posterior_rows(
        cells.m, cells.counts, features, acquisition
    )
    if space.labels_on == "nodes":
        every = add_tightening_rows(cells)
        posterior = require_known_form(acquisition.posterior).fold_to_counts(features, n)
        if isinstance(posterior, LinearPosterior) and not features.codes:
            PartBounds(cells, squares, posterior).add_parts(every, acquisition.sqrt_beta)
    return cells.m


def _write_graphs(request: Request) -> AcquisitionModel:
    """The program of a space of declared graphs, in either formulation."""
    space, n, features, acquisition = request[:4]
    m = graph_domains.build_domain_of_graphs(space, n)
    blank = None
    if is_decided(features, STRUCTURE):
        columns = list_graph_columns(space, n)
        choose_matrix(m, space, columns)
        blank = columns.make_batch(space)
    if request.formulation == "paper":
        code_variables(m, features, blank)
        _add_paper_rows(m, request)
    else:
        link_graphs(m, space)
        kernel_encoding.add_edge_ends(m, space)
        counts = count_declared(m, space, features)
        counts.add(code_counts(m, features, blank))
        posterior_rows.add_compact_posterior_rows(m, counts, features, acquisition)
    return request.answer(m)


def _add_paper_rows(m: TaggedModel, request: Request) -> None:
    """Kernel and posterior as in Appendix B, literally."""
    space, features = request.space, request.features
    if not space.indexed:
        kernel_encoding.count_paths_and_labels(m, max(len(space.node_vocabulary), 1))
        kernel_encoding.add_edge_type_counts(m, space, features)
    posterior_rows.add_paper_posterior_rows(m, features, request.acquisition)


#: How spaces are written as programs, by their ``layout``; add an entry for a layout of your own.
LAYOUTS: dict[str, ProgramWriter] = {
    "cell": ProgramWriter(_write_cells, cell_domains.build_domain_of_cells),
    "graph": ProgramWriter(_write_graphs, graph_domains.build_domain_of_graphs),
}


@dataclass(frozen=True, eq=False)
class AcquisitionModel:
    """A mixed-integer program whose feasible points are the graphs of a space with n nodes.

    Args:
        space: The space.
        n: Number of nodes.
        formulation: One of :data:`FORMULATIONS`.
        features: The kernel features of the space.
        rows: The Pyomo model with its tagged rows.
        order: Gives a graph of the space the order of nodes in which the model holds it.
        labels: Codes of the node labels that the model has; all if None.
    """

    space: SearchSpace
    n: int
    formulation: str
    features: FeatureMap
    rows: TaggedModel
    order: Order
    labels: Sequence[int] | None = None

    @property
    def pyomo(self) -> Any:
        """The Pyomo model."""
        return self.rows.pyomo

    @property
    def variables(self) -> int:
        """Number of variables."""
        return sum(1 for _ in self.rows.list_variables())

    @property
    def constraints(self) -> int:
        """Number of rows."""
        return sum(1 for _ in self.rows.list_constraints())

    def encode(self, graph: LabeledGraph) -> dict[str, float]:
        """The feasible point of a graph, by variable name: one direction of Theorem 1.

        A graph whose edges do not ascend is sorted topologically first.
        """
        self.space.check(graph)
        if graph.n != self.n:
            raise GraphError(f"the graph must have {self.n} nodes, got {graph.n}")
        return self.rows.compute_values(GraphPoint(self.order(graph), self.n, self.features))

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding A and F: the other direction of Theorem 1.

        A solver's tolerance lets a limit be exceeded by a millionth; the caller looks at limits.

        Raises:
            GraphError: If the rounded values are no graph of the space, limits aside.
        """
        graph = self.space.names(self.n).decode(values)
        self.space.with_limits(()).check(graph)
        return graph

    def list_decisions(self) -> list[str]:
        """Names of the variables that determine a graph: A and F that are not constant."""
        return self.space.names(self.n).list_decisions(self.labels)


def formulate(
    space: SearchSpace,
    acquisition: AcquisitionTerms,
    formulation: str = "compact",
    nodes: int | None = None,
    symmetry: bool = False,
    columns: StructureColumns | None = None,
) -> AcquisitionModel:
    """Write (Acq-Opt) for the graphs of a space with one number of nodes.

    Args:
        space: The space to optimise over.
        acquisition: √β and a fitted surrogate, for example a ``LowerConfidenceBound``.
        formulation: ``"compact"`` or ``"paper"``.
        nodes: Number of nodes; the largest of the space if None.
        symmetry: Keep fewer topological orders of each graph (compact, node-labelled only).
        columns: Hold these structures and compositions only (compact, node-labelled only).

    Example:
        >>> import numpy as np
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
    layout = find_writer(space)
    n = space.sizes[-1] if nodes is None else nodes
    if n not in space.sizes:
        raise SpaceError(f"nodes must be from {space.sizes[0]} to {space.sizes[-1]}, got {n}")
    features = FeatureMap(space, acquisition.features.blocks)
    request = Request(
        space, n, features, acquisition, formulation=formulation, symmetry=symmetry, columns=columns
    )
    model = layout.write(request)
    posterior_rows.set_lcb_objective(model.rows, acquisition.sqrt_beta)
    return model


def build_domain(space: SearchSpace, n: int) -> TaggedModel:
    """The graphs of a space with n nodes and within its limits, without an acquisition.

    Example:
        >>> from nasgoat import DartsSpace
        >>> m = build_domain(DartsSpace(nodes=4, ops=["conv", "skip"]).constrain("conv >= 3"), 4)
        >>> sum(1 for row in m.list_constraints() if "limit" in row.name)
        1
    """
    return find_writer(space).domain(space, n)


def find_writer(space: SearchSpace) -> ProgramWriter:
    """How a space is written, or :class:`SpaceError` if no mathematical program is known for it."""
    if space.layout not in LAYOUTS:
        raise SpaceError(
            f"the space must be node- or edge-labelled cells to be formulated, "
            f"got {type(space).__name__}; use another optimizer"
        )
    return LAYOUTS[space.layout]
