"""A solver's process can be stopped, and what it does wrong becomes an error."""

import os
import time
from collections.abc import Callable

import pytest

from nasgoat.solvers import SolverError
from nasgoat.solvers.child_process import ChildProcess, Message

Send = Callable[[Message], None]


def sleep(seconds: float, send: Send) -> None:
    send(("progress", "sleeping"))
    time.sleep(seconds)


def die(send: Send) -> None:
    os._exit(3)


def fail(send: Send) -> None:
    raise RuntimeError("no luck")


def hoard(send: Send) -> int:
    return len(bytearray(2**33))


def test_a_task_that_hangs_is_killed_and_the_next_one_runs() -> None:
    child = ChildProcess(memory_mb=1000)
    messages: list[Message] = []
    with pytest.raises(SolverError, match="time limit"):
        messages.extend(child.run(sleep, (600.0,), seconds=8.0))
    assert list(child.run(sleep, (0.0,), seconds=60.0))[-1] == ("result", None)
    child.stop()


def test_a_crash_a_failure_and_too_much_memory_are_errors() -> None:
    child = ChildProcess(memory_mb=1000)
    with pytest.raises(SolverError, match="exit code 3"):
        list(child.run(die, (), seconds=60.0))
    with pytest.raises(SolverError, match="no luck"):
        list(child.run(fail, (), seconds=60.0))
    with pytest.raises(SolverError, match="memory limit"):
        list(child.run(hoard, (), seconds=60.0))
    child.stop()
