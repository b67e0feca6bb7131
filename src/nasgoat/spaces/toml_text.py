"""Declarations as TOML text: spaces, their limits and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def write_declaration(declared: dict[str, Any], costs: Mapping[str, str] | None = None) -> str:
    """A space's declaration as text, with the texts of its costs.

    Example:
        >>> declared = {"kind": "chain", "layers": 2, "ops": ["conv"]}
        >>> print(write_declaration(declared, {"latency": "2*conv"}))
        [space]
        kind = "chain"
        layers = 2
        ops = ["conv"]
        <BLANKLINE>
        [costs]
        latency = "2*conv"
    """
    tables: dict[str, Mapping[str, Any]] = {}
    for cell in declared.get("cells", []):
        own = {key: value for key, value in cell.items() if key != "name"}
        name = f"cells.{_write_key(cell['name'])}"
        tables |= _list_tables(own, name, f"{name}.limits")
    if not tables:
        tables = _list_tables(declared, "space", "limits")
    tables["limits"] = _list_limits(declared)
    tables["costs"] = costs or {}
    return "\n\n".join(_write_table(name, table) for name, table in tables.items() if table)


def _list_tables(
    declared: Mapping[str, Any], name: str, limits: str
) -> dict[str, Mapping[str, Any]]:
    """The tables of one space, under its name, and of its limits."""
    own = {k: v for k, v in declared.items() if k != "limits" and v is not None}
    plain = {k: v for k, v in own.items() if not isinstance(v, dict)}
    inner = {f"{name}.{k}": v for k, v in own.items() if isinstance(v, dict)}
    return {name: plain, **inner, limits: _list_limits(declared)}


def _list_limits(declared: Mapping[str, Any]) -> dict[str, str]:
    return {limit["name"]: limit["limit"] for limit in declared.get("limits", [])}


def write_cost(name: str, table: Mapping[str, Any]) -> str:
    """A cost's table as a file declares it.

    Example:
        >>> print(write_cost("latency", {"conv": 1.5, "0>3": {"conv": 0.5}}))
        [costs.latency]
        conv = 1.5
        "0>3" = { conv = 0.5 }
    """
    return _write_table(f"costs.{_write_key(name)}", table)


def _write_table(name: str, table: Mapping[str, Any]) -> str:
    lines = [f"{_write_key(key)} = {_write_value(value)}" for key, value in table.items()]
    return "\n".join([f"[{name}]", *lines])


def _write_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, Mapping):
        items = (f"{_write_key(key)} = {_write_value(item)}" for key, item in value.items())
        return "{ " + ", ".join(items) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_write_value(item) for item in value) + "]"
    return str(value)


def _write_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _write_text(key)


def _write_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
