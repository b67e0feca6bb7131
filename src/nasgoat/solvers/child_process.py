"""Work in a child process that can be stopped and whose memory is limited.

A solver runs native code: it may crash, outgrow the memory or swallow Ctrl-C. The child is a fresh
interpreter (no fork, no re-import of the caller's script); it lives on between tasks, dies with its
parent, and is killed as soon as a task exceeds its time.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from nasgoat.restricted_pickle import loads
from nasgoat.solvers.interface import SolverError
from nasgoat.solvers.own_pickle import OUR_OWN

_POLL = 0.2  # seconds between two looks whether the child is still alive
Message = tuple[str, Any]


class ChildProcess:
    """A child process for one kind of work.

    Args:
        memory_mb: Limit on the address space that tasks may add, in megabytes.

    Example:
        >>> child = ChildProcess(memory_mb=1000)
        >>> list(child.run(print_nothing, ("done",), seconds=60))
        [('result', 'done')]
        >>> child.stop()
    """

    def __init__(self, memory_mb: float) -> None:
        self.memory_mb = memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: Connection | None = None

    def run(
        self, work: Callable[..., Any], args: tuple[Any, ...], seconds: float
    ) -> Iterator[Message]:
        """Messages that ``work(*args, send)`` sends, then ``("result", answer)``.

        Raises:
            SolverError: If the child dies, exceeds its time or memory, or the work fails.
        """
        finished = False
        try:
            self._submit(work, args)
            for message in self._received(time.monotonic() + seconds):
                finished = message[0] in ("result", "error")
                if message[0] == "error":
                    raise SolverError(str(message[1]))
                yield message
                if finished:
                    return
        finally:
            if not finished:  # also when the caller stops listening, or presses Ctrl-C
                self.stop()

    def stop(self) -> None:
        """Kill the child, if there is one."""
        process, self._process = self._process, None
        messages, self._messages = self._messages, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        if messages is not None:
            messages.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.stop()

    def _submit(self, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._start()
        process = self._process
        if process is None or process.stdin is None:
            raise SolverError("the solver's process must have started, got none")
        try:
            task = json.dumps([sys.path, work.__module__, work.__qualname__])
            process.stdin.write(task.encode() + b"\n")
            pickle.dump(args, process.stdin)
            process.stdin.flush()
        except OSError as problem:
            raise SolverError(f"the solver's process must take its task, got {problem}") from None

    def _start(self) -> None:
        reading, writing = os.pipe()
        command = [
            sys.executable,
            "-m",
            "nasgoat.solvers.worker",
            str(writing),
            str(self.memory_mb),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            command, stdin=subprocess.PIPE, pass_fds=(writing,), env=environment
        )
        os.close(writing)
        self._messages = Connection(reading, writable=False)

    def _received(self, deadline: float) -> Iterator[Message]:
        process, messages = self._process, self._messages
        if process is None or messages is None:
            return
        while True:
            try:
                if messages.poll(_POLL):
                    yield loads(messages.recv_bytes(), OUR_OWN)
                    continue
            except EOFError:
                code = process.wait()
                raise SolverError(
                    f"the solver's process must answer, got exit code {code}"
                ) from None
            if time.monotonic() > deadline:
                raise SolverError("the solver's process must keep its time limit; it was killed")


def print_nothing(answer: str, send: Callable[[Message], None]) -> str:
    """The smallest task: gives back what it was given."""
    return answer
