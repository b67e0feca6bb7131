"""What a declaration of a space may say: ranges, names of operations, numbers of choices."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

from nasgoat.errors import SpaceError
from nasgoat.toml_reader import TABLE, WHOLE, Value

_COUNTED_ITEMS = 300  # subsets of more are bounded, not counted
MOST_NAMES = 2**7 - 2  # codes are signed bytes, -1 is taken


def as_tuple(value: Any) -> Any:
    """Convert a list, as TOML gives it, to a tuple, as frozen dataclasses need it."""
    return tuple(value) if isinstance(value, list) else value


#: What a key of a file may hold, for the families' own ``file_keys``.
NAMES = Value("a list of names", lambda value: isinstance(value, list))
RANGE = Value(
    "a number or [smallest, largest]",
    lambda value: WHOLE.holds(value) or isinstance(value, list),
    as_tuple,
)
DEGREES = Value(
    TABLE.said, TABLE.holds, lambda table: {op: as_tuple(value) for op, value in table.items()}
)
ANYTHING = Value("a value", lambda value: True, as_tuple)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 up.

    Example:
        >>> is_count(0), is_count(-1), is_count(True)
        (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_range(
    value: int | tuple[int, int], name: str, least: int, most: int | None = None
) -> tuple[int, int]:
    """The smallest and largest number that a number or a pair stands for, or :class:`SpaceError`.

    Example:
        >>> read_range(3, "nodes", 2), read_range((2, 7), "nodes", 2)
        ((3, 3), (2, 7))
    """
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2 or not all(isinstance(x, int) and not isinstance(x, bool) for x in pair):
        raise SpaceError(f"{name} must be an integer or a pair of integers, got {value!r}")
    low, high = pair
    if not least <= low <= high <= (high if most is None else most):
        demand = f"at least {least}" if most is None else f"from {least} to {most}"
        raise SpaceError(f"{name} must be {demand}, smallest first, got {value!r}")
    return low, high


def count_subsets(items: int, least: int, most: int, choices: int = 1) -> int:
    """Ways to take from ``least`` to ``most`` of some items, each in one of several choices.

    Of very many items an upper bound: exact sums of numbers with thousands of digits take seconds.

    Example:
        >>> count_subsets(4, 0, 2), count_subsets(4, 1, 2, choices=3)
        (11, 66)
    """
    most = min(items, most)
    if items > _COUNTED_ITEMS and most > _COUNTED_ITEMS:
        least, most = 0, items
    if least == 0 and most == items:
        return int((1 + choices) ** items)
    return sum(comb(items, k) * choices**k for k in range(least, most + 1))


def say_range(numbers: range) -> str:
    """One number, or the first and the last, for messages."""
    first, last = numbers[0], numbers[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def check_ops(ops: Sequence[str], reserved: Sequence[str] = ()) -> tuple[str, ...]:
    """Distinct, non-empty operation names, or :class:`SpaceError`."""
    if isinstance(ops, str) or not all(isinstance(op, str) and op for op in ops):
        raise SpaceError(f"ops must be a list of names, got {ops!r}")
    for op in ops:
        if op in reserved:
            raise SpaceError(f"ops must not be {' or '.join(map(repr, reserved))}, got {op!r}")
        if list(ops).count(op) > 1:
            raise SpaceError(f"ops must be distinct, got {op!r} twice")
    if len(ops) > MOST_NAMES - len(reserved):
        raise SpaceError(f"ops must be at most {MOST_NAMES - len(reserved)}, got {len(ops)}")
    return tuple(ops)
