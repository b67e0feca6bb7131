"""The command's own process: the signals it hears, and the passwords it takes off the list.

Everybody on a machine can read the arguments of every process, but only its owner the environment.
A call with a password begins anew with ``***`` in its place and the address in the environment.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from nasgoat.cli.output import note
from nasgoat.errors import SettingError

VARIABLE = "NASGOAT_STORAGE"
OPTION = "--storage"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*):([^@]+)@")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context that hears Ctrl-C and SIGTERM: the first lets what runs finish, the second cancels.

    The second one raises ``KeyboardInterrupt``.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, Any] = {}

    def stopping(self) -> bool:
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
