"""Running an objective: a Python function by its name, or a command that gets the graph as JSON.

This is what the child process of an evaluator does; see :mod:`nasgoat.child_process`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from nasgoat.evaluation.outcomes import FailureKind, Outcome
from nasgoat.graphs import LabeledGraph

_TAIL = 4000  # characters of a traceback or of standard error that are kept


def evaluate(request: Mapping[str, Any]) -> str:
    """Evaluate the graph of a request.

    Args:
        request: ``graph``, ``seed`` and either ``objective`` (``module:function``) or ``command``.

    Returns:
        JSON with ``metrics`` and ``failure``, one of which is null.
    """
    _reseed(int(request["seed"]))
    graph = LabeledGraph.from_json(request["graph"])
    if request["command"]:
        outcome = run_command(list(request["command"]), graph)
    else:
        outcome = run_function(request["objective"], graph)
    failure = outcome.failure and outcome.failure.to_dict()
    return json.dumps({"metrics": outcome.metrics, "failure": failure})


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


def function_path(objective: Callable[..., Any]) -> str | None:
    """``module:function`` of a function that another process can import; None of any other.

    Example:
        >>> import json
        >>> function_path(json.dumps), function_path(lambda graph: 0.0)
        ('json:dumps', None)
    """
    module, name = getattr(objective, "__module__", None), getattr(objective, "__qualname__", "")
    if not module or module == "__main__" or not name or "<" in name:
        return None
    return f"{module}:{name}"


def run_function(path: str, graph: LabeledGraph) -> Outcome:
    """Call the objective and check what it returns; nothing it raises escapes."""
    try:
        return Outcome.of(find_function(path)(graph))
    except MemoryError:
        return Outcome.failed(FailureKind.MEMORY, "the objective ran out of memory")
    except (Exception, SystemExit) as problem:
        return describe_exception(problem)


def run_command(command: list[str], graph: LabeledGraph) -> Outcome:
    """Run a command without a shell, the graph as JSON on its standard input."""
    try:
        done = subprocess.run(  # noqa: S603 the user's own command, never a shell
            command, input=graph.to_json(), capture_output=True, text=True, errors="replace"
        )
    except OSError as problem:
        return describe_exception(problem)
    if done.returncode < 0:  # as when the system runs out of memory: worth another start
        return Outcome.failed(
            FailureKind.LOST, f"the command was killed by signal {-done.returncode}"
        )
    if done.returncode != 0:
        reason = f"the command must exit with 0, got {done.returncode}"
        return Outcome.failed(FailureKind.EXCEPTION, reason, done.stderr[-_TAIL:])
    lines = done.stdout.strip().splitlines()
    for text in (done.stdout, lines[-1] if lines else ""):
        with contextlib.suppress(ValueError, RecursionError):
            return Outcome.of(json.loads(text))
    shown = done.stdout.strip()[-200:]
    reason = f"the command must print a number or an object as JSON, got {shown!r}"
    return Outcome.failed(FailureKind.VALUE, reason)


def describe_exception(problem: BaseException) -> Outcome:
    """The failure of an evaluation in which the objective raised an exception."""
    text = " ".join(str(problem).split())[:300]
    reason = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    lines = "".join(traceback.format_exception(problem))
    return Outcome.failed(FailureKind.EXCEPTION, reason, lines[-_TAIL:])


def _reseed(seed: int) -> None:
    """A process that serves many evaluations must not carry random state between them."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
