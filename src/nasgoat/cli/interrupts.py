"""Ctrl-C and SIGTERM: the first lets what runs finish, the second cancels it."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from nasgoat.cli.output import note

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context that counts Ctrl-C and SIGTERM; the second one raises ``KeyboardInterrupt``."""

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, Any] = {}

    def stopping(self) -> bool:
        """Whether the search was asked to stop."""
        return self.requested

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._heard) for s in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        note("stopping: what runs is finished first; once more to cancel it")
