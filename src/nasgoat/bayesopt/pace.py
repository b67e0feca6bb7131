"""How fast proposals and evaluations come, for asynchronous searches."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable


class Pace:
    """Measures how long asking and evaluating take.

    Example:
        >>> pace = Pace()
        >>> pace.seconds = {"ask": 0.9, "evaluation": 2.0}
        >>> pace.ahead(4)
        2
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}  # of the last asks and evaluations, smoothed
        self._begun: dict[Hashable, float] = {}

    def begin(self, what: Hashable) -> None:
        """Something begins."""
        self._begun[what] = time.monotonic()

    def end(self, what: Hashable, kind: str) -> None:
        """It has ended: an ask or an evaluation."""
        took = time.monotonic() - self._begun.pop(what, time.monotonic())
        self.seconds[kind] = 0.5 * (self.seconds.get(kind, took) + took)

    def ahead(self, slots: int) -> int:
        """Proposals to keep ready: as many as workers get free while one is computed.

        One at least, so that a freed worker need not wait for a fit; no more than needed, because a
        proposal that is made late knows more.
        """
        ask, evaluation = self.seconds.get("ask", 0.0), self.seconds.get("evaluation", math.inf)
        freed = math.ceil(slots * ask / evaluation) if evaluation > 0 else slots
        return min(max(freed, 1), slots)
