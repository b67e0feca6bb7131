"""Machine code by Numba, kept on disk, and the threads that run it."""

from __future__ import annotations

import functools
import gc
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from threadpoolctl import ThreadpoolController

Function = TypeVar("Function", bound=Callable[..., object])
Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Sums may be reordered, so that they run on vector units: the order of a few hundred terms changes
#: a sum by about 1e-14 relatively, far below the margin of branch and bound. NaN and infinity keep
#: their meaning.
FAST = {"reassoc", "contract", "nsz"}


#: Whether there is machine code at all.
MACHINE_CODE = not vars(config)["DISABLE_JIT"]


_DEPTH = 3  # dots in nasgoat.acquisition.branch.search: what is below shares its fingerprint


@functools.cache
def _digest(folder: Path) -> str:
    """A fingerprint of all that is compiled in a folder: part of the name of the file on disk."""
    sources = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    found = [text for text in sources if b"nasgoat.compiled" in text or b"NamedTuple" in text]
    found.append(Path(__file__).with_name("compiled_records.py").read_bytes())
    return hashlib.sha256(b"".join(found)).hexdigest()[:12]


#: No function here allocates arrays, so none needs Numba's reference counts: with some fifty arrays
#: in the tuples of arguments, counting took longer than the work. A division by zero gives
#: infinity, so that no function has to hand on an error.
_COMMON: dict[str, Any] = {"fastmath": FAST, "_nrt": False, "error_model": "numpy"}


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk for the next process.

    With ``NUMBA_DISABLE_JIT=1`` in the environment it stays a Python function.
    """
    # Numba looks at the file of this function only; its callees may be in others of the folder, or,
    # if that is a package within a package of the layer, in the one around it.
    folder = Path(sys.modules[function.__module__].__file__ or "").parent
    if function.__module__.count(".") > _DEPTH:
        folder = folder.parents[function.__module__.count(".") - _DEPTH - 1]
    function.__qualname__ += f"_{_digest(folder)}"
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **_COMMON}
    return cast(Function, numba.njit(**options)(function))


class _CodePart(JITCodeLibrary):
    """Intermediate code that is only ever linked into its callers'.

    Numba optimises the code of a function together with that of all functions that it calls, so
    one that is four calls below the outermost would be optimised five times, and turned into
    machine code as often. A part is left as it is: the outermost function optimises all at once.
    """

    def _optimize_final_module(self) -> None:
        """Left to the outermost function."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartFlags(Flags):
    """Options of Numba that are compared by what was set: it compares them for every operation."""

    def __hash__(self) -> int:
        return _FLAGS

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Flags) and self._values == other._values
        return same or bool(super().__eq__(other))  # type: ignore[no-untyped-call]


# Numba's hash is the same for all options.
_FLAGS = hash(Flags())  # type: ignore[no-untyped-call]


class _PartCompiler(Compiler):
    """Compiles a function that only compiled functions call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        part = library or _CodePart(target.codegen(), "part")  # type: ignore[no-untyped-call]
        super().__init__(typing, target, part, *rest)  # type: ignore[no-untyped-call]
        self.state.flags = _PartFlags(self.state.flags)  # type: ignore[no-untyped-call]
        self.state.targetctx.get_executable = _name_function

    def define_pipelines(self) -> list[PassManager]:
        """Numba's passes but those for closures and for expressions of whole arrays."""
        (usual,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        passes = PassManager("part")  # type: ignore[no-untyped-call]
        passes.passes = [x for x in usual.passes if x[0] not in _NOT_NEEDED]
        passes.finalize()  # type: ignore[no-untyped-call]
        return [passes]


_NOT_NEEDED = InlineClosureLikes, NopythonRewrites


def _name_function(library: Any, description: Any, environment: Any) -> Any:
    """What stands for the function in Python: it has no address, since Python never calls it."""
    from numba._dynfunc import make_function  # other versions may not have it

    module, name = description.lookup_module(), description.qualname.split(".")[-1]
    return make_function(module, name, "part of others", 0, environment, (library,))


#: The version whose code library parts were tested with; under others every function is optimised
#: by itself, which takes longer to compile and runs the same.
PARTS_TESTED = (0, 68)
_PARTS = {"pipeline_class": _PartCompiler} if numba.version_info[:2] == PARTS_TESTED else {}
_WITHIN: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    **_PARTS,
    **_COMMON,
}


def compiled_inline(function: Function) -> Function:
    """Machine code of a function that only compiled functions call: it becomes part of theirs."""
    return cast(Function, numba.njit(forceinline=True, **_WITHIN)(function))


def compiled_apart(function: Function) -> Function:
    """Machine code of a long function that only compiled ones call: it stays one of its own.

    The time to compile grows faster than the length of a function. Numba would hand the caller's
    ``forceinline`` on to it if it were not said here.
    """
    return cast(Function, numba.njit(forceinline=False, **_WITHIN)(function))


@contextmanager
def collect_less_garbage() -> Iterator[None]:
    """Within it garbage is collected less often: looking for it took a tenth of all compiling."""
    usual = gc.get_threshold()
    gc.set_threshold(max(_OBJECTS, usual[0]) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


_OBJECTS = 200_000  # that are made between two collections while Numba compiles


@dataclass(frozen=True)
class Threads:
    """Threads that share the work of a run: compiled code and products of matrices run at once.

    Args:
        total: How many.
        pool: Where they come from; None for one thread, the caller's.
    """

    total: int = 1
    pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The function of every item, in this order; one item or no threads: here and now.

        Example:
            >>> Threads().map(abs, [-1, 2])
            [1, 2]
        """
        if self.pool is None or len(items) == 1:
            return [function(item) for item in items]
        return list(self.pool.map(function, items))


#: The caller's thread and no other.
ALONE = Threads()


@functools.cache
def _find_libraries() -> ThreadpoolController:
    """The linear algebra libraries of this process: looking for them takes some 20 ms."""
    return ThreadpoolController()


def limit_blas_threads() -> AbstractContextManager[object]:
    """Within it products of matrices take one thread; the search has its own threads.

    On a machine that is busy, a product of 0.06 ms in one thread took 16 ms in two.
    """
    limit: AbstractContextManager[object] = _find_libraries().limit(limits=1, user_api="blas")
    return limit
