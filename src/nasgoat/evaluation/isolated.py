"""An objective in a child process of its own, which can be stopped and killed."""

from __future__ import annotations

import atexit
import json
import sys
import threading
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

from nasgoat.child_process import ChildProcess
from nasgoat.errors import (
    ChildAnswerError,
    ChildError,
    ChildMemoryError,
    ChildTimeoutError,
    SettingError,
)
from nasgoat.evaluation.fidelities import Fidelity
from nasgoat.evaluation.objectives import ERROR, Failure, FailureKind, Outcome, describe_problem
from nasgoat.evaluation.workers import Share, evaluate, find_own_slot
from nasgoat.graphs import LabeledGraph
from nasgoat.process_tree import HAS_GROUPS, TELLS_MEMORY

_START_SECONDS = 300.0  # an objective's imports may take long, but not for ever

# Each thread keeps its child between evaluations: imports are paid once.
_own = threading.local()
_children: weakref.WeakSet[ChildProcess] = weakref.WeakSet()
_closing = threading.Event()


@dataclass(frozen=True)
class Isolated:
    """Runs the objective in a child process of its own, with limits.

    Args:
        objective: ``module:function``; or
        command: a command and its arguments: the graph as JSON on standard input, a number or an
            object with ``error`` as JSON on standard output.
        timeout: Seconds an evaluation may take; None for no limit.
        memory_limit: Bytes its processes may hold together; None for no limit.
        retries: How often to start again after its process died. What raised, ran too long or
            used too much memory would do so again and is not repeated.
        seed: Seed of the global random generators before each evaluation.
        share: Devices and threads of each worker's process.
        fresh_process: Whether every evaluation starts a new process; otherwise each worker keeps
            its own, so that imports are paid once.
        needed: Metrics that the objective must return.
        checkpoints: Where each graph has a folder of its own, for objectives with fidelities.

    Example:
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)])
        >>> Isolated(command=("python3", "-c", "print(0.25)"))(cell, 0).metrics
        {'error': 0.25}
    """

    objective: str | None = None
    command: tuple[str, ...] | None = None
    timeout: float | None = None
    memory_limit: float | None = None
    retries: int = 1
    seed: int = 0
    share: Share = field(default_factory=Share)
    fresh_process: bool = False
    needed: tuple[str, ...] = ERROR
    checkpoints: str | None = None

    def __post_init__(self) -> None:
        if (self.objective is None) == (not self.command):
            raise SettingError("either an objective or a command must be given, got both or none")
        if not HAS_GROUPS:
            raise SettingError(
                "an objective in a process of its own must run on Linux or macOS, got "
                f"{sys.platform}; hand nasgoat.search the function, without limits and workers"
            )
        if self.memory_limit is not None and not TELLS_MEMORY:
            raise SettingError(
                f"a memory limit must be on Linux, which tells what is held, got {sys.platform}"
            )
        for name in ("timeout", "memory_limit"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise SettingError(f"{name} must be a positive number, got {value}")
        if self.retries < 0:
            raise SettingError(f"retries must be at least 0, got {self.retries}")

    def __call__(
        self, graph: LabeledGraph, number: int, fidelity: Fidelity | None = None
    ) -> Outcome:
        """Evaluate a graph in this thread's child, with a new one if that dies."""
        request: dict[str, Any] = {
            "objective": self.objective,
            "command": self.command,
            "graph": graph.to_dict(),
            "seed": (self.seed * 1_000_003 + number) % 2**32,
            "needed": self.needed,
        }
        if fidelity is not None:
            request |= {"fidelity": fidelity.value, "checkpoints": self.checkpoints}
        _get_own_child().environment = self.share.variables(find_own_slot())
        for attempt in range(1, self.retries + 2):
            outcome = replace(self._attempt(request), attempts=attempt)
            if self.fresh_process:
                _get_own_child().kill()
            lost = outcome.failure is not None and outcome.failure.kind is FailureKind.LOST
            if not lost or _closing.is_set():
                break
        if lost and _closing.is_set():
            return Outcome.failed(FailureKind.CANCELLED, "the search was cancelled")
        return outcome

    def describe(self, workers: int) -> str:
        """A line that says what each of this many workers gets."""
        return self.share.describe(workers, self.fresh_process)

    def check(self) -> None:
        """Raise :class:`SettingError` unless the objective can be found."""
        if self.objective is None:
            return
        try:
            found = _get_own_child().ask(describe_problem, self.objective, seconds=_START_SECONDS)
        except ChildError as problem:
            raise SettingError(f"the objective must be importable, got {problem}") from None
        finally:
            if self.fresh_process:
                _get_own_child().kill()
        if found is not None:
            raise SettingError(found)

    def _attempt(self, request: dict[str, Any]) -> Outcome:
        """Evaluate once in a child process; whatever goes wrong there is a failed outcome."""
        try:
            child = _get_own_child()
            if self.objective is not None:  # imports do not count against the time-out
                child.ask(describe_problem, self.objective, seconds=_START_SECONDS)
            answer = child.ask(evaluate, request, seconds=self.timeout, memory=self.memory_limit)
        except ChildTimeoutError as problem:
            return Outcome.failed(FailureKind.TIMEOUT, str(problem))
        except ChildMemoryError as problem:
            return Outcome.failed(FailureKind.MEMORY, str(problem))
        except ChildAnswerError as problem:
            return Outcome.failed(FailureKind.VALUE, str(problem))
        except (ChildError, OSError) as problem:
            return Outcome.failed(FailureKind.LOST, str(problem))
        found = json.loads(answer)
        if found["failure"]:
            return Outcome(None, Failure.from_dict(found["failure"]))
        return Outcome.of(found["metrics"], self.needed)


def kill_children(for_good: bool = False) -> None:
    """Kill every child of this process; with ``for_good``, what they evaluated is cancelled."""
    if for_good:
        _closing.set()
    for child in list(_children):
        child.kill()


def allow_children() -> None:
    """Allow evaluations again after :func:`kill_children` for good."""
    _closing.clear()


def _get_own_child() -> ChildProcess:
    """The child process of this thread."""
    child: ChildProcess | None = getattr(_own, "child", None)
    if child is None:
        child = _own.child = ChildProcess("the evaluation")
        _children.add(child)
    return child


atexit.register(kill_children, for_good=True)
