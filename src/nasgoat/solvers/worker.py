"""What a solver's child process runs: ``python -m nasgoat.solvers.worker MESSAGES MEMORY``.

Tasks come on standard input, from the parent alone: a line of JSON that names the work, then its
pickled arguments. Messages go to the file descriptor MESSAGES. Standard output is turned to
standard error, where solvers may print what they like.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

from nasgoat.restricted_pickle import load
from nasgoat.solvers.own_pickle import OUR_OWN


def main() -> None:
    """Serve tasks until standard input ends or the parent is gone."""
    messages = Connection(int(sys.argv[1]), readable=False)
    os.dup2(2, 1)
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    limited = False
    while True:
        task = sys.stdin.buffer.readline()
        if not task:
            return
        sys.path[:], module, name = json.loads(task)
        args = load(sys.stdin.buffer, OUR_OWN)
        work = getattr(importlib.import_module(module), name)
        if not limited:
            _limit_memory(float(sys.argv[2]))
            limited = True
        try:
            messages.send(("result", work(*args, messages.send)))
        except MemoryError:
            messages.send(("error", "the solver must stay within its memory limit; it did not"))
            return
        except Exception as problem:
            messages.send(
                ("error", f"the solver must not fail, got {type(problem).__name__}: {problem}")
            )


def _limit_memory(megabytes: float) -> None:
    """Limit the address space to what is in use now plus so many megabytes."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").exists() else 0
    most = used * resource.getpagesize() + int(megabytes * 2**20)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most <= hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _leave_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main()
