"""Spaces as TOML text, which :mod:`~nasgoat.spaces.toml_file` reads back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nasgoat.errors import SpaceError
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.toml_file import KINDS, parse_space


def to_toml(space: SearchSpace) -> str:
    """A declaration that :func:`~nasgoat.spaces.parse_space` reads back to the same space.

    Raises:
        SpaceError: If the space is of a kind that has no declaration.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> space = EdgeLabeledSpace(3, ["a", "b"]).constrain({"few": "a <= 1"})
        >>> print(to_toml(space))
        [space]
        kind = "edge-labelled"
        nodes = 3
        ops = ["a", "b"]
        connected = true
        <BLANKLINE>
        [limits]
        few = "a <= 1"
    """
    declared = space.to_dict()
    if declared["kind"] not in KINDS:
        raise SpaceError(f"the space must have a declaration, got {space.describe()}")
    return _text(declared)


def declared_space(declaration: Mapping[str, Any]) -> SearchSpace:
    """The space that :meth:`~nasgoat.spaces.SearchSpace.to_dict` declared, also after JSON.

    Raises:
        SpaceError: If the declaration is of no space.

    Example:
        >>> from nasgoat import nasbench201
        >>> declared_space(nasbench201().to_dict()) == nasbench201()
        True
    """
    if not isinstance(declaration, Mapping) or declaration.get("kind") not in KINDS:
        raise SpaceError(f"the space must have a declaration, got {declaration!r:.80}")
    return parse_space(_text(dict(declaration)))


def _text(declared: dict[str, Any]) -> str:
    limits = declared.pop("limits", [])
    simple = {k: v for k, v in declared.items() if not isinstance(v, dict) and v is not None}
    lines = ["[space]", *(f"{key} = {_value(value)}" for key, value in simple.items())]
    for name, table in declared.items():
        if isinstance(table, dict):
            lines += ["", f"[space.{name}]"]
            lines += [f"{_quoted(key)} = {_value(value)}" for key, value in table.items()]
    if limits:
        lines += ["", "[limits]"]
        lines += [f"{_quoted(limit['name'])} = {_value(limit['limit'])}" for limit in limits]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value)


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
