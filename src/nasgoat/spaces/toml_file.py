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

import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from nasgoat.errors import NasgoatError, SpaceFileError
from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.graph_space import GraphSpace
from nasgoat.spaces.limit_text import Vocabulary, parse_limit
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.toml_lines import key_lines

KINDS: Mapping[str, type[SearchSpace]] = {
    "node-labelled": NodeLabeledSpace,
    "edge-labelled": EdgeLabeledSpace,
    "darts-like": DartsSpace,
    "graph": GraphSpace,
}
_TABLES = ("name", "description", "space", "limits", "costs")
_MOST_BYTES = 1_000_000
_SHOWN = 60  # characters of a wrong value that a message repeats
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
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise SpaceFileError(path, None, "", f"must be readable, got {problem.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise SpaceFileError(
            path, None, "", f"must have at most {_MOST_BYTES:,} bytes, got {len(content):,}"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        byte = content[problem.start]
        raise SpaceFileError(path, line, "", f"must be UTF-8, got byte 0x{byte:02x}") from None
    return parse_space(text, str(path))


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
    return _Reader(file, text, _document(text, file)).space()


def _document(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpaceFileError(file, 1, "", "must not be nested so deeply") from None
    except ValueError as problem:  # TOMLDecodeError is one; so is a number of too many digits
        said = str(problem)
        where = re.search(r"\(at line (\d+), column \d+\)", said)
        line = int(where.group(1)) if where else len(text.splitlines())
        reason = re.sub(r"\s*\(at .*\)$", "", said).rstrip(".;").split(";")[0]
        raise SpaceFileError(file, line, "", f"must be TOML, got {reason}") from None


class _Reader:
    """Turns a parsed document into a space; knows where each key stands."""

    def __init__(self, file: str, text: str, document: dict[str, Any]) -> None:
        self.file = file
        self.lines = key_lines(text)
        self.document = document

    def space(self) -> SearchSpace:
        self._known((), self.document, _TABLES)
        for key in ("name", "description"):
            if not isinstance(self.document.get(key, ""), str):
                raise self._wrong((key,), "must be text", self.document[key])
        table = self._table(("space",), required=True)
        if "kind" not in table:
            raise self._error(("space",), f"must have the key kind: {', '.join(KINDS)}, got none")
        kind = self._typed(("space",), "kind", table["kind"])
        if kind not in KINDS:
            raise self._wrong(("space", "kind"), _one_of(kind, KINDS), kind)
        space = self._build(KINDS[kind], {k: v for k, v in table.items() if k != "kind"})
        return space.with_limits(self._limits(space, self._costs(space)))

    def _build(self, kind: type[SearchSpace], table: dict[str, Any]) -> SearchSpace:
        valid = [f.name for f in fields(kind) if f.name != "limits"]  # type: ignore[arg-type]
        self._known(("space",), table, [*valid, "kind"])
        for key, value in table.items():
            table[key] = self._typed(("space",), key, value)
        for key in ("nodes", "ops"):
            if key in valid and key not in table:
                raise self._error(("space",), f"must have the key {key}, got none")
        try:
            return kind(**table)
        except NasgoatError as problem:
            raise self._located(table, str(problem)) from None

    def _costs(self, space: SearchSpace) -> dict[str, dict[str, float]]:
        costs = self._table(("costs",))
        ops = [*space.node_ops, *space.edge_vocabulary]
        for name in costs:
            table = self._table(("costs", name))
            self._known(("costs", name), table, ops)
            for op, cost in table.items():
                number = isinstance(cost, int | float) and not isinstance(cost, bool)
                if not number or not _finite(cost):
                    raise self._wrong(("costs", name, op), "must be a finite number", cost)
        return costs

    def _limits(self, space: SearchSpace, costs: Any) -> list[Limit]:
        words = Vocabulary(space.node_ops, space.edge_vocabulary, costs)
        given = self.document.get("limits", {})
        if not isinstance(given, dict | list):
            raise self._wrong(("limits",), "must be a table or a list of texts", given)
        named = given.items() if isinstance(given, dict) else enumerate(given)
        found = []
        for name, text in named:
            key = ("limits", str(name))
            if not isinstance(text, str):
                raise self._wrong(key, "must be text like 'conv + pool <= 3'", text)
            try:
                found.append(parse_limit(text, words, name if isinstance(name, str) else None))
            except NasgoatError as problem:
                missing = "the cost" in str(problem) and not costs
                hint = "; declare the cost in a table [costs.NAME]" if missing else ""
                raise self._error(key, f": {problem}{hint}") from None
        return found

    def _table(self, path: tuple[str, ...], required: bool = False) -> dict[str, Any]:
        found: Any = self.document
        for key in path:
            found = found.get(key, {} if not required else None)
        if found is None:
            raise SpaceFileError(
                self.file, 1, "", f"must have a table [{'.'.join(path)}], got none"
            )
        if not isinstance(found, dict):
            raise self._wrong(path, "must be a table", found)
        return dict(found)

    def _known(self, path: tuple[str, ...], table: Mapping[str, Any], valid: Any) -> None:
        for key in table:
            if key not in valid:
                raise self._wrong((*path, key), _one_of(key, valid), key, _near(key, valid))

    def _typed(self, path: tuple[str, ...], key: str, value: Any) -> Any:
        types, said = _TYPES[key]
        whole: Any = value
        wrong_bool = isinstance(value, bool) and bool not in types
        if not isinstance(value, types) or wrong_bool:
            raise self._wrong((*path, key), f"must be {said}", value)
        if key == "nodes" and isinstance(value, list):
            return tuple(value)
        if key in ("degree", "in_degree", "out_degree"):
            return {k: tuple(v) if isinstance(v, list) else v for k, v in whole.items()}
        return value

    def _located(self, table: Mapping[str, Any], problem: str) -> SpaceFileError:
        """The error of a constructor, at the key that it speaks of."""
        said = [key for key in table if re.search(rf"\b{key}\b", problem)]
        first = min(said, key=lambda key: problem.index(key), default=None)
        path = ("space",) if first is None else ("space", first)
        return self._error(path, f": {problem}")

    def _wrong(
        self, path: tuple[str, ...], demand: str, value: Any, hint: str = ""
    ) -> SpaceFileError:
        shown = (
            repr(value) if not isinstance(value, int) or abs(value) < 10**50 else "a huge number"
        )
        if len(shown) > _SHOWN:
            shown = shown[: _SHOWN - 1] + "…"
        return self._error(path, f"{demand}, got {shown}{hint}")

    def _error(self, path: tuple[str, ...], said: str) -> SpaceFileError:
        line = None
        for end in range(len(path), 0, -1):
            line = line or self.lines.get(path[:end])
        return SpaceFileError(self.file, line or 1, ".".join(path), said)


def _one_of(key: object, valid: Any) -> str:
    del key
    return f"must be one of {', '.join(sorted(valid)) or '(none)'}"


def _near(key: object, valid: Any) -> str:
    near = difflib.get_close_matches(str(key), list(valid), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False
