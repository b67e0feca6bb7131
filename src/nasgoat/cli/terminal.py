"""The command's surroundings: what it prints, the signals it hears, the password it hides.

Standard output gets one JSON document or text, standard error the progress. Everybody on a machine
can read the arguments of every process, but only its owner the environment: a call with a password
begins anew with ``***`` in its place and the address in the environment.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.graphs import LabeledGraph

VARIABLE = "NASGOAT_STORAGE"
OPTION = "--storage"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*):([^@]+)@")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_arguments: list[str] | None = None


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; numbers that JSON lacks are refused."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    # A terminal obeys more than JSON escapes.
    print("".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text))


def show(text: str = "", end: str = "\n") -> None:
    """Print text to standard output for a person, whatever names it holds."""
    print(make_harmless(text), end=end)


def show_graph(graph: LabeledGraph, operations: Collection[str] = ()) -> None:
    """Print a graph to standard output; in the colours of its pictures where that is a terminal.

    Args:
        graph: The graph.
        operations: All operations of its space, where they are known.
    """
    from rich.console import Console
    from rich.text import Text

    from nasgoat.figures import write_ladder
    from nasgoat.figures.colours import LIGHT, assign_colours, list_operations
    from nasgoat.graphs.molecules import describe_molecule

    colours, text = assign_colours([*operations, *list_operations([graph])]), Text()
    for piece, label in write_ladder(graph):
        number = colours.get(label or "")
        # White on the colour, as in pictures: it can be read whatever the terminal's own colours.
        text.append(make_harmless(piece), f"bold #ffffff on {LIGHT[number]}" if number else "")
    if smiles := describe_molecule(graph):
        text.append(f"\n{smiles}")
    Console(highlight=False, markup=False).print(text, soft_wrap=True)


def note(line: str) -> None:
    """Print a line of progress to standard error, at once."""
    print(make_harmless(mask_passwords(line)), file=sys.stderr, flush=True)


def make_harmless(text: str) -> str:
    r"""A text that no terminal obeys: labels and messages may hold anything.

    Example:
        >>> make_harmless("a\x1b[2Jb\nc")
        'a?[2Jb\nc'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def mask_passwords(text: str) -> str:
    """The text without the password of any storage that was opened."""
    module = sys.modules.get("nasgoat.integrations.storages")
    return text if module is None else str(module.mask_passwords(text))


def quote_command() -> str:
    """The command that is running, fit to be typed again, without passwords and ``--new``."""
    given = _arguments if _arguments is not None else sys.argv[1:]
    return mask_passwords(shlex.join(["nasgoat", *(each for each in given if each != "--new")]))


def remember_arguments(arguments: list[str] | None) -> None:
    """Keep the arguments that the command was called with."""
    global _arguments
    _arguments = arguments


class MaskingFormatter(logging.Formatter):
    """Formats records without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return make_harmless(mask_passwords(super().format(record)))


def log_to_file(path: Path) -> None:
    """Write what is logged to a file too, whatever is shown."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    for name in ("nasgoat", "optuna", "distributed"):
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("nasgoat").setLevel(logging.INFO)


class Interrupts:
    """A context that hears Ctrl-C and SIGTERM: the first lets what runs finish, the second cancels.

    The second one raises ``KeyboardInterrupt``.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, Any] = {}

    def is_stopping(self) -> bool:
        """Whether the command was asked to stop."""
        return self.requested

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._hear) for s in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        note("stopping: what runs is finished first; once more to cancel it")


def star_password(address: str) -> str:
    """An address with ``***`` for its password.

    Example:
        >>> star_password("postgresql://ann:secret@db.example/runs")
        'postgresql://ann:***@db.example/runs'
    """
    return _PASSWORD.sub(r"\1:***@", address)


def move_password(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]] | None:
    """Arguments without a password, and the environment that holds it; None if there is none.

    Example:
        >>> call = ["nasgoat", "status", "--storage", "postgresql://ann:secret@db/runs"]
        >>> arguments, environment = move_password(call, {})
        >>> arguments[-1], environment["NASGOAT_STORAGE"]
        ('postgresql://ann:***@db/runs', 'postgresql://ann:secret@db/runs')
    """
    shown, secret = list(arguments), ""
    for i, text in enumerate(arguments):
        name, equals, value = text.partition("=")
        if name == OPTION and equals:
            shown[i], address = f"{OPTION}={star_password(value)}", value
        elif i and arguments[i - 1] == OPTION:
            shown[i], address = star_password(text), text
        else:
            continue
        secret = address if star_password(address) != address else secret
    return (shown, {**environment, VARIABLE: secret}) if secret else None


def hide_password() -> None:
    """Begin this call anew without a password among its arguments, if there is one."""
    found = move_password(sys.orig_argv, os.environ)
    if found is not None:
        sys.stdout.flush()
        os.execve(sys.executable, *found)  # noqa: S606 the same call, no shell


def restore_password(address: str) -> str:
    """The address, with the password that the environment holds for it.

    Raises:
        SettingError: If its password is starred out and the environment does not hold it.
    """
    whole = os.environ.get(VARIABLE, "")
    if star_password(whole) == address:
        return whole
    if ":***@" in address:
        raise SettingError(
            f"the password of {OPTION} must be given, got ***; write it, or set {VARIABLE}"
        )
    return address
