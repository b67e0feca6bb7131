"""A solver's process can be stopped, and what it does wrong becomes an error."""

import os
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest

from nasgoat import LabeledGraph
from nasgoat.restricted_pickle import loads
from nasgoat.solvers import SolverError, SolveStatus
from nasgoat.solvers.child_process import ChildProcess, Message
from nasgoat.solvers.own_pickle import OUR_OWN

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


class Attribute:
    """Pickled as ``getattr(owner, name)``, as Python 3.11.2 does with members of an enum."""

    def __init__(self, owner: Any, name: str) -> None:
        self.reduced = getattr, (owner, name)

    def __reduce__(self) -> tuple[Any, tuple[Any, str]]:
        return self.reduced


def test_a_message_may_name_members_of_our_enums_and_no_other_attribute() -> None:
    assert loads(pickle.dumps(Attribute(SolveStatus, "STOPPED")), OUR_OWN) is SolveStatus.STOPPED
    with pytest.raises(SolverError, match="must hold our own"):
        loads(pickle.dumps(Attribute(LabeledGraph, "from_edges")), OUR_OWN)
