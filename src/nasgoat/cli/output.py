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
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def note(line: str) -> None:
    """Print a line of progress to standard error, at once."""
    print(masked(line), file=sys.stderr, flush=True)


def masked(text: str) -> str:
    """A text without the password of any storage that was opened."""
    module = sys.modules.get("nasgoat.integrations.addresses")
    return text if module is None else str(module.masked(text))


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
        return masked(super().format(record))
