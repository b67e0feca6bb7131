"""The one place where Numba is asked for: compiled once, kept on disk, plain Python without it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

#: Sums may be reordered, so that they run on vector units: the order of a few hundred terms changes
#: a sum by about 1e-14 relatively, far below ``optimizer.MARGIN``. NaN and infinity keep their
#: meaning.
FAST = {"reassoc", "contract", "nsz"}


@functools.cache
def _digest() -> str:
    """A fingerprint of all sources of this package: part of the name of the file on disk."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


#: No function here allocates arrays, so none needs Numba's reference counts: with some fifty arrays
#: in the tuples of arguments, counting took longer than the work.
_COMMON: dict[str, Any] = {"fastmath": FAST, "_nrt": False}


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk for the next process.

    With ``NUMBA_DISABLE_JIT=1`` in the environment it stays a Python function.
    """
    # Numba looks at the file of this function only; its callees are in others.
    function.__qualname__ += f"_{_digest()}"
    return cast(Function, numba.njit(cache=True, nogil=True, **_COMMON)(function))


def inner(function: Function) -> Function:
    """The same for a function that only compiled functions call: it becomes part of them."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, numba.njit(forceinline=True, **options, **_COMMON)(function))
