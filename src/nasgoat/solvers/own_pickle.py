"""What a solver's parent and child tell each other: pickles that name our own classes alone."""

from __future__ import annotations

import builtins

from nasgoat.restricted_pickle import AllowList
from nasgoat.solvers.interface import SolverError

_BUILTINS = ("set", "frozenset", "range", "slice", "complex", "bytearray", "object")

OUR_OWN = AllowList(
    condition="a message between processes must hold our own",
    error=SolverError,
    values={("builtins", name): getattr(builtins, name) for name in _BUILTINS},
    packages=("nasgoat", "sklearn", "numpy", "collections"),  # ours, and those of a surrogate
    # Functions that NumPy's arrays and random generators are rebuilt with.
    modules=("numpy.random", "numpy._core.multiarray", "numpy._core.numeric"),
)
