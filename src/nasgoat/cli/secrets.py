"""Passwords that were typed on the command line are taken off the process list.

Everybody on a machine can read the arguments of every process, but only its owner the environment.
A call with a password begins anew with ``***`` in its place and the address in the environment.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from nasgoat.errors import SettingError

VARIABLE = "NASGOAT_STORAGE"
OPTION = "--storage"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*):([^@]+)@")


def starred(address: str) -> str:
    """An address with ``***`` for its password.

    Example:
        >>> starred("postgresql://ann:secret@db.example/runs")
        'postgresql://ann:***@db.example/runs'
    """
    return _PASSWORD.sub(r"\1:***@", address)


def hidden(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]] | None:
    """Arguments without a password, and the environment that holds it; None if there is none.

    Example:
        >>> call = ["nasgoat", "status", "--storage", "postgresql://ann:secret@db/runs"]
        >>> arguments, environment = hidden(call, {})
        >>> arguments[-1], environment["NASGOAT_STORAGE"]
        ('postgresql://ann:***@db/runs', 'postgresql://ann:secret@db/runs')
    """
    shown, secret = list(arguments), ""
    for i, text in enumerate(arguments):
        name, equals, value = text.partition("=")
        if name == OPTION and equals:
            shown[i], address = f"{OPTION}={starred(value)}", value
        elif i and arguments[i - 1] == OPTION:
            shown[i], address = starred(text), text
        else:
            continue
        secret = address if starred(address) != address else secret
    return (shown, {**environment, VARIABLE: secret}) if secret else None


def hide_password() -> None:
    """Begin this call anew without a password among its arguments, if there is one."""
    found = hidden(sys.orig_argv, os.environ)
    if found is not None:
        sys.stdout.flush()
        os.execve(sys.executable, *found)  # noqa: S606 the same call, no shell


def restored(address: str) -> str:
    """The address, with the password that the environment holds for it.

    Raises:
        SettingError: If its password is starred out and the environment does not hold it.
    """
    whole = os.environ.get(VARIABLE, "")
    if starred(whole) == address:
        return whole
    if ":***@" in address:
        raise SettingError(
            f"the password of {OPTION} must be given, got ***; write it, or set {VARIABLE}"
        )
    return address
