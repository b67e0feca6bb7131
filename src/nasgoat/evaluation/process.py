"""The parent's side of a child process: ask, wait with limits, kill the whole group."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nasgoat.errors import NasgoatError

_POLL = 0.1  # seconds between two looks at deadline and memory
_LONGEST_ANSWER = 2**22  # bytes; an answer is a few metrics
_SECRET = ("NASGOAT_STORAGE",)  # holds a password that no objective needs
_PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class ChildError(NasgoatError, RuntimeError):
    """A child did not answer."""


class ChildTimeoutError(ChildError):
    """A child did not answer in time and was killed."""


class ChildMemoryError(ChildError):
    """A child used more memory than allowed and was killed."""


class ChildLostError(ChildError):
    """A child died."""


class ChildProcess:
    """A fresh interpreter (never a fork) in its own process group that answers requests.

    Example:
        >>> child = ChildProcess()
        >>> child.ask({"probe": "math:sqrt"})
        {}
        >>> child.kill()
    """

    def __init__(self) -> None:
        # One thread per process: several processes share the machine's cores.
        pinned = {name: os.environ.get(name, "1") for name in _PINNED}
        public = {k: value for k, value in os.environ.items() if k not in _SECRET}
        self.folder = Path.cwd()  # where it finds the user's modules
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nasgoat.evaluation"],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**public, **pinned},
            start_new_session=True,
        )
        self._unread = b""

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(
        self,
        request: Mapping[str, Any],
        timeout: float | None = None,
        memory_limit: float | None = None,
    ) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Args:
            request: A JSON-ready mapping.
            timeout: Seconds to wait at most; the group is killed after that.
            memory_limit: Bytes that the group may hold; it is killed above that.

        Raises:
            ChildTimeoutError, ChildMemoryError, ChildLostError: If no answer came.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            os.write(self._pipe(self._process.stdin), json.dumps(request).encode() + b"\n")
        except OSError:
            raise self._lost() from None
        while True:
            if (line := self._line(_wait(deadline))) is not None:
                return self._parsed(line)
            if deadline is not None and time.monotonic() >= deadline:
                self.kill()
                raise ChildTimeoutError(f"the evaluation must end within {timeout:g} s; killed")
            if memory_limit is not None and (held := group_memory(self.pid)) > memory_limit:
                self.kill()
                limit = f"{memory_limit / 2**20:.0f} MiB"
                raise ChildMemoryError(
                    f"the evaluation must hold at most {limit}, got {held / 2**20:.0f} MiB; killed"
                )

    def kill(self) -> None:
        """Kill the child with everything it started, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _line(self, seconds: float) -> bytes | None:
        """The answer if it is there within so many seconds."""
        descriptor = self._pipe(self._process.stdout)
        if not select.select([descriptor], [], [], seconds)[0]:
            return None
        block = os.read(descriptor, 2**16)
        if not block or len(self._unread) > _LONGEST_ANSWER:
            raise self._lost()
        self._unread += block
        line, newline, rest = self._unread.partition(b"\n")
        if not newline:
            return None
        self._unread = rest
        return line

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            document: dict[str, Any] = json.loads(line)
        except ValueError:
            raise self._lost() from None
        return document

    def _lost(self) -> ChildLostError:
        self.kill()
        code = self._process.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return ChildLostError(f"the worker process died ({how})")

    def _pipe(self, pipe: Any) -> int:
        if pipe is None or pipe.closed:
            raise self._lost()
        return int(pipe.fileno())


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


def _wait(deadline: float | None) -> float:
    return _POLL if deadline is None else max(0.0, min(_POLL, deadline - time.monotonic()))
