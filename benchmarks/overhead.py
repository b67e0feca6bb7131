"""What storage and workers cost: ``python benchmarks/overhead.py``.

Prints milliseconds per evaluation at t = 150 on SQLite, for a trial and its outcome in a search and
for ``GoatSampler`` in a study of the user's own, both without the surrogate's fit and the
acquisition; and how long 160 evaluations of 2 s take with 4 asynchronous workers against the ideal
80 s.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler

from nasgoat import GoatSampler, LabeledGraph, Optimizer, nasbench201, search
from nasgoat.acquisition import Proposal
from nasgoat.bayesopt import Ticket
from nasgoat.integrations import StorageAddress, StudyLedger


class Timed:
    """A ledger that measures the writes of another."""

    def __init__(self, ledger: StudyLedger) -> None:
        self.tickets, self.requeue = ledger.tickets, ledger.requeue
        self._ledger = ledger
        self.seconds = 0.0
        self.writes = 0

    def propose(self, tickets: Sequence[Ticket]) -> None:
        """Keep new tickets."""
        start = time.perf_counter()
        self._ledger.propose(tickets)
        self.seconds += time.perf_counter() - start

    def finish(self, ticket: Ticket) -> None:
        """Keep an outcome."""
        start = time.perf_counter()
        self._ledger.finish(ticket)
        self.seconds += time.perf_counter() - start
        self.writes += 1


def storage(evaluations: int) -> None:
    space = nasbench201()
    with tempfile.TemporaryDirectory() as folder:
        address = StorageAddress.of(Path(folder) / "study.db")
        with StudyLedger(address, "overhead", space, {}) as study:
            ledger = Timed(study)
            search(lambda g: len(g.edges), space, evaluations=evaluations - 10, ledger=ledger)
            ledger.seconds, ledger.writes = 0.0, 0
            search(lambda g: len(g.edges), space, evaluations=evaluations, ledger=ledger)
    print(
        f"SQLite, t = {evaluations}: {1000 * ledger.seconds / ledger.writes:.0f} ms an evaluation"
    )


def sampler(chosen: BaseSampler, evaluations: int, measured: int = 20) -> None:
    """Ask and tell through Optuna; what the optimiser itself takes is subtracted."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, inside = nasbench201(), np.zeros(2)
    propose = Optimizer._propose

    def timed(self: Optimizer, k: int) -> list[Proposal]:
        nonlocal inside
        start = both_clocks()
        proposals = propose(self, k)
        inside = inside + both_clocks() - start
        return proposals

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Optimizer, "_propose", timed):
        url = f"sqlite:///{folder}/study.db"
        study = optuna.create_study(storage=url, sampler=chosen)
        for i in range(evaluations):
            if i == evaluations - measured:
                inside, start = np.zeros(2), both_clocks()
            trial = study.ask()
            number = trial.suggest_int("graph", 0, space.size_bound() - 1)
            study.tell(trial, float(number))
        seconds, busy = 1000 * (both_clocks() - start - inside) / measured
        study._storage.remove_session()
    batch = f", batches of {chosen.batch}" if isinstance(chosen, GoatSampler) else ""
    print(
        f"{type(chosen).__name__}{batch} on SQLite, t = {evaluations}: {seconds:.0f} ms a trial, "
        f"{busy:.0f} ms of them on the processor"
    )


def both_clocks() -> np.ndarray:
    """Seconds by the clock and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def rest(graph: LabeledGraph) -> float:
    time.sleep(2.0)
    return float(len(graph.edges))


def workers(evaluations: int, count: int) -> None:
    start = time.perf_counter()
    with ThreadPoolExecutor(count) as executor:
        search(rest, nasbench201(), evaluations=evaluations, executor=executor, asynchronous=True)
    seconds, ideal = time.perf_counter() - start, 2.0 * evaluations / count
    print(f"{evaluations} x 2 s on {count} workers: {seconds:.1f} s, {seconds / ideal:.3f} x ideal")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=160)
    options = parser.parse_args()
    storage(options.evaluations)
    sampler(RandomSampler(seed=0), options.evaluations)  # what Optuna alone takes
    sampler(GoatSampler(nasbench201()), options.evaluations)
    sampler(GoatSampler(nasbench201(), batch=5), options.evaluations)
    workers(options.evaluations, 4)
