"""Files that nothing goes wrong with: written whole or not at all, and pickles that run nothing.

Files and folders are filled under another name, then renamed: whoever reads the target finds either
what was there before or the complete new content, even if the writer was killed or the disk was
full.

A pickle can name any class or function and have it called; :class:`AllowList` says which names a
reader accepts, and everything else is refused.
"""

from __future__ import annotations

import enum
import io
import os
import pickle
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from nasgoat.errors import DataError, NasgoatError

_rebuild_scalar = np._core.multiarray.scalar  # type: ignore[attr-defined]


@contextmanager
def replace_file(path: Path, durable: bool = False, mark: str | None = None) -> Iterator[Path]:
    """Give a path to write to, which becomes the file when the block ends without an error.

    Args:
        path: The file to write; its folder is made if it is not there.
        durable: Whether the content must outlive a loss of power as soon as the block has ended.
        mark: What tells the unfinished file from those of other writers; the process's id if None.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
        >>> with replace_file(path) as partial:
        ...     _ = partial.write_text("all of it")
        ...     path.exists()
        False
        >>> path.read_text()
        'all of it'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{mark or os.getpid()}.part")
    try:
        partial.unlink(missing_ok=True)  # of a writer of the same mark that was killed
        yield partial
        if durable:
            _sync(partial)
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    if durable:
        _sync(path.parent)


def write_whole(path: Path, text: str, durable: bool = True) -> None:
    """Write a text file in one step; see :func:`replace_file`.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
        >>> write_whole(path, "all of it")
        >>> path.read_text()
        'all of it'
    """
    with replace_file(path, durable) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which takes the other's place when the block ends.

    Example:
        >>> folder = Path(tempfile.mkdtemp()) / "table"
        >>> with replace_folder(folder) as fresh:
        ...     _ = (fresh / "rows.csv").write_text("1,2")
        >>> [path.name for path in folder.iterdir()]
        ['rows.csv']
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        whole = Path(temporary) / folder.name
        whole.mkdir()
        yield whole
        shutil.rmtree(folder, ignore_errors=True)
        whole.rename(folder)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
            return self._find_member  # Python 3.11.2 names a member of an enumeration in this way
        raise self._refuse(f"{module}.{name}")

    def _find_member(self, owner: Any, name: str) -> enum.Enum:
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return owner[name]
        raise self._refuse(f"{owner!r}.{name}")

    def _refuse(self, named: str) -> NasgoatError:
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
