"""What a child process does: ``python -m nasgoat.child_worker DESCRIPTOR``.

Its parent is a :class:`nasgoat.child_process.ChildProcess`, at the other end of the connection that
the file descriptor names. A task is two messages: how to do it, and the arguments.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nasgoat.child_process import FAILED, NO_MEMORY, NOTHING_NAMED, OUR_OWN, RESULT, Message
from nasgoat.restricted_pickle import loads


def serve() -> None:
    """Do one task after the other for the parent at the other end of the connection."""
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
            send((RESULT, _work(header, args, send)))
        except MemoryError:
            send((NO_MEMORY, None))
        except (Exception, SystemExit) as problem:
            text = " ".join(str(problem).split())
            send((FAILED, f"{type(problem).__name__}: {text}" if text else type(problem).__name__))


def _listen(connection: Connection, frames: queue.SimpleQueue[bytes]) -> None:
    """Take what the parent sends; without a parent, die with everything that was started."""
    with contextlib.suppress(OSError, EOFError):
        while True:
            frames.put(connection.recv_bytes())
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _work(header: bytes, args: bytes, send: Callable[[Message], None]) -> Any:
    paths, added_memory, name, sending, packages = loads(header, NOTHING_NAMED)
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
