"""A real local Dask cluster, its workers killed."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from nasgoat import LabeledGraph, Optimizer
from nasgoat.bayesopt import Driver, MemoryLedger, Plan
from nasgoat.errors import WorkersLostError
from nasgoat.evaluation import Inline
from nasgoat.integrations.dask_cluster import dask_workers, is_loopback
from nasgoat.spaces import NodeLabeledSpace

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

SPACE = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)


def slow_error(graph: LabeledGraph) -> float:
    time.sleep(0.3)
    return 3.0 + len(graph.edges)


@pytest.fixture
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    ) as made:
        yield made


def pids(cluster: Any) -> list[int]:
    return [worker.pid for worker in cluster.workers.values()]


def test_killed_workers_cost_no_evaluation(cluster: Any) -> None:
    warned: list[str] = []
    workers = dask_workers(cluster.scheduler_address, warned.append)
    killed: list[int] = []

    def kill_one(_: object) -> None:
        if len(killed) < 2:
            victim = pids(cluster)[0]
            if victim:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

    from nasgoat.bayesopt import Events

    driver = Driver(
        Optimizer(SPACE, initial=6),
        Inline(slow_error),
        Plan(14, 4),
        MemoryLedger(),
        workers,
        Events(evaluation=kill_one),
    )
    result = driver.run()
    assert len(killed) == 2
    assert len(result.evaluations) + len(result.failures) == 14
    assert len(result.evaluations) >= 12
    assert not warned
    workers.executor.shutdown(wait=False)


def test_a_lost_cluster_ends_the_search_in_time(cluster: Any) -> None:
    workers = dask_workers(cluster.scheduler_address, patience=2.0)

    def close(_: object) -> None:
        cluster.scale(0)

    from nasgoat.bayesopt import Events

    driver = Driver(
        Optimizer(SPACE, initial=6),
        Inline(slow_error),
        Plan(14, 4),
        MemoryLedger(),
        workers,
        Events(evaluation=close),
    )
    with pytest.raises(WorkersLostError):
        driver.run()


def test_an_address_without_a_scheduler_is_refused_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nasgoat.integrations.dask_cluster.CONNECT_SECONDS", 1.0)
    with pytest.raises(WorkersLostError, match="must answer at"):
        dask_workers("tcp://127.0.0.1:9")


def test_an_address_elsewhere_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasgoat.integrations.dask_cluster.CONNECT_SECONDS", 0.5)
    warned: list[str] = []
    with pytest.raises(WorkersLostError):
        dask_workers("tcp://192.0.2.1:8786", warned.append)
    assert "no authentication" in warned[0]
    assert is_loopback("tcp://[::1]:8786")
    assert not is_loopback("tcp://scheduler.example:8786")
