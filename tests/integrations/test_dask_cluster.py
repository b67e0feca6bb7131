"""A real local Dask cluster, its workers killed."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nasgoat import LabeledGraph, Optimizer
from nasgoat.bayesopt import Driver, Events, MemoryLedger, Plan, Ticket, Workers
from nasgoat.cli import run
from nasgoat.errors import SettingError, WorkersLostError
from nasgoat.evaluation import Inline
from nasgoat.integrations import StudyLedger
from nasgoat.integrations.dask_cluster import connect_dask_workers, is_loopback, read_resources
from nasgoat.spaces import NodeLabeledSpace

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

SPACE = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)


def slow_error(graph: LabeledGraph) -> float:
    time.sleep(0.3)
    return 3.0 + len(graph.edges)


def start_cluster(processes: bool, threads: int = 1, **options: Any) -> Any:
    """Two workers, in processes of their own or here; all that is sent is pickled in both cases."""
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=threads,
        processes=processes,
        protocol="tcp://",
        dashboard_address=None,
        host="127.0.0.1",
        **options,
    )


@pytest.fixture
def cluster() -> Iterator[Any]:
    with start_cluster(processes=True) as made:
        yield made


def pids(cluster: Any) -> list[int]:
    return [worker.pid for worker in cluster.workers.values()]


def driven_by(workers: Workers, evaluated: Callable[[object], None]) -> Driver:
    """A search of 14 slow evaluations, and what to do after each."""
    return Driver(
        Optimizer(SPACE, initial=6),
        Inline(slow_error),
        Plan(14, 4),
        MemoryLedger(),
        workers,
        Events(evaluation=evaluated),
    )


def test_killed_workers_cost_no_evaluation(cluster: Any) -> None:
    warned: list[str] = []
    workers = connect_dask_workers(cluster.scheduler_address, warned.append)
    killed: list[int] = []

    def kill_one(_: object) -> None:
        if len(killed) < 2:
            victim = pids(cluster)[0]
            if victim:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

    driver = driven_by(workers, kill_one)
    result = driver.run()
    assert len(killed) == 2
    assert len(result.evaluations) + len(result.failures) == 14
    assert len(result.evaluations) >= 12
    assert not warned
    workers.executor.shutdown(wait=False)


def test_a_lost_cluster_ends_the_search_in_time() -> None:
    with start_cluster(processes=False) as cluster:
        workers = connect_dask_workers(cluster.scheduler_address, patience=2.0)

        def close(_: object) -> None:
            cluster.scale(0)

        driver = driven_by(workers, close)
        with pytest.raises(WorkersLostError):
            driver.run()


def test_an_address_without_a_scheduler_is_refused_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nasgoat.integrations.dask_cluster.CONNECT_SECONDS", 1.0)
    with pytest.raises(WorkersLostError, match="must answer at"):
        connect_dask_workers("tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["nohost", "tcp://127.0.0.1", "127.0.0.1:port"])
def test_an_address_without_a_port_is_refused_at_once(address: str) -> None:
    with pytest.raises(SettingError, match=r"must be like tcp://host:8786, got"):
        connect_dask_workers(address)


def test_an_address_elsewhere_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasgoat.integrations.dask_cluster.CONNECT_SECONDS", 0.5)
    warned: list[str] = []
    with pytest.raises(WorkersLostError):
        connect_dask_workers("tcp://192.0.2.1:8786", warned.append)
    assert "no authentication" in warned[0]
    assert is_loopback("tcp://[::1]:8786")
    assert not is_loopback("tcp://scheduler.example:8786")


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and a worker, each a process of its own: the address and the scheduler."""
    (tmp_path / "plain.py").write_text(
        "import time\n\ndef error(graph):\n    time.sleep(0.3)\n    return 3.0 + len(graph.edges)\n"
    )
    found = tmp_path / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    common = ["--host", "127.0.0.1", "--scheduler-file", str(found), "--no-dashboard"]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *own, *common],
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        for kind, own in (("scheduler", ["--port", "0"]), ("worker", ["--nthreads", "1"]))
    ]
    try:
        for _ in range(600):
            if found.exists() and found.read_text().endswith("}"):
                break
            time.sleep(0.1)
        yield json.loads(found.read_text())["address"], started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_the_command_line_searches_on_a_cluster(
    processes: tuple[str, subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["search", "--space", "nb201", "--objective", "plain:error", "--report", "run"]
    call += ["--evaluations", "7", "--initial", "4", "--no-pictures", "--json", "-q"]
    assert run([*call, "--dask", processes[0]]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["evaluations"], document["failed"]) == (7, 0)


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_a_search_to_resume(
    processes: tuple[str, subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address, scheduler = processes
    monkeypatch.chdir(tmp_path)
    connect, keep = connect_dask_workers, StudyLedger.finish

    def impatient(where: str, warn: Callable[[str], None], **options: Any) -> Workers:
        return connect(where, warn, patience=6.0, **options)  # a worker may take seconds to join

    def finish(ledger: StudyLedger, ticket: Ticket) -> None:
        keep(ledger, ticket)
        scheduler.kill()

    monkeypatch.setattr("nasgoat.integrations.dask_cluster.connect_dask_workers", impatient)
    monkeypatch.setattr(StudyLedger, "finish", finish)
    call = ["search", "--space", "nb201", "--objective", "plain:error", "--report", "run"]
    call += ["--initial", "4", "--no-pictures", "--json", "-q"]
    assert run([*call, "--evaluations", "160", "--dask", address]) == 1
    assert "resume with: nasgoat search" in capsys.readouterr().err
    assert run(["status", "run", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["studies"][0]["complete"]
    assert 0 < done < 160
    assert run([*call, "--evaluations", str(done + 2)]) == 0  # here, without the cluster
    assert json.loads(capsys.readouterr().out)["evaluations"] == done + 2


def test_an_evaluation_takes_a_resource_of_its_worker() -> None:
    """Four threads, but two slots: no more than two evaluations run at a time."""
    with start_cluster(processes=False, threads=2, resources={"GPU": 1}) as cluster:
        workers = connect_dask_workers(cluster.scheduler_address, resources={"GPU": 1})
        assert workers.slots() == 2
        ran = [workers.executor.submit(take_time).result for _ in range(6)]
        spans = [result() for result in ran]
        workers.close()
        none = connect_dask_workers(cluster.scheduler_address, resources={"TPU": 1}, patience=0.0)
        none.slots()
        with pytest.raises(WorkersLostError, match="a worker with TPU=1, got none"):
            none.check()
        none.close()
    for worker in {worker for worker, _, _ in spans}:
        own = sorted((begin, end) for other, begin, end in spans if other == worker)
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(own))


def take_time() -> tuple[str, float, float]:
    begin = time.monotonic()
    time.sleep(0.2)
    return distributed.get_worker().address, begin, time.monotonic()


@pytest.mark.parametrize("text", ["", "GPU", "GPU=x", "GPU=0", "=1", "GPU=1,,"])
def test_resources_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="must be like GPU=1"):
        read_resources(text)
