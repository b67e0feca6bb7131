"""Limits on metrics: whether a graph keeps one is known only once it is evaluated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nasgoat.errors import NasgoatError, SettingError, SpaceError, UnknownNameError
from nasgoat.spaces import SearchSpace

_LIMIT = re.compile(r"\s*([^<>=]+?)\s*(<=|>=)\s*([0-9.eE+-]+)\s*")


@dataclass(frozen=True)
class MeasuredLimit:
    """A limit on a metric that is known only once a graph is evaluated.

    Args:
        name: The metric.
        sense: ``"<="`` or ``">="``.
        bound: What it must not exceed, or fall below.

    Example:
        >>> limit = MeasuredLimit.parse("latency <= 5")
        >>> limit.holds({"error": 6.1, "latency": 5.0}), limit.holds({"latency": 5.1})
        (True, False)
    """

    name: str
    sense: str
    bound: float

    @classmethod
    def of(cls, given: str | MeasuredLimit) -> MeasuredLimit:
        """A limit, or what a text such as ``latency <= 5`` says."""
        return cls.parse(given) if isinstance(given, str) else given

    @classmethod
    def parse(cls, text: str) -> MeasuredLimit:
        """The limit that a text such as ``latency <= 5`` says."""
        found = _LIMIT.fullmatch(text)
        with suppress(ValueError):
            if found is not None:
                return cls(found[1], found[2], float(found[3]))
        raise SettingError(f"a limit must read 'NAME <= NUMBER' or 'NAME >= NUMBER', got {text!r}")

    @property
    def text(self) -> str:
        """The limit as it is written."""
        return f"{self.name} {self.sense} {self.bound:.15g}"

    @property
    def sign(self) -> float:
        """What the metric is multiplied with, so that the limit is an upper one."""
        return 1.0 if self.sense == "<=" else -1.0

    def excess(self, metrics: Mapping[str, Any]) -> float:
        """By how much measured metrics break the limit; 0 if they keep it."""
        return max(self.sign * (float(metrics[self.name]) - self.bound), 0.0)

    def holds(self, metrics: Mapping[str, Any]) -> bool:
        """Whether measured metrics keep the limit."""
        return self.excess(metrics) == 0.0


def split_limits(
    space: SearchSpace, limits: Sequence[str]
) -> tuple[SearchSpace, list[MeasuredLimit]]:
    """The space under those limits that it knows the names of, and the others as measured ones.

    Example:
        >>> from nasgoat import nasbench201
        >>> space, measured = split_limits(nasbench201(), ["nor_conv_3x3 <= 2", "latency <= 5"])
        >>> [limit.text for limit in space.limits], [limit.text for limit in measured]
        (['nor_conv_3x3 <= 2'], ['latency <= 5'])
    """
    measured = []
    for text in limits:
        try:
            space = space.constrain(text)
        except (SpaceError, UnknownNameError) as unknown:
            try:
                measured.append(MeasuredLimit.parse(text))
            except NasgoatError:
                raise unknown from None
    return space, measured


def refuse_contradictions(limits: Sequence[MeasuredLimit]) -> None:
    """Raise :class:`SettingError` if no value of some metric keeps all its limits."""
    for low, high in itertools.product(limits, limits):
        below = (low.sense, high.sense) == (">=", "<=") and low.bound > high.bound
        if low.name == high.name and below:
            raise SettingError(
                f"limits must leave some value of {low.name}, got {low.text} and {high.text}"
            )
