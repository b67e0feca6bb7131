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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, NoDataError, SettingError, UnknownNameError
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


class Measured(NamedTuple):
    """What a file of measured values holds.

    Args:
        graphs: Its graphs.
        values: What was measured of each.
        column: The column that the values come from.
        left_out: How many rows hold graphs that are not in the space.
        first: The digit of the first operation, where graphs are written as digits.
    """

    graphs: list[LabeledGraph]
    values: list[float]
    column: str
    left_out: int
    first: int = 1


def read_measured(space: SearchSpace, path: Path, column: str | None = None) -> Measured:
    """Graphs and values of a file, and how many of its rows were left out.

    The file is CSV, ``.csv.xz`` if compressed. Its column ``graph`` holds graphs as JSON, or
    ``digits`` (also ``ops``) a digit for each place of an operation, as :func:`read_graph` reads
    them; :func:`find_first_digit` says which digit the first operation has.

    Args:
        space: Rows of graphs that are not in it are left out.
        path: The file.
        column: The column of values; needed where there are several.

    Raises:
        NoDataError: If there is no such file, it can't be read, or a line holds no graph.
        SettingError: If the column of values must be named.
    """
    if not path.exists():
        raise NoDataError(f"the file of measured values must be there, got {path}")
    opener = lzma.open if path.suffix == ".xz" else open
    try:
        with opener(path, "rt", newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            head = list(rows.fieldnames or [])
            held = next((name for name in GRAPH_COLUMNS if name in head), None)
            if held is None:
                raise NoDataError(
                    f"{path.name} must have a column of graphs ({', '.join(GRAPH_COLUMNS)}), got "
                    f"{', '.join(head) or 'none'}"
                )
            chosen = _choose_column(path, [name for name in head if name != held], column)
            listed = list(rows)
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError, csv.Error) as problem:
        raise NoDataError(f"{path} must be a CSV file, got {problem}") from None
    first = find_first_digit(space, [str(row[held]) for row in listed])
    found = list(_read_rows(space, path, listed, held, chosen, first))
    inside = [(graph, value) for graph, value in found if graph is not None]
    return Measured(
        graphs=[graph for graph, _ in inside],
        values=[value for _, value in inside],
        column=chosen,
        left_out=len(found) - len(inside),
        first=first,
    )


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
    space: SearchSpace,
    path: Path,
    rows: Iterable[dict[str, Any]],
    held: str,
    column: str,
    first: int,
) -> Iterator[tuple[LabeledGraph | None, float]]:
    """A graph and its value for each row of a table; None for a graph outside the space."""
    for number, row in enumerate(rows, start=2):
        try:
            value = float(row[column])
            if not np.isfinite(value):
                raise ValueError
        except (TypeError, ValueError):
            raise NoDataError(
                f"line {number} of {path.name} must have a finite number as {column}, got "
                f"{row[column]!r}"
            ) from None
        try:
            graph = read_graph(space, str(row[held]), first)
        except (GraphError, ValueError, KeyError, TypeError) as problem:
            raise NoDataError(
                f"line {number} of {path.name} must hold a graph, got {problem}"
            ) from None
        yield (graph if graph in space else None), value


def find_first_digit(space: SearchSpace, texts: Iterable[str]) -> int:
    """The digit that the first operation has in the graphs of a file: 1, or 0 in some chains.

    A 0 stands for no edge, which is nothing that a chain of one length can have. Where such chains
    have a 0 nevertheless, the file counts operations from 0, as NAS-Bench-Macro's does.

    Args:
        space: The space of the graphs.
        texts: All graphs of the file.

    Example:
        >>> from nasgoat import ChainSpace
        >>> space = ChainSpace(3, ["skip", "conv"])
        >>> find_first_digit(space, ["112", "212"]), find_first_digit(space, ["112", "011"])
        (1, 0)
    """
    if not space.limit_layers or len(space.sizes) > 1:
        return 1
    return 0 if any("0" in text for text in texts if not _is_json(text)) else 1


def read_graph(space: SearchSpace, text: str, first: int = 1) -> LabeledGraph:
    """The graph that a text says: JSON, or a digit for each place of an operation.

    A digit is 0 for no edge, else 1 + the number of its operation in the space's list; in a chain
    the digits of layers behind the last one are 0.

    Args:
        space: The space of the graph.
        text: The text.
        first: The digit of the first operation; 0 where chains of one length count from there.

    Raises:
        GraphError: If the text says no graph.

    Example:
        >>> from nasgoat import nasbench201
        >>> read_graph(nasbench201(), "123123") == nasbench201().from_digits([1, 2, 3, 1, 2, 3])
        True
    """
    if _is_json(text):
        return LabeledGraph.from_json(text)
    if not isinstance(space, IndexedSpace):
        raise GraphError(f"digits in a space without places, {text[:20]!r}; write JSON")
    places = len(space.places)
    if len(text) != places or not (text.isascii() and text.isdecimal()):
        raise GraphError(f"{text[:20]!r} instead of {places} digits")
    largest = len(space.ops) - 1 + first
    if int(max(text)) > largest:
        raise GraphError(
            f"{text[:20]!r} with the digit {max(text)} instead of at most {largest}; operations "
            f"count from {first} in this file"
        )
    if space.limit_layers and first and "0" in text.rstrip("0"):
        raise GraphError(
            f"{text[:20]!r} with a 0, which is no layer, before another layer; digits count "
            "operations from 1"
        )
    return space.from_digits([int(digit) + 1 - first for digit in text])


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


@dataclass(frozen=True)
class CostFit:
    """A fitted cost, and how well it fits.

    Args:
        table: Its table, as a file declares it.
        cost: The cost.
        graphs: How many graphs were measured.
        fitted: How many coefficients were fitted, the constant among them.
        unseen: How many costs no measured graph has, so that they are 0 for want of a measurement.
        r_squared: Share of the variance that it explains.
        largest_error: Largest distance between a price and the measured value.
        mean_error: The mean distance.
        left_out: Measured graphs that are not in the space.
        first: The digit of the first operation in the file of graphs.
    """

    table: dict[str, Any]
    cost: Cost
    graphs: int
    fitted: int
    unseen: int
    r_squared: float
    largest_error: float
    mean_error: float
    left_out: int = 0
    first: int = 1

    @property
    def toml(self) -> str:
        """The cost as a table of a space's file."""
        return write_cost(self.cost.name, self.table)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        measured = ("graphs", "left_out", "r_squared", "largest_error", "mean_error")
        figures = {name: getattr(self, name) for name in (*measured, "fitted", "unseen")}
        document = {**figures, "text": self.cost.text, "toml": self.toml}
        return {**document, "first_digit": self.first, "warnings": self.list_warnings()}

    def list_warnings(self) -> list[str]:
        """Why the fit may say little, a line each."""
        found, rows = [], self.graphs + self.left_out
        if self.left_out > self.graphs:
            found.append(
                f"most rows, {self.left_out} of {rows}, are not in the space: do their digits or "
                "labels mean the operations of this space?"
            )
        if self.graphs <= self.fitted:
            found.append(
                f"{self.fitted} coefficients fit any values of {self.graphs} graphs: R² says "
                "nothing; measure more graphs"
            )
        if self.unseen:
            are = "cost is" if self.unseen == 1 else "costs are"
            found.append(f"{self.unseen} {are} 0 because no measured graph has the operation there")
        return found

    def describe(self) -> str:
        """How well it fits, in a line."""
        outside = f"; {self.left_out} rows are not in the space" if self.left_out else ""
        outside += "" if self.first else "; digits count operations from 0"
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
    _require_enough(len(graphs), len(values))
    parts = _list_parts(space, by)
    y, X = np.asarray(values, dtype=float), _price_parts(space, graphs, parts)
    kept = _find_independent(X)
    table = _make_table(space, parts, _solve(X, y, kept), by)
    cost = space.vocabulary({name: table}).make_cost(name)
    errors = np.abs(space.price(graphs, cost) - y)
    return CostFit(
        table=table,
        cost=cost,
        graphs=len(graphs),
        r_squared=_explain_share(y, errors),
        largest_error=float(errors.max()),
        mean_error=float(errors.mean()),
        fitted=len(kept),
        unseen=int((X == 0.0).all(axis=0).sum()),
    )


def _require_enough(graphs: int, values: int) -> None:
    if graphs < 2 or graphs != values:
        counts = f"{graphs}" if graphs == values else f"{graphs} graphs and {values} values"
        raise SettingError(
            f"a cost must be fitted to at least two measured graphs of the space, got {counts}"
        )


def _explain_share(y: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """R²: the share of the variance of y that is explained, given what is left of each."""
    spread, left = float(((y - y.mean()) ** 2).sum()), float((errors**2).sum())
    return 1.0 - left / spread if spread else float(left == 0.0)


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


def _find_independent(X: NDArray[np.float64]) -> list[int]:
    """The columns that those before them do not explain."""
    kept: list[int] = []
    basis = np.zeros((len(X), 0))
    for j, column in enumerate(X.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more, against rounding
        length = np.linalg.norm(rest)
        if length > _DEPENDENT * max(float(np.linalg.norm(column)), 1.0):
            basis = np.column_stack([basis, rest / length])
            kept.append(j)
    return kept


def _solve(X: NDArray[np.float64], y: NDArray[np.float64], kept: list[int]) -> NDArray[np.float64]:
    """Least squares on the columns that are kept; 0 for the others."""
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
