"""What a search learns from besides its own evaluations: earlier runs, and tables of errors.

A table is a CSV file with the columns ``graph`` (a graph as JSON, or a digit for each place of an
operation) and ``error``, or a JSON file with a list of such objects; ``result.json`` of a run and
what ``nasgoat search --json`` prints are tables too. Graphs must be in the space.
"""

from __future__ import annotations

import csv
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nasgoat.errors import FileError, GraphError, SettingError
from nasgoat.evaluation import Fidelities
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.measured_values import GRAPH_COLUMNS, find_first_digit, read_graph
from nasgoat.surrogate import Source
from nasgoat.upper_layers import find

logger = logging.getLogger(__name__)

#: Folders of runs, files with graphs and errors, or sources; one or several.
Transfer: TypeAlias = str | Path | Source | Sequence[str | Path | Source]
#: Observations of one source that are learnt from; the time of a fit grows with the cube.
MOST = 300
Observation: TypeAlias = tuple[LabeledGraph, float]


def gather_sources(transfer: Transfer, space: SearchSpace) -> tuple[Source, ...]:
    """The sources that ``transfer=`` names, each with a name of its own.

    Raises:
        SettingError: If one holds nothing of this space.
        FileError: If a file does not say what it should.
        StudyError: If a stored run can't be read.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(3, np.random.default_rng(0))
        >>> gather_sources(Source("earlier", cells, [3.0, 4.0, 5.0]), nasbench201())
        (<Source 'earlier': 3 observations>,)
    """
    given = [transfer] if isinstance(transfer, str | Path | Source) else list(transfer)
    found: list[Source] = []
    for each in given:
        source = each if isinstance(each, Source) else _read_source(Path(each), space)
        names = [other.name for other in found]
        repeated = sum(name.partition(" #")[0] == source.name for name in names)
        name = f"{source.name} #{repeated + 1}" if repeated else source.name
        inside = [
            (graph, error)
            for graph, error in zip(source.graphs, source.errors, strict=True)
            if graph in space
        ]
        if len(inside) < len(source.graphs):
            outside = len(source.graphs) - len(inside)
            logger.warning("%d graphs of %s are not in the space: left out", outside, name)
        if not inside:
            raise SettingError(f"{name} must hold graphs of the space, got none")
        found.append(_thin(name, inside))
    return tuple(found)


def declare_sources(fidelities: Fidelities | None, others: Sequence[Source]) -> dict[str, Any]:
    """What must be the same of them when a search is resumed; nothing without any."""
    said: dict[str, Any] = {} if fidelities is None else {"fidelities": fidelities.declare()}
    if others:
        said["transfer"] = [{"name": each.name, "digest": each.digest} for each in others]
    return said


def read_table(
    path: Path, space: SearchSpace, names: Sequence[str] = ("error",)
) -> list[tuple[LabeledGraph, dict[str, float]]]:
    """The graphs of a CSV or JSON file with their values.

    Args:
        path: The file.
        space: The space that its graphs must be in.
        names: The values that every line must have.

    Raises:
        FileError: If a line holds no graph of the space, or no finite number; the line is named.

    Example:
        >>> import tempfile
        >>> from nasgoat import nasbench201
        >>> cell = nasbench201().sample(1, np.random.default_rng(0))[0]
        >>> path = Path(tempfile.mkdtemp()) / "results.json"
        >>> _ = path.write_text(json.dumps([{"graph": cell.to_dict(), "error": 5.5}]))
        >>> read_table(path, nasbench201())[0][1]
        {'error': 5.5}
    """
    rows = list(_list_csv(path, names) if path.suffix == ".csv" else _list_json(path))
    texts = [str(graph) for _, graph, _ in rows if not isinstance(graph, Mapping)]
    first = find_first_digit(space, texts)
    found = []
    for line, graph, row in rows:
        try:
            text = not isinstance(graph, Mapping)
            read = read_graph(space, str(graph), first) if text else LabeledGraph.from_json(graph)
            space.check(read)
        except (GraphError, ValueError, TypeError, KeyError) as problem:
            raise FileError(
                path.name, line, "graph", f"must be one of the space: {problem}"
            ) from None
        found.append(
            (read, {name: _read_number(path, line, name, row.get(name)) for name in names})
        )
    if not found:
        raise FileError(path.name, None, "", "must hold at least one graph, got none")
    return found


def _read_number(path: Path, line: int, name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise FileError(path.name, line, name, f"must be a finite number, got {value!r}")
    return number


def _list_csv(path: Path, names: Sequence[str]) -> Iterator[tuple[int, Any, Mapping[str, Any]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            head = list(reader.fieldnames or ())
            held = next((name for name in GRAPH_COLUMNS if name in head), GRAPH_COLUMNS[0])
            for name in (held, *names):
                if name not in head:
                    raise FileError(path.name, 1, "", f"must have a column {name!r}, got none")
            for row in reader:
                yield reader.line_num, row[held], row
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise FileError(path.name, None, "", f"must be a CSV file, got {problem}") from None


def _list_json(path: Path) -> Iterator[tuple[int, Any, Mapping[str, Any]]]:
    """Graphs and values of a list, or of what a run has written; their places count as lines."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise FileError(path.name, None, "", f"must be JSON, got {problem}") from None
    listed = document
    if isinstance(document, dict):
        parts = (document.get(name) for name in ("history", "front", "best"))
        listed = next((part for part in parts if part), None)
        listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list):
        raise FileError(path.name, None, "", "must be a list of objects, got another document")
    for place, entry in enumerate(listed, start=1):
        if not isinstance(entry, dict) or "graph" not in entry:
            raise FileError(path.name, place, "graph", "must be there, got none")
        yield place, entry["graph"], entry.get("metrics") or entry


def read_results(
    path: Path, space: SearchSpace, names: Sequence[str] = ("error",), option: str = "known"
) -> list[tuple[LabeledGraph, dict[str, float]]]:
    """Graphs and their values from the folder or the study's file of a run, or from a table.

    Args:
        path: The folder or file.
        space: The space that the graphs of a table must be in.
        names: The values of each graph.
        option: What the path was given for.
    """
    if not path.exists():
        raise SettingError(f"{option} must be a folder of a run or a file, got {path}")
    name = path.stem
    if path.is_dir() and not (path / "study.db").exists():
        if not (path / "result.json").exists():
            raise SettingError(f"{option} must be the folder of a run, got {path}, which has none")
        path = path / "result.json"
    if path.is_dir() or path.suffix in (".db", ".sqlite"):
        file = path / "study.db" if path.is_dir() else path
        observed: list[tuple[LabeledGraph, dict[str, float]]] = find("read a run")(file, names)
    elif path.suffix in (".csv", ".json"):
        observed = read_table(path, space, names)
    else:
        raise SettingError(f"{option} must be a run's folder, .csv, .json or .db, got {path.name}")
    if not observed:
        raise SettingError(f"{name} must hold at least one evaluation, got none")
    return observed


def _read_source(path: Path, space: SearchSpace) -> Source:
    """A run by its folder or its study's file, or a table."""
    observed = read_results(path, space, option="transfer")
    graphs, errors = [graph for graph, _ in observed], [told["error"] for _, told in observed]
    return Source(path.stem, graphs, errors)


def _thin(name: str, observed: Sequence[Observation]) -> Source:
    """A source of at most ``MOST`` observations: the best third of them, the rest spread evenly."""
    order = np.argsort([error for _, error in observed], kind="stable")
    if len(order) > MOST:
        best, rest = order[: MOST // 3], order[MOST // 3 :]
        places = np.linspace(0, len(rest) - 1, MOST - len(best)).round().astype(int)
        order = np.concatenate([best, rest[places]])
    kept = [observed[i] for i in sorted(order.tolist())]
    return Source(name, [graph for graph, _ in kept], [error for _, error in kept])
