"""The judge of the solvers' points: decodes, scores, and names what to cut off."""

from __future__ import annotations

from collections.abc import Mapping

from nasgoat.acquisition.k_best import KBest
from nasgoat.errors import GraphError
from nasgoat.formulations import AcquisitionModel
from nasgoat.formulations.graph_model import GraphNames
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import Point
from nasgoat.spaces import GraphSpace, NodeLabeledSpace
from nasgoat.spaces.names import topological_orders

_ORDERS = 400  # topological orders of a graph that are cut off at once; others when they turn up


class ModelJudge:
    """Judges the points of one model: decodes, scores, and names what to cut off."""

    def __init__(self, model: AcquisitionModel, pool: KBest) -> None:
        self.model = model
        self.pool = pool

    @property
    def cutoff(self) -> float:
        """See :class:`KBest`."""
        return self.pool.cutoff

    def consider(self, values: Mapping[str, float]) -> list[Point]:
        """Score the graph of a point; cut it off under (nearly) all its topological orders."""
        try:
            graph = self.model.decode(values)
        except GraphError:
            # SCIP also asks about points that break rows (checks come before them, and its LP may
            # lack some for a while): such a point is no graph, and those rows deal with it.
            return []
        # A point may exceed a limit within the solver's tolerance: it is cut off, not kept.
        if self.model.space.within_limits([graph])[0]:
            self.pool.add([graph])
        return self.points(graph)

    def points(self, graph: LabeledGraph) -> list[Point]:
        """The graph's own point first, then its other topological orders."""
        if isinstance(self.model.space, GraphSpace):
            names = GraphNames(self.model.space, self.model.n)
            return [Point(*names.point(g)) for g in names.orders(graph, _ORDERS)]
        if not isinstance(self.model.space, NodeLabeledSpace):
            return [self._point(graph)]
        others = topological_orders(graph, _ORDERS)
        return [self._point(g) for g in dict.fromkeys([graph, *others])]

    def _point(self, graph: LabeledGraph) -> Point:
        space, n = self.model.space, graph.n
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
        missing = [f"A({u},{v})" for u, v in pairs if not graph.adjacency[u, v]]
        if not isinstance(space, NodeLabeledSpace):
            labels = graph.edge_labels or {}
            place = space.edge_vocabulary.index
            return Point([f"F({u},{v},{place(x)})" for (u, v), x in labels.items()], missing)
        present = [f"A({u},{v})" for u, v in graph.edges]
        names = graph.node_labels or ()
        codes = [space.node_vocabulary.index(name) for name in names]
        return Point(present + [f"F({v},{codes[v]})" for v in range(1, n - 1)], missing)
