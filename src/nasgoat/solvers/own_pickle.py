"""What a solver's parent and child tell each other: pickles that name our own classes alone."""

from __future__ import annotations

import enum
import io
import pickle
from typing import IO, Any

from nasgoat.solvers.interface import SolverError

#: Packages whose classes may be named: ours, and those of a fitted surrogate.
_PACKAGES = ("nasgoat", "sklearn", "numpy", "collections")
#: Functions that NumPy's arrays and random generators are rebuilt with, by the modules they are in.
_REBUILDERS = ("numpy.random", "numpy._core.multiarray", "numpy._core.numeric")
_BUILTINS = ("set", "frozenset", "range", "slice", "complex", "bytearray", "object")


class OwnUnpickler(pickle.Unpickler):
    """Refuses a pickle that names anything but our own classes and plain values."""

    def find_class(self, module: str, name: str) -> Any:
        """The named class or function, if it is an allowed one."""
        if (module, name) == ("builtins", "getattr"):  # how Python 3.11.2 names members of an enum
            return _member
        if module.startswith(_REBUILDERS) or (module == "builtins" and name in _BUILTINS):
            return super().find_class(module, name)
        if module.partition(".")[0] in _PACKAGES:
            found = super().find_class(module, name)
            if isinstance(found, type):  # a function could do anything
                return found
        raise SolverError(f"a message between processes must hold our own, got {module}.{name}")


def _member(kind: type[enum.Enum], name: str) -> enum.Enum:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind[name]
    raise SolverError(f"a message between processes must hold our own, got {kind!r}.{name}")


def load(file: IO[bytes]) -> Any:
    """The next value of a file."""
    return OwnUnpickler(file).load()


def loads(content: bytes) -> Any:
    """The value in these bytes.

    Example:
        >>> loads(pickle.dumps(("result", 3.0)))
        ('result', 3.0)
        >>> loads(pickle.dumps(print))
        Traceback (most recent call last):
        nasgoat.solvers.interface.SolverError: a message between processes must hold our own, got
        builtins.print
    """
    return load(io.BytesIO(content))
