"""Spaces from TOML: one table for the space, one for its limits, one for each cost.

    [space]
    kind = "node-labelled"        # or edge-labelled, darts-like, graph
    nodes = [2, 7]
    ops = ["conv3x3", "conv1x1", "maxpool3x3"]
    max_edges = 9

    [limits]
    budget = "sum(params) <= 2.5e6"

    [costs.params]
    conv3x3 = 9.0e5

Whatever is wrong is one line: file, line, key, what it must be and what it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from nasgoat.errors import FileError, NasgoatError, SpaceFileError
from nasgoat.spaces.chain import ChainSpace
from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.graph_space import GraphSpace
from nasgoat.spaces.limit_text import Vocabulary, parse_limit
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.toml_document import TomlDocument, one_of, read_text

KINDS: Mapping[str, type[SearchSpace]] = {
    "node-labelled": NodeLabeledSpace,
    "edge-labelled": EdgeLabeledSpace,
    "darts-like": DartsSpace,
    "chain": ChainSpace,
    "graph": GraphSpace,
}
_TABLES = ("name", "description", "space", "limits", "costs")
#: What each key may hold: a Python type, and how to say it.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("nodes",), ((int, list), "a number or [smallest, largest]")),
    **dict.fromkeys(("ops", "node_ops", "edge_ops"), ((list,), "a list of names")),
    **dict.fromkeys(("direction", "connectivity", "kind"), ((str,), "text")),
    **dict.fromkeys(("connected",), ((bool,), "true or false")),
    **dict.fromkeys(
        ("max_edges", "min_edges", "sources", "sinks", "inputs", "predecessors"),
        ((int,), "a whole number"),
    ),
    **dict.fromkeys(
        ("degree", "in_degree", "out_degree", "edge_weights", "fixed"), ((dict,), "a table")
    ),
}


def load_space(path: str | Path) -> SearchSpace:
    """The space that a TOML file declares.

    Raises:
        SpaceFileError: If the file can't be read or declares no space.
    """
    return parse_space(read_text(path, SpaceFileError), str(path))


def parse_space(text: str, file: str = "space") -> SearchSpace:
    r"""The space that a TOML text declares; ``file`` is what messages call it.

    Example:
        >>> parse_space('[space]\nkind = "edge-labelled"\nnodes = 3\nops = ["a", "b"]').count()
        12
        >>> parse_space('[space]\nkind = "edge-labelled"\nnode = 3', "my.toml")
        Traceback (most recent call last):
        nasgoat.errors.SpaceFileError: my.toml:3: space.node must be one of connected, kind, nodes,
        ops, got 'node'; did you mean nodes?
    """
    return _Reader(file, text, SpaceFileError).space()


class _Reader(TomlDocument):
    """Turns a document into a space."""

    def space(self) -> SearchSpace:
        self.known((), self.document, _TABLES)
        for key in ("name", "description"):
            if not isinstance(self.document.get(key, ""), str):
                raise self.wrong((key,), "must be text", self.document[key])
        table = self.table(("space",), required=True)
        if "kind" not in table:
            raise self.problem(("space",), f"must have the key kind: {', '.join(KINDS)}, got none")
        kind = self._typed(("space",), "kind", table["kind"])
        if kind not in KINDS:
            raise self.wrong(("space", "kind"), one_of(KINDS), kind)
        space = self._build(KINDS[kind], {k: v for k, v in table.items() if k != "kind"})
        return space.with_limits(self._limits(space, self._costs(space)))

    def _build(self, kind: type[SearchSpace], table: dict[str, Any]) -> SearchSpace:
        valid = [f.name for f in fields(kind) if f.name != "limits"]  # type: ignore[arg-type]
        self.known(("space",), table, [*valid, "kind"])
        for key, value in table.items():
            table[key] = self._typed(("space",), key, value)
        for key in ("nodes", "ops"):
            if key in valid and key not in table:
                raise self.problem(("space",), f"must have the key {key}, got none")
        try:
            return kind(**table)
        except NasgoatError as problem:
            raise self._located(table, str(problem)) from None

    def _costs(self, space: SearchSpace) -> dict[str, dict[str, float]]:
        costs = self.table(("costs",))
        ops = [*space.node_ops, *space.edge_vocabulary]
        for name in costs:
            table = self.table(("costs", name))
            self.known(("costs", name), table, ops)
            for op, cost in table.items():
                number = isinstance(cost, int | float) and not isinstance(cost, bool)
                if not number or not _finite(cost):
                    raise self.wrong(("costs", name, op), "must be a finite number", cost)
        return costs

    def _limits(self, space: SearchSpace, costs: Any) -> list[Limit]:
        words = Vocabulary(space.node_ops, space.edge_vocabulary, costs)
        given = self.document.get("limits", {})
        if not isinstance(given, dict | list):
            raise self.wrong(("limits",), "must be a table or a list of texts", given)
        named = given.items() if isinstance(given, dict) else enumerate(given)
        found = []
        for name, text in named:
            key = ("limits", str(name))
            if not isinstance(text, str):
                raise self.wrong(key, "must be text like 'conv + pool <= 3'", text)
            try:
                found.append(parse_limit(text, words, name if isinstance(name, str) else None))
            except NasgoatError as problem:
                missing = "the cost" in str(problem) and not costs
                hint = "; declare the cost in a table [costs.NAME]" if missing else ""
                raise self.problem(key, f": {problem}{hint}") from None
        return found

    def _typed(self, path: tuple[str, ...], key: str, value: Any) -> Any:
        types, said = _TYPES[key]
        whole: Any = value
        wrong_bool = isinstance(value, bool) and bool not in types
        if not isinstance(value, types) or wrong_bool:
            raise self.wrong((*path, key), f"must be {said}", value)
        if key == "nodes" and isinstance(value, list):
            return tuple(value)
        if key in ("degree", "in_degree", "out_degree"):
            return {k: tuple(v) if isinstance(v, list) else v for k, v in whole.items()}
        return value

    def _located(self, table: Mapping[str, Any], problem: str) -> FileError:
        """The error of a constructor, at the key that it speaks of."""
        said = [key for key in table if re.search(rf"\b{key}\b", problem)]
        first = min(said, key=lambda key: problem.index(key), default=None)
        path = ("space",) if first is None else ("space", first)
        return self.problem(path, f": {problem}")


def _finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False
