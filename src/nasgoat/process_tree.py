"""The environment of a child, and every process it started, whatever parent that has by now.

A child process carries a mark in its environment, which all its descendants inherit. On Linux the
marks are read in ``/proc``; elsewhere nothing is found, and only a child's process group is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

_VARIABLE = "NASGOAT_CHILD"
#: What libraries read to know how many threads to start; PyTorch reads the first and the third.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
#: Whether the system lets a process be a child with a process group that can be killed.
HAS_GROUPS = os.name == "posix"
#: Whether the system says what memory a process holds.
TELLS_MEMORY = Path("/proc/self/stat").exists()
_SECRET = ("NASGOAT_STORAGE",)  # holds a password that no child needs
_PAUSE, _ROUNDS = 0.02, 50  # a killed process may take a moment to be gone


def make_environment(own: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment of a child: this process's without secrets, the child's own, and its mark."""
    public = {name: value for name, value in os.environ.items() if name not in _SECRET}
    # One thread per process: several processes share the machine's cores.
    pinned = {name: os.environ.get(name, "1") for name in THREAD_VARIABLES}
    return {**public, **pinned, **own, **make_mark(mark)}


def make_mark(name: str) -> dict[str, str]:
    """The environment variable that marks a child; one within another has the marks of both.

    Example:
        >>> make_mark("a-1")["NASGOAT_CHILD"].endswith("/a-1/")
        True
    """
    return {_VARIABLE: f"{os.environ.get(_VARIABLE, '')}/{name}/"}


def list_marked(name: str) -> list[int]:
    """The ids of the processes that bear a mark, without this one."""
    entries = Path("/proc").glob("[0-9]*")
    bearing = (int(entry.name) for entry in entries if _bears_mark(entry, name))
    return [process for process in bearing if process != os.getpid()]


def _bears_mark(entry: Path, name: str) -> bool:
    """Whether a process (its folder in /proc) bears a mark; False if it is gone or not ours."""
    mark = f"/{name}/".encode()
    with contextlib.suppress(OSError):
        values = (entry / "environ").read_bytes().split(b"\0")
        return any(v.startswith(_VARIABLE.encode()) and mark in v for v in values)
    return False


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


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """Kill a child, whose last argument is its mark, with all it started; wait until it is gone."""
    kill_group(process.pid)
    kill_marked(_find_mark(process))
    process.wait()


def kill_group(group: int) -> None:
    """Kill a process group, if it is there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def measure_memory(process: subprocess.Popen[bytes]) -> int:
    """Bytes of memory that a child and all it started hold; 0 where the system does not say."""
    child, mark = process.pid, _find_mark(process)
    total, begun = 0, _read_stat(Path("/proc") / str(child)).started
    for entry in Path("/proc").glob("[0-9]*"):
        stat = _read_stat(entry)
        # What was there before the child is none of its own: most environments are never read.
        if stat.group == child or (stat.started >= begun and _bears_mark(entry, mark)):
            total += stat.pages * os.sysconf("SC_PAGE_SIZE")
    return total


def _find_mark(process: subprocess.Popen[bytes]) -> str:
    *_, mark = cast("list[str]", process.args)
    return mark


class _Stat(NamedTuple):
    """What is asked of a process: its group, the clock tick of its start, its pages in memory."""

    group: int = -1
    started: int = -1
    pages: int = 0


def _read_stat(entry: Path) -> _Stat:
    """The line of a process; that of none if it is gone."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        # Behind the name, which may hold spaces: state, parent, group (fields 3 to 5), ...
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
        return _Stat(*(int(fields[number - 3]) for number in (5, 22, 24)))
    return _Stat()
