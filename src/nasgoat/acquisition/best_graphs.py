"""The k best graphs found so far, distinct and not excluded: the judge of the solvers' points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.errors import GraphError
from nasgoat.formulations import AcquisitionModel
from nasgoat.formulations.graph_model import GraphNames
from nasgoat.graphs import LabeledGraph
from nasgoat.solvers import Point
from nasgoat.spaces import GraphSpace, NodeLabeledSpace, SearchSpace
from nasgoat.spaces.names import topological_orders

_ORDERS = 400  # topological orders of a graph that are cut off at once; others when they turn up


class BestGraphs:
    """Keeps the k best graphs by acquisition value.

    Args:
        space: The space.
        acquisition: Scores graphs exactly.
        k: How many to keep.
        exclude: Keys of graphs that must not be kept.
        gap: Relative distance below the k-th best value at which a graph is of no interest.
    """

    def __init__(
        self,
        space: SearchSpace,
        acquisition: LowerConfidenceBound,
        k: int,
        exclude: Collection[bytes] = (),
        gap: float = 0.0,
    ) -> None:
        self.space = space
        self.acquisition = acquisition
        self.k = k
        self.gap = gap
        self._exclude = frozenset(exclude)
        self._values: dict[bytes, float] = {}
        self._best: dict[bytes, tuple[float, LabeledGraph]] = {}
        self.on_better: Callable[[LabeledGraph, float], None] | None = None

    @property
    def best(self) -> list[tuple[float, LabeledGraph]]:
        """Values and graphs, best first."""
        return sorted(self._best.values(), key=lambda pair: (pair[0], pair[1].to_json()))

    @property
    def cutoff(self) -> float:
        """The k-th best value less the gap; infinite as long as there are fewer than k."""
        if len(self._best) < self.k:
            return float("inf")
        worst = max(value for value, _ in self._best.values())
        return worst - self.gap * abs(worst)

    def add(self, graphs: Iterable[LabeledGraph]) -> list[float]:
        """Score graphs of the space and keep the best; answers their values."""
        found = list(graphs)
        keys = [self.space.key(graph) for graph in found]
        new = {
            key: graph for key, graph in zip(keys, found, strict=True) if key not in self._values
        }
        if new:
            scores = self.acquisition.score(list(new.values())).tolist()
            for (key, graph), value in zip(new.items(), scores, strict=True):
                self._values[key] = value
                self._keep(key, graph, value)
        return [self._values[key] for key in keys]

    def _keep(self, key: bytes, graph: LabeledGraph, value: float) -> None:
        if key in self._exclude:
            return
        if len(self._best) >= self.k:
            worst = max(self._best, key=lambda other: self._best[other][0])
            if value >= self._best[worst][0]:
                return
            del self._best[worst]
        self._best[key] = (value, graph)
        if self.on_better is not None:
            self.on_better(graph, value)


class ModelJudge:
    """Judges the points of one model: decodes, scores, and names what to cut off."""

    def __init__(self, model: AcquisitionModel, pool: BestGraphs) -> None:
        self.model = model
        self.pool = pool

    @property
    def cutoff(self) -> float:
        """See :class:`BestGraphs`."""
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
