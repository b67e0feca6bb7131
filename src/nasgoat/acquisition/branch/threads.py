"""Work shared by threads: compiled code and products of matrices run beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def mapped(
    pool: ThreadPoolExecutor | None, function: Callable[[Item], Answer], items: Sequence[Item]
) -> list[Answer]:
    """The function of every item, in this order; one item or no threads: here and now.

    Example:
        >>> mapped(None, abs, [-1, 2])
        [1, 2]
    """
    if pool is None or len(items) == 1:
        return [function(item) for item in items]
    return list(pool.map(function, items))
