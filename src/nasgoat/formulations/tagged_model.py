"""A Pyomo model whose rows carry the paper's tags and whose variables know their value.

Every variable is declared together with its meaning: a function from a graph, as a
:class:`GraphPoint`, to the value that the variable must take. That is one direction of Theorem 1
(``encode``); the other (``decode``) reads the adjacency and the labels off a solution.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from nasgoat.formulations.graph_point import GraphPoint

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
    *("limit", "graph", "structures", "richest"),
)


class Violation(NamedTuple):
    """A row that a point does not satisfy, and by how much."""

    row: str
    amount: float


class ProgramPart(NamedTuple):
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
        >>> A = m.add_variable("A", [(0, 1)], pyo.Binary, lambda g, u, v: g.A[u, v])
        >>> m.add_rows("C1", "edge", [((0, 1), A[0, 1] >= 1)])
        >>> from nasgoat import LabeledGraph
        >>> m.list_violations(m.compute_values(GraphPoint(LabeledGraph.from_edges(2, []), 2)))
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
        self.parts: list[ProgramPart] = []  # of the cells; a solver may take them one by one

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A variable by its name; the function that adds it documents it."""

    def add_variable(
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

    def add_rows(self, tag: str, part: str, rows: Iterable[tuple[Key, Any]]) -> None:
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

    def find_meaning(self, name: str) -> Meaning:
        """The function from a graph to the value of a variable."""
        return self._meanings[name]

    def minimize(self, expression: Any) -> None:
        """Set the objective."""
        self.pyomo.add_component("objective", pyo.Objective(expr=expression))

    def compute_values(self, point: GraphPoint) -> dict[str, float]:
        """The value of every variable on a graph, by name."""
        found: dict[str, float] = {}
        for name, meaning in self._meanings.items():
            component = getattr(self.pyomo, name)
            for key, var in component.items():
                found[name_entry(var)] = float(meaning(point, *_list_indices(key)))
        return found

    def list_violations(self, values: dict[str, float], tolerance: float = 1e-6) -> list[Violation]:
        """The rows, bounds and integrality conditions that a point does not satisfy."""
        for var in self.list_variables():
            var.set_value(values[name_entry(var)], skip_validation=True)
        found = []
        for row in self.list_constraints():
            body = pyo.value(row.body)
            amount = _measure_excess(body, row.lower, row.upper)
            if amount > tolerance * max(1.0, abs(body)):
                found.append(Violation(name_entry(row), amount))
        for var in self.list_variables():
            value = var.value
            amount = _measure_excess(value, var.lb, var.ub)
            if not var.is_continuous():
                amount = max(amount, abs(value - round(value)))
            if amount > tolerance * max(1.0, abs(value)):
                found.append(Violation(name_entry(var), amount))
        return found

    def list_variables(self) -> Iterator[Any]:
        """List every variable."""
        return iter(self.pyomo.component_data_objects(pyo.Var))

    def list_constraints(self) -> Iterator[Any]:
        """List every row."""
        return iter(self.pyomo.component_data_objects(pyo.Constraint))


def name_entry(data: Any) -> str:
    """The name of a variable or row as solvers and exported files show it: ``A(0,1)``.

    Example:
        >>> m = TaggedModel(2)
        >>> name_entry(m.add_variable("A", [(0, 1)], pyo.Binary, lambda g, u, v: 0.0)[0, 1])
        'A(0,1)'
    """
    name, place = str(data.parent_component().local_name), _list_indices(data.index())
    return f"{name}({','.join(map(str, place))})" if place else name


def _list_indices(key: Any) -> Key:
    if key is None:
        return ()
    return key if isinstance(key, tuple) else (key,)


def _measure_excess(value: float, lower: Any, upper: Any) -> float:
    below = 0.0 if lower is None else pyo.value(lower) - value
    above = 0.0 if upper is None else value - pyo.value(upper)
    return float(max(below, above, 0.0))


def sum_linearly(terms: Iterable[tuple[float, Any]], constant: float = 0.0) -> Any:
    """Constant + Σ coefficient · variable, without the terms that are 0."""
    kept = [(float(coefficient), var) for coefficient, var in terms if coefficient != 0.0]
    return LinearExpression(
        constant=constant, linear_coefs=[c for c, _ in kept], linear_vars=[v for _, v in kept]
    )


def equate(left: Terms, right: Terms) -> Any:
    """The row Σ left = Σ right."""
    return sum_linearly([*left, *((-c, x) for c, x in right)]) == 0


def compare(left: Any, sense: str, right: float) -> Any:
    """The row left (<=, >= or ==) right."""
    if sense == "==":
        return left == right
    return left <= right if sense == "<=" else left >= right


def list_forward_pairs(n: int) -> list[tuple[int, int]]:
    """The pairs u < v.

    Example:
        >>> list_forward_pairs(3)
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
