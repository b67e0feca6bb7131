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
    limits = {limit["name"]: limit["limit"] for limit in declared.pop("limits", [])}
    plain = {k: v for k, v in declared.items() if not isinstance(v, dict) and v is not None}
    inner = {f"space.{k}": v for k, v in declared.items() if isinstance(v, dict)}
    tables = {"space": plain, **inner, "limits": limits, "costs": costs or {}}
    return "\n\n".join(_write_table(name, table) for name, table in tables.items() if table)


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
