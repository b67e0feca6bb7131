"""A process that evaluates graphs for its parent, one at a time: ``python -m nasgoat.evaluation``.

It reads one JSON request a line from standard input and answers one JSON line. It leads its own
process group, so that its parent can kill it with everything it started, and kills the group itself
when its parent is gone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from nasgoat.evaluation.outcomes import FailureKind, Outcome
from nasgoat.graphs import LabeledGraph

_TAIL = 4000  # characters of a traceback or of standard error that are kept


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


def run_function(path: str, graph: LabeledGraph) -> Outcome:
    """Call the objective and check what it returns; nothing it raises escapes."""
    try:
        return Outcome.of(find_function(path)(graph))
    except MemoryError:
        return Outcome.failed(FailureKind.MEMORY, "the objective ran out of memory")
    except (Exception, SystemExit) as problem:
        return raised(problem)


def run_command(command: list[str], graph: LabeledGraph) -> Outcome:
    """Run a command without a shell, the graph as JSON on its standard input."""
    try:
        done = subprocess.run(  # noqa: S603 the user's own command, never a shell
            command, input=graph.to_json(), capture_output=True, text=True, errors="replace"
        )
    except OSError as problem:
        return raised(problem)
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


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the parent gets for one request."""
    if "probe" in request or "call" in request:
        try:
            function = find_function(request.get("probe") or request["call"])
            if "call" in request:
                function(**request["arguments"])
        except (Exception, SystemExit) as problem:
            return {"problem": str(problem) or type(problem).__name__}
        return {}
    _reseed(int(request["seed"]))
    graph = LabeledGraph.from_json(request["graph"])
    if request.get("command"):
        outcome = run_command(request["command"], graph)
    else:
        outcome = run_function(request["objective"], graph)
    failure = outcome.failure and outcome.failure.to_dict()
    return {"metrics": outcome.metrics, "failure": failure}


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    # What the objective prints must not reach the pipe of the answers.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    while True:
        reply = answer(json.loads(waiting.get()))
        print(json.dumps(reply), file=answers, flush=True)


def _listen(requests: TextIO, waiting: queue.SimpleQueue[str]) -> None:
    for line in requests:
        waiting.put(line)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _reseed(seed: int) -> None:
    """A process that serves many evaluations must not carry random state between them."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def raised(problem: BaseException) -> Outcome:
    """The failure that an exception of the objective stands for."""
    text = " ".join(str(problem).split())[:300]
    reason = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    lines = "".join(traceback.format_exception(problem))
    return Outcome.failed(FailureKind.EXCEPTION, reason, lines[-_TAIL:])
