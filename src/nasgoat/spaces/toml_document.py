"""A TOML document that knows on which line each key stands, and says what is wrong in one line."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from nasgoat.errors import FileError
from nasgoat.spaces.toml_lines import key_lines

_MOST_BYTES = 1_000_000
_SHOWN = 60  # characters of a wrong value that a message repeats

Keys = tuple[str, ...]


def read_text(path: str | Path, error: type[FileError]) -> str:
    """The text of a file of moderate size.

    Raises:
        FileError: Of the given type, if there is no such file or no text in it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise error(path, None, "", f"must be readable, got {problem.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise error(
            path, None, "", f"must have at most {_MOST_BYTES:,} bytes, got {len(content):,}"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        byte = content[problem.start]
        raise error(path, line, "", f"must be UTF-8, got byte 0x{byte:02x}") from None


class TomlDocument:
    r"""A parsed text; errors about it name file, line and key.

    Args:
        file: What messages call it.
        text: The TOML text.
        error: The kind of error to raise.

    Example:
        >>> document = TomlDocument("my.toml", "[table]\nkye = 1", FileError)
        >>> document.known(("table",), document.table(("table",)), ["key"])
        Traceback (most recent call last):
        nasgoat.errors.FileError: my.toml:2: table.kye must be one of key, got 'kye'; did you mean
        key?
    """

    def __init__(self, file: str, text: str, error: type[FileError]) -> None:
        self.file = file
        self.error = error
        self.document = _parsed(text, file, error)
        self.lines = key_lines(text)

    def table(self, path: Keys, required: bool = False) -> dict[str, Any]:
        """A copy of a table; empty if it is not there and need not be."""
        found: Any = self.document
        for key in path:
            found = found.get(key, {} if not required else None)
        if found is None:
            raise self.error(self.file, 1, "", f"must have a table [{'.'.join(path)}], got none")
        if not isinstance(found, dict):
            raise self.wrong(path, "must be a table", found)
        return dict(found)

    def known(self, path: Keys, table: Mapping[str, Any], valid: Collection[str]) -> None:
        """Refuse keys that are not among the valid ones."""
        for key in table:
            if key not in valid:
                raise self.wrong((*path, key), one_of(valid), key, _near(key, valid))

    def wrong(self, path: Keys, demand: str, value: Any, hint: str = "") -> FileError:
        """The error of a key that holds a wrong value."""
        shown = (
            repr(value) if not isinstance(value, int) or abs(value) < 10**50 else "a huge number"
        )
        if len(shown) > _SHOWN:
            shown = shown[: _SHOWN - 1] + "…"
        return self.problem(path, f"{demand}, got {shown}{hint}")

    def problem(self, path: Keys, said: str) -> FileError:
        """The error of a key, at its line or at that of the table around it."""
        line = None
        for end in range(len(path), 0, -1):
            line = line or self.lines.get(path[:end])
        return self.error(self.file, line or 1, ".".join(path), said)


def one_of(valid: Collection[str]) -> str:
    """The demand that something is among some names.

    Example:
        >>> one_of(["b", "a"])
        'must be one of a, b'
    """
    return f"must be one of {', '.join(sorted(valid)) or '(none)'}"


def _near(key: object, valid: Collection[str]) -> str:
    near = difflib.get_close_matches(str(key), list(valid), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _parsed(text: str, file: str, error: type[FileError]) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(file, 1, "", "must not be nested so deeply") from None
    except ValueError as problem:  # TOMLDecodeError is one; so is a number of too many digits
        said = str(problem)
        where = re.search(r"\(at line (\d+), column \d+\)", said)
        line = int(where.group(1)) if where else len(text.splitlines())
        reason = re.sub(r"\s*\(at .*\)$", "", said).rstrip(".;").split(";")[0]
        raise error(file, line, "", f"must be TOML, got {reason}") from None
