"""Opening Optuna storages, and writing to them through short outages."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from nasgoat.errors import StorageError, StudyError
from nasgoat.integrations.addresses import StorageAddress, masked

logger = logging.getLogger(__name__)
optuna.logging.set_verbosity(optuna.logging.WARNING)

T = TypeVar("T")

PATIENCE = 60.0  # seconds that a locked or unreachable database is tried again
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
_CONNECT_SECONDS = 10
# What waiting does not mend, in SQLite's and PostgreSQL's words.
_HOPELESS = ("full", "readonly", "read-only", "disk i/o", "malformed", "not a database", "no space")


def open_storage(address: StorageAddress) -> RDBStorage:
    """The Optuna storage at an address.

    Raises:
        StudyError: If what is there can't be used.
        StorageError: If the database can't be reached.
    """
    connection = {"timeout": 30} if address.is_file else {"connect_timeout": _CONNECT_SECONDS}
    options = {"connect_args": connection, "pool_pre_ping": not address.is_file}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RDBStorage(address.full, engine_kwargs=options)
    except DBAPIError as problem:
        if address.is_file:
            raise StudyError(f"the study {address} must be usable, got {line(problem)}") from None
        raise StorageError(f"the storage {address} must answer, got {line(problem)}") from None
    except (SQLAlchemyError, RuntimeError, ValueError, AssertionError, OSError) as problem:
        raise StudyError(f"the storage {address} must be usable, got {line(problem)}") from None


def persistently(write: Callable[[], T], patience: float = PATIENCE) -> T:
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
            reason = line(problem)
            if any(word in reason.lower() for word in _HOPELESS) or time.monotonic() > deadline:
                raise StorageError(f"the study must be writable, got: {reason}") from problem
            logger.warning("the study could not be written (%s); trying again", reason)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def line(problem: BaseException) -> str:
    """The innermost reason in one line, without statements, values or passwords."""
    cause: BaseException = problem
    while cause.__cause__ is not None:
        cause = cause.__cause__
    original = getattr(cause, "orig", None) or cause
    return masked(" ".join(str(original).split()))[:300]
