"""Objectives: how a function is named, and what it answers: metrics, or a failure that says why.

A search of several objectives, or with limits on what is measured, says which metrics it needs; one
of a single error needs ``error``.
"""

from __future__ import annotations

import enum
import importlib
import json
import math
import reprlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypeAlias

from nasgoat.errors import ObservationError

#: Takes a graph, and a fidelity where there are several; returns its error or a mapping with
#: ``error`` and more metrics.
Objective: TypeAlias = Callable[..., float | Mapping[str, Any]]

#: What an objective must return unless a search says otherwise.
ERROR = ("error",)

#: Larger errors are refused: no training error comes near this, so one is an overflow.
LARGEST_ERROR = 1e100
#: Characters of a traceback or of standard error that are kept.
KEPT_TEXT = 4000

_MUST_BE_FINITE = "must be finite"  # in the reason of a failure by NaN or infinity

#: Characters of JSON that all metrics of an evaluation may have; every reader holds them.
LARGEST_METRICS = 4 * 2**20


class FailureKind(enum.StrEnum):
    """Why an evaluation has no error."""

    EXCEPTION = "exception"  # the objective raised, or its command left with another code than 0
    VALUE = "value"  # it returned something that can't be learnt from
    TIMEOUT = "timeout"  # it ran longer than allowed and was killed
    MEMORY = "memory"  # it used more memory than allowed and was killed
    LOST = "lost"  # its process or worker died
    CANCELLED = "cancelled"  # the search was cancelled; it is evaluated again on resume


@dataclass(frozen=True)
class Failure:
    """Why an evaluation has no error.

    Args:
        kind: The sort of failure.
        reason: One line for a person.
        traceback: The objective's own traceback, if it raised.
    """

    kind: FailureKind
    reason: str
    traceback: str = ""

    def to_dict(self) -> dict[str, str]:
        """A JSON-ready mapping."""
        return {"kind": str(self.kind), "reason": self.reason, "traceback": self.traceback}

    @property
    def diverged(self) -> bool:
        """Whether a value was NaN or infinite: a training that went wrong, not the objective."""
        return self.kind is FailureKind.VALUE and _MUST_BE_FINITE in self.reason

    @classmethod
    def from_dict(cls, document: Mapping[str, str]) -> Failure:
        """Read what :meth:`to_dict` wrote."""
        kind = FailureKind(document["kind"])
        return cls(kind, document["reason"], document.get("traceback", ""))


@dataclass(frozen=True)
class Outcome:
    """What became of one evaluation: either metrics or a failure.

    Args:
        metrics: ``error`` and what else the objective returned; None if it failed.
        failure: Why it failed; None if it did not.
        attempts: How often it was started.

    Example:
        >>> Outcome.of({"error": 4.2, "epochs": 10}).metrics
        {'error': 4.2, 'epochs': 10}
        >>> Outcome.of(float("nan")).failure.reason
        'the error must be finite, got nan'
    """

    metrics: Mapping[str, Any] | None
    failure: Failure | None = None
    attempts: int = 1

    @classmethod
    def of(cls, answer: object, needed: Sequence[str] = ERROR) -> Outcome:
        """The outcome of an objective that returned this, if these metrics are needed."""
        try:
            return cls(check_metrics(answer, needed))
        except ObservationError as problem:
            return cls(None, Failure(FailureKind.VALUE, str(problem)))

    @classmethod
    def failed(cls, kind: FailureKind, reason: str, traceback: str = "") -> Outcome:
        """The outcome of an evaluation that failed."""
        return cls(None, Failure(kind, reason, traceback))


def read_error(metrics: Mapping[str, Any]) -> float:
    """The error among metrics; the first of them if none has that name.

    Example:
        >>> read_error({"latency": 3, "error": 5.5}), read_error({"latency": 3})
        (5.5, 3.0)
    """
    return float(metrics["error"] if "error" in metrics else next(iter(metrics.values())))


def check_metrics(answer: object, needed: Sequence[str] = ERROR) -> dict[str, Any]:
    """What an objective returned, as metrics of which those that are needed come first.

    Args:
        answer: A number where one metric is needed, else a mapping.
        needed: Names of metrics that must be finite numbers of sensible size.

    Raises:
        ObservationError: If a needed metric is missing, or is no such number.

    Example:
        >>> check_metrics(3)
        {'error': 3.0}
        >>> check_metrics({"latency": 4, "error": 6.1, "epochs": 10}, ["error", "latency"])
        {'error': 6.1, 'latency': 4.0, 'epochs': 10}
    """
    if not isinstance(answer, Mapping):
        if len(needed) > 1:
            names = ", ".join(map(repr, needed))
            raise ObservationError(
                f"the objective must return a mapping with {names}, got {reprlib.repr(answer)}"
            )
        return {name: _check_number(name, answer) for name in needed}
    for name in needed:
        if name not in answer:
            raise ObservationError(_describe_missing(name, [str(key) for key in answer]))
    others = {str(name): _make_plain(x) for name, x in answer.items() if name not in needed}
    metrics = {**{name: _check_number(name, answer[name]) for name in needed}, **others}
    if (size := len(json.dumps(metrics))) > LARGEST_METRICS:
        raise ObservationError(
            f"the metrics must have at most {LARGEST_METRICS // 2**20} MiB as JSON, "
            f"got {size / 2**20:.1f} MiB; write the rest to a file and return its name"
        )
    return metrics


def _describe_missing(name: str, given: Sequence[str]) -> str:
    """A line that names a metric that is missing, those that came, and the nearest of these."""
    near = get_close_matches(name, given, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"the objective must return {name!r}, got {reprlib.repr(sorted(given))}{hint}"


def _check_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ObservationError(f"the {name} must be a number, got {reprlib.repr(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ObservationError(f"the {name} {_MUST_BE_FINITE}, got {reprlib.repr(value)}")
    if abs(number) > LARGEST_ERROR:
        raise ObservationError(
            f"the {name} must be at most {LARGEST_ERROR:g} in size, got {number}"
        )
    return number


def _make_plain(value: object) -> Any:
    """A further metric as JSON holds it; what JSON can't hold becomes its text."""
    if isinstance(value, Real) and not isinstance(value, bool | int):
        value = float(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return reprlib.repr(value)
    return value


def describe_exception(problem: BaseException) -> Outcome:
    """The failure of an evaluation in which the objective raised an exception."""
    text = " ".join(str(problem).split())[:300]
    reason = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    lines = "".join(traceback.format_exception(problem))
    return Outcome.failed(FailureKind.EXCEPTION, reason, lines[-KEPT_TEXT:])


def describe_problem(path: str) -> str | None:
    """Why ``module:function`` can't be used as an objective; None if it can."""
    try:
        find_function(path)
    except (Exception, SystemExit) as problem:
        return str(problem) or type(problem).__name__
    return None


def find_function(path: str) -> Callable[..., Any]:
    """The function that ``module:function`` names.

    Raises:
        LookupError: If there is no such module or function.

    Example:
        >>> find_function("math:sqrt")(4.0)
        2.0
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise LookupError(f"the objective must be module:function, got {path!r}")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as problem:
        raise LookupError(f"the module of {path!r} must be importable, got {problem}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise LookupError(f"{module_name} must have a function {name!r}, got none")
        found = getattr(found, part)
    if not callable(found):
        raise LookupError(f"{path!r} must be a function, got {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


def name_function(objective: Callable[..., Any]) -> str | None:
    """``module:function`` of a function that another process can import; None of any other.

    Example:
        >>> import json
        >>> name_function(json.dumps), name_function(lambda graph: 0.0)
        ('json:dumps', None)
    """
    module, name = getattr(objective, "__module__", None), getattr(objective, "__qualname__", "")
    if not module or module == "__main__" or not name or "<" in name:
        return None
    return f"{module}:{name}"
