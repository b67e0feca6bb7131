"""What a child process does: ``python -m nasgoat.child_worker DESCRIPTOR MARK``.

Its parent is a :class:`nasgoat.child_process.ChildProcess`, at the other end of the connection that
the file descriptor names; the mark is on all processes that come of this one. A task is two
messages, how to do it and the arguments; each answer bears the task's number.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from nasgoat.child_process import (
    FAILED,
    LONGEST,
    NO_MEMORY,
    NOTHING_NAMED,
    OUR_OWN,
    RESULT,
    Message,
)
from nasgoat.errors import ChildAnswerError
from nasgoat.process_tree import kill_group, kill_marked
from nasgoat.safe_files import loads


def serve() -> None:
    """Do one task after the other for the parent at the other end of the connection."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # commands that the work starts must not hold it
    connection = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, frames), daemon=True).start()

    own = os.getpid()
    while True:
        header, args = frames.get(), frames.get()
        number, *task = loads(header, NOTHING_NAMED)
        send = functools.partial(_send, connection, number)
        try:
            result: Message = (RESULT, _work(task, args, send))
        except MemoryError:
            result = (NO_MEMORY, None)
        except (Exception, SystemExit) as problem:
            result = (FAILED, _describe(problem))
        if os.getpid() != own:
            _leave_copy()
        try:
            send(result)
        except Exception as problem:  # it can't be pickled, or is too long
            send((FAILED, _describe(problem)))


def _send(connection: Connection, number: int, message: Message) -> None:
    content = pickle.dumps((number, *message))
    if len(content) > LONGEST:
        size = f"{len(content) / 2**20:.0f} MiB"
        raise ChildAnswerError(f"an answer must have at most {LONGEST // 2**20} MiB, got {size}")
    connection.send_bytes(content)


def _describe(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _leave_copy() -> NoReturn:
    """End a copy of this process that came back from a task; only the original answers."""
    print(
        "nasgoat: what is evaluated must not return in a copy of its process, got one that did; "
        "its value is left out; end a copy with os._exit",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def _listen(connection: Connection, frames: queue.SimpleQueue[bytes]) -> None:
    """Take what the parent sends; without a parent, die with everything that was started."""
    with contextlib.suppress(OSError, EOFError):
        while True:
            frames.put(connection.recv_bytes())
    kill_marked(sys.argv[2])
    kill_group(os.getpgid(0))


def _work(task: list[Any], args: bytes, send: Callable[[Message], None]) -> Any:
    paths, added_memory, name, sending, packages = task
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
    """Limit the address space to what is in use now plus this many bytes."""
    if added is None:
        return
    import resource  # not on Windows

    used = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").exists() else 0
    most = used * resource.getpagesize() + int(added)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most <= hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    serve()
