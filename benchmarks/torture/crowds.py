"""Figures 4 and 5: workers that die or hang, and many processes on one study."""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import optuna

from nasgoat import GoatSampler, LabeledGraph, nasbench201, suggest_graph
from nasgoat.child_process import ChildProcess
from nasgoat.errors import ChildTimeoutError, StudyError
from nasgoat.evaluation import FailureKind, Isolated, kill_children
from nasgoat.integrations import StorageAddress, StudyLedger

TASKS, KILLED, HUNG = 100, 20, 10
LATEST = 2.0  # seconds after its limit in which a hanging task must be gone
_OBJECTIVE = """
import json, os, signal, sys, time
KILLED, HUNG = 20, 10
graph = json.load(sys.stdin)
number = len(graph["edges"]) + 1
with open("runs.txt", "a") as file:
    file.write(f"{number}\\n")
if number <= KILLED:
    os.killpg(0, signal.SIGKILL)
if number <= KILLED + HUNG:
    time.sleep(1000)
print(number)
"""


def workers() -> tuple[bool, str]:
    """100 tasks of which 20 kill their worker and 10 hang."""
    late: list[float] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _timed_kills(late):
        Path("objective.py").write_text(_OBJECTIVE)
        evaluator = Isolated(command=(sys.executable, "objective.py"), timeout=20.0)
        # A graph with i edges stands for task i + 1.
        pairs = [(u, v) for u in range(16) for v in range(u + 1, 16)]
        graphs = [LabeledGraph.from_edges(16, pairs[:i]) for i in range(TASKS)]
        with ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(evaluator, graphs, range(TASKS)))
        runs = Counter(Path("runs.txt").read_text().split())
    kill_children()
    kinds = Counter(o.failure.kind if o.failure else "returned" for o in outcomes)
    good = (
        kinds["returned"] == TASKS - KILLED - HUNG
        and kinds[FailureKind.LOST] == KILLED
        and kinds[FailureKind.TIMEOUT] == HUNG
        and max(runs.values()) <= 2
        and max(late) <= LATEST
    )
    text = (
        f"{TASKS} tasks: {kinds['returned']} returned, {kinds[FailureKind.LOST]} lost after "
        f"{KILLED} kills, {kinds[FailureKind.TIMEOUT]} timed out of {HUNG}, at most "
        f"{max(late):.2f} s after their limit, none run more than {max(runs.values())} times"
    )
    return good, text


@contextlib.contextmanager
def _timed_kills(late: list[float]) -> Iterator[None]:
    """Note how long after its time limit each hanging task is gone."""
    ask = ChildProcess.ask

    def timed(self: ChildProcess, *args: Any, seconds: float = math.inf, **rest: Any) -> Any:
        start = time.monotonic()
        try:
            return ask(self, *args, seconds=seconds, **rest)
        except ChildTimeoutError:
            late.append(time.monotonic() - start - seconds)
            raise

    with patch.object(ChildProcess, "ask", timed):
        yield


def _crowd_member(url: str, name: str, trials: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = nasbench201()
    address = StorageAddress.of(url)
    sampler = GoatSampler(space, initial=10)
    study = optuna.load_study(study_name=name, storage=address.full, sampler=sampler)
    study.optimize(lambda trial: len(suggest_graph(trial, space).edges), n_trials=trials)


def crowd(url: str, processes: int = 8, trials: int = 20) -> tuple[bool, str]:
    """Several processes optimise one study at the same time."""
    name = f"crowd-{time.time_ns()}"
    address = StorageAddress.of(url)
    optuna.create_study(study_name=name, storage=address.full)
    context = multiprocessing.get_context("spawn")
    members = [
        context.Process(target=_crowd_member, args=(url, name, trials)) for _ in range(processes)
    ]
    for member in members:
        member.start()
    for member in members:
        member.join()
    found = optuna.load_study(study_name=name, storage=address.full).trials
    values = [trial.params.get("graph") for trial in found]
    complete = sum(trial.state.name == "COMPLETE" for trial in found)
    wanted = processes * trials
    good = complete == len(set(values)) == len(found) == wanted
    return good, f"{processes} x {trials}: {complete} complete, {len(set(values))} distinct graphs"


def refusals(url: str, times: int = 50) -> tuple[bool, str]:
    """A second driver tries to take a study that has one."""
    name = f"refused-{time.time_ns()}"
    space, address = nasbench201(), StorageAddress.of(url)
    refused = 0
    with StudyLedger(address, name, space, {}):
        for _ in range(times):
            child = os.fork()
            if child == 0:
                try:
                    StudyLedger(address, name, space, {})
                except StudyError:
                    os._exit(42)
                os._exit(0)
            refused += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    return refused == times, f"a second driver refused {refused} of {times} times"


def hash_seeds() -> tuple[bool, str]:
    """The same proposals whatever Python's hash seed is."""
    script = (
        "import json, optuna; from nasgoat import *; space = nasbench201();"
        "optuna.logging.set_verbosity(optuna.logging.ERROR);"
        "study = optuna.create_study(sampler=GoatSampler(space, initial=5));"
        "study.optimize(lambda t: len(suggest_graph(t, space).edges), n_trials=12);"
        "print(json.dumps([t.params['graph'] for t in study.trials]))"
    )
    answers = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(  # noqa: S603 our own script
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        answers.add(json.dumps(json.loads(done.stdout)))
    return len(answers) == 1, f"{len(answers)} sequence of proposals under 3 hash seeds"
