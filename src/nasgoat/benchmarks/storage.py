"""Where imported tables are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder of benchmark tables: ``NASGOAT_DATA``, or one in the user's cache directory."""
    named = os.environ.get("NASGOAT_DATA")
    return Path(named) if named else Path(platformdirs.user_cache_dir("nasgoat")) / "data"


@contextmanager
def fresh_folder_of(folder: Path) -> Iterator[Path]:
    """A folder to fill that takes the other's place when it is complete, and not before."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        whole = Path(temporary) / folder.name
        whole.mkdir()
        yield whole
        shutil.rmtree(folder, ignore_errors=True)
        whole.rename(folder)
