"""The one place where Numba is asked for: compiled once, kept on disk, plain Python without it."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

Function = TypeVar("Function", bound=Callable[..., object])

#: Sums may be reordered, so that they run on vector units: the order of a few hundred terms changes
#: a sum by about 1e-14 relatively, far below ``optimizer.MARGIN``. NaN and infinity keep their
#: meaning.
FAST = {"reassoc", "contract", "nsz"}


#: Whether there is machine code at all.
MACHINE_CODE = not vars(config)["DISABLE_JIT"]


@functools.cache
def _digest(folder: Path) -> str:
    """A fingerprint of all that is compiled in a folder: part of the name of the file on disk."""
    sources = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    found = [text for text in sources if b"nasgoat.compiled" in text or b"NamedTuple" in text]
    return hashlib.sha256(b"".join(found)).hexdigest()[:12]


#: No function here allocates arrays, so none needs Numba's reference counts: with some fifty arrays
#: in the tuples of arguments, counting took longer than the work. A division by zero gives
#: infinity, so that no function has to hand on an error.
_COMMON: dict[str, Any] = {"fastmath": FAST, "_nrt": False, "error_model": "numpy"}


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk for the next process.

    With ``NUMBA_DISABLE_JIT=1`` in the environment it stays a Python function.
    """
    # Numba looks at the file of this function only; its callees may be in others of the folder.
    folder = Path(sys.modules[function.__module__].__file__ or "").parent
    function.__qualname__ += f"_{_digest(folder)}"
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **_COMMON}
    return cast(Function, numba.njit(**options)(function))


_WITHIN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_COMMON}


def inner(function: Function) -> Function:
    """The same for a function that only compiled functions call: its machine code joins theirs."""
    return cast(Function, numba.njit(forceinline=True, **_WITHIN)(function))


def merged(function: Function) -> Function:
    """The same, but the source joins that of the caller, so that it is not compiled by itself.

    That is quicker for a function with many arrays and one caller. Such a function can't ask
    whether an argument is None: Numba would compile both answers.
    """
    return cast(Function, numba.njit(inline="always", **_WITHIN)(function))


def called(function: Function) -> Function:
    """The same for a long function that is called once a node: it stays a function of its own.

    The time to compile grows faster than the length of a function.
    """
    return cast(Function, numba.njit(**_WITHIN)(function))
