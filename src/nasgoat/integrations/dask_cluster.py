"""Evaluations on a Dask cluster, through its ``concurrent.futures.Executor``.

Objectives run in child processes of the Dask workers, so limits hold there too. Dask has no
authentication: whoever reaches the scheduler can run code on every worker.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from nasgoat.bayesopt import Workers
from nasgoat.errors import MissingPackageError, SettingError, WorkersLostError

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0  # to reach the scheduler at the start
PATIENCE = 30.0  # seconds without a scheduler or without any worker before a search ends
_LOOK_EVERY = 1.0
_WITH_PORT = ("tcp", "tls")  # schemes of addresses that end with a port
_RUNS = 2  # a task whose worker died is run once more, not Dask's four times


def connect_dask_workers(
    address: str,
    warn: Callable[[str], None] = logger.warning,
    patience: float = PATIENCE,
    resources: Mapping[str, float] | None = None,
) -> Workers:
    """The workers of an existing Dask cluster.

    Args:
        address: Of the scheduler, such as ``tcp://127.0.0.1:8786``.
        warn: Told if the address is not this machine's own.
        patience: Seconds without scheduler or workers after which a search ends.
        resources: What one evaluation takes of the workers' own resources, such as ``{"GPU": 1}``
            of workers that were started with ``--resources GPU=1``.

    Raises:
        WorkersLostError: If the scheduler can't be reached.
        SettingError: If the address lacks a port.
        MissingPackageError: If Dask is not installed.
    """
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingPackageError("distributed", "dask") from None
    _require_port(address)
    if not is_loopback(address):
        warn(
            f"{address} is not loopback: Dask has no authentication, whoever reaches the "
            "scheduler can run code on every worker"
        )
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        raise WorkersLostError(
            f"a Dask scheduler must answer at {address} within {CONNECT_SECONDS:g} s, got {problem}"
        ) from None
    client.run_on_scheduler(_limit_runs)
    needs = dict(resources or {})
    watch = _Watch(client, patience, needs)
    options: dict[str, Any] = {"resources": needs} if needs else {}
    executor: Executor = client.get_executor(pure=False, retries=0, **options)
    return Workers(executor, watch.slots, watch.check, lambda: _let_go(client, executor))


def _let_go(client: Any, executor: Executor) -> None:
    """Cancel what waits and disconnect; a cluster that is gone is no trouble any more."""
    with contextlib.suppress(Exception):
        executor.shutdown(wait=False)
    with contextlib.suppress(Exception):
        client.close(timeout=_LOOK_EVERY)


def _require_port(address: str) -> None:
    """Refuse an address that no scheduler can have: a client of it blocks when it is deleted."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme not in _WITH_PORT:
        return
    try:
        parse_host_port(place)
    except ValueError:
        raise SettingError(
            f"a Dask scheduler's address must be like tcp://host:8786, got {address!r}"
        ) from None


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own.

    Example:
        >>> is_loopback("tcp://127.0.0.1:8786"), is_loopback("tcp://10.0.0.7:8786")
        (True, False)
    """
    host = urlsplit(address if "://" in address else f"tcp://{address}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_resources(text: str | None) -> dict[str, float]:
    """The resources that a text names.

    Example:
        >>> read_resources("GPU=1,memory=2e9")
        {'GPU': 1.0, 'memory': 2000000000.0}
    """
    found: dict[str, float] = {}
    for part in text.split(",") if text is not None else ():
        name, _, amount = part.partition("=")
        try:
            found[name.strip()] = float(amount)
        except ValueError:
            found[name.strip()] = 0.0
        if not name.strip() or not 0 < found[name.strip()] < float("inf"):
            raise SettingError(f"Dask's resources must be like GPU=1,disk=2, got {text!r}")
    return found


def _count_slots(needs: dict[str, float], dask_scheduler: Any) -> int:
    """On the scheduler: how many evaluations fit its workers' threads and resources."""
    total = 0
    for worker in dask_scheduler.workers.values():
        fitting = (int(worker.resources.get(name, 0) // needs[name]) for name in needs)
        total += min([worker.nthreads, *fitting])
    return total


def _limit_runs(dask_scheduler: Any) -> None:
    """On the scheduler: a task may lose its worker once."""
    dask_scheduler.allowed_failures = min(dask_scheduler.allowed_failures, _RUNS - 1)


@dataclass
class _Watch:
    """Looks at the cluster now and then; ends the wait when nothing will come back."""

    client: Any
    patience: float
    needs: Mapping[str, float]
    _threads: int = 1
    _looked: float = field(default=-_LOOK_EVERY)
    _alive: float = field(default_factory=time.monotonic)

    def slots(self) -> int:
        """How many evaluations the cluster runs at a time."""
        self._look()
        return max(self._threads, 1)

    def check(self) -> None:
        """Raise if there has been no scheduler, or no worker, for too long."""
        self._look()
        silent = time.monotonic() - self._alive
        if silent > self.patience:
            needed = "".join(f" with {name}={amount:g}" for name, amount in self.needs.items())
            raise WorkersLostError(
                f"the Dask cluster must have a worker{needed}, got none for {silent:.0f} s"
            )

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        try:
            self._threads = self.client.run_on_scheduler(_count_slots, needs=dict(self.needs))
        except Exception as problem:  # whatever a broken connection raises
            logger.info("the Dask scheduler does not answer: %r", problem)
            self._threads = 0
        if self._threads:
            self._alive = now
