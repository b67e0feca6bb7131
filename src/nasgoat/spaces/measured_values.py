"""Measured values of graphs: read from a file, and a table of costs fitted to them.

Notation
    y      measured values of N graphs;  X one column for each coefficient, X[:, 0] = 1
    c      argmin ‖X c − y‖²;  R² = 1 − ‖X c − y‖² / ‖y − mean(y)‖²

Columns that others before them already explain are left out, and cost 0: where every layer has
exactly one operation, the first operation is what the others are compared with.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import DataError, GraphError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.costs import CONSTANT, Cost, CostPart, add_parts
from nasgoat.spaces.edge_labeled import IndexedSpace
from nasgoat.spaces.limits import add_up_terms
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.toml_text import write_cost

#: Columns that hold graphs: JSON, or a digit for each place.
GRAPH_COLUMNS = ("graph", "digits", "ops")
#: What a cost may depend on: the operation, or the operation and its place.
KINDS = ("operation", "place")
_DEPENDENT = 1e-9  # of a column's length: what is left of one that others explain, by rounding
_DIGITS = 7  # significant ones that a coefficient keeps


def read_measured(
    space: SearchSpace, path: Path, column: str | None = None
) -> tuple[list[LabeledGraph], list[float], str, int]:
    """Graphs and values of a file, the values' column, and how many rows were left out.

    The file is CSV, ``.csv.xz`` if compressed. Its column ``graph`` holds graphs as JSON, or
    ``digits`` (also ``ops``) a digit for each place of an operation, as
    :meth:`~nasgoat.spaces.IndexedSpace.digits` has them.

    Args:
        space: Rows of graphs that are not in it are left out.
        path: The file.
        column: The column of values; needed where there are several.

    Raises:
        DataError: If the file can't be read, or holds no such column.
    """
    opener = lzma.open if path.suffix == ".xz" else open
    try:
        with opener(path, "rt", newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            head = list(rows.fieldnames or [])
            held = next((name for name in GRAPH_COLUMNS if name in head), None)
            if held is None:
                raise DataError(
                    f"{path.name} must have a column of graphs ({', '.join(GRAPH_COLUMNS)}), got "
                    f"{', '.join(head) or 'none'}"
                )
            chosen = _choose_column(path, [name for name in head if name != held], column)
            graphs, values, left_out = _collect(_read_rows(space, path, rows, held, chosen))
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError, csv.Error) as problem:
        raise DataError(f"{path} must be a CSV file, got {problem}") from None
    return graphs, values, chosen, left_out


def _choose_column(path: Path, others: Sequence[str], column: str | None) -> str:
    if column is None and len(others) == 1:
        return others[0]
    if column is None:
        known = ", ".join(others) or "none"
        raise SettingError(f"a column of {path.name} must be named, got none; it has {known}")
    if column not in others:
        raise UnknownNameError(f"the column of {path.name}", column, others or ["(none)"])
    return column


def _read_rows(
    space: SearchSpace, path: Path, rows: Iterable[dict[str, Any]], held: str, column: str
) -> Iterator[tuple[LabeledGraph | None, float]]:
    """A graph and its value for each row of a table; None for a graph outside the space."""
    for number, row in enumerate(rows, start=2):
        try:
            value = float(row[column])
            if not np.isfinite(value):
                raise ValueError
        except (TypeError, ValueError):
            raise DataError(
                f"line {number} of {path.name} must have a finite number as {column}, got "
                f"{row[column]!r}"
            ) from None
        try:
            graph = read_graph(space, str(row[held]))
        except (GraphError, ValueError, KeyError, TypeError) as problem:
            raise DataError(
                f"line {number} of {path.name} must hold a graph, got {problem}"
            ) from None
        yield (graph if graph in space else None), value


def read_graph(space: SearchSpace, text: str) -> LabeledGraph:
    """The graph that a text says: JSON, or a digit for each place of an operation.

    Example:
        >>> from nasgoat import nasbench201
        >>> read_graph(nasbench201(), "123123") == nasbench201().from_digits([1, 2, 3, 1, 2, 3])
        True
    """
    if text.lstrip().startswith("{"):
        return LabeledGraph.from_json(text)
    if not isinstance(space, IndexedSpace):
        raise GraphError(f"digits in a space without places, {text[:20]!r}; write JSON")
    digits = [int(digit) for digit in text]
    if len(digits) != len(space.places) or max(digits) > len(space.ops):
        raise GraphError(f"{text[:20]!r} instead of {len(space.places)} digits")
    return space.from_digits(digits)


def _collect(
    rows: Iterable[tuple[LabeledGraph | None, float]],
) -> tuple[list[LabeledGraph], list[float], int]:
    graphs, values, left_out = list[LabeledGraph](), list[float](), 0
    for graph, value in rows:
        if graph is None:
            left_out += 1
            continue
        graphs.append(graph)
        values.append(value)
    return graphs, values, left_out


@dataclass(frozen=True)
class CostFit:
    """A fitted cost, and how well it fits.

    Args:
        table: Its table, as a file declares it.
        cost: The cost.
        graphs: How many graphs were measured.
        r_squared: Share of the variance that it explains.
        largest_error: Largest distance between a price and the measured value.
        mean_error: The mean distance.
        left_out: Measured graphs that are not in the space.
    """

    table: dict[str, Any]
    cost: Cost
    graphs: int
    r_squared: float
    largest_error: float
    mean_error: float
    left_out: int = 0

    @property
    def toml(self) -> str:
        """The cost as a table of a space's file."""
        return write_cost(self.cost.name, self.table)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        measured = ("graphs", "left_out", "r_squared", "largest_error", "mean_error")
        figures = {name: getattr(self, name) for name in measured}
        return {**figures, "text": self.cost.text, "toml": self.toml}

    def describe(self) -> str:
        """How well it fits, in a line."""
        outside = f"; {self.left_out} rows are not in the space" if self.left_out else ""
        return (
            f"fitted to {self.graphs} graphs{outside}: R² {self.r_squared:.3f}, largest error "
            f"{self.largest_error:.4g}, mean error {self.mean_error:.4g}"
        )


def fit_cost(
    space: SearchSpace,
    graphs: Sequence[LabeledGraph],
    values: Sequence[float],
    name: str = "cost",
    by: str = "operation",
) -> CostFit:
    """The cost that comes nearest to measured values, by least squares.

    Args:
        space: The space of the graphs.
        graphs: What was measured.
        values: What it took.
        name: What the cost is called.
        by: ``"operation"``, or ``"place"`` in a space that tells its nodes apart.

    Raises:
        SettingError: If there are too few graphs, or the space has no places.

    Example:
        >>> from nasgoat import ChainSpace
        >>> space = ChainSpace(2, ["skip", "conv"])
        >>> chains = [space.from_operations(ops) for ops in (("skip", "skip"), ("conv", "skip"))]
        >>> chains += [space.from_operations(ops) for ops in (("skip", "conv"), ("conv", "conv"))]
        >>> fit = fit_cost(space, chains, [1.0, 3.0, 2.0, 4.0], "latency", by="place")
        >>> print(fit.toml)
        [costs.latency]
        constant = 1.0
        conv = [2.0, 1.0]
        >>> fit.r_squared, fit.largest_error
        (1.0, 0.0)
    """
    if len(graphs) < 2 or len(graphs) != len(values):
        counts = f"{len(graphs)} graphs and {len(values)} values"
        raise SettingError(f"a cost must be fitted to at least two measured graphs, got {counts}")
    parts = _list_parts(space, by)
    y = np.asarray(values, dtype=float)
    found = _solve(_price_parts(space, graphs, parts), y)
    table = _make_table(space, parts, found, by)
    cost = space.vocabulary({name: table}).make_cost(name)
    errors = np.abs(space.price(graphs, cost) - y)
    spread, left = float(((y - y.mean()) ** 2).sum()), float((errors**2).sum())
    return CostFit(
        table=table,
        cost=cost,
        graphs=len(graphs),
        r_squared=1.0 - left / spread if spread else float(left == 0.0),
        largest_error=float(errors.max()),
        mean_error=float(errors.mean()),
    )


def _list_parts(space: SearchSpace, by: str) -> list[list[CostPart]]:
    """What each column stands for: the constant, then operations, the first ones last."""
    if by not in KINDS:
        raise UnknownNameError("by", by, KINDS)
    if by == "place":
        if not (places := space.limit_places):
            raise SettingError(
                "by must be operation where nodes are not told apart, got place; "
                f"the space is {space.describe()}"
            )
        ops = list(space.edge_vocabulary)[::-1]
        found = [[("place", (pair, op), 1.0)] for pair in places for op in ops]
        return [[(CONSTANT, "", 1.0)], *found]
    ops = list(dict.fromkeys((*space.node_ops, *space.edge_vocabulary)))[::-1]
    kinds = (("node", space.node_ops), ("edge", space.edge_vocabulary))
    by_op: list[list[CostPart]] = [
        [(kind, op, 1.0) for kind, on in kinds if op in on] for op in ops
    ]
    return [[(CONSTANT, "", 1.0)], *by_op]


def _price_parts(
    space: SearchSpace, graphs: Sequence[LabeledGraph], parts: list[list[CostPart]]
) -> NDArray[np.float64]:
    """What a coefficient of 1 for each part alone would make each graph cost, (N, parts)."""
    terms = [add_parts("", part)[0] for part in parts]
    X = add_up_terms(terms, space.batch(graphs), None).T
    X[:, 0] = 1.0
    return X


def _solve(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares on the columns that those before them do not explain; 0 for the others."""
    kept: list[int] = []
    basis = np.zeros((len(X), 0))
    for j, column in enumerate(X.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more, against rounding
        length = np.linalg.norm(rest)
        if length > _DEPENDENT * max(float(np.linalg.norm(column)), 1.0):
            basis = np.column_stack([basis, rest / length])
            kept.append(j)
    found = np.zeros(X.shape[1])
    found[kept] = np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
    scale = float(np.abs(y).max())
    return np.array([float(f"{c:.{_DIGITS}g}") if abs(c) > 1e-12 * scale else 0.0 for c in found])


def _make_table(
    space: SearchSpace, parts: list[list[CostPart]], found: NDArray[np.float64], by: str
) -> dict[str, Any]:
    """The coefficients as a file declares them; lists by layer in a chain."""
    table: dict[str, Any] = {CONSTANT: float(found[0])}
    pairs = list(zip(parts, found.tolist(), strict=True))[1:]
    order = list(dict.fromkeys((*space.node_ops, *space.edge_vocabulary)))
    if by == "operation":
        pairs.sort(key=lambda pair: order.index(pair[0][0][1]))
    else:
        pairs.sort(key=lambda pair: (pair[0][0][1][0], order.index(pair[0][0][1][1])))
    for part, coefficient in pairs:
        what = part[0][1]
        if by == "operation":
            table[what] = coefficient
        elif layers := space.limit_layers:
            (layer, _), op = what
            table.setdefault(op, [0.0] * layers)[layer] = coefficient
        else:
            (u, v), op = what
            table.setdefault(f"{u}>{v}", {})[op] = coefficient
    return {key: cost for key, cost in table.items() if key == CONSTANT or _is_charged(cost)}


def _is_charged(cost: Any) -> bool:
    numbers = (
        cost.values() if isinstance(cost, dict) else cost if isinstance(cost, list) else [cost]
    )
    return any(number != 0.0 for number in numbers)
