"""Reading pickles that may name only what an allow-list admits, so that reading runs nothing else.

A pickle can name any class or function and have it called; :class:`AllowList` says which names a
reader accepts, and everything else is refused.
"""

from __future__ import annotations

import enum
import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from nasgoat.errors import DataError, NasgoatError

_rebuild_scalar = np._core.multiarray.scalar  # type: ignore[attr-defined]


@dataclass(frozen=True)
class AllowList:
    """What a pickle may name, and what is said of one that names more.

    Args:
        condition: What the pickle must do, as the beginning of the error's message.
        error: The error that refuses a pickle.
        values: What (module, name) stands for; each is admitted as it is.
        packages: Packages whose classes may be named; their functions may not.
        modules: Beginnings of the names of modules of which everything may be named.
    """

    condition: str
    error: type[NasgoatError]
    values: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


#: Harmless containers and NumPy's plain numbers; ``numpy.core`` is older NumPy's name.
PLAIN_VALUES = AllowList(
    condition="a benchmark table must hold plain values only",
    error=DataError,
    values={
        ("collections", "OrderedDict"): OrderedDict,
        ("builtins", "set"): set,
        ("numpy", "dtype"): np.dtype,
        ("numpy._core.multiarray", "scalar"): _rebuild_scalar,
        ("numpy.core.multiarray", "scalar"): _rebuild_scalar,
    },
)


class RestrictedUnpickler(pickle.Unpickler):
    """Refuses a pickle that names anything that its allow-list does not.

    Args:
        file: Where the pickle is read from.
        allowed: What it may name.
    """

    def __init__(self, file: IO[bytes], allowed: AllowList) -> None:
        super().__init__(file)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of this name, if it is admitted."""
        allowed = self._allowed
        if (module, name) in allowed.values:
            return allowed.values[module, name]
        if allowed.modules and module.startswith(allowed.modules):
            return super().find_class(module, name)
        if module.partition(".")[0] in allowed.packages:
            found = super().find_class(module, name)
            if isinstance(found, type):  # a function could do anything
                return found
        if allowed.packages and (module, name) == ("builtins", "getattr"):
            return self._member  # Python 3.11.2 names a member of an enumeration in this way
        raise self._refusal(f"{module}.{name}")

    def _member(self, owner: Any, name: str) -> enum.Enum:
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return owner[name]
        raise self._refusal(f"{owner!r}.{name}")

    def _refusal(self, named: str) -> NasgoatError:
        return self._allowed.error(f"{self._allowed.condition}, got {named}")


def load(file: IO[bytes], allowed: AllowList) -> Any:
    """The next value of a file."""
    return RestrictedUnpickler(file, allowed).load()


def loads(content: bytes, allowed: AllowList) -> Any:
    """The value in these bytes.

    Example:
        >>> loads(pickle.dumps({"error": 3.0}), PLAIN_VALUES)
        {'error': 3.0}
        >>> loads(pickle.dumps(print), PLAIN_VALUES)
        Traceback (most recent call last):
        nasgoat.errors.DataError: a benchmark table must hold plain values only, got builtins.print
    """
    return load(io.BytesIO(content), allowed)
