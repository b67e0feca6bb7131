"""Results from before a search: learnt from, and not evaluated again.

They come as pairs of a graph and its error, or its metrics; from a file, as
:func:`~nasgoat.bayesopt.transfer.read_table` reads it; or from an earlier run. Unlike what another
data set says (``transfer=``), they are errors of the same kind as those that the search will see.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from nasgoat.bayesopt.objectives import PLAIN, Objectives
from nasgoat.bayesopt.transfer import read_results
from nasgoat.errors import GraphError, ObservationError, SettingError
from nasgoat.evaluation import check_metrics
from nasgoat.evaluation.objectives import read_error
from nasgoat.figures.wording import format_count, format_number
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

logger = logging.getLogger(__name__)

#: A graph and its error, or its metrics.
Pair: TypeAlias = tuple[LabeledGraph, float | Mapping[str, Any]]
#: Files, folders of runs, and pairs; one or several.
Known: TypeAlias = str | Path | Sequence["str | Path | Pair | KnownResult"]


@dataclass(frozen=True)
class KnownResult:
    """What is known of a graph before a search.

    Args:
        graph: The graph.
        metrics: Its error, or whatever the search minimises and limits.
    """

    graph: LabeledGraph
    metrics: Mapping[str, Any]

    @property
    def error(self) -> float:
        """The error; the first metric if none has that name."""
        return read_error(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"graph": self.graph.to_dict(), "metrics": dict(self.metrics)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> KnownResult:
        """What :meth:`to_dict` has written."""
        return cls(LabeledGraph.from_json(data["graph"]), dict(data["metrics"]))


def gather_known(
    known: Known, space: SearchSpace, objectives: Objectives = PLAIN
) -> tuple[KnownResult, ...]:
    """The results that ``known=`` names, each once.

    A graph that comes twice with the same values is one result; with other values it was evaluated
    more than once, and the mean is learnt.

    Raises:
        FileError: If a line of a file holds no graph of the space, or no value; the line is named.
        SettingError: If one of the pairs is no graph of the space with its values.

    Example:
        >>> from nasgoat import nasbench201
        >>> cell = nasbench201().from_digits([1, 0, 2, 3, 0, 4])
        >>> [result.error for result in gather_known([(cell, 5.5), (cell, 5.5)], nasbench201())]
        [5.5]
    """
    given = [known] if isinstance(known, str | Path) else list(known)
    pairs: list[Pair] = []
    for place, each in enumerate(given, start=1):
        if isinstance(each, str | Path):
            pairs += read_results(Path(each), space, objectives.needed)
        elif isinstance(each, KnownResult):
            pairs.append(_check_pair((each.graph, each.metrics), place, space, objectives))
        else:
            pairs.append(_check_pair(each, place, space, objectives))
    kept: dict[tuple[Any, ...], KnownResult] = {}
    for graph, told in pairs:
        metrics = check_metrics(told, objectives.needed)
        values = (metrics[name] for name in objectives.needed)
        kept.setdefault((space.key(graph), *values), KnownResult(graph, metrics))
    if len(kept) < len(pairs):
        repeated = format_count(len(pairs) - len(kept), "known result")
        logger.warning("%s came more than once", repeated)
    return tuple(kept.values())


def _check_pair(pair: Any, place: int, space: SearchSpace, objectives: Objectives) -> Pair:
    """One of the pairs that were given in Python."""
    try:
        graph, told = pair
    except (TypeError, ValueError):
        raise SettingError(
            f"known result {place} must be a pair of a graph and its error, got {pair!r}"
        ) from None
    try:
        if not isinstance(graph, LabeledGraph):
            raise GraphError(f"the graph must be a LabeledGraph, got {type(graph).__name__}")
        space.check(graph)
        return graph, check_metrics(told, objectives.needed)
    except (GraphError, ObservationError) as problem:
        raise SettingError(f"known result {place} must be one of the space: {problem}") from None


def count_graphs(known: Sequence[KnownResult], space: SearchSpace) -> int:
    """How many graphs known results are of."""
    return len({space.key(result.graph) for result in known})


def declare_known(known: Sequence[KnownResult]) -> dict[str, Any]:
    """What must be the same when a search is resumed; nothing without any.

    Example:
        >>> declare_known([])
        {}
    """
    if not known:
        return {}
    results = [result.to_dict() for result in known]
    digest = hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()[:16]
    return {"known": {"digest": digest, "results": results}}


def read_declared_known(declaration: Mapping[str, Any]) -> tuple[KnownResult, ...]:
    """The known results of a stored search."""
    declared = declaration.get("known") or {}
    return tuple(KnownResult.from_dict(each) for each in declared.get("results", ()))


def summarise_known(known: Sequence[KnownResult]) -> dict[str, Any] | None:
    """How many results were known and the best of them, JSON-ready; None without any."""
    if not known:
        return None
    best = min(known, key=lambda result: result.error)
    return {"results": len(known), "best": {"graph": best.graph.to_dict(), "error": best.error}}


def describe_known(known: Sequence[KnownResult], found: float | None) -> str:
    """Known results in a line.

    Args:
        known: At least one.
        found: The lowest error that the search itself has seen; None if nothing can be compared.

    Example:
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)])
        >>> describe_known([KnownResult(cell, {"error": 5.5})], found=6.0)
        '1 known result, error 5.500: better than what was found'
    """
    best = min(result.error for result in known)
    said = f"{format_count(len(known), 'known result')}, "
    said += f"error {format_number(best)}" if len(known) == 1 else f"the best {format_number(best)}"
    return said + ": better than what was found" * (found is not None and best < found)
