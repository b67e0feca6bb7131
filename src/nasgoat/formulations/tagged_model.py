"""A Pyomo model whose rows carry the paper's tags and whose variables know their value.

Every variable is declared together with its meaning: a function from a graph, as a
:class:`GraphPoint`, to the value that the variable must take. That is one direction of Theorem 1
(``encode``); the other (``decode``) reads the adjacency and the labels off a solution.

Notation (Table 1 of the paper; n nodes, of which the first n_1 exist)
    A[v, v]        1 if node v exists;      A[u, v]  1 if edge u → v exists
    r[u, v]        1 if u reaches v;        d[u, v]  shortest distance, n if u does not reach v
    δ[u, v, w]     1 if w is on a shortest path from u to v
    l_v            code of the label of node v; of unlabelled nodes the index v where they are
                   indexed, and 0 where they are all alike
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from nasgoat.errors import GraphError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import shortest_distances
from nasgoat.kernels import FeatureMap

IntArray = NDArray[np.int_]
Key = tuple[int, ...]
Terms = list[tuple[float, Any]]  # of a sum: coefficients and variables
Meaning = Callable[..., Any]
TAGS = (
    *("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"),
    *("undirected", "strong_connectivity", "acyclic"),
    *("101_index", "101_source", "101_sink", "101_label", "101_edge"),
    *("201_index", "201_source", "201_label", "darts"),
    *("k_g", "k_n", "k_e", "linear", "exponential", "Acq_Opt"),
    *("layers", "links", "profiles", "compositions", "caps", "QCR", "symmetry"),
    *("limit", "graph", "structures"),
)


@dataclass(frozen=True, eq=False)
class GraphPoint:
    """Var(G) of the paper for one graph G, padded with missing nodes up to n.

    Args:
        graph: The graph; its node v is node v of the encoding.
        n: Number of nodes of the encoding.
        features: Kernel features of the space, for what depends on labels.

    Example:
        >>> point = GraphPoint(LabeledGraph.from_edges(2, [(0, 1)]), 3)
        >>> point.d.tolist()
        [[0, 1, 3], [3, 0, 3], [3, 3, 0]]
        >>> point.A.diagonal().tolist()
        [1, 1, 0]
    """

    graph: LabeledGraph
    n: int
    features: FeatureMap | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.graph.n > self.n:
            raise GraphError(f"the graph must have at most {self.n} nodes, got {self.graph.n}")

    @cached_property
    def A(self) -> IntArray:  # noqa: N802  (the paper's symbol)
        """Adjacency, with the existence of nodes on the diagonal."""
        a = np.zeros((self.n, self.n), dtype=int)
        size = self.graph.n
        a[:size, :size] = self.graph.adjacency
        a[np.arange(size), np.arange(size)] = 1
        return a

    @cached_property
    def d(self) -> IntArray:
        """Shortest distances; n means infinity, and a node is at distance 0 from itself."""
        return self._distances(np.eye(self.n) < self.A)

    @cached_property
    def joined(self) -> IntArray:
        """Shortest distances where edges are walked in either direction."""
        return self._distances(np.maximum(self.A, self.A.T) > np.eye(self.n))

    def _distances(self, edges: NDArray[np.bool_]) -> IntArray:
        return np.asarray(np.minimum(shortest_distances(edges[None])[0].astype(int), self.n))

    @cached_property
    def r(self) -> IntArray:
        """Reachability; a node reaches itself."""
        return (self.d < self.n).astype(int)

    @cached_property
    def delta(self) -> IntArray:
        """Which nodes are on a shortest path; the two ends always are, by (C7)."""
        d, n = self.d, self.n
        finite = (d[:, None, :] < n) & (d.T[None, :, :] < n)
        tight = d[:, None, :] + d.T[None, :, :] == d[:, :, None]
        on_path = np.asarray(finite & tight, dtype=int)
        u, v = np.indices((n, n))
        on_path[u, v, u] = on_path[u, v, v] = 1
        nodes = np.arange(n)
        on_path[nodes, nodes] = np.eye(n, dtype=int)
        return on_path

    @cached_property
    def codes(self) -> list[int]:
        """Code of the label of each node: -1 for a missing node."""
        if self.graph.node_labels is None or self.features is None:
            alike = self.features is not None and not self.features.space.indexed
            return [(0 if alike else v) if v < self.graph.n else -1 for v in range(self.n)]
        place = self.features.space.node_vocabulary.index
        found = [place(label) for label in self.graph.node_labels]
        return found + [-1] * (self.n - len(found))

    @cached_property
    def edge_codes(self) -> dict[tuple[int, int], int]:
        """Code of the label of each edge."""
        if self.graph.edge_labels is None or self.features is None:
            return {}
        place = self.features.space.edge_vocabulary.index
        codes = {edge: place(label) for edge, label in self.graph.edge_labels.items()}
        return codes if self.graph.directed else codes | {(v, u): c for (u, v), c in codes.items()}

    @cached_property
    def row(self) -> NDArray[np.float64]:
        """The kernel feature row of the graph."""
        return np.asarray(self._features.rows([self.graph])[0])

    @cached_property
    def counts(self) -> IntArray:
        """The integer kernel counts of the graph."""
        batch = self._features.space.batch([self.graph])
        return np.asarray(self._features.counts(batch)[0], dtype=int)

    @property
    def _features(self) -> FeatureMap:
        if self.features is None:
            raise GraphError("kernel features must be given for a point with labels, got none")
        return self.features


class Violation(NamedTuple):
    """A row that a point does not satisfy, and by how much."""

    row: str
    amount: float


class Part(NamedTuple):
    """The cells for which a binary variable is 1, and the bound of their variance.

    Args:
        chosen: The binary variable.
        variance: Computes the bound of the variance that holds for these cells.
        columns: Variables that may be 1 here; they are 0 in parts that do not name them.
        floors: A lower bound on the value of every cell with each of these columns.
        values: Their exact values, given the label codes of all inner nodes.
        labels: For each inner node the label codes with their variables.
    """

    chosen: Any
    variance: Callable[[], Any]
    columns: Sequence[Any] = ()
    floors: Sequence[float] = ()
    values: Callable[[Sequence[int]], Any] | None = None
    labels: Sequence[Sequence[tuple[int, Any]]] = ()


class TaggedModel:
    """A Pyomo model on n nodes, built by functions that add variables and tagged rows.

    A variable that was added is an attribute: ``m.A[0, 1]``.

    Args:
        n: Number of nodes that variables are indexed by.

    Example:
        >>> m = TaggedModel(2)
        >>> A = m.variable("A", [(0, 1)], pyo.Binary, lambda g, u, v: g.A[u, v])
        >>> m.rows("C1", "edge", [((0, 1), A[0, 1] >= 1)])
        >>> from nasgoat import LabeledGraph
        >>> m.violations(m.values(GraphPoint(LabeledGraph.from_edges(2, []), 2)))
        [Violation(row='(C1)edge(0,1)', amount=1.0)]
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.pyomo = pyo.ConcreteModel()
        self._meanings: dict[str, Meaning] = {}
        self.tags = set(TAGS)  # that rows may have; a user's family adds its own
        self.branched_first: set[str] = set()  # names of variables to branch on before others
        self.variance: Any = None  # the bound that the convex row holds; its tangents may be cuts
        self.convex: set[str] = set()  # variables and rows that such cuts make unnecessary
        self.has_columns = False  # whether structures are columns
        self.parts: list[Part] = []  # of the cells; a solver may take them one by one

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A variable by its name; the function that adds it documents it."""

    def variable(
        self,
        name: str,
        keys: Iterable[Key],
        domain: Any,
        meaning: Meaning,
        bounds: Any = None,
    ) -> Any:
        """Add an indexed variable; ``meaning(point, *key)`` is its value on a graph."""
        index = list(keys)
        scalar = index == [()]
        variable = pyo.Var(*([] if scalar else [index]), domain=domain, bounds=bounds)
        self.pyomo.add_component(name, variable)
        self._meanings[name] = meaning
        setattr(self, name, variable)
        return variable

    def rows(self, tag: str, part: str, rows: Iterable[tuple[Key, Any]]) -> None:
        """Add rows named ``(tag)part(key)``."""
        if tag not in self.tags:
            raise KeyError(tag)
        found = list(rows)
        scalar = [key for key, _ in found] == [()]
        block = pyo.Constraint(expr=found[0][1]) if scalar else pyo.Constraint(pyo.Any)
        self.pyomo.add_component(f"({tag}){part}", block)
        for key, row in [] if scalar else found:
            block[key] = row

    @property
    def labels(self) -> dict[Key, Any]:
        """Variables F[v, l] of nodes and F[u, v, l] (Fe in declared graphs) of edges, by key."""
        return {key: x for name in ("F", "Fe") for key, x in getattr(self, name, {}).items()}

    def meaning(self, name: str) -> Meaning:
        """The function from a graph to the value of a variable."""
        return self._meanings[name]

    def minimize(self, expression: Any) -> None:
        """Set the objective."""
        self.pyomo.add_component("objective", pyo.Objective(expr=expression))

    def values(self, point: GraphPoint) -> dict[str, float]:
        """The value of every variable on a graph, by name."""
        found: dict[str, float] = {}
        for name, meaning in self._meanings.items():
            component = getattr(self.pyomo, name)
            for key, var in component.items():
                found[entry_name(var)] = float(meaning(point, *_place(key)))
        return found

    def violations(self, values: dict[str, float], tolerance: float = 1e-6) -> list[Violation]:
        """The rows, bounds and integrality conditions that a point does not satisfy."""
        for var in self.variables():
            var.set_value(values[entry_name(var)], skip_validation=True)
        found = []
        for row in self.constraints():
            body = pyo.value(row.body)
            amount = _excess(body, row.lower, row.upper)
            if amount > tolerance * max(1.0, abs(body)):
                found.append(Violation(entry_name(row), amount))
        for var in self.variables():
            value = var.value
            amount = _excess(value, var.lb, var.ub)
            if not var.is_continuous():
                amount = max(amount, abs(value - round(value)))
            if amount > tolerance * max(1.0, abs(value)):
                found.append(Violation(entry_name(var), amount))
        return found

    def variables(self) -> Iterator[Any]:
        """Every variable."""
        return iter(self.pyomo.component_data_objects(pyo.Var))

    def constraints(self) -> Iterator[Any]:
        """Every row."""
        return iter(self.pyomo.component_data_objects(pyo.Constraint))


def entry_name(data: Any) -> str:
    """The name of a variable or row as solvers and exported files show it: ``A(0,1)``.

    Example:
        >>> m = TaggedModel(2)
        >>> entry_name(m.variable("A", [(0, 1)], pyo.Binary, lambda g, u, v: 0.0)[0, 1])
        'A(0,1)'
    """
    name, place = str(data.parent_component().local_name), _place(data.index())
    return f"{name}({','.join(map(str, place))})" if place else name


def _place(key: Any) -> Key:
    if key is None:
        return ()
    return key if isinstance(key, tuple) else (key,)


def _excess(value: float, lower: Any, upper: Any) -> float:
    below = 0.0 if lower is None else pyo.value(lower) - value
    above = 0.0 if upper is None else value - pyo.value(upper)
    return float(max(below, above, 0.0))


def linear_sum(terms: Iterable[tuple[float, Any]], constant: float = 0.0) -> Any:
    """Constant + Σ coefficient · variable, without the terms that are 0."""
    kept = [(float(coefficient), var) for coefficient, var in terms if coefficient != 0.0]
    return LinearExpression(
        constant=constant, linear_coefs=[c for c, _ in kept], linear_vars=[v for _, v in kept]
    )


def equate(left: Terms, right: Terms) -> Any:
    """The row Σ left = Σ right."""
    return linear_sum([*left, *((-c, x) for c, x in right)]) == 0


def compare(left: Any, sense: str, right: float) -> Any:
    """The row left (<=, >= or ==) right."""
    if sense == "==":
        return left == right
    return left <= right if sense == "<=" else left >= right


def forward_pairs(n: int) -> list[tuple[int, int]]:
    """The pairs u < v.

    Example:
        >>> forward_pairs(3)
        [(0, 1), (0, 2), (1, 2)]
    """
    return [(u, v) for u in range(n) for v in range(u + 1, n)]


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Build a model without garbage collection.

    Its tens of thousands of objects all live on: searching them for garbage doubles the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
