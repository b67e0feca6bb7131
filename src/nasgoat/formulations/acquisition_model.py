"""(Acq-Opt) over a space, in one of two formulations that hold the same graphs.

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
from nasgoat.formulations.acquisition_rows import Acquisition, lcb_objective
from nasgoat.formulations.cell_model import (
    compact_cells,
    domain_of_cells,
    needed_columns,
    paper_cells,
)
from nasgoat.formulations.graph_model import compact_graphs, domain_of_graphs, paper_graphs
from nasgoat.formulations.graph_point import GraphPoint
from nasgoat.formulations.layers import least_order, symmetry_rows
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.solver_names import FORMULATIONS
from nasgoat.spaces import SearchSpace

Order = Callable[[LabeledGraph], LabeledGraph]


class Written(NamedTuple):
    """A model without its objective, and which graphs it holds.

    Args:
        rows: The model.
        order: Gives a graph of the space the order of nodes in which the model holds it.
        labels: Codes of the node labels that it has; all if None.
    """

    rows: TaggedModel
    order: Order
    labels: Sequence[int] | None = None


class Request(NamedTuple):
    """What is to be written: see :func:`formulate`."""

    space: Any  # what its layout says it is
    n: int
    features: FeatureMap
    acquisition: Acquisition
    formulation: str = "compact"
    symmetry: bool = False
    columns: StructureColumns | None = None


class Layout(NamedTuple):
    """How spaces of one layout are written.

    Args:
        write: Writes a formulation.
        domain: Writes the graphs of a space with n nodes, within limits, without an acquisition.
    """

    write: Callable[[Request], Written]
    domain: Callable[[Any, int], TaggedModel]


def _write_cells(request: Request) -> Written:
    space, n, on_nodes = request.space, request.n, request.space.labels_on == "nodes"
    columns = needed_columns(space, n)
    if request.formulation == "paper":
        rows = paper_cells(*request[:4])
    else:
        columns = request.columns if on_nodes and request.columns is not None else columns
        rows = compact_cells(*request[:4], columns)
        if request.symmetry and columns is None and on_nodes:
            symmetry_rows(rows, range(1, len(space.ops) + 1))
            place = space.node_vocabulary.index
            return Written(rows, lambda g: least_order(g, [place(x) for x in g.node_labels or ()]))
    if columns is not None and on_nodes:
        return Written(rows, columns.order, columns.labels)
    return Written(rows, space.names(n).order)


def _write_graphs(request: Request) -> Written:
    write = paper_graphs if request.formulation == "paper" else compact_graphs
    return Written(write(*request[:4]), request.space.names(request.n).order)


#: How spaces are written, by their ``layout``; a layout of one's own is an entry more.
LAYOUTS: dict[str, Layout] = {
    "cell": Layout(_write_cells, domain_of_cells),
    "graph": Layout(_write_graphs, partial(domain_of_graphs, ordered=True)),
}


@dataclass(frozen=True, eq=False)
class AcquisitionModel:
    """A mixed-integer program whose feasible points are the graphs of a space with n nodes.

    Args:
        space: The space.
        n: Number of nodes.
        formulation: One of :data:`FORMULATIONS`.
        written: The Pyomo model with its tagged rows, and which graphs it holds.
        features: The kernel features of the space.
    """

    space: SearchSpace
    n: int
    formulation: str
    written: Written
    features: FeatureMap

    @property
    def rows(self) -> TaggedModel:
        """The model with its tagged rows."""
        return self.written.rows

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
        return self.rows.values(GraphPoint(self.order(graph), self.n, self.features))

    def order(self, graph: LabeledGraph) -> LabeledGraph:
        """The graph with its nodes in an order that the model holds."""
        return self.written.order(graph)

    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        """The graph of a point, by rounding A and F: the other direction of Theorem 1.

        A solver's tolerance lets a limit be exceeded by a millionth; the caller looks at limits.

        Raises:
            GraphError: If the rounded values are no graph of the space, limits aside.
        """
        graph = self.space.names(self.n).decode(values)
        self.space.with_limits(()).check(graph)
        return graph

    def decisions(self) -> list[str]:
        """Names of the variables that determine a graph: A and F that are not constant."""
        return self.space.names(self.n).decisions(self.written.labels)


def formulate(
    space: SearchSpace,
    acquisition: Acquisition,
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
    layout = layout_of(space)
    n = space.sizes[-1] if nodes is None else nodes
    if n not in space.sizes:
        raise SpaceError(f"nodes must be from {space.sizes[0]} to {space.sizes[-1]}, got {n}")
    features = FeatureMap(space)
    request = Request(space, n, features, acquisition, formulation, symmetry, columns)
    written = layout.write(request)
    lcb_objective(written.rows, acquisition.sqrt_beta)
    return AcquisitionModel(space, n, formulation, written, features)


def domain_model(space: SearchSpace, n: int) -> TaggedModel:
    """The graphs of a space with n nodes and within its limits, without an acquisition.

    Example:
        >>> from nasgoat import DartsSpace
        >>> m = domain_model(DartsSpace(nodes=4, ops=["conv", "skip"]).constrain("conv >= 3"), 4)
        >>> sum(1 for row in m.constraints() if "limit" in row.name)
        1
    """
    return layout_of(space).domain(space, n)


def layout_of(space: SearchSpace) -> Layout:
    """How a space is written, or :class:`SpaceError` if no mathematical program is known for it."""
    if space.layout not in LAYOUTS:
        raise SpaceError(
            f"the space must be node- or edge-labelled cells to be formulated, "
            f"got {type(space).__name__}; use another optimizer"
        )
    return LAYOUTS[space.layout]
