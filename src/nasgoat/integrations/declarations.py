"""What a search was declared to be, and how another declaration differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECLARATION = "nasgoat"  # study attribute: what the search was declared to be
PLAN = "plan"  # study attribute: how it was called last


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any], path: str = "") -> list[str]:
    """What differs between two declarations, one line each.

    Example:
        >>> differences({"seed": 0, "settings": {"kernel": "linear"}}, {"seed": 1, "settings": {}})
        ['seed was 0, asked 1', "settings.kernel was 'linear', asked None"]
    """
    changes: list[str] = []
    for name in sorted({*stored, *asked}):
        old, new = stored.get(name), asked.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += differences(old, new, f"{path}{name}.")
        elif old != new:
            changes.append(f"{path}{name} was {old!r}, asked {new!r}")
    return changes
