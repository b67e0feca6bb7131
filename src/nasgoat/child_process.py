"""A child process that works for its parent within limits and dies with everything it started.

Objectives, pictures and solvers run in one: they may hang, crash in native code, outgrow the
memory or swallow Ctrl-C, and the search must survive that. The child is a fresh interpreter (never
a fork, no re-import of the caller's script) that leads its own process group. It lives on between
tasks, so that imports are paid once, and kills its group when its parent is gone.

Messages in both directions are pickles that may name only what an allow-list admits
(:mod:`nasgoat.restricted_pickle`).
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import os
import pickle
import queue
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from nasgoat.errors import NasgoatError
from nasgoat.restricted_pickle import AllowList, loads

#: What kind of message it is, and its content.
Message = tuple[str, Any]

_POLL = 0.1  # seconds between two looks at deadline and memory
_LONGEST = 2**26  # bytes of a message; answers are metrics, graphs and reports
_SECRET = ("NASGOAT_STORAGE",)  # holds a password that no child needs
_PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_BUILTINS = ("set", "frozenset", "range", "slice", "complex", "bytearray", "object")
_RESULT, _FAILED, _NO_MEMORY = "result", "failed", "no memory"  # the last message of a task


class ChildError(NasgoatError, RuntimeError):
    """A child process gave no answer."""


class ChildTimeoutError(ChildError):
    """A child did not answer in time and was killed."""


class ChildMemoryError(ChildError):
    """A child used more memory than allowed and was killed."""


class ChildLostError(ChildError):
    """A child died."""


class ChildFailedError(ChildError):
    """What a child was asked to do raised an exception; the child lives on."""


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
        self._folder = Path()
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
        *_, (_, result) = self._messages((_name(work), args, False, ()), seconds, memory)
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
        yield from self._messages((_name(work), args, True, packages), seconds, memory)

    def kill(self) -> None:
        """Kill the child, if there is one, with everything it started."""
        # Its connection closes by itself when nobody, in any thread, listens any more.
        process, self._process, self._connection = self._process, None, None
        if process is not None:
            _kill(process)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.kill()

    def _messages(
        self,
        task: tuple[str, tuple[Any, ...], bool, tuple[str, ...]],
        seconds: float | None,
        memory: float | None,
    ) -> Iterator[Message]:
        process, connection = self._started()
        deadline = None if seconds is None else time.monotonic() + seconds
        ended = False
        try:
            self._send(process, connection, task)
            while not ended:
                message = self._received(process, connection, deadline)
                if message is not None:
                    ended = message[0] in (_RESULT, _FAILED)
                    yield self._checked(message)
                elif deadline is not None and time.monotonic() >= deadline:
                    raise ChildTimeoutError(f"{self.task} must end within {seconds:g} s; killed")
                elif memory is not None and (held := group_memory(process.pid)) > memory:
                    limit, got = (f"{size / 2**20:.0f} MiB" for size in (memory, held))
                    raise ChildMemoryError(
                        f"{self.task} must hold at most {limit}, got {got}; killed"
                    )
        finally:
            if not ended:
                self.kill()

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection]:
        """The living child, of the folder that this process is in now."""
        process, connection = self._process, self._connection
        if process is not None and connection is not None:
            if process.poll() is None and self._folder == Path.cwd():
                return process, connection
            self.kill()
        connection, theirs = Pipe()
        # One thread per process: several processes share the machine's cores.
        pinned = {name: os.environ.get(name, "1") for name in _PINNED}
        public = {name: value for name, value in os.environ.items() if name not in _SECRET}
        self._folder = Path.cwd()  # where it finds the user's modules
        with theirs:
            process = subprocess.Popen(  # noqa: S603 our own interpreter and module
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what the work prints
                env={**public, **pinned},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._process, self._connection = process, connection
        return process, connection

    def _send(self, process: subprocess.Popen[bytes], connection: Connection, task: Any) -> None:
        name, args, sending, packages = task
        header = (sys.path, name, sending, packages, self._added_memory)
        try:
            connection.send_bytes(pickle.dumps(header))
            connection.send_bytes(pickle.dumps(args))
        except OSError:
            raise _lost(process) from None

    def _received(
        self, process: subprocess.Popen[bytes], connection: Connection, deadline: float | None
    ) -> Message | None:
        """The next message, if one comes before it is time to look at the limits again."""
        wait = _POLL if deadline is None else min(_POLL, deadline - time.monotonic())
        try:
            if connection.poll(max(wait, 0.0)):
                kind, content = loads(connection.recv_bytes(_LONGEST), self._answers)
                return kind, content
            gone = process.poll() is not None and not connection.poll()
        except NasgoatError:
            raise
        except Exception:  # the connection broke, or what came makes no sense
            raise _lost(process) from None
        if gone:  # while something that it started holds the connection open
            raise _lost(process)
        return None

    def _checked(self, message: Message) -> Message:
        kind, content = message
        if kind == _NO_MEMORY:
            raise ChildMemoryError(f"{self.task} must stay within its memory limit; killed")
        if kind == _FAILED:
            raise ChildFailedError(str(content))
        return message


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


def _name(work: Callable[..., Any]) -> str:
    return f"{work.__module__}:{work.__qualname__}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a child's process group, and wait until the child is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lost(process: subprocess.Popen[bytes]) -> ChildLostError:
    _kill(process)
    code = process.returncode
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return ChildLostError(f"the worker process died ({how})")


# From here on: what happens in the child.


def serve() -> None:
    """Do one task after the other: ``python -m nasgoat.child_process DESCRIPTOR``."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # commands that the work starts must not hold it
    connection = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, frames), daemon=True).start()

    def send(message: Message) -> None:
        connection.send_bytes(pickle.dumps(message))

    while True:
        header, args = frames.get(), frames.get()
        try:
            send((_RESULT, _work(header, args, send)))
        except MemoryError:
            send((_NO_MEMORY, None))
        except (Exception, SystemExit) as problem:
            text = " ".join(str(problem).split())
            send((_FAILED, f"{type(problem).__name__}: {text}" if text else type(problem).__name__))


def _listen(connection: Connection, frames: queue.SimpleQueue[bytes]) -> None:
    """Take what the parent sends; without a parent, die with everything that was started."""
    with contextlib.suppress(OSError, EOFError):
        while True:
            frames.put(connection.recv_bytes())
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _work(header: bytes, args: bytes, send: Callable[[Message], None]) -> Any:
    paths, name, sending, packages, added_memory = loads(header, NOTHING_NAMED)
    sys.path += [path for path in paths if path not in sys.path]
    module, _, qualified = name.partition(":")
    work: Any = importlib.import_module(module)
    for part in qualified.split("."):
        work = getattr(work, part)
    allowed = replace(OUR_OWN, packages=(*OUR_OWN.packages, *packages))
    values = loads(args, allowed)
    _limit_memory(added_memory)
    return work(*values, send) if sending else work(*values)


@functools.cache  # the limit is that of the first task: its imports are done
def _limit_memory(added: float | None) -> None:
    """Limit the address space to what is in use now plus so many bytes."""
    if added is None:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").exists() else 0
    most = used * resource.getpagesize() + int(added)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most <= hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    serve()
