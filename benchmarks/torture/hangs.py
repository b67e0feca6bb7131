"""Hangs, told from a machine that is busy with other things."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

LONGEST = 5.0  # seconds of the processor
_BY_THE_CLOCK = 60.0  # for what waits without computing


class Hang(BaseException):
    """Something took too long; no ``except Exception`` on the way may swallow it."""


@contextlib.contextmanager
def no_longer_than(seconds: float = LONGEST) -> Iterator[None]:
    """Raise :class:`Hang` in the main thread after so many seconds of the processor."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _BY_THE_CLOCK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
