"""Finding every process that a child started, whatever session or parent it has by now.

A child process carries a mark in its environment, which all its descendants inherit. On Linux the
marks are read in ``/proc``; elsewhere nothing is found, and only a child's process group is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_VARIABLE = "NASGOAT_CHILD"
#: Whether the system lets a process be a child with a process group that can be killed.
HAS_GROUPS = os.name == "posix"
#: Whether the system says what memory a process group holds.
TELLS_MEMORY = Path("/proc/self/stat").exists()
_PAUSE, _ROUNDS = 0.02, 50  # a killed process may take a moment to be gone


def make_mark(name: str) -> dict[str, str]:
    """The environment variable that marks a child; one within another has the marks of both.

    Example:
        >>> make_mark("a-1")["NASGOAT_CHILD"].endswith("/a-1/")
        True
    """
    return {_VARIABLE: f"{os.environ.get(_VARIABLE, '')}/{name}/"}


def list_marked(name: str) -> list[int]:
    """The ids of the processes that bear a mark, without this one."""
    found, mark = [], f"/{name}/".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            marks = [v for v in entry.read_bytes().split(b"\0") if v.startswith(_VARIABLE.encode())]
            if any(mark in value for value in marks) and int(entry.parent.name) != os.getpid():
                found.append(int(entry.parent.name))
    return found


def kill_marked(name: str) -> None:
    """Kill all processes that bear a mark, and those they start meanwhile, but not this one."""
    for _ in range(_ROUNDS):
        marked = list_marked(name)
        if not marked:
            return
        for process in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE)


def kill_group(group: int) -> None:
    """Kill a process group, if it is there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def group_memory(group: int) -> int:
    """Bytes of main memory that a process group holds; 0 where the system does not say."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            # Behind the name, which may hold spaces: state, parent, group, ..., pages (field 24).
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total
