"""Where a study is stored: a SQLite file or the URL of a database, its password never shown."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from nasgoat.errors import MissingPackageError, StudyError

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
            return cls(URL.create("sqlite", database=str(text)))
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
        elif url.drivername not in ("sqlite", "postgresql+psycopg", "postgresql+psycopg2"):
            raise StudyError(
                f"the storage must be SQLite or PostgreSQL, got {url.drivername}; "
                "other databases lack the lock that keeps two drivers apart"
            )
        return cls(url)

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


def masked(text: str) -> str:
    """A text without any password that was part of an address.

    Example:
        >>> _ = StorageAddress.of("postgresql://ann:s3same@db.example/runs")
        >>> masked("connecting with s3same failed")
        'connecting with *** failed'
    """
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
