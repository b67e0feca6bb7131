"""Where evaluations run (any ``concurrent.futures.Executor``), and how long they take."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from nasgoat.errors import SettingError, WorkersLostError
from nasgoat.evaluation import FailureKind, Inline, Isolated, Objective, Outcome, Share
from nasgoat.evaluation.objectives import name_function

P = ParamSpec("P")
T = TypeVar("T")


class SerialExecutor(Executor):
    """Runs each call at once, in the calling thread.

    Example:
        >>> SerialExecutor().submit(max, 1, 2).result()
        2
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function now; the future that comes back is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as problem:
            future.set_exception(problem)
        return future


@dataclass(frozen=True)
class Workers:
    """An executor, how many evaluations it runs at a time, and a check that it still works.

    Args:
        executor: Where evaluations run.
        slots: How many run at a time, asked before each submission.
        check: Called while waiting; raises :class:`~nasgoat.errors.WorkersLostError` if nothing
            will ever come back.
        let_go: Called at the end of a search; by default the executor begins nothing more.
    """

    executor: Executor
    slots: Callable[[], int]
    check: Callable[[], None] = lambda: None
    let_go: Callable[[], None] | None = None

    def close(self) -> None:
        """Let go of the workers without waiting for them; what has not begun never will."""
        if self.let_go is not None:
            self.let_go()
        else:
            self.executor.shutdown(wait=False, cancel_futures=True)

    @classmethod
    def serial(cls) -> Workers:
        """One at a time, in the calling thread."""
        return cls(SerialExecutor(), lambda: 1)

    @classmethod
    def local(cls, count: int) -> Workers:
        """Workers on this machine: threads, each with a child process where the evaluator has one.

        Example:
            >>> Workers.local(2).slots()
            2
        """
        if count < 1:
            raise SettingError(f"workers must be at least 1, got {count}")
        return cls(ThreadPoolExecutor(count, "nasgoat-worker"), lambda: count)

    @classmethod
    def on(cls, executor: Executor, count: int | None = None) -> Workers:
        """Any executor; its own number of workers unless one is given."""
        own: Any = getattr(executor, "_max_workers", None)
        known = count or (own if isinstance(own, int) else 1)
        return cls(executor, lambda: known)

    @classmethod
    def find(cls, executor: Executor | None, count: int | None) -> Workers:
        """Those of an executor if there is one, else ``count`` local ones, else the caller."""
        if executor is not None:
            return cls.on(executor, count)
        return cls.local(count) if count else cls.serial()


def make_evaluator(
    objective: Objective | str, limits: Mapping[str, Any], seed: int, in_processes: bool
) -> Inline | Isolated:
    """What evaluates a graph: in a process of its own where the objective allows and needs it.

    Args:
        objective: A function, or ``"module:function"``.
        limits: Of :class:`~nasgoat.evaluation.Isolated`: time, memory, devices.
        seed: Of the global random generators before each evaluation.
        in_processes: Whether evaluations are to run beside each other in processes.
    """
    needed = limits["needed"]
    limited = any(value not in (None, False, Share(), needed) for value in limits.values())
    path = objective if isinstance(objective, str) else name_function(objective)
    if isinstance(objective, str) or ((limited or in_processes) and path is not None):
        isolated = Isolated(path, seed=seed, **limits)
        isolated.check()
        return isolated
    if limited:
        raise SettingError(
            "an objective with limits, devices or processes of its own must be a function that "
            f"another process can import, got {objective!r}; define it in a module"
        )
    if in_processes:
        warnings.warn(
            "the objective runs in threads of this process, because no other process can import "
            f"{objective!r}; define it in a module to run it in processes of its own",
            stacklevel=3,
        )
    return Inline(objective, needed)


def read_outcome(future: Future[Outcome]) -> Outcome:
    """The outcome of a future; a broken executor ends the search, a lost task does not."""
    try:
        return future.result()
    except CancelledError as problem:
        raise WorkersLostError("the workers must finish their work, got none left") from problem
    except BrokenExecutor as problem:
        raise WorkersLostError(f"the executor must stay usable, got {problem}") from problem
    except Exception as problem:
        reason = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        return Outcome.failed(FailureKind.LOST, reason)


class Pace:
    """Measures how long asking and evaluating take.

    Example:
        >>> pace = Pace()
        >>> pace.seconds = {"ask": 0.9, "evaluation": 2.0}
        >>> pace.count_ahead(4)
        2
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}  # of the last asks and evaluations, smoothed
        self._begun: dict[Hashable, float] = {}

    def begin(self, what: Hashable) -> None:
        """Note the time at which an ask or an evaluation begins."""
        self._begun[what] = time.monotonic()

    def end(self, what: Hashable, kind: str) -> None:
        """Note how long it took, now that it has ended; ``kind`` is ``ask`` or ``evaluation``."""
        took = time.monotonic() - self._begun.pop(what, time.monotonic())
        self.seconds[kind] = 0.5 * (self.seconds.get(kind, took) + took)

    def count_ahead(self, slots: int) -> int:
        """Proposals to keep ready: as many as workers get free while one is computed.

        One at least, so that a freed worker need not wait for a fit; no more than needed, because a
        proposal that is made late knows more.
        """
        ask, evaluation = self.seconds.get("ask", 0.0), self.seconds.get("evaluation", math.inf)
        freed = math.ceil(slots * ask / evaluation) if evaluation > 0 else slots
        return min(max(freed, 1), slots)
