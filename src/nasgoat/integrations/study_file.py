"""SQLite study files: looked at before they are trusted, created whole or not at all."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from nasgoat.atomic_file import replace_file
from nasgoat.errors import StudyError

_MAGIC = b"SQLite format 3\x00"
_TABLES = {"studies", "trials", "trial_values", "trial_user_attributes", "version_info"}


def check_study_file(path: Path) -> None:
    """Raise :class:`StudyError`, saying which damage, unless the file is a sound study file.

    A file that fails is left as it is.
    """
    if not path.is_file():
        raise StudyError(f"the study {path} must be a file, got {_kind(path)}")
    try:
        with path.open("rb") as file:
            head = file.read(100)
        size = path.stat().st_size
    except OSError as problem:
        raise StudyError(f"the study {path} must be readable, got {problem.strerror}") from None
    if size == 0:
        raise StudyError(f"the study {path} must not be empty, got 0 bytes; move it away")
    if not head.startswith(_MAGIC) or len(head) < 100:
        raise StudyError(f"the study {path} must be a SQLite file, got something else")
    if not _interrupted(path):
        _check_size(path, head, size)
    _check_content(path)


def create_whole(path: Path, fill: Callable[[Path], None]) -> None:
    """Create a file that is there only when it is complete.

    Args:
        path: The file to create.
        fill: Writes the file at the path it is given.
    """
    with replace_file(path, durable=True, mark="new") as partial:
        _journal(partial).unlink(missing_ok=True)  # of a driver that was killed right here
        fill(partial)


def _check_size(path: Path, head: bytes, size: int) -> None:
    """A file shorter than its header says was cut off."""
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(head[28:32], "big")
    if page < 512 or page & (page - 1):
        raise StudyError(f"the study {path} must be a SQLite file, got a damaged header")
    if size < page * pages:
        raise StudyError(
            f"the study {path} must hold {page * pages} bytes, got {size}; it was cut off"
        )


def _check_content(path: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
            problems = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as problem:
        raise StudyError(f"the study {path} must be sound, got: {problem}") from None
    if problems != ["ok"]:
        first = " ".join(str(problems[0]).split())[:200]
        raise StudyError(f"the study {path} must be sound, got: {first}")
    if not tables >= _TABLES:
        raise StudyError(f"the study {path} must hold Optuna's tables, got another SQLite file")


def _journal(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def _interrupted(path: Path) -> bool:
    """Whether a writer was killed: SQLite then repairs the file from its journal on opening."""
    return _journal(path).exists()


def _kind(path: Path) -> str:
    return "a folder" if path.is_dir() else "none"
