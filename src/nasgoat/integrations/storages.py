"""Where a study is stored: a SQLite file or the URL of a database.

Addresses never show their password, files are looked at before they are trusted, and writes are
repeated through short outages.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from nasgoat.errors import MissingPackageError, StorageError, StudyError
from nasgoat.safe_files import replace_file

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = 60.0  # seconds that a locked or unreachable database is tried again
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
_CONNECT_SECONDS = 10
# What waiting does not mend, in SQLite's and PostgreSQL's words.
_HOPELESS = ("full", "readonly", "read-only", "disk i/o", "malformed", "not a database", "no space")
_MAGIC = b"SQLite format 3\x00"
_TABLES = {"studies", "trials", "trial_values", "trial_user_attributes", "version_info"}
_NO_ROOM = ("full", "disk i/o", "no space")  # those of them that are no fault of the call
_SHORTEST_SECRET = 4  # letters; shorter ones are parts of common words
_secrets: set[str] = set()


@dataclass(frozen=True)
class StorageAddress:
    """The address of a storage.

    Example:
        >>> address = StorageAddress.of("postgresql://ann:secret@db.example/runs")
        >>> str(address)
        'postgresql+psycopg://ann:***@db.example/runs'
        >>> StorageAddress.of("runs/a/study.db").path
        PosixPath('runs/a/study.db')
    """

    url: URL

    @classmethod
    def of(cls, text: str | Path) -> StorageAddress:
        """The address in a URL, or of a SQLite file if it is a path."""
        if isinstance(text, Path) or "://" not in text:
            return cls._of_file(str(text))
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise StudyError(
                "the storage must be a file or a URL like postgresql://user@host/database, "
                "got another text"
            ) from None
        if url.password:
            _secrets.add(str(url.password))
        if url.drivername == "postgresql":
            if find_spec("psycopg") is None:
                raise MissingPackageError("psycopg", "postgres")
            url = url.set(drivername="postgresql+psycopg")
        elif url.drivername == "sqlite":
            return cls._of_file(url.database or "")
        elif url.drivername not in ("postgresql+psycopg", "postgresql+psycopg2"):
            raise StudyError(
                f"the storage must be SQLite or PostgreSQL, got {url.drivername}; "
                "other databases lack the lock that keeps two drivers apart"
            )
        return cls(url)

    @classmethod
    def _of_file(cls, name: str) -> StorageAddress:
        if not name or name == ":memory:" or Path(name).is_dir():
            shown = f"the folder {name}" if name and Path(name).is_dir() else repr(name)
            raise StudyError(f"the storage must be a file or the URL of a database, got {shown}")
        return cls(URL.create("sqlite", database=name))

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return Path(self.url.database or "")

    @property
    def full(self) -> str:
        """The URL with its password, for the database alone."""
        return self.url.render_as_string(hide_password=False)

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return f"StorageAddress({str(self)!r})"


def mask_passwords(text: str) -> str:
    """A text without any password that was part of an address.

    A short one is masked within addresses alone: masked everywhere, it would show where it stands.

    Example:
        >>> _ = StorageAddress.of("postgresql://ann:s3same@db.example/runs")
        >>> mask_passwords("connecting with s3same failed")
        'connecting with *** failed'
    """
    for secret in sorted(_secrets, key=len, reverse=True):
        short = len(secret) < _SHORTEST_SECRET
        text = text.replace(f":{secret}@" if short else secret, ":***@" if short else "***")
    return text


def open_storage(address: StorageAddress, named: StorageAddress | None = None) -> RDBStorage:
    """Open the Optuna storage at an address; messages show the address ``named`` instead, if given.

    Raises:
        StudyError: If what is there can't be used.
        StorageError: If the database can't be reached.
    """
    connection = {"timeout": 30} if address.is_file else {"connect_timeout": _CONNECT_SECONDS}
    options = {"connect_args": connection, "pool_pre_ping": not address.is_file}
    named = named or address
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RDBStorage(address.full, engine_kwargs=options)
    except DBAPIError as problem:
        reason = explain_briefly(problem)
        if address.is_file:
            error = StorageError if any(w in reason.lower() for w in _NO_ROOM) else StudyError
            raise error(f"the study {named} must be usable, got {reason}") from None
        raise StorageError(f"the storage {named} must answer, got {reason}") from None
    except (SQLAlchemyError, RuntimeError, ValueError, AssertionError, OSError) as problem:
        raise StudyError(
            f"the storage {named} must be usable, got {explain_briefly(problem)}"
        ) from None


def write_persistently(write: Callable[[], T], patience: float = PATIENCE) -> T:
    """Do a write again, with growing pauses, while the database is locked or away.

    The write must be safe to repeat: its acknowledgement may have been lost after it was done.

    Raises:
        StorageError: If it stays impossible, or waiting can't help (the disk is full).
    """
    deadline, pause = time.monotonic() + patience, _FIRST_PAUSE
    while True:
        try:
            return write()
        except (StorageInternalError, DBAPIError) as problem:
            reason = explain_briefly(problem)
            if any(word in reason.lower() for word in _HOPELESS) or time.monotonic() > deadline:
                raise StorageError(f"the study must be writable, got: {reason}") from problem
            logger.warning("the study could not be written (%s); trying again", reason)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def explain_briefly(problem: BaseException) -> str:
    """The innermost reason in one line, without statements, values or passwords."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    original = getattr(problem, "orig", None) or problem
    return mask_passwords(" ".join(str(original).split()))[:300]


def check_study_file(path: Path) -> None:
    """Raise :class:`StudyError`, saying which damage, unless the file is a sound study file.

    A file that fails is left as it is.
    """
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "none"
        raise StudyError(f"the study {path} must be a file, got {kind}")
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
    if not _find_journal(path).exists():  # of a killed writer: SQLite repairs the file on opening
        _check_size(path, head, size)
    _check_content(path)


def create_study_file(path: Path, fill: Callable[[Path], None]) -> None:
    """Create a study file that is there only when it is complete.

    Args:
        path: The file to create.
        fill: Writes the file at the path it is given.
    """
    with replace_file(path, durable=True, mark="new") as partial:
        _find_journal(partial).unlink(missing_ok=True)  # of a driver that was killed right here
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


def _find_journal(path: Path) -> Path:
    return path.with_name(path.name + "-journal")
