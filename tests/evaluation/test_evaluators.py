"""Objectives in child processes: values, failures, limits, retries."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nasgoat import NodeLabeledSpace, search
from nasgoat.errors import SettingError
from nasgoat.evaluation import (
    FailureKind,
    Inline,
    Isolated,
    Outcome,
    Share,
    allow_children,
    kill_children,
    list_devices,
)
from nasgoat.graphs import LabeledGraph

CELL = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv", "output"])

MODULE = """
import os, signal, subprocess, sys, time

def edges(graph):
    print("this must not reach the answers")
    return {"error": len(graph.edges), "labels": list(graph.node_labels), "odd": object}

def fails(graph):
    raise ValueError("bad cell")

def hangs(graph):
    started = subprocess.Popen(["sleep", "1000"])
    open("started", "w").write(str(started.pid))
    time.sleep(1000)

def dies(graph):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_once(graph):
    if os.path.exists("died"):
        return 1.5
    open("died", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)

def leaves(graph):
    sys.exit(3)

def hoards(graph):
    block = bytearray(400 * 2**20)
    time.sleep(1000)

def hoards_elsewhere(graph):
    code = "import time; block = bytearray(400 * 2**20); time.sleep(1000)"
    inner = f"import os, sys; os.fork() and sys.exit(); os.setsid(); {code}"
    subprocess.Popen([sys.executable, "-c", inner], start_new_session=True).wait()  # an orphan now
    time.sleep(1000)

def forks(graph):
    os.fork()
    time.sleep(0.1 * (os.getppid() == PARENT))  # the copy comes back first
    return len(graph.edges)

def forgets(graph):
    started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    open("started", "w").write(str(started.pid))
    return 1.0

def overflows(graph):
    return {"error": 1.0, "losses": "a" * 5 * 2**20}

PARENT = os.getppid()

def tells(graph):
    names = ("NASGOAT_SLOT", "NASGOAT_DEVICE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
             "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    time.sleep(0.3)
    return {"error": 1.0, "process": os.getpid(), **{name: os.environ.get(name) for name in names}}

def draws(graph):
    import random
    return random.random()
"""


@pytest.fixture(autouse=True)
def objectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "objectives.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    allow_children()
    kill_children()


def kind(outcome: Outcome) -> FailureKind:
    assert outcome.failure is not None
    return outcome.failure.kind


def reason(outcome: Outcome) -> str:
    assert outcome.failure is not None
    return outcome.failure.reason


def test_a_function_gets_the_graph_and_its_metrics_come_back() -> None:
    outcome = Isolated("objectives:edges")(CELL, 0)
    assert outcome.metrics is not None
    assert outcome.metrics["error"] == 2.0
    assert outcome.metrics["labels"] == ["input", "conv", "output"]
    assert outcome.metrics["odd"] == "<class 'object'>"


def test_modules_are_those_of_the_folder_that_the_process_is_in_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Isolated("objectives:edges")(CELL, 0).metrics
    other = tmp_path / "other"
    other.mkdir()
    (other / "objectives.py").write_text("def edges(graph):\n    return 7.0\n")
    monkeypatch.chdir(other)
    Isolated("objectives:edges").check()
    outcome = Isolated("objectives:edges")(CELL, 0)
    assert outcome.metrics is not None
    assert outcome.metrics["error"] == 7.0


def test_an_exception_is_a_failure_with_its_traceback_and_the_child_lives_on() -> None:
    outcome = Isolated("objectives:fails")(CELL, 0)
    assert kind(outcome) is FailureKind.EXCEPTION
    assert reason(outcome) == "ValueError: bad cell"
    assert outcome.failure is not None
    assert 'raise ValueError("bad cell")' in outcome.failure.traceback
    assert kind(Isolated("objectives:leaves")(CELL, 0)) is FailureKind.EXCEPTION
    assert Isolated("objectives:edges")(CELL, 0).metrics


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), None, "0.5", [0.5], True, 1e200, 10**400, 1j, {}],
)
def test_values_that_cannot_be_learnt_from_fail_and_are_named(value: object) -> None:
    outcome = Inline(lambda graph: value)(CELL, 0)  # type: ignore[arg-type, return-value]
    assert kind(outcome) is FailureKind.VALUE
    assert "got" in reason(outcome)


def test_a_hanging_evaluation_is_killed_with_all_it_started() -> None:
    start = time.monotonic()
    outcome = Isolated("objectives:hangs", timeout=0.5)(CELL, 0)
    assert kind(outcome) is FailureKind.TIMEOUT
    assert outcome.attempts == 1
    assert time.monotonic() - start < 60
    assert gone(int(Path("started").read_text()))
    assert Isolated("objectives:edges", timeout=60)(CELL, 0).metrics


def gone(process: int) -> bool:
    """Whether a process ends; its state is looked at for some seconds."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # dead; nobody has asked for its exit code yet
            return True
        time.sleep(0.05)
    return False


def test_a_command_that_hangs_is_killed_with_all_it_started() -> None:
    script = (
        "import subprocess, time; p = subprocess.Popen(['sleep', '1000']); "
        "open('started', 'w').write(str(p.pid)); time.sleep(1000)"
    )
    outcome = Isolated(command=(sys.executable, "-c", script), timeout=3.0)(CELL, 0)
    assert kind(outcome) is FailureKind.TIMEOUT
    assert gone(int(Path("started").read_text()))


def test_a_command_that_is_killed_is_tried_once_more() -> None:
    script = (
        "import os, signal, sys\nif not os.path.exists('died'):\n    open('died', 'w').close()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\nprint(0.5)"
    )
    found = Isolated(command=(sys.executable, "-c", script))(CELL, 0)
    assert found.metrics == {"error": 0.5}
    assert found.attempts == 2
    Path("died").unlink()
    lost = Isolated(command=(sys.executable, "-c", script), retries=0)(CELL, 0)
    assert kind(lost) is FailureKind.LOST
    assert "signal 9" in reason(lost)


def test_a_dead_process_is_tried_once_more() -> None:
    lost = Isolated("objectives:dies")(CELL, 0)
    assert kind(lost) is FailureKind.LOST
    assert "signal 9" in reason(lost)
    assert lost.attempts == 2
    found = Isolated("objectives:dies_once")(CELL, 0)
    assert found.metrics == {"error": 1.5}
    assert found.attempts == 2


def test_copies_that_an_objective_makes_of_its_process_shift_no_answers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    chains = [LabeledGraph.from_edges(n, [(i, i + 1) for i in range(n - 1)]) for n in range(2, 6)]
    outcomes = [Isolated("objectives:forks")(chain, 0) for chain in chains]
    assert [outcome.metrics for outcome in outcomes] == [{"error": float(n)} for n in range(1, 5)]
    kill_children()
    assert "must not return in a copy of its process" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_in_a_session_of_its_own_does_not_outlive_the_search() -> None:
    assert Isolated("objectives:forgets")(CELL, 0).metrics == {"error": 1.0}
    started = int(Path("started").read_text())
    os.kill(started, 0)
    kill_children()
    assert gone(started)


def test_metrics_that_are_too_large_are_named() -> None:
    outcome = Isolated("objectives:overflows")(CELL, 0)
    assert kind(outcome) is FailureKind.VALUE
    assert "the metrics must have at most 4 MiB as JSON, got 5.0 MiB" in reason(outcome)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["hoards", "hoards_elsewhere"])
def test_an_evaluation_over_its_memory_is_killed(name: str) -> None:
    outcome = Isolated(f"objectives:{name}", memory_limit=200 * 2**20, timeout=60)(CELL, 0)
    assert kind(outcome) is FailureKind.MEMORY


def test_random_state_follows_the_number_not_the_process() -> None:
    drawing = Isolated("objectives:draws", seed=1)
    first = drawing(CELL, 7).metrics
    kill_children()
    assert drawing(CELL, 7).metrics == first
    assert drawing(CELL, 8).metrics != first


def test_a_command_reads_json_without_a_shell() -> None:
    script = "import json, sys; g = json.load(sys.stdin); print(len(g['edges']) / 4)"
    assert Isolated(command=(sys.executable, "-c", script))(CELL, 0).metrics == {"error": 0.5}
    assert reason(Isolated(command=("echo", "$HOME; 1"))(CELL, 0)).endswith("got '$HOME; 1'")
    failed = Isolated(command=(sys.executable, "-c", "import sys; sys.exit(4)"))(CELL, 0)
    assert "exit with 0, got 4" in reason(failed)
    assert "No such file" in reason(Isolated(command=("no-such-program",))(CELL, 0))


def test_a_missing_objective_is_refused_before_any_evaluation() -> None:
    with pytest.raises(SettingError, match="must be importable"):
        Isolated("no_such_module:f").check()
    with pytest.raises(SettingError, match="must have a function 'nothing'"):
        Isolated("objectives:nothing").check()
    with pytest.raises(SettingError, match="must be module:function"):
        Isolated("objectives").check()
    with pytest.raises(SettingError, match="both or none"):
        Isolated()
    with pytest.raises(SettingError, match="timeout must be a positive number"):
        Isolated("m:f", timeout=-1)


def test_children_die_with_their_parent(tmp_path: Path) -> None:
    script = (
        "import os, signal, threading, time\n"
        "from nasgoat.evaluation import Isolated\n"
        "from nasgoat.evaluation.isolated import _get_own_child\n"
        "from nasgoat.graphs import LabeledGraph\n"
        "cell = LabeledGraph.from_edges(2, [(0, 1)])\n"
        "def work():\n"
        "    print(_get_own_child().ask(os.getpid), flush=True)\n"
        "    Isolated('objectives:hangs')(cell, 0)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(3)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    child = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the child outlived its parent")


SPACE = NodeLabeledSpace((3, 4), ["a", "b"])


def told(**options: object) -> list[dict[str, object]]:
    """What the evaluations of a small search tell of their processes."""
    result = search("objectives:tells", SPACE, 6, initial=6, **options)  # type: ignore[arg-type]
    return [dict(evaluation.metrics) for evaluation in result.evaluations]


def test_each_worker_has_a_device_of_its_own_and_keeps_it() -> None:
    rows = told(gpus="4,7")
    by_process = {(r["process"], r["NASGOAT_DEVICE"], r["NASGOAT_SLOT"]) for r in rows}
    assert {device for _, device, _ in by_process} == {"4", "7"}
    assert len(by_process) == 2
    assert all(r["CUDA_VISIBLE_DEVICES"] == r["NASGOAT_DEVICE"] for r in rows)


def test_four_workers_share_two_devices() -> None:
    rows = told(gpus=2, workers=4)
    pairs = {(r["NASGOAT_SLOT"], r["CUDA_VISIBLE_DEVICES"]) for r in rows}
    assert {int(str(slot)) % 2 == int(str(device)) for slot, device in pairs} == {True}
    assert len(pairs) == 4


def test_workers_have_one_thread_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    kill_children()
    assert told()[0]["OMP_NUM_THREADS"] == "1"
    row = told(threads_per_worker=3)[0]
    assert [row[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS")] == ["3"] * 3
    assert row["CUDA_VISIBLE_DEVICES"] == os.environ.get("CUDA_VISIBLE_DEVICES")


def test_a_process_serves_many_evaluations_unless_each_is_to_have_its_own() -> None:
    assert len({row["process"] for row in told()}) == 1
    assert len({row["process"] for row in told(fresh_process=True)}) == 6


@pytest.mark.parametrize("gpus", ["", "0,,1", "0,0", [], 0, -1])
def test_devices_that_make_no_sense_are_refused(gpus: object) -> None:
    with pytest.raises(SettingError, match="gpus must be"):
        list_devices(gpus)  # type: ignore[arg-type]


def test_no_more_devices_than_are_visible() -> None:
    with pytest.raises(SettingError, match="at most the 2 that CUDA_VISIBLE_DEVICES lists, got 3"):
        list_devices(3, {"CUDA_VISIBLE_DEVICES": "4,5"})
    with pytest.raises(SettingError, match="threads per worker must be at least 1, got 0"):
        Share(threads=0)


def test_devices_need_processes_that_can_import_the_objective() -> None:
    with pytest.raises(SettingError, match="another process can import"):
        search(lambda graph: 1.0, SPACE, 2, gpus=1)
