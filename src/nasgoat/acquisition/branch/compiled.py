"""The one place where Numba is asked for: compiled once, kept on disk, plain Python without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

#: Sums may be reordered, so that they run on vector units; the order of a sum of a few hundred
#: terms changes it by about 1e-14 relatively, far below :data:`~nasgoat.acquisition.branch.
#: optimizer.MARGIN`. Infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Function) -> Function:
    """The function as machine code, unless ``NUMBA_DISABLE_JIT`` is set.

    Example:
        >>> @compiled
        ... def twice(x: float) -> float:
        ...     return 2 * x
        >>> twice(1.5)
        3.0
    """
    return cast(Function, numba.njit(fastmath=_FAST)(function))


def kept(function: Function) -> Function:
    """As :func:`compiled`, with the machine code kept on disk for the next process."""
    return cast(Function, numba.njit(fastmath=_FAST, cache=True)(function))
