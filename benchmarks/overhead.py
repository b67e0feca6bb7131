"""What storage and workers cost: ``python benchmarks/overhead.py``.

Prints milliseconds per evaluation for writing a trial and its outcome at t = 150 on SQLite, and how
long 160 evaluations of 2 s take with 4 asynchronous workers against the ideal 80 s.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nasgoat import LabeledGraph, nasbench201, search
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
    workers(options.evaluations, 4)
