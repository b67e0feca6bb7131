"""Checks of what a declaration of a space says: ranges of numbers and names of operations."""

from __future__ import annotations

from collections.abc import Sequence

from nasgoat.errors import SpaceError

MOST_NAMES = 2**7 - 2  # codes are signed bytes, -1 is taken


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
