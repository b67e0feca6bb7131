"""A child process that works for its parent within limits and dies with everything it started.

Objectives, pictures and solvers run in one: they may hang, crash in native code, outgrow the
memory or swallow Ctrl-C, and the search must survive that. The child is a fresh interpreter (never
a fork, no re-import of the caller's script) that leads its own process group. It lives on between
tasks, so that imports are paid once, and kills what it started when its parent is gone. Tasks are
numbered, and so are answers: one to another task is refused.

Messages in both directions are pickles that may name only what an allow-list admits
(:mod:`nasgoat.safe_files`).
"""

from __future__ import annotations

import builtins
import contextlib
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any
from uuid import uuid4

from nasgoat.errors import (
    ChildAnswerError,
    ChildError,
    ChildFailedError,
    ChildLostError,
    ChildMemoryError,
    ChildTimeoutError,
)
from nasgoat.process_tree import HAS_GROUPS, kill_child, make_environment, measure_memory
from nasgoat.safe_files import AllowList, loads

#: What kind of message it is, and its content.
Message = tuple[str, Any]

_POLL = 0.1  # seconds between two looks at deadline and memory
LONGEST = 2**26  # bytes of a message; answers are metrics, graphs and reports
_BUILTINS = ("set", "frozenset", "range", "slice", "complex", "bytearray", "object")
RESULT, FAILED, NO_MEMORY = "result", "failed", "no memory"  # the last message of a task
#: Numbers, texts and plain containers: all that code of the user's may answer.
NOTHING_NAMED = AllowList("an answer must hold plain values only", ChildError)
#: Our own classes as well, and those of a fitted surrogate.
OUR_OWN = AllowList(
    condition="a message between processes must hold our own",
    error=ChildError,
    values={("builtins", name): getattr(builtins, name) for name in _BUILTINS},
    packages=("nasgoat", "sklearn", "numpy", "collections"),
    # Functions that NumPy's arrays and random generators are rebuilt with.
    modules=("numpy.random", "numpy._core.multiarray", "numpy._core.numeric"),
)


class ChildProcess:
    """A process that runs functions for this one; started when needed, and again after its death.

    Args:
        task: What it does, as the subject of the messages of its errors.
        answers: What its answers may name.
        added_memory: Bytes of address space that tasks may add to what their imports hold; the
            operating system refuses more. None for no limit.

    Attributes:
        environment: Variables it gets besides those of this process. Once they change, a new
            process takes its place.

    Example:
        >>> child = ChildProcess()
        >>> child.ask(pow, 2, 10)
        1024
        >>> child.kill()
    """

    def __init__(
        self,
        task: str = "the task",
        answers: AllowList = NOTHING_NAMED,
        added_memory: float | None = None,
    ) -> None:
        self.task = task
        self._answers = answers
        self._added_memory = added_memory
        self._number = 0  # of the task
        self.environment: dict[str, str] = {}
        self._started_in: tuple[Path, dict[str, str]] = (Path(), {})
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def ask(
        self,
        work: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
        memory: float | None = None,
    ) -> Any:
        """What ``work(*args)`` returns in the child; the arguments are those of :meth:`run`."""
        *_, (_, result) = self._listen((_name(work), False, ()), args, seconds, memory)
        return result

    def run(
        self,
        work: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
        memory: float | None = None,
        packages: tuple[str, ...] = (),
    ) -> Iterator[Message]:
        """Yield the messages that ``work(*args, send)`` sends, then ``("result", its answer)``.

        A caller who stops listening, or presses Ctrl-C, kills the child.

        Args:
            work: A function that the child can import.
            args: Its arguments.
            seconds: How long it may take; the child and all it started are killed after that.
            memory: Bytes of main memory that they may hold together; they are killed above that.
            packages: Further packages whose classes the arguments may name.

        Raises:
            ChildTimeoutError, ChildMemoryError, ChildLostError: If the child had to be killed or
                died; the next call starts another one.
            ChildFailedError: If the work raised an exception.
        """
        yield from self._listen((_name(work), True, packages), args, seconds, memory)

    def kill(self) -> None:
        """Kill the child, if there is one, with everything it started."""
        # Its connection closes by itself when nobody, in any thread, listens any more.
        process, self._process, self._connection = self._process, None, None
        if process is not None:
            kill_child(process)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.kill()

    def _listen(
        self,
        task: tuple[str, bool, tuple[str, ...]],
        args: tuple[Any, ...],
        seconds: float | None,
        memory: float | None,
    ) -> Iterator[Message]:
        """Hand in a task, and yield what comes back until it has ended."""
        process, connection = self._start_if_needed()
        self._number += 1
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        ended = False
        try:
            header = (self._number, sys.path, self._added_memory, *task)
            _send(process, connection, header, args)
            while not ended:
                message = self._receive(process, connection, deadline)
                if message is not None:
                    ended = message[0] in (RESULT, FAILED)
                    if message[0] == FAILED:
                        raise ChildFailedError(str(message[1]))
                    if message[0] == NO_MEMORY:
                        raise ChildMemoryError(f"{self.task} must stay within its memory limit")
                    yield message
                elif memory is not None and (held := measure_memory(process)) > memory:
                    limit, got = (f"{size / 2**20:.0f} MiB" for size in (memory, held))
                    raise ChildMemoryError(
                        f"{self.task} must hold at most {limit}, got {got}; killed"
                    )
                if not ended and time.monotonic() >= deadline:
                    raise ChildTimeoutError(f"{self.task} must end within {seconds:g} s; killed")
        finally:
            if not ended:
                self.kill()

    def _start_if_needed(self) -> tuple[subprocess.Popen[bytes], Connection]:
        """The living child, of the folder and the environment that are asked for now."""
        if not HAS_GROUPS:
            raise ChildError(f"{self.task} must run on Linux or macOS, got {sys.platform}")
        process, connection = self._process, self._connection
        surroundings = (Path.cwd(), dict(self.environment))
        if process is not None and connection is not None:
            if process.poll() is None and self._started_in == surroundings:
                return process, connection
            self.kill()
        connection, theirs = Pipe()
        mark = uuid4().hex  # of it and all it starts
        self._started_in = surroundings  # the folder is where it finds the user's modules
        with theirs:
            process = subprocess.Popen(  # noqa: S603 our own interpreter and module
                [sys.executable, "-m", "nasgoat.child_worker", str(theirs.fileno()), mark],
                cwd=surroundings[0],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what the work prints
                env=make_environment(self.environment, mark),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._process, self._connection = process, connection
        return process, connection

    def _receive(
        self, process: subprocess.Popen[bytes], connection: Connection, deadline: float
    ) -> Message | None:
        """The next message, if one comes before it is time to look at the limits again."""
        try:
            if connection.poll(max(0.0, min(_POLL, deadline - time.monotonic()))):
                number, kind, content = loads(connection.recv_bytes(LONGEST), self._answers)
                if number == self._number:
                    return kind, content
                raise ChildAnswerError(
                    f"{self.task} must be answered once, got a second answer to the task before"
                )
            # What it started may hold the connection open when it is gone itself.
            gone = process.poll() is not None and not connection.poll()
        except ChildError:  # the answer is refused
            raise
        except Exception:  # the connection broke, or what came makes no sense
            gone = True
        if gone:
            raise _make_lost_error(process)
        return None


def _name(work: Callable[..., Any]) -> str:
    return f"{work.__module__}:{work.__qualname__}"


def _send(process: subprocess.Popen[bytes], connection: Connection, *values: Any) -> None:
    try:
        for value in values:
            connection.send_bytes(pickle.dumps(value))
    except OSError:
        raise _make_lost_error(process) from None


def _make_lost_error(process: subprocess.Popen[bytes]) -> ChildLostError:
    kill_child(process)
    code = process.returncode
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return ChildLostError(f"the worker process died ({how})")
