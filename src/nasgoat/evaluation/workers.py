"""What a worker gets of the machine, and what its process does with a graph.

Which device and how many threads an evaluation gets are variables of its environment. Each thread
that evaluates has a slot, the smallest number that no other living thread of the process holds. The
number chooses among the devices in turn, so that N workers on N devices have one each, and 2N
workers share each device by two. The process of a worker runs the objective: a Python function by
its name, or a command that gets the graph as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasgoat.errors import SettingError
from nasgoat.evaluation.fidelities import (
    CHECKPOINT,
    FIDELITY,
    call_objective,
    make_checkpoint,
)
from nasgoat.evaluation.objectives import (
    ERROR,
    KEPT_TEXT,
    FailureKind,
    Outcome,
    describe_exception,
    find_function,
)
from nasgoat.graphs import LabeledGraph
from nasgoat.process_tree import THREAD_VARIABLES

#: The number of the slot, from 0; the device of the slot; what CUDA takes the device from.
SLOT, DEVICE, CUDA = "NASGOAT_SLOT", "NASGOAT_DEVICE", "CUDA_VISIBLE_DEVICES"
#: The folder of the run.
FOLDER = "NASGOAT_FOLDER"

_lock = threading.Lock()
_taken: set[int] = set()
_own = threading.local()


class _Seat:
    """A slot while its thread lives."""

    def __init__(self) -> None:
        with _lock:
            self.number = next(number for number in range(len(_taken) + 1) if number not in _taken)
            _taken.add(self.number)
        weakref.finalize(self, _taken.discard, self.number)


def find_own_slot() -> int:
    """The slot of the calling thread, which it keeps."""
    if getattr(_own, "seat", None) is None:
        _own.seat = _Seat()
    number: int = _own.seat.number
    return number


@dataclass(frozen=True)
class Share:
    """What of the machine each worker gets.

    Args:
        devices: The devices, given to the slots in turn; none for no such choice.
        threads: Threads of numerical libraries in each worker; None for what the environment says,
            or else one.
        folder: The folder of the run, for checkpoints; None if there is none.

    Example:
        >>> Share(("0", "1"), threads=2).variables(slot=3)["CUDA_VISIBLE_DEVICES"]
        '1'
    """

    devices: tuple[str, ...] = ()
    threads: int | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise SettingError(f"threads per worker must be at least 1, got {self.threads}")

    def variables(self, slot: int) -> dict[str, str]:
        """What the environment of the worker in a slot has in addition to that of this process."""
        found = {SLOT: str(slot)}
        if self.folder is not None:
            found[FOLDER] = self.folder
        if self.devices:
            device = self.devices[slot % len(self.devices)]
            found |= {DEVICE: device, CUDA: device}
        if self.threads is not None:
            found |= dict.fromkeys(THREAD_VARIABLES, str(self.threads))
        return found

    def describe(self, workers: int, fresh_process: bool = False) -> str:
        """A line that says what each worker's process gets.

        Example:
            >>> Share(("0", "1"), threads=2).describe(2)
            'workers: 2 on devices 0, 1; 2 threads each; a process serves many evaluations'
        """
        threads = self.threads or os.environ.get(THREAD_VARIABLES[0], "1")
        plural = "" if str(threads) == "1" else "s"
        where = f" on device{'s' * (len(self.devices) > 1)} " + ", ".join(self.devices)
        ways = ("a process serves many evaluations", "every evaluation has a new process")
        return (
            f"workers: {workers}{where if self.devices else ''}; {threads} thread{plural} each; "
            f"{ways[fresh_process]}"
        )


def list_devices(
    gpus: int | str | Sequence[int | str] | None, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """The devices that ``--gpus`` or ``gpus=`` asks for.

    Args:
        gpus: How many, of those that ``CUDA_VISIBLE_DEVICES`` lists if it is set; or which, as that
            variable names them: ``"0,2"``, ``[0, 2]``. One by its name has a comma: ``"3,"``.
        environment: Where that variable is looked up.

    Example:
        >>> list_devices(2, {}), list_devices("2", {"CUDA_VISIBLE_DEVICES": "4,5,6"})
        (('0', '1'), ('4', '5'))
        >>> list_devices("0,2"), list_devices("3,"), list_devices([1])
        (('0', '2'), ('3',), ('1',))
    """
    if gpus is None:
        return ()
    if isinstance(gpus, str) and gpus.strip().isdigit():
        gpus = int(gpus)
    if isinstance(gpus, int):
        return _count_devices(gpus, environment)
    parts = gpus.removesuffix(",").split(",") if isinstance(gpus, str) else gpus
    names = tuple(str(part).strip() for part in parts)
    if not names or "" in names or len(set(names)) < len(names):
        raise SettingError(f"gpus must be a number or distinct names like 0,1,2,3, got {gpus!r}")
    return names


def _count_devices(number: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    if number < 1:
        raise SettingError(f"gpus must be at least 1, got {number}; leave it out for none")
    if environment.get(CUDA) is None:
        return tuple(map(str, range(number)))
    visible = [name.strip() for name in environment[CUDA].split(",") if name.strip()]
    if number > len(visible):
        raise SettingError(
            f"gpus must be at most the {len(visible)} that {CUDA} lists, got {number}"
        )
    return tuple(visible[:number])


def evaluate(request: Mapping[str, Any]) -> str:
    """Evaluate the graph of a request.

    Args:
        request: ``graph``, ``seed``, either ``objective`` (``module:function``) or ``command``, and
            which metrics are ``needed``; ``fidelity`` and ``checkpoints`` for objectives that have
            fidelities.

    Returns:
        JSON with ``metrics`` and ``failure``, one of which is null.
    """
    _reseed(int(request["seed"]))
    graph = LabeledGraph.from_json(request["graph"])
    needed, value = request["needed"], request.get("fidelity")
    checkpoint = make_checkpoint(request.get("checkpoints"), graph)
    if request["command"]:
        outcome = run_command(list(request["command"]), graph, needed, value, checkpoint)
    else:
        outcome = run_function(request["objective"], graph, needed, value, checkpoint)
    failure = outcome.failure and outcome.failure.to_dict()
    return json.dumps({"metrics": outcome.metrics, "failure": failure})


def run_function(
    path: str,
    graph: LabeledGraph,
    needed: Sequence[str] = ERROR,
    value: float | None = None,
    checkpoint: Path | None = None,
) -> Outcome:
    """Call the objective and check what it returns; nothing it raises escapes."""
    try:
        answer = call_objective(find_function(path), graph, value, checkpoint)
        return Outcome.of(answer, needed)
    except MemoryError:
        return Outcome.failed(FailureKind.MEMORY, "the objective ran out of memory")
    except (Exception, SystemExit) as problem:
        return describe_exception(problem)


def run_command(
    command: list[str],
    graph: LabeledGraph,
    needed: Sequence[str] = ERROR,
    value: float | None = None,
    checkpoint: Path | None = None,
) -> Outcome:
    """Run a command without a shell, the graph as JSON on its standard input."""
    told = {} if value is None else {FIDELITY: f"{value:g}"}
    if checkpoint is not None:
        told[CHECKPOINT] = str(checkpoint)
    try:
        done = subprocess.run(  # noqa: S603 the user's own command, never a shell
            command,
            input=graph.to_json(),
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **told},
        )
    except OSError as problem:
        return describe_exception(problem)
    if done.returncode < 0:  # as when the system runs out of memory: worth another start
        return Outcome.failed(
            FailureKind.LOST, f"the command was killed by signal {-done.returncode}"
        )
    if done.returncode != 0:
        reason = f"the command must exit with 0, got {done.returncode}"
        return Outcome.failed(FailureKind.EXCEPTION, reason, done.stderr[-KEPT_TEXT:])
    lines = done.stdout.strip().splitlines()
    for text in (done.stdout, lines[-1] if lines else ""):
        with contextlib.suppress(ValueError, RecursionError):
            return Outcome.of(json.loads(text), needed)
    shown = done.stdout.strip()[-200:]
    reason = f"the command must print a number or an object as JSON, got {shown!r}"
    return Outcome.failed(FailureKind.VALUE, reason)


def _reseed(seed: int) -> None:
    """A process that serves many evaluations must not carry random state between them."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
