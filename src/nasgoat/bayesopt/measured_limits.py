"""Limits on metrics: whether a graph keeps one is known only once it is evaluated."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nasgoat.errors import NasgoatError, SettingError, SpaceError, UnknownNameError
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.costs import COUNTED

#: From this similarity on a name is taken for another one, misspelt.
_MISSPELT = 0.8
_DOUBLED = re.compile(r"([a-z])\1+")  # a letter that is typed twice
_HEAD = re.compile(r"[^<>=]*")  # what stands before the comparison
_SPACE_ALONE = re.compile(r"\bsum\s*\(|\b(node|edge):")  # what only a limit of the space has
_SUM = re.compile(r"[][+*'\"]")  # what the name of a metric hardly has
_ARITHMETIC = re.compile(r"[*+]|\s-\s|^\s*-")  # a sum or a multiple of metrics
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
        return given if isinstance(given, MeasuredLimit) else cls.parse(given)

    @classmethod
    def parse(cls, text: str) -> MeasuredLimit:
        """The limit that a text such as ``latency <= 5`` says."""
        found = _LIMIT.fullmatch(text) if isinstance(text, str) else None
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


def name_words(space: SearchSpace) -> dict[str, str]:
    """The names that a limit may use in a space, and what each of them is.

    Example:
        >>> from nasgoat import nasbench201
        >>> words = name_words(nasbench201().constrain(costs={"latency": {"nor_conv_3x3": 2.0}}))
        >>> words["latency"], words["nor_conv_3x3"]
        ('a cost of the space', 'an operation of the space')
    """
    words = space.vocabulary()
    counts = dict.fromkeys(COUNTED, "a count of the space")
    costs = dict.fromkeys(words.costs, "a cost of the space")
    return {**counts, **costs, **dict.fromkeys(words.ops, "an operation of the space")}


def find_misspelt(name: str, known: Iterable[str]) -> str | None:
    """The known name that a name looks like, misspelt; None if it may well be one of its own.

    One that goes on where the known name ends, or has other letters in the same places, is one of
    its own.

    Example:
        >>> [find_misspelt(name, ["latency"]) for name in ("latncy", "lattency", "latecny")]
        ['latency', 'latency', 'latency']
        >>> [find_misspelt(name, ["latency_cpu"]) for name in ("latency_cpu2", "latency_gpu")]
        [None, None]
    """
    for other in known:
        given, meant = name.lower(), other.lower()
        if _DOUBLED.sub(r"\1", given) == _DOUBLED.sub(r"\1", meant):
            return other
        replaced = len(given) == len(meant) and sorted(given) != sorted(meant)
        near = difflib.SequenceMatcher(None, given, meant).ratio() >= _MISSPELT
        if near and not replaced and meant not in given:
            return other
    return None


def split_limits(
    space: SearchSpace, limits: Sequence[str] | str
) -> tuple[SearchSpace, list[MeasuredLimit]]:
    """Split limits: the space constrained by those whose names it knows, and the measured others.

    Raises:
        SpaceError: If a limit names what the space knows, in a form that it does not.
        UnknownNameError: If it can only be one of the space, which does not know its names.
        SettingError: If it names nothing of the space, and is no comparison with a number.

    Example:
        >>> from nasgoat import nasbench201
        >>> space, measured = split_limits(nasbench201(), ["nor_conv_3x3 <= 2", "latency <= 5"])
        >>> [limit.text for limit in space.limits], [limit.text for limit in measured]
        (['nor_conv_3x3 <= 2'], ['latency <= 5'])
    """
    measured = []
    for text in (limits,) if isinstance(limits, str) else limits:
        try:
            space = space.constrain(text)
        except (SpaceError, UnknownNameError) as refusal:
            measured.append(_read_measured_limit(text, name_words(space), refusal))
    return space, measured


def _read_measured_limit(
    text: str, words: Mapping[str, str], refusal: NasgoatError
) -> MeasuredLimit:
    """A limit that is none of the space: one on a metric, or neither."""
    if not isinstance(text, str):
        raise refusal
    head = _HEAD.match(text)
    name = head[0].strip() if head else ""
    named = [word for word in re.findall(r"\w+", name) if word in words]
    if _SPACE_ALONE.search(name) or (named and _SUM.search(name)):
        raise refusal
    try:
        limit = MeasuredLimit.parse(text)
    except SettingError:
        if not name or named or _SUM.search(name) or find_misspelt(name, words):
            raise refusal from None
        raise
    if _ARITHMETIC.search(name):
        raise SettingError(
            "a limit on what the objective returns must compare one value with a number, got "
            f"{text!r}; let the objective return that too"
        )
    return limit


def refuse_contradictions(limits: Sequence[MeasuredLimit]) -> None:
    """Raise :class:`SettingError` if no value of some metric keeps all its limits."""
    for low, high in itertools.product(limits, limits):
        below = (low.sense, high.sense) == (">=", "<=") and low.bound > high.bound
        if low.name == high.name and below:
            raise SettingError(
                f"limits must leave some value of {low.name}, got {low.text} and {high.text}"
            )
