"""Locks between processes that die with their owner: a killed driver never blocks its successor.

SQLite: a lock of the operating system on a file beside the database (``filelock``). PostgreSQL: an
advisory lock of a connection of its own, which the server frees when the connection breaks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import filelock
from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from nasgoat.errors import StudyError
from nasgoat.integrations.storages import StorageAddress

_PAUSE = 0.02  # seconds between two tries
_LONGEST_NAME = 200  # characters of a holder's name that are shown


class FileLock:
    """A lock on a file, freed by the system when its owner dies.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.lock"
        >>> first, second = FileLock(path), FileLock(path)
        >>> first.acquire(), second.acquire()
        (True, False)
        >>> first.release(); second.acquire()
        True
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # A driver may take the lock in one thread and give it back in another.
        self._lock = filelock.FileLock(path, thread_local=False)

    def acquire(self) -> bool:
        """Take the lock if it is free; whether it is held now."""
        if self.is_held():
            return True
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    def is_held(self) -> bool:
        """Whether it is ours."""
        return self._lock.is_locked

    def sign(self) -> None:
        """Write into the file who holds it; a disk that is full costs no more than that."""
        with contextlib.suppress(OSError):
            self.path.write_text(f"process {os.getpid()} on {socket.gethostname()}")

    def read_holder(self) -> str:
        """Who holds the lock, if it signed; empty if that is not known."""
        try:
            return " ".join(self.path.read_text()[:_LONGEST_NAME].split())
        except (OSError, UnicodeDecodeError):
            return ""


class PostgresLock:
    """An advisory lock of PostgreSQL, freed by the server when its owner's connection breaks."""

    def __init__(self, address: StorageAddress, name: str) -> None:
        digest = hashlib.sha256(name.encode()).digest()
        self._key = int.from_bytes(digest[:8], "big", signed=True)
        # A connection of its own, that no pool hands to anybody else.
        self._engine: Engine = create_engine(
            address.full, poolclass=NullPool, isolation_level="AUTOCOMMIT"
        )
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free; whether it is held now."""
        if self.is_held():
            return True
        self.release()
        connection = self._engine.connect()
        got = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key})
        if not got.scalar():
            connection.close()
            return False
        self._connection = connection
        return True

    def release(self) -> None:
        """Give the lock back by closing its connection."""
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None

    def is_held(self) -> bool:
        """Whether it is still ours: whether its connection lives."""
        if self._connection is None:
            return False
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            return False
        return True

    def sign(self) -> None:
        """Do nothing: the server has no place to say who holds a lock."""

    def read_holder(self) -> str:
        """Who holds the lock: that is not known."""
        return ""


Lock: TypeAlias = FileLock | PostgresLock


def make_study_lock(address: StorageAddress, study: str, purpose: str = "driver") -> Lock:
    """The lock of a study for a purpose."""
    if not address.is_file:
        return PostgresLock(address, f"nasgoat/{purpose}/{study}")
    digest = hashlib.sha256(study.encode()).hexdigest()[:12]
    path = address.path
    return FileLock(path.with_name(f".{path.name}.{purpose}-{digest}.lock"))


def make_claim_lock(storage: BaseStorage, study: str) -> Lock | None:
    """The lock between processes that share a database; None for a storage in memory."""
    backend = getattr(storage, "_backend", storage)
    if not isinstance(backend, RDBStorage):
        return None
    address = StorageAddress(backend.engine.url)
    if address.is_file and address.url.database in (None, "", ":memory:"):
        return None
    return make_study_lock(address, study, "claim")


_threads: defaultdict[Any, threading.Lock] = defaultdict(threading.Lock)


@contextlib.contextmanager
def take_turn(key: Any, lock: Lock | None, patience: float = 120.0) -> Iterator[None]:
    """A context that one thread of one process at a time is in.

    Args:
        key: Threads of this process with the same key exclude one another.
        lock: The lock between processes; None if there is only this one.
        patience: Seconds to wait for other processes.
    """
    with _threads[key], contextlib.ExitStack() as stack:
        deadline = time.monotonic() + patience
        while lock is not None and not lock.acquire():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no turn within {patience:g} s")
            time.sleep(_PAUSE)
        if lock is not None:
            stack.callback(lock.release)
        yield


def take_lock(lock: Lock, name: str) -> None:
    """Take the lock of a study, or :class:`StudyError` if another driver has it."""
    if not lock.acquire():
        holder = lock.read_holder()
        first = f"the first, {holder}," if holder else "the first"
        raise StudyError(
            f"the study {name!r} must have one driver, got a second; wait for {first} to end, "
            "or give another --study"
        )
    lock.sign()
