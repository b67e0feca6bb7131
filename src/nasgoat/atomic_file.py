"""Files and folders that are written whole or not at all: filled under another name, then renamed.

Whoever reads the target finds either what was there before or the complete new content, even if
the writer was killed or the disk was full.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
