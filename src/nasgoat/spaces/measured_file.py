"""Measured values of graphs, from a file: what ``nasgoat space costs --fit`` reads."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.errors import DataError, GraphError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.indexed import IndexedSpace
from nasgoat.spaces.search_space import SearchSpace

#: Columns that hold graphs: JSON, or a digit for each place.
GRAPH_COLUMNS = ("graph", "digits", "ops")


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
