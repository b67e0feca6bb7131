"""Reading pickles that hold plain values, and nothing that could run."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from nasgoat.errors import DataError

#: Harmless containers and NumPy's plain numbers; the second name is that of older NumPy.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "scalar"): np._core.multiarray.scalar,  # type: ignore[attr-defined]
    ("numpy.core.multiarray", "scalar"): np._core.multiarray.scalar,  # type: ignore[attr-defined]
}


class PlainUnpickler(pickle.Unpickler):
    """Refuses a pickle that names any class or function beyond plain containers and numbers."""

    def find_class(self, module: str, name: str) -> Any:
        """The named class, if it is a plain one."""
        if (module, name) not in _ALLOWED:
            raise DataError(f"a benchmark table must hold plain values only, got {module}.{name}")
        return _ALLOWED[module, name]
