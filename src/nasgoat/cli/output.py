"""What verbs print: one JSON document or text to standard output, progress to standard error."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from typing import Any

_arguments: list[str] | None = None


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; numbers that JSON lacks are refused."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    # A terminal obeys more than JSON escapes.
    print("".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text))


def show(text: str = "", end: str = "\n") -> None:
    """Print text to standard output for a person, whatever names it holds."""
    print(harmless(text), end=end)


def note(line: str) -> None:
    """Print a line of progress to standard error, at once."""
    print(harmless(masked(line)), file=sys.stderr, flush=True)


def harmless(text: str) -> str:
    r"""A text that no terminal obeys: labels and messages may hold anything.

    Example:
        >>> harmless("a\x1b[2Jb\nc")
        'a?[2Jb\nc'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


def masked(text: str) -> str:
    """A text without the password of any storage that was opened."""
    module = sys.modules.get("nasgoat.integrations.storages")
    return text if module is None else str(module.mask_passwords(text))


def command_line() -> str:
    """The command that is running, fit to be typed again, without passwords."""
    return masked(
        shlex.join(["nasgoat", *(_arguments if _arguments is not None else sys.argv[1:])])
    )


def remember_arguments(arguments: list[str] | None) -> None:
    """Keep the arguments that the command was called with."""
    global _arguments
    _arguments = arguments


class MaskingFormatter(logging.Formatter):
    """Formats records without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return harmless(masked(super().format(record)))
