"""What a solver's parent and child tell each other: pickles that name our own classes alone."""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

from nasgoat.solvers.limits import SolverError

#: Our own package, the fitted surrogate's, and what NumPy's arrays and plain values need.
_PACKAGES = ("nasgoat", "sklearn")
_NAMES = {
    "builtins": ("set", "frozenset", "range", "slice", "complex", "bytearray", "object"),
    "collections": ("OrderedDict", "defaultdict", "deque"),
    "numpy": ("ndarray", "dtype"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.numeric": ("_frombuffer",),
    "numpy.random._pickle": ("__randomstate_ctor", "__bit_generator_ctor", "__generator_ctor"),
    "numpy.random._mt19937": ("MT19937",),
    "numpy.random._pcg64": ("PCG64",),
}


class OwnUnpickler(pickle.Unpickler):
    """Refuses a pickle that names anything but our own classes and plain values."""

    def find_class(self, module: str, name: str) -> Any:
        """The named class or function, if it is an allowed one."""
        if name in _NAMES.get(module, ()):
            return super().find_class(module, name)
        if module.partition(".")[0] in _PACKAGES:
            found = super().find_class(module, name)
            if isinstance(found, type):  # a function could do anything
                return found
        raise SolverError(f"a message between processes must hold our own, got {module}.{name}")


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
        nasgoat.solvers.limits.SolverError: a message between processes must hold our own, got
        builtins.print
    """
    return load(io.BytesIO(content))
