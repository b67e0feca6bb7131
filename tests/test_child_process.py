"""A child process can be stopped, and what it does wrong becomes an error."""

import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from nasgoat import LabeledGraph
from nasgoat.child_process import OUR_OWN, ChildProcess, Message
from nasgoat.errors import (
    ChildAnswerError,
    ChildError,
    ChildFailedError,
    ChildLostError,
    ChildMemoryError,
    ChildTimeoutError,
)
from nasgoat.evaluation import FailureKind
from nasgoat.safe_files import loads

Send = Callable[[Message], None]


def sleep(seconds: float, send: Send) -> None:
    send(("progress", "sleeping"))
    time.sleep(seconds)


def die(send: Send) -> None:
    os._exit(3)


def fail(send: Send) -> None:
    raise RuntimeError("no luck")


def answer_twice(send: Send) -> int:
    send(("result", 1))
    return 2


def answer_at_length() -> str:
    return "a" * 2**27


def hoard(send: Send) -> int:
    return len(bytearray(2**33))


def test_a_task_that_hangs_is_killed_and_the_next_one_runs() -> None:
    child = ChildProcess()
    with pytest.raises(ChildTimeoutError, match="must end within 2 s"):
        list(child.run(sleep, 600.0, seconds=2.0))
    messages = list(child.run(sleep, 0.0, seconds=60.0))
    assert messages == [("progress", "sleeping"), ("result", None)]
    child.kill()


def test_a_crash_a_failure_and_too_much_memory_are_errors() -> None:
    child = ChildProcess("the solver", added_memory=1000 * 2**20)
    with pytest.raises(ChildLostError, match="exit code 3"):
        list(child.run(die, seconds=60.0))
    with pytest.raises(ChildFailedError, match="RuntimeError: no luck"):
        list(child.run(fail, seconds=60.0))
    with pytest.raises(ChildMemoryError, match="the solver must stay within its memory limit"):
        list(child.run(hoard, seconds=60.0))
    child.kill()


def test_a_failure_leaves_the_child_alive_and_a_deaf_caller_kills_it() -> None:
    child = ChildProcess()
    first = child.ask(os.getpid)
    with pytest.raises(ChildFailedError):
        child.ask(fail, None)
    assert child.ask(os.getpid) == first
    messages = child.run(sleep, 600.0)
    assert next(messages) == ("progress", "sleeping")
    messages.close()  # type: ignore[attr-defined]
    assert child.ask(os.getpid) != first
    child.kill()


def test_another_thread_can_kill_a_child_that_is_waited_for() -> None:
    child = ChildProcess()
    child.ask(os.getpid)
    threading.Timer(1.0, child.kill).start()
    with pytest.raises(ChildLostError, match="killed by signal 9"):
        child.ask(time.sleep, 600.0)


def test_an_answer_to_another_task_is_refused() -> None:
    child = ChildProcess("the solver")
    assert list(child.run(answer_twice)) == [("result", 1)]
    with pytest.raises(ChildAnswerError, match="the solver must be answered once"):
        child.ask(os.getpid)
    assert child.ask(pow, 2, 10) == 1024  # by a new child
    child.kill()


def test_an_answer_that_is_too_long_is_named() -> None:
    child = ChildProcess()
    with pytest.raises(ChildFailedError, match="must have at most 64 MiB, got 128 MiB"):
        child.ask(answer_at_length)
    assert child.ask(pow, 2, 10) == 1024
    child.kill()


class OwnFamily:
    """Stands for a class of the user's, such as a space of his own."""

    def __init__(self, name: str) -> None:
        self.name = name


def call_by_name(value: OwnFamily, send: Send) -> str:
    return value.name


def test_arguments_may_be_of_packages_that_the_caller_names_and_of_no_other() -> None:
    child = ChildProcess()
    package = OwnFamily.__module__.partition(".")[0]
    messages = child.run(call_by_name, OwnFamily("mine"), packages=(package,))
    assert list(messages) == [("result", "mine")]
    with pytest.raises(ChildFailedError, match="must hold our own"):
        list(child.run(call_by_name, OwnFamily("mine")))
    child.kill()


def answer_with_a_class() -> type:
    return OwnFamily


def test_an_answer_holds_plain_values_unless_more_is_admitted() -> None:
    child = ChildProcess()
    with pytest.raises(ChildError, match="plain values only"):
        child.ask(answer_with_a_class)
    child.kill()


class Attribute:
    """Pickled as ``getattr(owner, name)``, as Python 3.11.2 does with members of an enum."""

    def __init__(self, owner: Any, name: str) -> None:
        self.reduced = getattr, (owner, name)

    def __reduce__(self) -> tuple[Any, tuple[Any, str]]:
        return self.reduced


def test_a_message_may_name_members_of_our_enums_and_no_other_attribute() -> None:
    assert loads(pickle.dumps(Attribute(FailureKind, "LOST")), OUR_OWN) is FailureKind.LOST
    with pytest.raises(ChildError, match="must hold our own"):
        loads(pickle.dumps(Attribute(LabeledGraph, "from_edges")), OUR_OWN)
